//! Helpers of the tests of UMIs.

use super::code::Umi;

/// The UMI of a text.
pub fn umi(text: &str) -> Umi {
    Umi::parse(text.as_bytes()).unwrap()
}

/// Seeded random numbers (SplitMix64).
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// Returns a random text of `length` of these symbols.
    pub fn text(&mut self, symbols: &[u8], length: u64) -> String {
        (0..length).map(|_| char::from(symbols[self.below(symbols.len() as u64) as usize])).collect()
    }
}

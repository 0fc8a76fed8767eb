//! Helpers of the tests of UMIs.

use readmill_simulate::Rng;

use super::code::Umi;

/// The UMI of a text.
pub fn umi(text: &str) -> Umi {
    Umi::parse(text.as_bytes()).unwrap()
}

/// A random text of `length` of these symbols.
pub fn text(random: &mut Rng, symbols: &[u8], length: u64) -> String {
    (0..length).map(|_| char::from(random.pick(symbols))).collect()
}

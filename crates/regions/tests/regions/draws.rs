//! Seeded draws and hashes, as the Java programs of `tests/oracles/java` make them.

/// SplitMix64.
pub struct Draws(u64);

impl Draws {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Draws a number from 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Draws whether something of this rarity happens.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Draws one of several values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Adds a number to a hash.
pub fn hash_number(hash: &mut u64, number: u64) {
    *hash = (*hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    *hash ^= *hash >> 32;
}

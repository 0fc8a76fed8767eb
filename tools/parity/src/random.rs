//! Seeded random numbers, the same on every machine.

use readmill_simulate::Rng;

/// A generator. The inputs that are compared come of its numbers, so these stay as they are.
pub struct SeededRandom(Rng);

impl SeededRandom {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        SeededRandom(Rng::new(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x2545_f491_4f6c_dd1d))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

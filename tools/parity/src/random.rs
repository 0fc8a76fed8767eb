//! Seeded random numbers that are the same on every machine, for reproducible inputs.

use readmill_simulate::Rng;

/// A seeded generator. All test inputs are derived from it, so a change here changes all of them.
pub struct SeededRandom(Rng);

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        SeededRandom(Rng::new(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x2545_f491_4f6c_dd1d))
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

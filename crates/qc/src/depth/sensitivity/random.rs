//! The random numbers of java.util.Random, and jumps over many of its steps.

/// The 48-bit state of java.util.Random, a linear congruential generator.
pub(super) struct JavaRandom(pub(super) u64);

/// Several steps of the generator as one: a factor and an increment.
#[derive(Clone, Copy)]
pub(super) struct Jump {
    pub(super) factor: u64,
    pub(super) more: u64,
}

impl Jump {
    pub(super) const fn over_steps(steps: u32) -> Self {
        let (mut factor, mut more, mut i) = (1_u64, 0_u64, 0);
        while i < steps {
            factor = factor.wrapping_mul(JavaRandom::FACTOR) & JavaRandom::MASK;
            more =
                more.wrapping_mul(JavaRandom::FACTOR).wrapping_add(JavaRandom::MORE) & JavaRandom::MASK;
            i += 1;
        }
        Jump { factor, more }
    }

    #[inline]
    pub(super) fn apply(self, state: u64) -> u64 {
        self.apply_unmasked(state) & JavaRandom::MASK
    }

    /// Same as [`Jump::apply`], but leaves arbitrary bits above the 48th, which saves an operation.
    #[inline]
    pub(super) fn apply_unmasked(self, state: u64) -> u64 {
        state.wrapping_mul(self.factor).wrapping_add(self.more)
    }
}

/// Number of upper bits of the state that are the first half of a floating-point number.
pub(super) const FIRST_HALF: u32 = 26;

impl JavaRandom {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    const MORE: u64 = 0xB;
    pub(super) const MASK: u64 = (1 << 48) - 1;

    pub(super) fn new(seed: u64) -> Self {
        JavaRandom((seed ^ Self::FACTOR) & Self::MASK)
    }

    #[inline]
    fn next_bits(&mut self, bits: u32) -> u64 {
        self.0 = Jump { factor: Self::FACTOR, more: Self::MORE }.apply(self.0);
        self.0 >> (48 - bits)
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive), like `Random.nextDouble` in Java.
    #[inline]
    pub(super) fn next_double(&mut self) -> f64 {
        let first_half = self.next_bits(FIRST_HALF);
        self.finish_double(first_half)
    }

    /// Returns the number whose first half was already drawn.
    #[inline]
    pub(super) fn finish_double(&mut self, first_half: u64) -> f64 {
        ((first_half << 27) + self.next_bits(27)) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_java() {
        let mut random = JavaRandom::new(0);
        assert_eq!(random.next_double(), 0.730_967_787_376_657);
        assert_eq!(random.next_double(), 0.240_536_415_671_485_87);
    }
}

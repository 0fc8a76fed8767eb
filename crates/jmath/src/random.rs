//! The random numbers of `java.util.Random`.

use crate::libm::strict_log;

/// The generator `java.util.Random`: a linear congruence of 48 bits.
///
/// GATK draws from one such generator with the seed 47382911 during a whole run.
///
/// ```
/// let mut random = readmill_jmath::JavaRandom::new(47382911);
/// assert_eq!([51, 52, 53].map(|bound| random.next_int(bound)), [36, 25, 46]);
/// assert_eq!(random.next_gaussian(), 0.8521205057950106);
/// ```
#[derive(Clone, Debug)]
pub struct JavaRandom {
    state: u64,
    next_gaussian: Option<f64>,
}

impl JavaRandom {
    const FACTOR: u64 = 0x5_deec_e66d;
    const MASK: u64 = (1 << 48) - 1;

    /// Creates the generator of a seed, like `new Random(seed)`.
    pub fn new(seed: i64) -> Self {
        JavaRandom { state: (seed as u64 ^ Self::FACTOR) & Self::MASK, next_gaussian: None }
    }

    /// Draws the next bits, at most 32, as a signed number if there are 32.
    fn next_bits(&mut self, bits: u32) -> i32 {
        self.state = self.state.wrapping_mul(Self::FACTOR).wrapping_add(0xb) & Self::MASK;
        (self.state >> (48 - bits)) as i32
    }

    /// Draws a number from 0 to `bound` - 1, like `Random.nextInt(bound)`. A draw is repeated if it
    /// would favour some numbers.
    ///
    /// # Panics
    /// `bound` is not positive.
    pub fn next_int(&mut self, bound: i32) -> i32 {
        assert!(bound > 0, "the bound {bound} is not positive");
        let mut bits = self.next_bits(31);
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as i32;
        }
        loop {
            let number = bits % bound;
            if bits.wrapping_sub(number).wrapping_add(bound - 1) >= 0 {
                return number;
            }
            bits = self.next_bits(31);
        }
    }

    /// Draws a number from 0 (inclusive) to 1 (exclusive), like `Random.nextDouble()`.
    pub fn next_double(&mut self) -> f64 {
        let upper = i64::from(self.next_bits(26)) << 27;
        (upper + i64::from(self.next_bits(27))) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws from the normal distribution with mean 0 and deviation 1, like `Random.nextGaussian()`:
    /// the polar method, whose second number is kept for the next call.
    pub fn next_gaussian(&mut self) -> f64 {
        if let Some(kept) = self.next_gaussian.take() {
            return kept;
        }
        loop {
            let a = 2.0 * self.next_double() - 1.0;
            let b = 2.0 * self.next_double() - 1.0;
            let square = a * a + b * b;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * strict_log(square) / square).sqrt();
                self.next_gaussian = Some(b * factor);
                return a * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_gatks_seed() {
        // From java.util.Random of Java 17.
        let mut random = JavaRandom::new(47_382_911);
        assert_eq!([51, 52, 53].map(|bound| random.next_int(bound)), [36, 25, 46]);
        assert_eq!(random.next_gaussian(), 0.852_120_505_795_010_6);
        assert_eq!(random.next_gaussian(), -2.213_861_481_294_5);
    }
}

//! Fused operations in software, for processors without the instruction, and their flushing to zero.
//!
//! They are for numbers that are not negative, and 0 or normal: all numbers of a kernel.

/// Bits of the mantissa of `f64`, without the upper 1.
const FRACTION: i32 = 52;

/// Half a unit below the smallest normal `f32`. Smaller numbers are below it when they are rounded to
/// 24 bits.
const SMALLEST_F32: f64 = f32::MIN_POSITIVE as f64 * (1.0 - 1.0 / (1 << 25) as f64);

/// Returns `a · b + c` in `f64`. If the sum is not exact, the last bit of the result is 1, so that
/// rounding it to `f32` gives the rounded exact sum.
#[inline(always)]
pub(super) fn fuse_to_odd(a: f32, b: f32, c: f32) -> f64 {
    // The product of two 24-bit mantissas is exact.
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    let of_product = sum - addend;
    let error = (product - of_product) + (addend - (sum - of_product));
    let bits = sum.to_bits();
    let is_even = bits & 1 ^ 1;
    let up = is_even & u64::from(error > 0.0);
    let down = is_even & u64::from(error < 0.0);
    f64::from_bits(bits + up - down)
}

/// Returns `a · b + c`, rounded once, or 0 if the sum, rounded to 24 bits, is not a normal number.
pub(super) fn fuse_f32(a: f32, b: f32, c: f32) -> f32 {
    let sum = fuse_to_odd(a, b, c);
    if sum < SMALLEST_F32 { 0.0 } else { sum as f32 }
}

/// Returns `a · b + c`, rounded once, or 0 if the sum, rounded to 53 bits, is not a normal number.
pub(super) fn fuse_f64(a: f64, b: f64, c: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return c;
    }
    let ((a, exponent_a), (b, exponent_b)) = (split(a), split(b));
    let product = align(u128::from(a) * u128::from(b), exponent_a + exponent_b);
    if c == 0.0 {
        return round(product);
    }
    let (c, exponent_c) = split(c);
    let addend = align(u128::from(c), exponent_c);
    let (large, small) = if product.1 >= addend.1 { (product, addend) } else { (addend, product) };
    let shift = (large.1 - small.1).min(127) as u32;
    // A lower 1 stands for the bits that are lost, for rounding.
    let lost = u128::from(small.0 & ((1 << shift) - 1) != 0);
    round((large.0 + (small.0 >> shift | lost), large.1))
}

/// Returns the mantissa and the exponent of its last bit.
fn split(x: f64) -> (u64, i32) {
    let fraction = x.to_bits() & ((1 << FRACTION) - 1);
    (fraction | 1 << FRACTION, (x.to_bits() >> FRACTION) as i32 - 1023 - FRACTION)
}

/// Shifts a mantissa so that its upper 1 is at bit 125, and adjusts its exponent.
fn align(mantissa: u128, exponent: i32) -> (u128, i32) {
    let shift = mantissa.leading_zeros() as i32 - 2;
    (mantissa << shift, exponent - shift)
}

/// Rounds a mantissa with more than 100 bits to nearest, and to even if two are equally near.
fn round((mantissa, exponent): (u128, i32)) -> f64 {
    let top = 127 - mantissa.leading_zeros() as i32;
    let shift = top - FRACTION;
    let (mut rounded, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
    let half = 1_u128 << (shift - 1);
    rounded += u128::from(rest > half || rest == half && rounded & 1 == 1);
    // If rounding adds a bit, the fraction is 0, and the addition raises the exponent.
    let biased = exponent + top + 1023;
    if biased < 0 {
        return 0.0;
    }
    let bits = ((biased as u64) << FRACTION) + (rounded as u64 - (1 << FRACTION));
    let value = f64::from_bits(bits);
    if value < f64::MIN_POSITIVE { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Draws(u64);

    impl Draws {
        fn next(&mut self) -> u64 {
            self.0 =
                self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let x = self.0 ^ self.0 >> 33;
            x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ x >> 29
        }

        /// Draws a number with an exponent from `first` to `first + 63`, and often few bits set.
        fn f64(&mut self, first: u64) -> f64 {
            let exponent = first + (self.next() & 63);
            let fraction = self.next() & (u64::MAX >> 12);
            let mask = u64::MAX << (self.next() % 53);
            f64::from_bits(exponent << 52 | fraction & mask)
        }

        fn f32(&mut self, first: u32) -> f32 {
            let exponent = first + (self.next() as u32 & 31);
            let mask = u32::MAX << (self.next() % 24);
            f32::from_bits(exponent << 23 | self.next() as u32 & 0x7f_ffff & mask)
        }
    }

    #[test]
    fn sums_of_f64_are_rounded_once() {
        let mut draws = Draws(1);
        for _ in 0..200_000 {
            let (a, b, c) = (draws.f64(990), draws.f64(990), draws.f64(960));
            assert_eq!(fuse_f64(a, b, c).to_bits(), a.mul_add(b, c).to_bits(), "{a:e} {b:e} {c:e}");
            assert_eq!(fuse_f64(a, b, 0.0), a * b, "{a:e} {b:e}");
        }
    }

    #[test]
    fn sums_of_f32_are_rounded_once() {
        let mut draws = Draws(2);
        for _ in 0..200_000 {
            let (a, b, c) = (draws.f32(110), draws.f32(110), draws.f32(90));
            assert_eq!(fuse_f32(a, b, c).to_bits(), a.mul_add(b, c).to_bits(), "{a:e} {b:e} {c:e}");
        }
    }

    #[test]
    fn sums_below_the_smallest_normal_number_become_0() {
        let min = f64::MIN_POSITIVE;
        let below_one = 1.0 - f64::EPSILON / 2.0;
        assert_eq!(fuse_f64(min, 1.0, 0.0), min);
        assert_eq!(fuse_f64(min, below_one, 0.0), 0.0, "it has 53 bits, so it is not rounded");
        // (1 - e/2)(1 + e) is 1 + e/2 - e^2/2, and so is its rounding to 53 bits at least 1.
        assert_eq!(fuse_f64(min * (1.0 + f64::EPSILON), below_one, 0.0), min);
        // (1 - e/2)^2 (1 + e) is just below 1, and nearer to 1 than to 1 - e/2.
        let product = (1.0 + f64::EPSILON) * below_one;
        assert_eq!(product, 1.0);
        let min = f32::MIN_POSITIVE;
        let below_one = 1.0 - f32::EPSILON / 2.0;
        assert_eq!(fuse_f32(min, 1.0, 0.0), min);
        assert_eq!(fuse_f32(min, below_one, 0.0), 0.0);
        assert_eq!(fuse_f32(min * (1.0 + f32::EPSILON), below_one, 0.0), min);
    }
}

//! A small pseudo-random number generator: a Weyl sequence with a 64-bit mixer (SplitMix64; Steele,
//! Lea and Flood 2014).
//!
//! It includes fixed-point tables (24 fractional bits) of the two transcendental functions that the
//! simulation needs. They are computed with integers only, so they are the same on every machine.

/// A stream of pseudo-random numbers. A seed gives the same numbers on every machine.
///
/// ```
/// use readmill_simulate::Rng;
///
/// let (mut one, mut two) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.bits(), two.bits());
/// assert!(one.below(10) < 10);
/// assert!(b"ACGT".contains(&one.pick(b"ACGT")));
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the stream for one purpose under this seed. Each part of the simulation has its own
    /// stream, so that a change in one part does not affect the others.
    pub(crate) fn for_purpose(seed: u64, purpose: u64) -> Self {
        let mut start = Self(seed ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let first = start.next_u64();
        Self(first ^ purpose)
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.next_u64()
    }

    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    #[inline]
    pub fn below64(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        self.below64(n as u64) as usize
    }

    #[inline]
    pub fn is_once_in(&mut self, n: u64) -> bool {
        self.below64(n) == 0
    }

    #[inline]
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }

    /// Returns a number in [0, 1).
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[inline]
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    #[inline]
    pub(crate) fn per_mille(&mut self, p: u32) -> bool {
        self.below(1000) < p
    }

    #[inline]
    pub(crate) fn flip_coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// Returns a number from a bell-shaped distribution with this mean and standard deviation: the
    /// scaled sum of eight 16-bit numbers.
    #[inline]
    pub(crate) fn bell_shaped(&mut self, mean: i64, deviation: i64) -> i64 {
        let quarters = |v: u64| (0..4).map(|i| (v >> (16 * i)) & 0xFFFF).sum::<u64>();
        let sum = (quarters(self.next_u64()) + quarters(self.next_u64())) as i64;
        // The standard deviation of the sum is 65536 * sqrt(8 / 12) = 53510.
        mean + (sum - 4 * 65535) * deviation / 53510
    }
}

#[cfg(test)]
pub(crate) const ONE: u64 = 1 << 24;
/// The natural logarithm of 2 in fixed point.
const LN_2: u64 = 11_629_080;
/// Size of the exponential table as a power of two.
const EXPONENTIAL_BITS: u32 = 12;

/// Returns the error probability `10^(-q/10)` of every quality `0..=93`, in fixed point.
pub(crate) fn error_probabilities() -> [u64; 94] {
    let mut table = [0; 94];
    let mut p: u128 = 1 << 60;
    for slot in &mut table {
        *slot = (p >> 36) as u64;
        p = p * 7_943_282_347 / 10_000_000_000;
    }
    table
}

/// A table of exponentially distributed waiting times: `-ln(u)`, with `u` at the midpoints of equal
/// steps between 0 and 1. It is used to place sequencing errors.
pub(crate) struct Exponential(Vec<u32>);

impl Exponential {
    pub(crate) fn new() -> Self {
        let entry = |i: u32| {
            let log2 = log2(2 * i + 1);
            let negative = (u64::from(EXPONENTIAL_BITS + 1) << 24) - log2;
            ((negative * LN_2) >> 24) as u32
        };
        Self((0..1 << EXPONENTIAL_BITS).map(entry).collect())
    }

    #[inline]
    pub(crate) fn pick(&self, bits: u64) -> u64 {
        u64::from(self.0[(bits >> (64 - EXPONENTIAL_BITS)) as usize])
    }
}

/// Returns the binary logarithm of `v >= 1` in fixed point, by repeated squaring.
fn log2(v: u32) -> u64 {
    let whole = v.ilog2();
    let mut mantissa = u64::from(v) << (31 - whole);
    let mut result = u64::from(whole);
    for _ in 0..24 {
        mantissa = (mantissa * mantissa) >> 31;
        result <<= 1;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            result |= 1;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let mut a = Rng::for_purpose(1, 1);
        let mut b = Rng::for_purpose(1, 2);
        let mut c = Rng::for_purpose(1, 1);
        let first = a.next_u64();
        assert_eq!(first, c.next_u64());
        assert_ne!(first, b.next_u64());
    }

    #[test]
    fn bell_has_its_mean_and_spread() {
        let mut rng = Rng::for_purpose(7, 7);
        let values: Vec<i64> = (0..20_000).map(|_| rng.bell_shaped(350, 60)).collect();
        let mean = values.iter().sum::<i64>() / 20_000;
        let variance = values.iter().map(|v| (v - 350).pow(2)).sum::<i64>() / 20_000;
        assert!((348..=352).contains(&mean), "{mean}");
        assert!((3300..=3900).contains(&variance), "{variance}");
    }

    #[test]
    fn logarithms_are_right() {
        assert_eq!(log2(1), 0);
        assert_eq!(log2(8), 3 << 24);
        // log2(3) = 1.5849625007
        let expected = (1.584_962_500_7 * ONE as f64) as u64;
        assert!(log2(3).abs_diff(expected) < 4);
    }

    #[test]
    fn waiting_times_average_one() {
        let table = Exponential::new();
        let sum: u64 = table.0.iter().map(|&v| u64::from(v)).sum();
        let mean = sum >> EXPONENTIAL_BITS;
        assert!(mean.abs_diff(ONE) < ONE / 500, "{mean}");
    }

    #[test]
    fn quality_20_is_one_percent() {
        let table = error_probabilities();
        assert_eq!(table[0], ONE);
        assert!(table[20].abs_diff(ONE / 100) < 4);
    }
}

//! Fixed-point tables (24 fractional bits) of the two transcendental functions needed, computed
//! with integers alone so that they are the same everywhere.

/// The value 1.0.
#[cfg(test)]
pub(crate) const ONE: u64 = 1 << 24;
/// The natural logarithm of 2.
const LN_2: u64 = 11_629_080;
/// Entries of the exponential table, as a power of two.
const EXPONENTIAL_BITS: u32 = 12;

/// The error probability `10^(-q/10)` of every quality `0..=93`.
pub(crate) fn error_probabilities() -> [u64; 94] {
    let mut table = [0; 94];
    let mut p: u128 = 1 << 60;
    for slot in &mut table {
        *slot = (p >> 36) as u64;
        p = p * 7_943_282_347 / 10_000_000_000;
    }
    table
}

/// Waiting times: `-ln(u)` for `u` in the middle of equal steps between 0 and 1.
pub(crate) struct Exponential(Vec<u32>);

impl Exponential {
    /// Computes the table.
    pub(crate) fn new() -> Self {
        let entry = |i: u32| {
            let log2 = log2(2 * i + 1);
            let negative = (u64::from(EXPONENTIAL_BITS + 1) << 24) - log2;
            ((negative * LN_2) >> 24) as u32
        };
        Self((0..1 << EXPONENTIAL_BITS).map(entry).collect())
    }

    /// The waiting time chosen by 64 random bits.
    #[inline]
    pub(crate) fn pick(&self, bits: u64) -> u64 {
        u64::from(self.0[(bits >> (64 - EXPONENTIAL_BITS)) as usize])
    }
}

/// The binary logarithm of `v >= 1`.
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

//! The counts in one row of a report and their empirical quality, computed with GATK's arithmetic.
//!
//! The empirical quality is the quality from 0 to 60 with the highest posterior probability (GATK
//! since 4.5). The posterior is the product of a normal prior around an expected quality and the
//! binomial likelihood of the errors, with one error and one correct base added. The likelihood is
//! computed as in C. Loader, "Fast and accurate computation of binomial probabilities" (2000), in
//! the order of operations of the library that GATK uses, so that results agree to the last bit.

use std::f64::consts::{LOG10_E, SQRT_2, TAU};
use std::sync::LazyLock;

use readmill_jmath::loader::{self, stirling_error};
use readmill_record::exact::{log10, power_of_ten};

use super::counters::Datum;

/// GATK stores the number of errors multiplied by this factor. The rounding affects the last bits.
const ERROR_SCALE: f64 = 100_000.0;

/// A number of bases, the number of errors among them, and their reported quality (GATK's
/// RecalDatum).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecalDatum {
    pub observations: u64,
    /// The reported quality (Phred). For a sum of several rows, the quality that corresponds to
    /// their expected errors.
    pub reported: f64,
    scaled_errors: f64,
}

impl RecalDatum {
    pub fn new(datum: Datum, reported: f64) -> Self {
        let scaled_errors = datum.errors * ERROR_SCALE;
        RecalDatum { observations: datum.observations, reported, scaled_errors }
    }

    pub fn errors(&self) -> f64 {
        self.scaled_errors / ERROR_SCALE
    }

    /// Adds another datum.
    ///
    /// The reported quality becomes the one that predicts the sum of the expected errors. If
    /// neither datum has bases, it does not change; in GATK it becomes NaN, which fails later.
    pub fn combine(&mut self, other: &RecalDatum) {
        if self.observations == 0 && other.observations == 0 {
            return;
        }
        let promised = self.promised_errors() + other.promised_errors();
        self.observations = self.observations.saturating_add(other.observations);
        self.scaled_errors += other.errors() * ERROR_SCALE;
        self.reported = -10.0 * log10(promised / self.observations as f64);
    }

    fn promised_errors(&self) -> f64 {
        self.observations as f64 * power_of_ten(self.reported / -10.0)
    }

    /// Rounds the errors to two decimals and the reported quality to four, the precision of
    /// reports.
    pub fn round_as_printed(&mut self) {
        self.scaled_errors = round_to_fraction(self.errors(), 100.0) * ERROR_SCALE;
        self.reported = round_to_fraction(self.reported, 10_000.0);
    }

    /// Returns the empirical quality, using the reported quality as the mean of the prior.
    pub fn empirical(&self) -> u8 {
        self.empirical_with_prior(self.reported)
    }

    /// Returns the empirical quality, using `expected` (Phred) as the mean of the prior.
    pub fn empirical_with_prior(&self, expected: f64) -> u8 {
        empirical_quality(self.observations, self.errors(), expected)
    }
}

/// Rounds to the nearest multiple of 1 / `parts`. As in GATK's `MathUtils.roundToNDecimalPlaces`,
/// the distance to the next larger floating-point number is added first.
fn round_to_fraction(number: f64, parts: f64) -> f64 {
    let scaled = (number + (number.abs().next_up() - number.abs())) * parts;
    let floor = scaled.floor();
    (if scaled - floor >= 0.5 { floor + 1.0 } else { floor }) / parts
}

const MAX_EMPIRICAL_QUALITY: u8 = 60;

/// Maximum difference from the expected quality in the prior. Larger differences are limited to
/// this.
const MAX_PRIOR_DISTANCE: f64 = 40.0;

/// Maximum number of bases. As in GATK, larger counts are scaled down to it, together with their
/// errors.
const MAX_OBSERVATIONS: u64 = (1 << 31) - 2;

const PRIOR_SCALE: f64 = 0.225_791_352_644_727_44;

/// Returns the most probable quality (0 to 60, Phred) of `observations` bases with `errors` errors.
/// `expected` (Phred) is the mean of the prior.
pub fn empirical_quality(observations: u64, errors: f64, expected: f64) -> u8 {
    let wrong = ((errors + 0.5) as u64).saturating_add(1);
    let seen = observations.saturating_add(2);
    let (seen, wrong) = if seen > MAX_OBSERVATIONS { scale_counts(seen, wrong) } else { (seen, wrong) };
    if wrong > seen {
        return 0;
    }
    let likelihood = Likelihood::new(seen as f64, wrong as f64);
    let mut best = (0, f64::NEG_INFINITY);
    for quality in candidate_qualities(seen, wrong, expected) {
        let posterior = log_prior(quality, expected) + likelihood.log_at_quality(quality);
        if posterior > best.1 {
            best = (quality, posterior);
        }
    }
    best.0
}

fn scale_counts(seen: u64, wrong: u64) -> (u64, u64) {
    let fraction = MAX_OBSERVATIONS as f64 / seen as f64;
    (MAX_OBSERVATIONS, (wrong as f64 * fraction).round() as u64)
}

/// Returns the range of qualities to try.
///
/// The posterior rises up to the lower of the expected and the observed quality, and falls after
/// the higher one. So the best quality is at most slightly outside this range.
fn candidate_qualities(seen: u64, wrong: u64, expected: f64) -> std::ops::RangeInclusive<u8> {
    let observed = -10.0 * LOG10_E * ln(wrong as f64 / seen as f64);
    let low = expected.min(observed).floor() - 2.0;
    let high = expected.max(observed).ceil() + 2.0;
    let bounded = |quality: f64| quality.clamp(0.0, f64::from(MAX_EMPIRICAL_QUALITY)) as u8;
    bounded(low)..=bounded(high)
}

/// Returns the natural logarithm of the prior density. As in GATK, the difference is truncated to
/// an integer, so differences below 1 count as 0.
fn log_prior(quality: u8, expected: f64) -> f64 {
    let difference = (f64::from(quality) - expected).trunc().abs().min(MAX_PRIOR_DISTANCE);
    let deviations = difference / 0.5;
    -0.5 * deviations * deviations - PRIOR_SCALE
}

static ERROR_PROBABILITIES: LazyLock<[f64; MAX_EMPIRICAL_QUALITY as usize + 1]> =
    LazyLock::new(|| std::array::from_fn(|quality| power_of_ten(quality as f64 / -10.0)));

struct Likelihood {
    seen: f64,
    wrong: f64,
    right: f64,
    /// The terms that do not depend on the quality: `stirling` is the sum of Stirling errors, and
    /// `factor` the logarithm of the factor before the exponential.
    stirling: f64,
    factor: f64,
}

impl Likelihood {
    fn new(seen: f64, wrong: f64) -> Self {
        let right = seen - wrong;
        let stirling = stirling_error(seen) - stirling_error(wrong) - stirling_error(right);
        let factor = -0.5 * ln(TAU * wrong * right / seen);
        Likelihood { seen, wrong, right, stirling, factor }
    }

    fn log_at_quality(&self, quality: u8) -> f64 {
        let error = ERROR_PROBABILITIES[usize::from(quality)];
        let good = 1.0 - error;
        let log = if self.wrong == 0.0 {
            self.log_all_alike(error, good)
        } else if self.right == 0.0 {
            self.log_all_alike(good, error)
        } else {
            let wrong = deviance(self.wrong, self.seen * error);
            let right = deviance(self.right, self.seen * good);
            self.factor + (self.stirling - wrong - right)
        };
        if log.is_finite() { log } else { -f64::MAX }
    }

    /// Returns `seen` × ln(`always`), for bases that are all errors or all correct. `never` is 1 -
    /// `always`.
    fn log_all_alike(&self, never: f64, always: f64) -> f64 {
        if never < 0.1 {
            -deviance(self.seen, self.seen * always) - self.seen * never
        } else {
            self.seen * ln(always)
        }
    }
}

fn deviance(x: f64, mean: f64) -> f64 {
    loader::deviance(x, mean, ln)
}

/// ln 2 as the sum of two numbers. The first ends in zero bits, so its product with an exponent is
/// exact.
const LN_2: [f64; 2] = [f64::from_bits(0x3FE6_2E42_FEE0_0000), f64::from_bits(0x3DEA_39EF_3579_3C76)];

/// The coefficients 1/3, 1/5, ... of the series of the inverse hyperbolic tangent.
const ODD_INVERSES: [f64; 11] = [
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
    1.0 / 23.0,
];

/// Returns the natural logarithm with an error of at most one unit in the last place.
///
/// The system's libm is not used, so results are the same everywhere. Returns minus infinity for 0,
/// and NaN for NaN and negative numbers.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x < f64::MIN_POSITIVE {
        return if x == 0.0 {
            f64::NEG_INFINITY
        } else {
            ln(x * 2f64.powi(54)) - 54.0 * std::f64::consts::LN_2
        };
    }
    if x == f64::INFINITY {
        return x;
    }
    let (exponent, mantissa) = split_exponent(x);
    // ln(1 + f) = 2 atanh(s) = f - f²/2 + s (f²/2 + 2 s² (1/3 + s²/5 + ...)), where s = f / (2 + f).
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let series = ODD_INVERSES.iter().rev().fold(0.0, |sum, inverse| sum * square + inverse);
    let half = 0.5 * f * f;
    let rest = s * (half + 2.0 * square * series);
    exponent * LN_2[0] - ((half - (rest + exponent * LN_2[1])) - f)
}

/// Splits a number into a power of two and a factor between √½ and √2. Returns the exponent and the
/// factor.
fn split_exponent(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > SQRT_2 {
        (f64::from(exponent + 1), mantissa / 2.0)
    } else {
        (f64::from(exponent), mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recal_datum(observations: u64, errors: f64, reported: f64) -> RecalDatum {
        RecalDatum::new(Datum { observations, errors }, reported)
    }

    #[test]
    fn combined_as_in_gatk() {
        // From RecalDatum of GATK 4.6.2.0.
        let mut sum = recal_datum(716_616_016, 376_300.77, 2.0);
        sum.combine(&recal_datum(1000, 10.0, 30.0));
        sum.combine(&recal_datum(33_333_333, 77.05, 41.0));
        assert_eq!((sum.observations, sum.errors()), (749_950_349, 376_387.82));
        assert_eq!((sum.reported, sum.empirical()), (2.197434572392056, 33));
        sum.round_as_printed();
        assert_eq!((sum.errors(), sum.reported), (376_387.82, 2.1974));
    }

    #[test]
    fn rounded_half_up_after_a_step_to_the_next_number() {
        // From MathUtils.roundToNDecimalPlaces of GATK 4.6.2.0.
        for (number, expected) in [
            (1.005, 1.005),
            (29.1234499, 29.1234),
            (29.12345, 29.1235),
            (48.99994999999999, 49.0),
            (0.0, 0.0),
        ] {
            assert_eq!(round_to_fraction(number, 10_000.0), expected);
        }
        assert_eq!(round_to_fraction(1.005, 100.0), 1.01);
    }

    #[test]
    fn combining_no_bases_changes_nothing() {
        let mut sum = recal_datum(0, 0.0, 17.0);
        sum.combine(&recal_datum(0, 0.0, 20.0));
        assert_eq!(sum, recal_datum(0, 0.0, 17.0));
    }

    /// Results of GATK 4.6.2.0. More than three million random cases were also compared.
    const GATK_EMPIRICAL: &str = include_str!("../../../tests/oracles/gatk/recalibration/empirical.tsv");

    #[test]
    fn gatk_s_empirical_qualities() {
        for line in GATK_EMPIRICAL.lines().filter(|line| !line.starts_with('#')) {
            let [observations, errors, expected, quality] = line.split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("{line}");
            };
            let (observations, errors) = (observations.parse().unwrap(), errors.parse().unwrap());
            let found = empirical_quality(observations, errors, expected.parse().unwrap());
            assert_eq!(found.to_string(), quality, "{line}");
        }
    }

    #[test]
    fn qualities_that_are_not_tried_are_worse() {
        for (seen, wrong, expected) in
            [(2, 1, 30.0), (1002, 1, 2.5), (1002, 1000, 60.0), (MAX_OBSERVATIONS, 5, 0.0), (40, 40, 9.0)]
        {
            let likelihood = Likelihood::new(seen as f64, wrong as f64);
            let posterior = |quality| log_prior(quality, expected) + likelihood.log_at_quality(quality);
            let best = (0..=MAX_EMPIRICAL_QUALITY).map(posterior).fold(f64::NEG_INFINITY, f64::max);
            let found = candidate_qualities(seen, wrong, expected)
                .map(posterior)
                .fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(best, found, "{wrong} of {seen}, {expected}");
        }
    }

    #[test]
    fn more_errors_than_bases_are_the_lowest_quality() {
        assert_eq!(empirical_quality(10, 20.0, 30.0), 0);
        assert_eq!(empirical_quality(u64::MAX, 0.0, 30.0), empirical_quality(1 << 60, 0.0, 30.0));
    }

    #[test]
    fn near_the_system_s() {
        let mut x = 1e-310;
        while x < 1e300 {
            let (ours, system) = (ln(x), x.ln());
            assert!((ours - system).abs() <= system.abs() * 3e-16, "{x:e}: {ours:e} {system:e}");
            x *= 1.0078123;
        }
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan());
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
    }
}

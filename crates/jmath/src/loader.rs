//! Parts of C. Loader, "Fast and accurate computation of binomial probabilities" (2000), in the order of
//! operations of commons-math.

/// Errors of Stirling's formula for 0 to 14, where the series is not exact enough. The table of
/// commons-math also has half-integers, which counts do not need.
const STIRLING_ERRORS: [f64; 15] = [
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
    0.01189670994589177,
    0.010411265261972096,
    0.009255462182712733,
    0.00833056343336287,
    0.007573675487951841,
    0.00694284010720953,
    0.006408994188004207,
    0.0059513701127588475,
];

/// Returns the error of Stirling's formula for ln `n`! (Loader's delta, `SaddlePointExpansion` of
/// commons-math 3.5). `n` is a whole number.
///
/// ```
/// use readmill_jmath::loader::stirling_error;
///
/// let stirling = 0.5 * (std::f64::consts::TAU * 20.0).ln() + 20.0 * 20f64.ln() - 20.0;
/// let factorial = (1..=20).map(|n| f64::from(n).ln()).sum::<f64>();
/// assert!((stirling + stirling_error(20.0) - factorial).abs() < 1e-13);
/// ```
///
/// # Panics
/// `n` is negative.
pub fn stirling_error(n: f64) -> f64 {
    if n < 15.0 {
        assert!(n >= 0.0, "a factorial of a negative number");
        return STIRLING_ERRORS[n as usize];
    }
    let square = n * n;
    let series = 1.0 / 1680.0 - (1.0 / 1188.0) / square;
    let series = 1.0 / 1260.0 - series / square;
    let series = 1.0 / 360.0 - series / square;
    (1.0 / 12.0 - series / square) / n
}

/// Returns x ln(x / `mean`) + `mean` - x, without cancellation if x is near the mean (Loader's
/// deviance). `ln` computes the logarithm that is needed far from the mean.
pub fn deviance(x: f64, mean: f64, ln: impl Fn(f64) -> f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * ln(x / mean) + mean - x;
    }
    let ratio = difference / (x + mean);
    let mut sum = ratio * difference;
    let mut power = 2.0 * x * ratio;
    for odd in (3u32..).step_by(2) {
        power *= ratio * ratio;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

//! Probabilities of the hypergeometric distribution, as commons-math 3.5 computes them: by Loader's
//! saddle point expansion of the binomial distribution.

use std::f64::consts::TAU;

use super::fast_log::fast_log;

/// Errors of Stirling's formula for 0 to 14. The table of commons-math also has half-integers, which do
/// not occur here.
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

/// Draws without replacement from a population that holds some successes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hypergeometric {
    /// Number of things to draw from, at least 1.
    pub population: i32,
    /// Number of those that are successes.
    pub successes: i32,
    /// Number of draws.
    pub draws: i32,
}

impl Hypergeometric {
    /// Returns the natural logarithm of the probability of `drawn` successes, which must be
    /// possible, like `HypergeometricDistribution.logProbability`.
    pub(super) fn log_probability(self, drawn: i32) -> f64 {
        let Hypergeometric { population, successes, draws } = self;
        let p = f64::from(draws) / f64::from(population);
        let q = f64::from(population - draws) / f64::from(population);
        log_binomial(drawn, successes, p, q) + log_binomial(draws - drawn, population - successes, p, q)
            - log_binomial(draws, population, p, q)
    }
}

/// Returns the natural logarithm of the probability of `x` successes of `n`, if each has the
/// probability `p` = 1 - `q`.
fn log_binomial(x: i32, n: i32, p: f64, q: f64) -> f64 {
    let count = f64::from(n);
    if x == 0 {
        return if p < 0.1 { -deviance(count, count * q) - count * p } else { count * fast_log(q) };
    }
    if x == n {
        return if q < 0.1 { -deviance(count, count * p) - count * q } else { count * fast_log(p) };
    }
    let (hits, misses) = (f64::from(x), f64::from(n - x));
    let errors = stirling_error(count) - stirling_error(hits) - stirling_error(misses);
    let sum = errors - deviance(hits, count * p) - deviance(misses, count * q);
    let spread = (TAU * hits * misses) / count;
    -0.5 * fast_log(spread) + sum
}

/// Returns the error of Stirling's formula for log `n`!, where `n` is whole.
fn stirling_error(n: f64) -> f64 {
    if n < 15.0 {
        return STIRLING_ERRORS[n as usize];
    }
    let square = n * n;
    let mut sum = 0.0008417508417508417 / square;
    for coefficient in [0.0005952380952380953, 0.0007936507936507937, 0.002777777777777778] {
        sum = (coefficient - sum) / square;
    }
    (0.08333333333333333 - sum) / n
}

/// Returns the part of the deviance of `x` whose expectation is `mean`.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() >= 0.1 * (x + mean) {
        return x * fast_log(x / mean) + mean - x;
    }
    let difference = x - mean;
    let ratio = difference / (x + mean);
    let mut sum = ratio * difference;
    let mut term = 2.0 * x * ratio;
    let mut step = 1;
    loop {
        term *= ratio * ratio;
        let next = sum + term / f64::from(step * 2 + 1);
        if next == sum {
            return next;
        }
        (sum, step) = (next, step + 1);
    }
}

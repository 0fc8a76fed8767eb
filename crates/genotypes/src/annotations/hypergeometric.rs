//! Probabilities of the hypergeometric distribution, as commons-math 3.5 computes them: by Loader's
//! saddle point expansion of the binomial distribution.

use std::f64::consts::TAU;

use readmill_jmath::loader::{self, stirling_error};

use super::fast_log::fast_log;

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

fn deviance(x: f64, mean: f64) -> f64 {
    loader::deviance(x, mean, fast_log)
}

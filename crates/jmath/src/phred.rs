//! Phred-scaled numbers: error probabilities of qualities, PLs and GQs, as GATK computes them.

use crate::JavaMath;
use crate::rounding::round;

/// Number of qualities in the tables: 0 to 254.
pub const QUALITIES: usize = 255;

/// Probabilities by quality, like the tables of GATK's `QualityUtils`.
#[derive(Clone, Debug)]
pub struct PhredTables {
    error: Vec<f64>,
    log10_correct: Vec<f64>,
}

impl PhredTables {
    /// Computes the tables for the qualities 0 to 254.
    pub fn new(math: JavaMath) -> Self {
        let error: Vec<f64> = (0..QUALITIES).map(|q| math.pow(10.0, q as f64 / -10.0)).collect();
        let log10_correct = error.iter().map(|error| math.log10(1.0 - error)).collect();
        PhredTables { error, log10_correct }
    }

    /// Returns the probability of an error, 10^(-q/10), like `qualToErrorProb`.
    ///
    /// # Panics
    /// The quality is 255.
    pub fn error(&self, quality: u8) -> f64 {
        self.error[usize::from(quality)]
    }

    /// Returns the probability of no error, like `qualToProb`.
    ///
    /// # Panics
    /// The quality is 255.
    pub fn correct(&self, quality: u8) -> f64 {
        1.0 - self.error(quality)
    }

    /// Returns the decimal logarithm of the probability of no error, like `qualToProbLog10`.
    ///
    /// # Panics
    /// The quality is 255.
    pub fn log10_correct(&self, quality: u8) -> f64 {
        self.log10_correct[usize::from(quality)]
    }
}

/// Returns the decimal logarithm of the probability of an error, like `qualToErrorProbLog10`. It is
/// the product with -0.1, whose last bit can differ from that of the quotient by -10.
pub fn log10_error(quality: f64) -> f64 {
    quality * -0.1
}

/// Returns the Phred-scaled likelihoods (PL) of genotypes from their decimal logarithms, the best
/// one 0, like `GenotypeLikelihoods.getAsPLs`.
pub fn phred_likelihoods(log10_likelihoods: &[f64]) -> Vec<i32> {
    let max = log10_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = |value: &f64| round((-10.0 * (value - max)).min(f64::from(i32::MAX))) as i32;
    log10_likelihoods.iter().map(scale).collect()
}

/// Returns the decimal logarithms that GATK reads back from PLs.
pub fn log10_likelihoods(pls: &[i32]) -> Vec<f64> {
    pls.iter().map(|&pl| f64::from(pl) / -10.0).collect()
}

/// Returns the decimal logarithm of the probability that the chosen genotype is wrong, like
/// `GenotypeLikelihoods.getGQLog10FromLikelihoods` of htsjdk: the difference to the best other
/// genotype, or if another one is better, that of the normalised probabilities. GQ is -10 times
/// this, rounded.
///
/// # Panics
/// There is no genotype with the index `chosen`.
pub fn log10_genotype_error(math: JavaMath, chosen: usize, log10_likelihoods: &[f64]) -> f64 {
    let others = log10_likelihoods.iter().enumerate().filter(|&(i, _)| i != chosen);
    let best_other = others.map(|(_, &value)| value).fold(f64::NEG_INFINITY, f64::max);
    let difference = log10_likelihoods[chosen] - best_other;
    if difference >= 0.0 {
        return -difference;
    }
    let max = log10_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let probability = |value: f64| math.pow(10.0, value - max);
    let sum = log10_likelihoods.iter().fold(0.0, |sum, &value| sum + probability(value));
    math.log10(1.0 - probability(log10_likelihoods[chosen]) / sum)
}

/// Returns the genotype quality of PLs: the difference of the two smallest, like
/// `calculateGQFromPLs`. Returns `None` if there are fewer than two.
pub fn genotype_quality(pls: &[i32]) -> Option<i32> {
    let (mut first, mut second) = (i32::MAX, i32::MAX);
    for &pl in pls {
        if pl < first {
            (first, second) = (pl, first);
        } else if pl < second {
            second = pl;
        }
    }
    (pls.len() >= 2).then(|| second - first)
}

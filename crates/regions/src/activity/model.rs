//! The probability that a locus differs from the reference, from the bases and indels over it.

use readmill_jmath::phred::{PhredTables, log10_error, log10_likelihoods, phred_likelihoods};
use readmill_jmath::{JavaMath, Log10Sums, log10_sums};

/// Smallest ploidy of the model, even if the sample has less.
const MIN_PLOIDY: usize = 2;
/// Largest ploidy that has priors here.
pub const MAX_PLOIDY: usize = 8;
/// Qualities that a base can have: Java's byte is negative beyond.
const QUALITIES: usize = 128;

/// Log10 of the unnormalised prior of n alternative alleles, for ploidies 2 to 8: GATK 4.6.2.0
/// `AlleleFrequencyCalculator` with the default heterozygosity (pseudocounts 10 and 0.01), computed by
/// commons-math 3.5.
const LOG10_PRIORS: [&[f64]; MAX_PLOIDY - MIN_PLOIDY + 1] = [
    &[9.59868444869371, 6.858321759199469, 5.561613137318128],
    &[10.677865694741337, 8.075805703413373, 7.038734392037793, 5.8648091947386165],
    &[11.791809047048174, 9.279925686069301, 8.381157072859995, 7.466869186066582, 6.34337569033246],
    &[
        12.937937082726412,
        10.490779051384193,
        9.68218706852398,
        8.906201879896843,
        8.04234569466848,
        6.946520062952642,
    ],
    &[
        14.114028341782088,
        11.716088333110056,
        10.972221679886497,
        10.28641312160845,
        9.560859634546366,
        8.72467131333629,
        7.646357788819888,
    ],
    &[
        15.318148324438013,
        12.959126381796347,
        12.264477751242973,
        11.64339452260158,
        11.008017665888588,
        10.310132042844787,
        9.491455828834146,
        8.425232260822627,
    ],
    &[
        16.548597245816286,
        14.221238311429959,
        13.565507746906952,
        12.993642540935744,
        12.422991013859406,
        11.815282021164695,
        11.134908505320332,
        10.328322247814574,
        9.270950278789286,
    ],
];

/// How active a locus is, and the soft clips next to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocusActivity {
    /// Probability that the sample is not homozygous for the reference.
    pub probability: f64,
    /// Mean number of soft-clipped bases of high quality, over the reads that are clipped next to this
    /// locus.
    pub soft_clip_mean: f64,
}

/// The model of one sample: reference against any other allele (GATK 4.6.2.0 `ReferenceConfidenceModel`
/// before assembly, and `AlleleFrequencyCalculator`).
///
/// A genotype is the number of alternative alleles, from 0 to the ploidy. Each base or deletion adds a
/// term to the log10 likelihood of each genotype. The terms depend only on the quality and on whether
/// the read differs from the reference there, so they are computed once.
#[derive(Clone, Debug)]
pub struct ActivityModel {
    sums: Log10Sums,
    ploidy: usize,
    log10_ploidy: f64,
    /// Terms of each genotype by quality, first of bases that agree with the reference.
    terms: Vec<f64>,
}

impl ActivityModel {
    /// Creates the model for a sample's ploidy, from 1 to [`MAX_PLOIDY`].
    ///
    /// # Panics
    /// The ploidy is beyond that.
    pub fn new(math: JavaMath, ploidy: usize) -> Self {
        assert!((1..=MAX_PLOIDY).contains(&ploidy), "no priors for ploidy {ploidy}");
        let ploidy = ploidy.max(MIN_PLOIDY);
        let sums = Log10Sums::new(math);
        let phred = PhredTables::new(math);
        let log10_third = -math.log10(3.0);
        let mut terms = Vec::with_capacity(2 * QUALITIES * (ploidy + 1));
        for is_different in [false, true] {
            for quality in 0..QUALITIES as u8 {
                let correct = phred.log10_correct(quality);
                let wrong = log10_error(f64::from(quality)) + log10_third;
                let (reference, other) = if is_different { (wrong, correct) } else { (correct, wrong) };
                push_terms(&mut terms, &sums, ploidy, reference, other);
            }
        }
        ActivityModel { log10_ploidy: math.log10(ploidy as f64), sums, ploidy, terms }
    }

    /// Returns the functions of the processor that the model was created with.
    pub fn math(&self) -> JavaMath {
        self.sums.math()
    }

    /// Returns the number of genotypes.
    pub fn genotypes(&self) -> usize {
        self.ploidy + 1
    }

    /// Returns the terms of each genotype for a base of this quality, from 0 to 127.
    pub(super) fn terms(&self, is_different: bool, quality: u8) -> &[f64] {
        let row = usize::from(is_different) * QUALITIES + usize::from(quality);
        &self.terms[row * self.genotypes()..][..self.genotypes()]
    }

    /// Returns the probability of a locus from the sums of the terms of `depth` bases and deletions.
    ///
    /// GATK rounds the likelihoods to PLs, so that a reference genotype within 0.05 of the best one
    /// counts as the best.
    pub fn probability(&self, term_sums: &[f64], depth: u32) -> f64 {
        let scale = f64::from(depth) * self.log10_ploidy;
        let mut likelihoods = [0.0; MAX_PLOIDY + 1];
        let likelihoods = &mut likelihoods[..self.genotypes()];
        for (likelihood, sum) in likelihoods.iter_mut().zip(term_sums) {
            *likelihood = sum - scale;
        }
        if log10_sums::find_max(likelihoods) == Some(0) {
            return 0.0; // its PL is 0
        }
        self.probability_of_pls(&phred_likelihoods(likelihoods))
    }

    /// Returns the posterior probability that there is an alternative allele, or 0 if the reference is
    /// the best genotype before or after the prior.
    fn probability_of_pls(&self, pls: &[i32]) -> f64 {
        let mut posteriors = log10_likelihoods(pls);
        if log10_sums::find_max(&posteriors) == Some(0) {
            return 0.0;
        }
        let priors = LOG10_PRIORS[self.ploidy - MIN_PLOIDY];
        posteriors.iter_mut().zip(priors).for_each(|(posterior, prior)| *posterior += prior);
        if log10_sums::find_max(&posteriors) == Some(0) {
            return 0.0;
        }
        self.sums.normalize(&mut posteriors);
        1.0 - self.sums.math().pow(10.0, posteriors[0])
    }
}

/// Appends the term of each genotype for a read with these likelihoods of both alleles.
fn push_terms(terms: &mut Vec<f64>, sums: &Log10Sums, ploidy: usize, reference: f64, other: f64) {
    let log10 = |n: usize| sums.math().log10(n as f64);
    terms.push(reference + log10(ploidy));
    for n in 1..ploidy {
        terms.push(sums.add_approximately(reference + log10(ploidy - n), other + log10(n)));
    }
    terms.push(other + log10(ploidy));
}

//! Frequencies of alleles, and the probabilities that alleles are absent.

use readmill_jmath::Log10Sums;
use readmill_jmath::phred::log10_likelihoods;
use readmill_jmath::rounding::round;

use crate::alleles::Allele;
use crate::genotype_list::GenotypeList;

/// Counts of alleles that are seen before any read, from a heterozygosity of 0.001 for
/// substitutions and 0.000125 for insertions and deletions, and a standard deviation of 0.01.
const REFERENCE_COUNT: f64 = 10.0;
const SUBSTITUTION_COUNT: f64 = 0.01;
const INDEL_COUNT: f64 = 0.00125;

/// Counts have converged if none changes by more.
const MAX_CHANGE: f64 = 0.1;

/// Added to the logarithm of the probability of absence before the comparison with a threshold, so
/// that a threshold of 0 keeps no allele without evidence.
const EPSILON: f64 = 1e-10;

/// What the likelihoods of genotypes say about the alleles of a locus.
#[derive(Clone, Debug, PartialEq)]
pub struct AlleleFrequencies {
    /// Count of each alternate allele at the maximum likelihood.
    pub mle_counts: Vec<i32>,
    /// Decimal logarithm of the probability that no sample has an alternate allele but `*`.
    pub log10_no_variant: f64,
    /// For each alternate allele, the decimal logarithm of the probability that no sample has it.
    pub log10_absent: Vec<f64>,
}

impl AlleleFrequencies {
    /// Returns whether an alternate allele, counted from 0, is present with at least a
    /// Phred-scaled confidence.
    pub fn is_plausible(&self, alternate: usize, min_confidence: f64) -> bool {
        self.log10_absent[alternate] + EPSILON < min_confidence * -0.1
    }
}

/// Estimates the frequencies of alleles by expectation maximisation under a Dirichlet prior, like
/// `AlleleFrequencyCalculator` of GATK 4.6.2.0. `pls` has the Phred-scaled likelihoods of each
/// sample, of the genotypes at the start of `genotypes`.
///
/// ```
/// use readmill_genotypes::{Allele, GenotypeList, estimate_frequencies};
/// use readmill_jmath::{JavaMath, Log10Sums};
///
/// let sums = Log10Sums::new(JavaMath::of_this_processor());
/// let genotypes = GenotypeList::new(sums.math(), 2, 2);
/// let alleles = [Allele::Reference(b"A".to_vec()), Allele::Alternate(b"T".to_vec())];
/// let frequencies = estimate_frequencies(&sums, &genotypes, &alleles, &[vec![900, 0, 900]]);
/// assert_eq!(frequencies.mle_counts, [1]);
/// assert!(frequencies.is_plausible(0, 30.0));
/// ```
pub fn estimate_frequencies(
    sums: &Log10Sums,
    genotypes: &GenotypeList,
    alleles: &[Allele],
    pls: &[Vec<i32>],
) -> AlleleFrequencies {
    let likelihoods: Vec<Vec<f64>> = pls.iter().map(|pls| log10_likelihoods(pls)).collect();
    let model = Model { sums, genotypes, alleles, likelihoods };
    let (counts, log10_frequencies) = model.converge();
    let (log10_no_variant, log10_absent) = model.find_absence(&log10_frequencies);
    AlleleFrequencies {
        mle_counts: counts[1..].iter().map(|&count| round(count) as i32).collect(),
        log10_no_variant,
        log10_absent,
    }
}

struct Model<'a> {
    sums: &'a Log10Sums,
    genotypes: &'a GenotypeList,
    alleles: &'a [Allele],
    likelihoods: Vec<Vec<f64>>,
}

impl Model<'_> {
    /// Returns the effective counts and the decimal logarithms of the frequencies of all alleles.
    fn converge(&self) -> (Vec<f64>, Vec<f64>) {
        let math = self.sums.math();
        let prior: Vec<f64> = self.alleles.iter().map(|allele| self.prior_count(allele)).collect();
        let mut counts = vec![0.0; self.alleles.len()];
        let mut log10_frequencies = vec![-math.log10(self.alleles.len() as f64); self.alleles.len()];
        loop {
            let new_counts = self.count_alleles(&log10_frequencies);
            let changes = counts.iter().zip(&new_counts).map(|(old, new): (&f64, _)| (old - new).abs());
            let change = changes.fold(0.0, f64::max);
            counts = new_counts;
            let posterior: Vec<f64> = prior.iter().zip(&counts).map(|(a, b)| a + b).collect();
            let total = posterior.iter().fold(0.0, |sum, count| sum + count);
            log10_frequencies = posterior.iter().map(|count| math.log10(count / total)).collect();
            if change <= MAX_CHANGE {
                return (counts, log10_frequencies);
            }
        }
    }

    fn prior_count(&self, allele: &Allele) -> f64 {
        if allele.is_reference() {
            REFERENCE_COUNT
        } else if allele.length() == self.alleles[0].length() {
            SUBSTITUTION_COUNT
        } else {
            INDEL_COUNT
        }
    }

    /// Returns the expected number of chromosomes that carry each allele.
    fn count_alleles(&self, log10_frequencies: &[f64]) -> Vec<f64> {
        let math = self.sums.math();
        let mut log10_counts = vec![f64::NEG_INFINITY; log10_frequencies.len()];
        for likelihoods in &self.likelihoods {
            let posteriors = self.find_posteriors(likelihoods, log10_frequencies);
            for (genotype, posterior) in posteriors.iter().enumerate() {
                for component in self.genotypes.components(genotype) {
                    let log10_count = &mut log10_counts[component.allele];
                    let added = posterior + math.log10(component.count as f64);
                    *log10_count = self.sums.add(*log10_count, added);
                }
            }
        }
        log10_counts.iter().map(|&count| math.pow(10.0, count)).collect()
    }

    /// Returns the normalised posterior probabilities of genotypes, as decimal logarithms.
    fn find_posteriors(&self, likelihoods: &[f64], log10_frequencies: &[f64]) -> Vec<f64> {
        let posterior = |(genotype, likelihood): (usize, &f64)| {
            let prior = self.genotypes.components(genotype).iter();
            let prior = prior.fold(0.0, |sum, it| sum + it.count as f64 * log10_frequencies[it.allele]);
            self.genotypes.log10_combinations(genotype) + likelihood + prior
        };
        let mut posteriors: Vec<f64> = likelihoods.iter().enumerate().map(posterior).collect();
        self.sums.normalize(&mut posteriors);
        posteriors
    }

    /// Returns the decimal logarithms of the probabilities that the site is no variant, and that
    /// each alternate allele is absent.
    fn find_absence(&self, log10_frequencies: &[f64]) -> (f64, Vec<f64>) {
        let spanning = self.alleles.iter().position(|allele| *allele == Allele::SpanningDeletion);
        let is_biallelic = self.alleles.len() == 2 && spanning.is_none();
        let mut no_variant = 0.0;
        let mut absent = vec![0.0; self.alleles.len() - 1];
        for likelihoods in &self.likelihoods {
            let posteriors = self.find_posteriors(likelihoods, log10_frequencies);
            no_variant += match spanning {
                None => posteriors[0],
                Some(spanning) => {
                    self.sum_without(&posteriors, |allele| allele != 0 && allele != spanning)
                }
            };
            if !is_biallelic {
                for (i, sum) in absent.iter_mut().enumerate() {
                    *sum += self.sum_without(&posteriors, |allele| allele == i + 1);
                }
            }
        }
        if is_biallelic {
            absent[0] = no_variant;
        }
        (no_variant, absent)
    }

    /// Sums the probabilities of the genotypes without an allele that is excluded. The logarithm is
    /// at most 0.
    fn sum_without(&self, posteriors: &[f64], excludes: impl Fn(usize) -> bool) -> f64 {
        let is_included =
            |genotype| !self.genotypes.components(genotype).iter().any(|it| excludes(it.allele));
        let included = (0..posteriors.len()).filter(|&genotype| is_included(genotype));
        let sum = self.sums.sum(&included.map(|genotype| posteriors[genotype]).collect::<Vec<_>>());
        if sum > 0.0 { 0.0 } else { sum }
    }
}

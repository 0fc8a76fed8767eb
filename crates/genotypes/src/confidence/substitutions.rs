//! Likelihoods of reads if a position has the base of the reference, or any other.

use readmill_jmath::Log10Sums;
use readmill_jmath::phred::{PhredTables, log10_error};

/// Number of qualities: as in Java, those above 127 are negative, and no base with them counts.
const QUALITIES: usize = 128;

/// What a base adds to the likelihood of each genotype, by its quality and whether it is the
/// reference.
#[derive(Clone, Debug)]
pub(super) struct SubstitutionTerms {
    genotypes: usize,
    log10_ploidy: f64,
    /// By whether the base differs, quality and genotype.
    terms: Vec<f64>,
}

impl SubstitutionTerms {
    /// Computes the terms, like `applyPileupElementRefVsNonRefLikelihoodAndCount` of GATK 4.6.2.0
    /// `ReferenceConfidenceModel`.
    pub(super) fn new(sums: &Log10Sums, ploidy: usize) -> Self {
        let math = sums.math();
        let log10_ploidy = math.log10(ploidy as f64);
        let log10_third = -math.log10(3.0);
        let phred = PhredTables::new(math);
        let mut terms = Vec::with_capacity(2 * QUALITIES * (ploidy + 1));
        for differs in [false, true] {
            for quality in 0..QUALITIES as u8 {
                let same = phred.log10_correct(quality);
                let other = log10_error(f64::from(quality)) + log10_third;
                let (reference, variant) = if differs { (other, same) } else { (same, other) };
                terms.push(reference + log10_ploidy);
                terms.extend((1..ploidy).map(|copies| {
                    sums.add_approximately(
                        reference + math.log10((ploidy - copies) as f64),
                        variant + math.log10(copies as f64),
                    )
                }));
                terms.push(variant + log10_ploidy);
            }
        }
        SubstitutionTerms { genotypes: ploidy + 1, log10_ploidy, terms }
    }

    /// Returns the number of genotypes: 0 to ploidy copies of another base.
    pub(super) fn genotypes(&self) -> usize {
        self.genotypes
    }

    /// Adds a base to the likelihoods of genotypes.
    #[inline]
    pub(super) fn add(&self, differs: bool, quality: u8, likelihoods: &mut [f64]) {
        let row = usize::from(differs) * QUALITIES + usize::from(quality);
        let terms = &self.terms[row * self.genotypes..][..self.genotypes];
        likelihoods.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }

    /// Divides by the number of ways to choose a chromosome for each of the bases.
    pub(super) fn finish(&self, bases: usize, likelihoods: &mut [f64]) {
        let scale = bases as f64 * self.log10_ploidy;
        likelihoods.iter_mut().for_each(|value| *value -= scale);
    }
}

//! Likelihoods of reads if a position has an insertion or deletion, or none.

use readmill_jmath::Log10Sums;
use readmill_jmath::phred::{PhredTables, log10_error, log10_genotype_error, phred_likelihoods};

/// Reads without a plausible indel beyond this number do not count.
pub(super) const MAX_INFORMATIVE_READS: usize = 40;

/// Phred-scaled probability of an indel error at a base.
const INDEL_QUALITY: u8 = 45;

/// Likelihoods of genotypes with the reference and any indel, by the number of informative reads.
#[derive(Clone, Debug)]
pub(super) struct IndelLikelihoods {
    rows: Vec<IndelRow>,
}

/// The likelihoods for one number of reads.
#[derive(Clone, Debug)]
pub(super) struct IndelRow {
    /// Logarithm of the probability that the reference is wrong.
    pub log10_error: f64,
    /// Phred-scaled likelihoods.
    pub pls: Vec<i32>,
}

impl IndelLikelihoods {
    /// Computes the likelihoods like `getIndelPLs` of GATK 4.6.2.0 `ReferenceConfidenceModel`.
    pub(super) fn new(sums: &Log10Sums, ploidy: usize) -> Self {
        let math = sums.math();
        let no_indel = PhredTables::new(math).log10_correct(INDEL_QUALITY);
        let indel = log10_error(f64::from(INDEL_QUALITY));
        let scale = -math.log10(ploidy as f64);
        let row = |reads: usize| {
            let genotype = |copies: usize| match (reads, copies) {
                (0, _) => 0.0,
                (_, 0) => reads as f64 * no_indel,
                _ => {
                    let reference = no_indel + math.log10((ploidy - copies) as f64);
                    let variant = indel + math.log10(copies as f64);
                    reads as f64 * (sums.add_approximately(reference, variant) + scale)
                }
            };
            let likelihoods: Vec<f64> = (0..=ploidy).map(genotype).collect();
            IndelRow {
                log10_error: log10_genotype_error(math, 0, &likelihoods),
                pls: phred_likelihoods(&likelihoods),
            }
        };
        IndelLikelihoods { rows: (0..=MAX_INFORMATIVE_READS).map(row).collect() }
    }

    /// Returns the likelihoods for a number of informative reads, at most
    /// [`MAX_INFORMATIVE_READS`].
    pub(super) fn row(&self, reads: usize) -> &IndelRow {
        &self.rows[reads]
    }
}

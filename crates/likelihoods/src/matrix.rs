//! Likelihoods of the reads of a region given its haplotypes, and what GATK does with them before it
//! genotypes.

use crate::{EmptySequence, HmmRead, PairHmm};

/// Maximum difference to the best likelihood of a read at which another haplotype can be preferred,
/// and up to which the read is not informative: `LOG_10_INFORMATIVE_THRESHOLD` of GATK.
pub const INFORMATIVE_THRESHOLD: f64 = 0.2;

/// Maximum difference between the likelihoods of a read: GATK's default of
/// `--phred-scaled-global-read-mismapping-rate`, as a decimal logarithm.
pub const DEFAULT_MISMAPPING_RATE: f64 = 45.0 * -0.1;

/// Expected share of wrong bases of a read: GATK's default of
/// `--expected-mismatch-rate-for-read-disqualification`.
pub const DEFAULT_EXPECTED_ERROR_RATE: f64 = 0.02;

/// Decimal logarithms of the likelihoods of reads given haplotypes. A row has the likelihoods of all
/// reads given one haplotype.
///
/// ```
/// use readmill_likelihoods::LikelihoodMatrix;
///
/// let mut matrix = LikelihoodMatrix::default();
/// matrix.reset(2, 3);
/// matrix.row_mut(0).copy_from_slice(&[-1.0, -9.0, -30.0]);
/// matrix.row_mut(1).copy_from_slice(&[-7.0, -8.9, -31.0]);
/// matrix.cap_differences(-4.5);
/// assert_eq!(matrix.row(1), [-5.5, -8.9, -31.0]);
///
/// // The reference haplotype is preferred if the read fits it nearly as well.
/// let best = matrix.find_best_haplotype(1, Some(&[1.0, 0.0])).expect("there are haplotypes");
/// assert_eq!((best.haplotype, best.is_informative()), (0, false));
///
/// // Reads of 100 bases may have 2 wrong bases of quality 40.
/// let dropped = matrix.remove_poor_reads(|_| 100, 0.02);
/// assert_eq!(dropped, [1, 2]);
/// assert_eq!(matrix.row(0), [-1.0]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LikelihoodMatrix {
    values: Vec<f64>,
    haplotypes: usize,
    reads: usize,
}

/// The haplotype to which a read fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestHaplotype {
    /// Its index.
    pub haplotype: usize,
    /// The likelihood of the read given this haplotype.
    pub likelihood: f64,
    /// The index of the second best haplotype, or the same if there is one haplotype only.
    pub second: usize,
    /// The likelihood of the read given the second best haplotype, or -infinity if there is none.
    pub second_likelihood: f64,
}

impl BestHaplotype {
    /// Returns by how much the likelihood exceeds the second best. It is negative if a haplotype of
    /// higher priority was preferred to one that fits better.
    pub fn confidence(&self) -> f64 {
        // Infinities may be equal.
        if self.likelihood == self.second_likelihood {
            0.0
        } else {
            self.likelihood - self.second_likelihood
        }
    }

    /// Returns whether the read tells the two best haplotypes apart.
    pub fn is_informative(&self) -> bool {
        self.confidence() > INFORMATIVE_THRESHOLD
    }
}

/// Returns the priority of a haplotype for [`LikelihoodMatrix::find_best_haplotype`] when reads are
/// aligned to their best haplotype, like `HAPLOTYPE_ALIGNMENT_TIEBREAKING_PRIORITY` of GATK: the
/// reference is preferred, and fewer elements of the CIGAR are.
pub fn alignment_priority(is_reference: bool, cigar_elements: usize) -> f64 {
    f64::from(u8::from(is_reference)) + (1.0 - cigar_elements as f64)
}

impl LikelihoodMatrix {
    /// Changes the size, and sets all likelihoods to 0. Memory is kept.
    pub fn reset(&mut self, haplotypes: usize, reads: usize) {
        self.values.clear();
        self.values.resize(haplotypes * reads, 0.0);
        (self.haplotypes, self.reads) = (haplotypes, reads);
    }

    /// Computes the likelihoods of all reads given all haplotypes by the pair HMM.
    ///
    /// # Errors
    /// A read or a haplotype has no bases.
    pub fn compute(
        &mut self,
        hmm: &mut PairHmm,
        reads: &[HmmRead<'_>],
        haplotypes: &[&[u8]],
    ) -> Result<(), EmptySequence> {
        self.reset(haplotypes.len(), reads.len());
        hmm.compute(reads, haplotypes, &mut self.values)
    }

    /// Returns the number of haplotypes.
    pub fn haplotypes(&self) -> usize {
        self.haplotypes
    }

    /// Returns the number of reads.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Returns the likelihoods of all reads given a haplotype.
    ///
    /// # Panics
    /// There is no such haplotype.
    pub fn row(&self, haplotype: usize) -> &[f64] {
        assert!(haplotype < self.haplotypes);
        &self.values[haplotype * self.reads..][..self.reads]
    }

    /// Returns the likelihoods of all reads given a haplotype, to change them.
    ///
    /// # Panics
    /// There is no such haplotype.
    pub fn row_mut(&mut self, haplotype: usize) -> &mut [f64] {
        assert!(haplotype < self.haplotypes);
        &mut self.values[haplotype * self.reads..][..self.reads]
    }

    /// Returns the likelihoods of a read given all haplotypes.
    fn column(&self, read: usize) -> impl Iterator<Item = f64> + '_ {
        assert!(read < self.reads);
        self.values.iter().skip(read).step_by(self.reads).copied()
    }

    /// Raises likelihoods so that those of a read differ by at most `-max_difference`, if there are
    /// several haplotypes, like `normalizeLikelihoods` of GATK 4.6.2.0. -infinity changes nothing.
    ///
    /// # Panics
    /// `max_difference` is not negative.
    pub fn cap_differences(&mut self, max_difference: f64) {
        assert!(max_difference < 0.0, "the difference to the best likelihood is negative");
        if self.haplotypes < 2 || max_difference == f64::NEG_INFINITY {
            return;
        }
        for read in 0..self.reads {
            let min = self.column(read).fold(f64::NEG_INFINITY, f64::max) + max_difference;
            for value in self.values.iter_mut().skip(read).step_by(self.reads) {
                if *value < min {
                    *value = min;
                }
            }
        }
    }

    /// Removes reads that fit no haplotype, and returns their indices, like
    /// `filterPoorlyModeledEvidence` of GATK 4.6.2.0.
    ///
    /// A read may have errors at a share of its bases, but at 2 at most, rounded up. Each has a
    /// likelihood of 10^-4. `length` returns the number of bases of a read.
    pub fn remove_poor_reads(
        &mut self,
        length: impl Fn(usize) -> usize,
        expected_error_rate: f64,
    ) -> Vec<usize> {
        let is_poor = |read: usize| {
            let errors = (length(read) as f64 * expected_error_rate).ceil().min(2.0);
            self.column(read).fold(f64::NEG_INFINITY, f64::max) < errors * -4.0
        };
        let poor: Vec<usize> = (0..self.reads).filter(|&read| is_poor(read)).collect();
        if !poor.is_empty() {
            let mut is_kept = vec![true; self.reads];
            poor.iter().for_each(|&read| is_kept[read] = false);
            let mut is_kept = is_kept.iter().cycle();
            self.values.retain(|_| is_kept.next() == Some(&true));
            self.reads -= poor.len();
        }
        poor
    }

    /// Returns the haplotype to which a read fits best, the first of equals, and the second best, like
    /// `searchBestAllele` of GATK 4.6.2.0. Returns `None` if there are no haplotypes.
    ///
    /// With priorities, and if the two differ by less than [`INFORMATIVE_THRESHOLD`], the haplotype of
    /// the highest priority is chosen among those that differ from the best by no more.
    ///
    /// # Panics
    /// There is no such read, or fewer priorities than haplotypes.
    pub fn find_best_haplotype(&self, read: usize, priorities: Option<&[f64]>) -> Option<BestHaplotype> {
        let mut ranks = HaplotypeRanks::start(self.column(read).next()?);
        for (haplotype, likelihood) in self.column(read).enumerate().skip(1) {
            ranks.add(haplotype, likelihood);
        }
        if let Some(priorities) = priorities
            && ranks.best.1 - ranks.second.1 < INFORMATIVE_THRESHOLD
        {
            let (_, likelihood) = ranks.best;
            let prioritize = |(haplotype, _): (usize, f64)| (haplotype, priorities[haplotype]);
            ranks = HaplotypeRanks { best: prioritize(ranks.best), second: prioritize(ranks.second) };
            for (haplotype, candidate) in self.column(read).enumerate() {
                // GATK skips the haplotype that is preferred at this time, which need not be the first.
                if haplotype != ranks.best.0 && likelihood - candidate <= INFORMATIVE_THRESHOLD {
                    ranks.add(haplotype, priorities[haplotype]);
                }
            }
        }
        let (haplotype, second) = (ranks.best.0, ranks.second.0);
        let likelihood = |haplotype: usize| self.values[haplotype * self.reads + read];
        let second_likelihood = if second == haplotype { f64::NEG_INFINITY } else { likelihood(second) };
        Some(BestHaplotype { haplotype, likelihood: likelihood(haplotype), second, second_likelihood })
    }
}

/// The best and the second best haplotype up to now: their indices and values.
struct HaplotypeRanks {
    best: (usize, f64),
    second: (usize, f64),
}

impl HaplotypeRanks {
    fn start(value: f64) -> Self {
        HaplotypeRanks { best: (0, value), second: (0, f64::NEG_INFINITY) }
    }

    fn add(&mut self, haplotype: usize, value: f64) {
        if value > self.best.1 {
            self.second = std::mem::replace(&mut self.best, (haplotype, value));
        } else if value > self.second.1 {
            self.second = (haplotype, value);
        }
    }
}

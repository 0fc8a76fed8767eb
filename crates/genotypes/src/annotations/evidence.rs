//! Reads that support an allele, and what is counted of them.

use crate::alleles::SampleGenotype;
use crate::annotations::elements::{AnnotatedRead, UNKNOWN_MAPPING_QUALITY};
use crate::annotations::strand::StrandCounts;
use crate::marginal::AlleleLikelihoods;

/// Difference of decimal logarithms above which the best allele of a read is believed.
const INFORMATIVE_THRESHOLD: f64 = 0.2;

/// The reads of one sample at a variant, with their likelihoods.
#[derive(Clone, Copy, Debug)]
pub struct SampleEvidence<'a> {
    /// Reads that were genotyped, and then those that count for depth only.
    pub reads: &'a [AnnotatedRead<'a>],
    /// Likelihoods of these reads given the alleles of the site: those of the call, and those that
    /// were dropped. The reference is the first.
    pub likelihoods: &'a AlleleLikelihoods,
}

impl SampleEvidence<'_> {
    /// Returns the allele among `alleles` that a read supports, or `None` if the read is not
    /// informative, like `bestAllelesBreakingTies`.
    ///
    /// GATK takes the reference if it is almost as good as the best allele, but such a read is not
    /// informative anyway.
    pub(super) fn supported_allele(
        &self,
        read: usize,
        alleles: impl IntoIterator<Item = usize>,
    ) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        let mut second = f64::NEG_INFINITY;
        for allele in alleles {
            let value = self.likelihoods.row(allele)[read];
            match best {
                Some((_, max)) if value > max => {
                    second = max;
                    best = Some((allele, value));
                }
                Some(_) if value > second => second = value,
                Some(_) => (),
                None => best = Some((allele, value)),
            }
        }
        best.filter(|&(_, max)| max != second && max - second > INFORMATIVE_THRESHOLD)
            .map(|(allele, _)| allele)
    }

    /// Counts informative reads by allele and strand (`SB`). `is_called` says of each allele of the
    /// site whether the call has it.
    pub(super) fn count_strands(&self, is_called: &[bool]) -> StrandCounts {
        let mut counts = StrandCounts::default();
        for (index, read) in self.reads.iter().enumerate() {
            if let Some(allele) =
                self.supported_allele(index, 0..is_called.len()).filter(|&it| is_called[it])
            {
                counts[usize::from(allele != 0) * 2 + usize::from(read.is_reverse)] += 1;
            }
        }
        counts
    }

    /// Sets `AD` and `DP` of a called genotype: informative reads of each allele of the call, and
    /// their sum. `called` are the alleles of the call among those of the site.
    pub(super) fn set_depths(&self, called: &[usize], genotype: &mut SampleGenotype) {
        let mut depths = vec![0; called.len()];
        for read in 0..self.reads.len() {
            let positions = (0..called.len()).map(|position| called[position]);
            let supported = self.supported_allele(read, positions);
            if let Some(position) = called.iter().position(|&allele| Some(allele) == supported) {
                depths[position] += 1;
            }
        }
        genotype.depth = Some(depths.iter().sum());
        genotype.allele_depths = Some(depths);
    }
}

/// Sum of squares of the mapping qualities of reads, and the number of reads (`RAW_MQandDP`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingQualities {
    /// Sum of the squares.
    pub squares: i64,
    /// Number of reads with a known mapping quality.
    pub reads: i64,
}

impl MappingQualities {
    /// Adds a read, unless its mapping quality is 255: unknown.
    pub fn add(&mut self, mapping_quality: u8) {
        if mapping_quality != UNKNOWN_MAPPING_QUALITY {
            self.squares += i64::from(mapping_quality) * i64::from(mapping_quality);
            self.reads += 1;
        }
    }

    /// Returns the root of the mean square (`MQ`), NaN of no read.
    pub fn root_mean_square(self) -> f64 {
        (self.squares as f64 / self.reads as f64).sqrt()
    }
}

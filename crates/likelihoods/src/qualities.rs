//! Qualities with which a read enters the pair HMM.

use std::error::Error;
use std::fmt;

use readmill_jmath::JavaMath;
use readmill_jmath::rounding::fast_round;

use crate::repeats::{MAX_REPEATS, count_repeats};

/// Insertion and deletion quality of reads without the tags `BI` and `BD`.
pub const DEFAULT_INDEL_QUALITY: u8 = 45;

/// Quality that replaces qualities that are too low.
const MIN_USABLE: u8 = 6;

/// How much less probable PCR makes indels in repeats, `--pcr-indel-model` of GATK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PcrIndelModel {
    /// Qualities of insertions and deletions stay.
    None,
    /// Lowers qualities fastest with the number of repeats.
    Hostile,
    /// Lowers qualities faster than [`PcrIndelModel::Conservative`].
    Aggressive,
    /// GATK's default.
    #[default]
    Conservative,
}

impl PcrIndelModel {
    fn rate_factor(self) -> Option<f64> {
        match self {
            PcrIndelModel::None => None,
            PcrIndelModel::Hostile => Some(1.0),
            PcrIndelModel::Aggressive => Some(2.0),
            PcrIndelModel::Conservative => Some(3.0),
        }
    }
}

/// A read as the pair HMM takes it. All slices have the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HmmRead<'a> {
    /// Bases: `A`, `C`, `G`, `T` or `N`. GKL takes every other byte for `A`.
    pub bases: &'a [u8],
    /// Phred-scaled probability that a base is wrong.
    pub base_qualities: &'a [u8],
    /// Phred-scaled probability that an insertion starts.
    pub insertion_qualities: &'a [u8],
    /// Phred-scaled probability that a deletion starts.
    pub deletion_qualities: &'a [u8],
    /// Phred-scaled probability that a gap continues.
    pub gap_continuations: &'a [u8],
}

/// The qualities of a read before they are prepared.
#[derive(Clone, Copy, Debug)]
pub struct SequencedRead<'a> {
    /// The bases as they are stored.
    pub bases: &'a [u8],
    /// Base qualities, as many as bases.
    pub base_qualities: &'a [u8],
    /// Insertion qualities of the tag `BI`, as many as bases.
    pub insertion_qualities: Option<&'a [u8]>,
    /// Deletion qualities of the tag `BD`, as many as bases.
    pub deletion_qualities: Option<&'a [u8]>,
    /// MAPQ, which caps base qualities.
    pub mapping_quality: u8,
}

/// A read has another number of qualities than of bases. GATK throws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalLengths {
    /// Number of bases.
    pub bases: usize,
    /// Number of the qualities that differs.
    pub qualities: usize,
}

impl fmt::Display for UnequalLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the read has {} bases, but {} qualities", self.bases, self.qualities)
    }
}

impl Error for UnequalLengths {}

/// Prepares qualities of reads like GATK's `PairHMMLikelihoodCalculationEngine`, before it runs the
/// pair HMM.
///
/// Base qualities are capped at the mapping quality. Those below a threshold become 6, as do
/// insertion and deletion qualities below 6. The PCR model caps insertion and deletion qualities in
/// tandem repeats.
///
/// ```
/// use readmill_jmath::JavaMath;
/// use readmill_likelihoods::{PcrIndelModel, QualityModel, HmmReads, SequencedRead};
///
/// let model = QualityModel::new(JavaMath::of_this_processor(), PcrIndelModel::Conservative);
/// let mut reads = HmmReads::default();
/// model.prepare_read(
///     SequencedRead {
///         bases: b"CAAAAAAAAG",
///         base_qualities: &[17, 18, 30, 30, 30, 30, 30, 30, 30, 30],
///         insertion_qualities: None,
///         deletion_qualities: None,
///         mapping_quality: 20,
///     },
///     &mut reads,
/// )?;
/// let read = reads.get(0);
/// assert_eq!(read.base_qualities, [6, 18, 20, 20, 20, 20, 20, 20, 20, 20]);
/// assert_eq!(read.insertion_qualities, [39, 39, 39, 39, 39, 39, 39, 39, 40, 45]);
/// # Ok::<(), readmill_likelihoods::UnequalLengths>(())
/// ```
#[derive(Clone, Debug)]
pub struct QualityModel {
    /// Maximum insertion and deletion quality by number of repeats.
    indel_caps: Option<[u8; MAX_REPEATS + 1]>,
    base_quality_threshold: u8,
    gap_continuation: u8,
}

impl QualityModel {
    /// Returns a model with GATK's defaults: base qualities below 18 become 6, and gaps continue with
    /// quality 10.
    pub fn new(math: JavaMath, pcr: PcrIndelModel) -> Self {
        let cap = |repeats: usize, factor: f64| {
            let rate = math.exp(repeats as f64 / (factor * std::f64::consts::PI));
            fast_round(40.0 - rate + 1.0).max(10) as u8
        };
        let caps = |factor| std::array::from_fn(|repeats| cap(repeats, factor));
        QualityModel {
            indel_caps: pcr.rate_factor().map(caps),
            base_quality_threshold: 18,
            gap_continuation: 10,
        }
    }

    /// Adds a read with its prepared qualities to `reads`.
    ///
    /// # Errors
    /// A slice of qualities is not as long as the bases.
    pub fn prepare_read(
        &self,
        read: SequencedRead<'_>,
        reads: &mut HmmReads,
    ) -> Result<(), UnequalLengths> {
        let SequencedRead { bases, base_qualities, mapping_quality, .. } = read;
        let indels = [read.insertion_qualities, read.deletion_qualities];
        for qualities in indels.into_iter().flatten().chain([base_qualities]) {
            if qualities.len() != bases.len() {
                return Err(UnequalLengths { bases: bases.len(), qualities: qualities.len() });
            }
        }
        reads.bytes.extend_from_slice(bases);
        let usable = |quality: u8| {
            let quality = quality.min(mapping_quality);
            // Java's bytes have a sign, so 128 and more are too low as well.
            if (self.base_quality_threshold..128).contains(&quality) { quality } else { MIN_USABLE }
        };
        reads.bytes.extend(base_qualities.iter().map(|&quality| usable(quality)));
        let first_indel = reads.bytes.len();
        for qualities in indels {
            match qualities {
                Some(qualities) => reads.bytes.extend_from_slice(qualities),
                None => reads.bytes.resize(reads.bytes.len() + bases.len(), DEFAULT_INDEL_QUALITY),
            }
        }
        self.limit_indel_qualities(bases, &mut reads.bytes[first_indel..]);
        reads.bytes.resize(reads.bytes.len() + bases.len(), self.gap_continuation);
        reads.ends.push(reads.bytes.len());
        Ok(())
    }

    /// Limits the insertion qualities of a read, and its deletion qualities, which follow.
    fn limit_indel_qualities(&self, bases: &[u8], qualities: &mut [u8]) {
        let (insertions, deletions) = qualities.split_at_mut(bases.len());
        if let Some(caps) = &self.indel_caps {
            // The PCR model does not apply after the last base.
            for offset in 0..bases.len().saturating_sub(1) {
                let cap = caps[count_repeats(bases, offset)];
                insertions[offset] = insertions[offset].min(cap);
                deletions[offset] = deletions[offset].min(cap);
            }
        }
        for quality in insertions.iter_mut().chain(deletions) {
            if !(MIN_USABLE..128).contains(quality) {
                *quality = MIN_USABLE;
            }
        }
    }
}

/// Reads with prepared qualities, in one buffer.
#[derive(Clone, Debug, Default)]
pub struct HmmReads {
    /// For each read: bases, base, insertion and deletion qualities, and gap continuations.
    bytes: Vec<u8>,
    /// The end of each read in `bytes`.
    ends: Vec<usize>,
}

impl HmmReads {
    /// Removes all reads, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of reads.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no reads.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns a read by its index, in the order of [`QualityModel::prepare_read`].
    ///
    /// # Panics
    /// There is no such read.
    pub fn get(&self, index: usize) -> HmmRead<'_> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let bytes = &self.bytes[start..self.ends[index]];
        let slice = |part: usize| {
            let length = bytes.len() / 5;
            &bytes[part * length..(part + 1) * length]
        };
        HmmRead {
            bases: slice(0),
            base_qualities: slice(1),
            insertion_qualities: slice(2),
            deletion_qualities: slice(3),
            gap_continuations: slice(4),
        }
    }

    /// Iterates in the order of [`QualityModel::prepare_read`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = HmmRead<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }
}

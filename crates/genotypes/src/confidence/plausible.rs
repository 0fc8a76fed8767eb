//! Positions of a read at which an indel would explain its bases as well as none.

use readmill_pairwise::{Cigar, CigarOperator};

/// Stands for a reference base that the read lacks.
const GAP: u8 = b'-';

/// Length up to which indels are considered (`--indel-size-to-eliminate-in-ref-model`).
pub(super) const MAX_INDEL_LENGTH: usize = 10;

/// Bases of a read and their qualities, one per base of the reference.
///
/// If the CIGAR has an indel, inserted and soft-clipped bases are left out, deleted ones are gaps, and
/// zeros at the end stand for soft-clipped bases, like
/// `AlignmentUtils.getBasesAndBaseQualitiesAlignedOneToOne` of GATK 4.6.2.0.
struct AlignedBases {
    bases: Vec<u8>,
    qualities: Vec<u8>,
}

impl AlignedBases {
    fn new(cigar: &Cigar, bases: &[u8], qualities: &[u8]) -> Self {
        if !cigar.iter().any(|element| element.operator().is_indel()) {
            return AlignedBases { bases: bases.to_vec(), qualities: qualities.to_vec() };
        }
        let length = cigar.reference_and_soft_clip_length();
        let mut aligned =
            AlignedBases { bases: Vec::with_capacity(length), qualities: Vec::with_capacity(length) };
        let mut at = 0;
        for element in cigar {
            let next = at + element.read_length();
            if element.operator().is_alignment() {
                aligned.bases.extend_from_slice(&bases[at..next]);
                aligned.qualities.extend_from_slice(&qualities[at..next]);
            } else if element.operator().consumes_reference() {
                aligned.bases.resize(aligned.bases.len() + element.length(), GAP);
                aligned.qualities.resize(aligned.bases.len(), 0);
            }
            at = next;
        }
        aligned.bases.resize(length, 0);
        aligned.qualities.resize(length, 0);
        aligned
    }
}

/// Returns the index among [`AlignedBases`] of a base in an element of the CIGAR, like
/// `getCigarModifiedOffset`.
pub(super) fn aligned_offset(cigar: &Cigar, element: usize, within: usize) -> usize {
    let counts =
        |operator: CigarOperator| operator.consumes_reference() || operator == CigarOperator::SoftClip;
    let before = cigar[..element].iter().filter(|element| counts(element.operator()));
    before.map(|element| element.length()).sum::<usize>()
        + if counts(cigar[element].operator()) { within } else { 0 }
}

/// Positions of a read at which it rules out any indel of up to 10 bases.
#[derive(Clone, Debug, Default)]
pub(super) struct InformativePositions(Vec<bool>);

impl InformativePositions {
    pub(super) fn contains(&self, position: usize) -> bool {
        self.0.get(position).is_some_and(|&is_informative| is_informative)
    }

    /// Compares the read from the aligned base `read_start` on with `reference`, whose first base is at
    /// the same position, once as it is and once for each indel, like `readHasNoPlausibleIdealsOfSize`
    /// of GATK 4.6.2.0 `ReferenceConfidenceModel`.
    ///
    /// GATK keeps the result of the first position that it asks for, so positions before it, where
    /// nothing was compared, count as informative.
    pub(super) fn find(
        cigar: &Cigar,
        bases: &[u8],
        qualities: &[u8],
        read_start: usize,
        reference: &[u8],
    ) -> Self {
        let read_length = bases.len();
        if read_length < read_start + MAX_INDEL_LENGTH || reference.len() < MAX_INDEL_LENGTH {
            return InformativePositions::default();
        }
        let aligned = AlignedBases::new(cigar, bases, qualities);
        if aligned.bases.len() <= read_start + MAX_INDEL_LENGTH {
            return InformativePositions::default();
        }
        let is_reference_shorter = aligned.bases.len() > reference.len() + read_start;
        let end = if is_reference_shorter {
            reference.len() + read_start + 1 - MAX_INDEL_LENGTH
        } else {
            aligned.bases.len() - MAX_INDEL_LENGTH
        };
        let last = read_length - MAX_INDEL_LENGTH;
        let mut search = IndelSearch {
            bases: &aligned.bases[read_start..],
            qualities: &aligned.qualities[read_start..],
            reference,
            mismatches: Vec::new(),
            end: end.min(last + 1).saturating_sub(read_start),
            is_plausible: vec![false; aligned.bases.len() - read_start],
        };
        search.sum_mismatches();
        for length in 1..=MAX_INDEL_LENGTH {
            search.mark_plausible(0, length);
            search.mark_plausible(length, 0);
        }
        search.into_informative(read_start, end, last, is_reference_shorter)
    }
}

/// The search for plausible indels in a read. Positions are relative to the first compared base.
struct IndelSearch<'a> {
    bases: &'a [u8],
    qualities: &'a [u8],
    reference: &'a [u8],
    /// Sums of the qualities of mismatches from each base on, without an indel.
    mismatches: Vec<i32>,
    /// Number of positions that can be marked.
    end: usize,
    is_plausible: Vec<bool>,
}

impl IndelSearch<'_> {
    /// Returns the quality of a mismatch, or 0 if the bases agree or the read has a gap.
    #[inline]
    fn mismatch(&self, read: usize, reference: usize) -> i32 {
        let (base, other) = (self.bases[read], self.reference[reference]);
        let agrees = base == other || base == b'N' && other != 0 || other == b'N' && base != 0;
        if agrees || base == GAP { 0 } else { i32::from(self.qualities[read] as i8) }
    }

    fn sum_mismatches(&mut self) {
        let length = self.bases.len().min(self.reference.len());
        let mut sums = vec![0; length];
        let mut sum = 0;
        for position in (0..length).rev() {
            sum += self.mismatch(position, position);
            sums[position] = sum;
        }
        self.mismatches = sums;
    }

    /// Marks the positions at which an insertion or deletion of so many bases does not make the rest of
    /// the read fit worse. Compares from the end, until the sum of mismatches is above that of the
    /// whole read.
    fn mark_plausible(&mut self, inserted: usize, deleted: usize) {
        let Some(read) = self.bases.len().checked_sub(inserted) else {
            return;
        };
        let Some(reference) = self.reference.len().checked_sub(deleted) else {
            return;
        };
        let limit = self.mismatches[0];
        let mut sum = 0;
        for position in (0..read.min(reference)).rev() {
            sum += self.mismatch(position + inserted, position + deleted);
            if sum > limit {
                break;
            }
            if position < self.end && self.bases[position] != GAP && self.mismatches[position] >= sum {
                self.is_plausible[position] = true;
            }
        }
    }

    /// Turns the marks of plausible indels into those of positions without one. Positions near the end
    /// are never informative.
    fn into_informative(
        self,
        read_start: usize,
        end: usize,
        last: usize,
        is_reference_shorter: bool,
    ) -> InformativePositions {
        let flipped = if end <= last { end } else { last + 1 };
        let mut informative = vec![true; flipped.max(read_start)];
        for (position, plausible) in self.is_plausible.iter().enumerate() {
            let position = read_start + position;
            if position < flipped {
                informative[position] = !plausible;
            }
        }
        informative.truncate(flipped);
        if end <= last && is_reference_shorter && end > 0 {
            informative[end - 1] = false;
        }
        InformativePositions(informative)
    }
}

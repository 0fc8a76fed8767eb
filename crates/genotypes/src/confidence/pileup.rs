//! The bases of reads at one position after the other.

use std::error::Error;
use std::fmt;

use readmill_pairwise::{Cigar, CigarElement, CigarOperator};

use super::plausible::aligned_offset;

/// A read of a region, after its realignment to the best haplotype.
#[derive(Clone, Copy, Debug)]
pub struct ConfidenceRead<'a> {
    /// 1-based position of the first aligned base.
    pub start: i32,
    /// Alignment to the contig.
    pub cigar: &'a Cigar,
    /// Bases in upper case: A, C, G, T or N.
    pub bases: &'a [u8],
    /// Base qualities (Phred), one per base.
    pub qualities: &'a [u8],
    /// 1-based first and last position at which the read is not adapter.
    pub visible: (i32, i32),
}

/// A read starts or ends with a deletion, so its bases have no position there. GATK stops, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionAtEnd {
    /// 1-based position of the first aligned base of the read.
    pub start: i32,
    /// CIGAR of the read.
    pub cigar: String,
}

impl fmt::Display for DeletionAtEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a read at {} starts or ends with a deletion: {}", self.start, self.cigar)
    }
}

impl Error for DeletionAtEnd {}

/// A place in the alignment of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Index of the read.
    pub read: usize,
    /// Index of the element of the CIGAR.
    element: usize,
    /// Offset in the element.
    within: usize,
    /// Index of the base, in a deletion of the base before it.
    base: usize,
}

impl Cursor {
    /// Returns the place of a read at its first aligned base, or `None` if it has none.
    pub(super) fn new(index: usize, read: &ConfidenceRead<'_>) -> Result<Option<Self>, DeletionAtEnd> {
        let start = Cursor { read: index, element: 0, within: 0, base: 0 };
        start.find_element(read, 0, 0)
    }

    /// Returns the place at the next position, or `None` after the last one.
    pub(super) fn next(self, read: &ConfidenceRead<'_>) -> Result<Option<Self>, DeletionAtEnd> {
        let element = read.cigar[self.element];
        let is_base = element.operator().is_alignment();
        if self.within + 1 < element.length() {
            let base = self.base + usize::from(is_base);
            return Ok(Some(Cursor { within: self.within + 1, base, ..self }));
        }
        self.find_element(read, self.element + 1, self.base + 1)
    }

    /// Returns the start of the first element from `element` on that has positions. `bases` is the number
    /// of bases before it.
    fn find_element(
        self,
        read: &ConfidenceRead<'_>,
        element: usize,
        mut bases: usize,
    ) -> Result<Option<Self>, DeletionAtEnd> {
        for (element, candidate) in read.cigar.iter().enumerate().skip(element) {
            if candidate.operator().consumes_reference() && candidate.length() > 0 {
                let is_base = candidate.operator().is_alignment();
                let base = if is_base { Some(bases) } else { bases.checked_sub(1) };
                let base = base.ok_or_else(|| deletion_at_end(read))?;
                return Ok(Some(Cursor { read: self.read, element, within: 0, base }));
            }
            bases += candidate.read_length();
        }
        match read.cigar.last() {
            Some(last) if last.operator() == CigarOperator::Deletion => Err(deletion_at_end(read)),
            _ => Ok(None),
        }
    }

    /// Returns whether the reference base is deleted.
    pub(super) fn is_deletion(&self, read: &ConfidenceRead<'_>) -> bool {
        read.cigar[self.element].operator() == CigarOperator::Deletion
    }

    /// Returns whether the reference base is skipped.
    pub(super) fn is_skip(&self, read: &ConfidenceRead<'_>) -> bool {
        read.cigar[self.element].operator() == CigarOperator::Skip
    }

    /// Returns the base and its quality, which a deletion does not have.
    pub(super) fn base(&self, read: &ConfidenceRead<'_>) -> (u8, u8) {
        (read.bases[self.base], read.qualities[self.base])
    }

    /// Returns whether an insertion or a deletion follows.
    pub(super) fn is_before_indel(&self, read: &ConfidenceRead<'_>) -> bool {
        let elements: &[CigarElement] = read.cigar;
        if self.within + 1 != elements[self.element].length() {
            return false;
        }
        let after = &elements[self.element + 1..];
        let has_positions = |element: &&CigarElement| {
            let operator = element.operator();
            operator.is_alignment() || operator == CigarOperator::Deletion
        };
        after.first().is_some_and(|element| element.operator() == CigarOperator::Insertion)
            || after
                .iter()
                .find(has_positions)
                .is_some_and(|it| it.operator() == CigarOperator::Deletion)
    }

    /// Returns the number of reference bases and soft-clipped bases before this place.
    pub(super) fn aligned_offset(&self, read: &ConfidenceRead<'_>) -> usize {
        aligned_offset(read.cigar, self.element, self.within)
    }
}

fn deletion_at_end(read: &ConfidenceRead<'_>) -> DeletionAtEnd {
    DeletionAtEnd { start: read.start, cigar: read.cigar.to_string() }
}

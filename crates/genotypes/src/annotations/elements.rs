//! Values of a read at a variant, which rank sum tests compare between alleles.

use readmill_pairwise::{Cigar, CigarOperator, find_read_index};

/// Mapping quality of a read whose mapping quality is not known.
pub(super) const UNKNOWN_MAPPING_QUALITY: u8 = 255;

/// A read as annotations see it: after its realignment to the best haplotype.
#[derive(Clone, Copy, Debug)]
pub struct AnnotatedRead<'a> {
    /// 1-based position of the first aligned base.
    pub start: i32,
    /// Alignment to the contig.
    pub cigar: &'a Cigar,
    /// Base qualities (Phred), one per base.
    pub qualities: &'a [u8],
    /// Mapping quality (Phred).
    pub mapping_quality: u8,
    /// Whether the read is of the reverse strand.
    pub is_reverse: bool,
}

impl AnnotatedRead<'_> {
    /// Returns whether rank sum tests use the read at all.
    pub(super) fn is_usable(&self) -> bool {
        self.mapping_quality != 0 && self.mapping_quality != UNKNOWN_MAPPING_QUALITY
    }

    fn end(&self) -> i32 {
        self.start + self.cigar.reference_length() as i32 - 1
    }

    fn soft_start(&self) -> i32 {
        self.start - self.cigar.leading_soft_clip() as i32
    }

    /// Returns the quality of the base at a 1-based position, or `None` if the read has no aligned base
    /// there, like `BaseQualityRankSumTest`. As in Java, a quality above 127 is negative.
    pub fn base_quality_at(&self, position: i32) -> Option<f64> {
        if position < self.start || self.end() < position {
            return None;
        }
        let (index, operator) = find_read_index(self.soft_start(), self.cigar, position)?;
        operator.consumes_read().then(|| f64::from(self.qualities[index] as i8))
    }

    /// Returns the distance of a variant from the nearer end of the read, hard-clipped bases included,
    /// like `ReadPosRankSumTest`. `start` and `end` are the 1-based first and last position of the
    /// variant. Returns `None` if the read does not reach the variant.
    pub fn position_in_read(&self, start: i32, end: i32) -> Option<f64> {
        let soft_end = self.end() + self.cigar.trailing_soft_clip() as i32;
        if self.soft_start() > end + 1 || soft_end < start {
            return None;
        }
        let first = self.cigar.into_iter().map(|it| it.operator()).find(|operator| !operator.is_clip());
        if self.start == end + 1 && first == Some(CigarOperator::Insertion) {
            return Some(0.0);
        }
        let (index, _) = find_read_index(self.soft_start(), self.cigar, start)?;
        let hard_clip = |element: Option<&readmill_pairwise::CigarElement>| match element {
            Some(element) if element.operator() == CigarOperator::HardClip => element.length() as i32,
            _ => 0,
        };
        let left = hard_clip(self.cigar.first()) + index as i32;
        let right = self.qualities.len() as i32 - 1 - index as i32 + hard_clip(self.cigar.last());
        Some(f64::from(left.min(right)))
    }
}

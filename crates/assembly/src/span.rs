//! Parts of a contig, and the reference there.

/// A part of a contig: 1-based positions of the first and the last base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceSpan {
    /// Position of the first base.
    pub start: u32,
    /// Position of the last base.
    pub end: u32,
}

impl ReferenceSpan {
    /// Returns the positions that both spans have, if there are any.
    pub fn intersect(self, other: ReferenceSpan) -> Option<ReferenceSpan> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start <= end).then_some(ReferenceSpan { start, end })
    }
}

/// The reference of a region.
#[derive(Clone, Copy, Debug)]
pub struct RegionReference<'a> {
    /// Upper-case bases around the region, A, C, G, T or N. GATK gives 500 bases more than
    /// `padded_span` on each side if the contig has them.
    pub bases: &'a [u8],
    /// 1-based position of the first of `bases`.
    pub start: u32,
    /// The part that haplotypes span: the region with its padding. It must be within `bases`.
    pub padded_span: ReferenceSpan,
}

impl<'a> RegionReference<'a> {
    /// Returns the index of the first base of `padded_span`.
    pub(crate) fn padding(&self) -> usize {
        (self.padded_span.start - self.start) as usize
    }

    /// Returns the bases of `padded_span`.
    pub(crate) fn padded_bases(&self) -> &'a [u8] {
        &self.bases[self.padding()..=(self.padded_span.end - self.start) as usize]
    }
}

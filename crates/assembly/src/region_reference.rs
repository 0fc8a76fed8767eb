//! The reference of a region.

use readmill_pairwise::ContigSpan;

/// The reference of a region.
#[derive(Clone, Copy, Debug)]
pub struct RegionReference<'a> {
    /// Upper-case bases around the region, A, C, G, T or N. GATK gives 500 bases more than
    /// `padded_span` on each side if the contig has them.
    pub bases: &'a [u8],
    /// 1-based position of the first of `bases`.
    pub start: i32,
    /// The part that haplotypes span: the region with its padding. It must be within `bases`.
    pub padded_span: ContigSpan,
}

impl<'a> RegionReference<'a> {
    /// Returns the 1-based position of a base.
    pub(crate) fn position(&self, index: usize) -> u32 {
        self.start as u32 + index as u32
    }

    /// Returns the index of the first base of `padded_span`.
    pub(crate) fn padding(&self) -> usize {
        (self.padded_span.start - self.start) as usize
    }

    /// Returns the bases of `padded_span`.
    pub(crate) fn padded_bases(&self) -> &'a [u8] {
        &self.bases[self.padding()..=(self.padded_span.end - self.start) as usize]
    }
}

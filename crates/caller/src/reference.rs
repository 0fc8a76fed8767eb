//! The reference of a contig, and of the regions on it.

use readmill_assembly::{ReferenceSpan, RegionReference};
use readmill_regions::Span;

/// Bases that GATK adds to the padded region on both sides for the alignment of haplotypes.
const ASSEMBLY_PADDING: i32 = 500;

/// A contig of the reference.
#[derive(Clone, Copy, Debug)]
pub struct Contig<'a> {
    /// Index in the header.
    pub index: usize,
    /// Name, for messages.
    pub name: &'a [u8],
    /// All bases, in upper case and with N for other codes
    /// ([`normalize_reference`](readmill_regions::normalize_reference)).
    pub bases: &'a [u8],
}

impl<'a> Contig<'a> {
    /// Returns the number of bases.
    pub fn length(&self) -> i32 {
        self.bases.len() as i32
    }

    /// Returns the bases of a span.
    pub(crate) fn slice(&self, span: Span) -> &'a [u8] {
        &self.bases[span.start as usize - 1..span.end as usize]
    }

    /// Returns the bases around a padded region.
    pub(crate) fn region(&self, padded_span: Span) -> RegionReference<'a> {
        let around = padded_span.pad(ASSEMBLY_PADDING, self.length());
        RegionReference {
            bases: self.slice(around),
            start: around.start as u32,
            padded_span: to_unsigned(padded_span),
        }
    }
}

/// Returns a span within a contig as the assembly takes it.
pub(crate) fn to_unsigned(span: Span) -> ReferenceSpan {
    ReferenceSpan { start: span.start as u32, end: span.end as u32 }
}

/// Returns a span of the assembly as a region has it.
pub(crate) fn to_signed(span: ReferenceSpan) -> Span {
    Span { start: span.start as i32, end: span.end as i32 }
}

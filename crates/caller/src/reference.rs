//! The reference of a region.

use readmill_assembly::{ReferenceSpan, RegionReference};
use readmill_regions::Span;

pub use readmill_regions::Contig;

/// Bases that GATK adds to the padded region on both sides for the alignment of haplotypes.
const ASSEMBLY_PADDING: i32 = 500;

/// Returns the bases around a padded region.
pub(crate) fn region_reference<'a>(contig: &Contig<'a>, padded_span: Span) -> RegionReference<'a> {
    let around = padded_span.pad(ASSEMBLY_PADDING, contig.length());
    RegionReference {
        bases: contig.slice(around),
        start: around.start as u32,
        padded_span: to_unsigned(padded_span),
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

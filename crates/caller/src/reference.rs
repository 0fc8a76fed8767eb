//! The reference of a region.

use readmill_assembly::RegionReference;
use readmill_regions::ContigSpan;

pub use readmill_regions::Contig;

/// Bases that GATK adds to the padded region on both sides for the alignment of haplotypes.
const ASSEMBLY_PADDING: i32 = 500;

/// Returns the bases around a padded region.
pub(crate) fn region_reference(contig: &Contig, padded_span: ContigSpan) -> RegionReference<'_> {
    let around = padded_span.pad(ASSEMBLY_PADDING, contig.length());
    RegionReference { bases: contig.slice(around), start: around.start, padded_span }
}

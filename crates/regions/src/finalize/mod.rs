//! The reads of a region as they are assembled: clipped, sorted, and without bases that count twice.
//!
//! ```text
//! each read ─► soft clips aligned or removed ─► low-quality ends ─► adapter ─► padded span
//!                                                                                   │
//!                     qualities of bases shared by mates lowered ◄── sorted ◄───────┘
//! ```

mod clip;
mod mates;
mod order;

use std::sync::Arc;

use readmill_record::Result;

use crate::{AssemblyRegion, CallerRead, ContigSpan};
use clip::{
    Clipped, clip_adapter, clip_low_quality_ends, clip_soft_clipped, clip_to_span, revert_soft_clips,
};

/// Minimum aligned bases of a read that is used for genotypes.
const MIN_READ_LENGTH: usize = 10;

/// Options of [`finalize_region`], with the defaults of HaplotypeCaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalizeOptions {
    /// Remove soft-clipped bases of all reads. By default, they are aligned if the ends of the fragment
    /// are known (GATK `--dont-use-soft-clipped-bases`).
    pub removes_soft_clips: bool,
    /// Bases of a lower quality are removed at the ends of reads (GATK `--min-base-quality-score`).
    pub min_base_quality: u8,
}

impl Default for FinalizeOptions {
    fn default() -> FinalizeOptions {
        FinalizeOptions { removes_soft_clips: false, min_base_quality: 10 }
    }
}

/// Returns the reads of a region as they are assembled, sorted (GATK 4.6.2.0 `finalizeRegion`).
///
/// A read without bases in the padded span is left out. Reads that need no change are shared with `region`.
///
/// ```
/// use std::sync::Arc;
/// use readmill_regions::{AssemblyRegion, CallerRead, FinalizeOptions, ContigSpan, finalize_region};
///
/// let read = CallerRead {
///     start: 95,
///     cigar: "2S8M".parse()?,
///     bases: b"ACGTACGTAC".to_vec(),
///     qualities: vec![30, 30, 30, 30, 30, 30, 30, 30, 30, 2],
///     ..CallerRead::default()
/// };
/// let region = AssemblyRegion {
///     span: ContigSpan { start: 97, end: 400 },
///     padded_span: ContigSpan { start: 97, end: 500 },
///     is_active: true,
///     ready_locus: 501,
///     reads: vec![Arc::new(read)],
/// };
/// let reads = finalize_region(&region, FinalizeOptions::default())?;
/// // Two soft-clipped bases, two before the padded span, and one of low quality are removed.
/// assert_eq!((reads[0].start, reads[0].cigar.to_string()), (97, "4H5M1H".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// GATK throws: a quality is above 127 in a read that is changed, `BI` or `BD` is too short, or a CIGAR
/// cannot be clipped.
pub fn finalize_region(
    region: &AssemblyRegion,
    options: FinalizeOptions,
) -> Result<Vec<Arc<CallerRead>>> {
    let mut reads = Vec::with_capacity(region.reads.len());
    for read in &region.reads {
        reads.extend(finalize_read(read, region.padded_span, options)?);
    }
    sort_reads(&mut reads);
    mates::lower_shared_qualities(&mut reads)?;
    Ok(reads)
}

fn finalize_read(read: &Arc<CallerRead>, span: ContigSpan, options: FinalizeOptions) -> Clipped {
    let is_reverted = !options.removes_soft_clips && read.has_fragment_ends();
    let unclipped = match is_reverted {
        true => revert_soft_clips(Arc::clone(read))?,
        false => clip_soft_clipped(Arc::clone(read))?,
    };
    let max_low_quality = options.min_base_quality.wrapping_sub(1) as i8;
    let clipped = match unclipped {
        Some(read) => clip_low_quality_ends(read, max_low_quality)?,
        None => None,
    };
    let Some(read) = clipped.filter(|read| !read.span().is_empty()) else { return Ok(None) };
    let Some(read) = clip_adapter(read)? else { return Ok(None) };
    // The span is tested before this clip, as in GATK.
    if !read.span().overlaps(span) {
        return Ok(None);
    }
    Ok(clip_to_span(read, span)?.filter(|read| !read.span().is_empty()))
}

/// Clips finalized reads to a smaller span and sorts them anew (GATK 4.6.2.0 `AssemblyRegion.trim`). Reads
/// without bases in it are left out.
///
/// # Errors
/// As [`finalize_region`].
pub fn trim_reads(reads: &[Arc<CallerRead>], span: ContigSpan) -> Result<Vec<Arc<CallerRead>>> {
    let mut trimmed = Vec::with_capacity(reads.len());
    for read in reads {
        let clipped = clip_to_span(Arc::clone(read), span)?;
        trimmed.extend(clipped.filter(|read| read.span().overlaps(span)));
    }
    sort_reads(&mut trimmed);
    Ok(trimmed)
}

/// Sorts reads of a region as GATK does (GATK 4.6.2.0 `ReadCoordinateComparator`): by position, strand,
/// name, and further fields.
pub fn sort_reads(reads: &mut [Arc<CallerRead>]) {
    reads.sort_by(|a, b| order::compare_reads(a, b));
}

/// Returns whether a finalized read is used for genotypes (GATK 4.6.2.0 `filterNonPassingReads`): it has 10
/// aligned bases, at least this mapping quality, and no mate on another contig.
pub fn is_read_for_genotypes(read: &CallerRead, min_mapping_quality: u8) -> bool {
    let soft_clipped = read.cigar.count_bases(readmill_pairwise::CigarOperator::SoftClip);
    let has_near_mate =
        !read.flags.is_paired() || read.is_mate_unmapped() || read.mate_contig == Some(read.contig);
    read.len() - soft_clipped >= MIN_READ_LENGTH
        && read.mapping_quality >= min_mapping_quality
        && has_near_mate
}

//! Alignments of one sequence to another, with GATK's rules for ties, clips and shifts.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | CIGAR | elements of an alignment, in memory, in BAM and as text | [`Cigar`], [`CigarElement`], [`CigarOperator`] |
//! | normal form | merges neighbours, removes deletions at the ends | [`CigarBuilder`] |
//! | clips | clips bases of a read, or aligns clipped ones | [`clip_cigar`], [`revert_soft_clips`], [`append_clips`] |
//! | parts | the CIGAR of a part of the reference or of the read | [`trim_cigar_by_reference`], [`trim_cigar_by_read`] |
//! | composition | a read on a haplotype on the reference | [`compose_cigars`], [`find_reference_offset`] |
//! | left alignment | moves indels to the left | [`left_align_indels`], [`normalize_alleles`] |
//! | lookup | the base of a read at a reference position | [`find_read_index`] |
//! | Smith-Waterman | aligns a sequence to a reference | [`SmithWaterman`] |
//! | haplotypes | the CIGAR of a haplotype | [`align_haplotype`] |
//! | events | a difference of a haplotype from the reference | [`HaplotypeEvent`] |
//! | spans | positions of a contig | [`ContigSpan`] |
//! | validity | CIGARs that GATK accepts in reads | [`is_good_cigar`] |
//!
//! The crate starts no threads, and reads and writes no files.
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod cigar;
mod event;
mod haplotype;
mod left_align;
mod lookup;
mod smith_waterman;
mod span;

pub use cigar::{
    BuiltCigar, Cigar, CigarBuilder, CigarElement, CigarError, CigarOperator, MAX_ELEMENT_LENGTH,
    append_clips, clip_cigar, compose_cigars, count_clipped_start, find_reference_offset, is_good_cigar,
    revert_soft_clips, trim_cigar_by_read, trim_cigar_by_reference,
};
pub use event::HaplotypeEvent;
pub use haplotype::{HaplotypeError, align_haplotype};
pub use left_align::{AlleleShift, left_align_indels, normalize_alleles};
pub use lookup::find_read_index;
pub use smith_waterman::{
    Alignment, AlignmentError, AlignmentScores, MAX_SEQUENCE_LENGTH, Overhang, SmithWaterman,
};
pub use span::ContigSpan;

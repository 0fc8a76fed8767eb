//! Regions where reads suggest variants, and the reads of each, as GATK HaplotypeCaller selects them.
//!
//! | module | purpose | entry point |
//! |---|---|---|
//! | `intake` | filters, decoding and downsampling of records | [`intake::ReadIntake`] |
//! | `read` | a decoded read | [`CallerRead`] |
//! | `reference` | a contig of the reference, with bases as GATK reads them | [`Contig`] |
//! | `intervals` | the intervals that a run is restricted to | [`Intervals`] |
//! | `activity` | the probability of a variant at each locus | [`activity::compute_activity`] |
//! | `profile` | the smoothed activity, cut into regions | [`profile::RegionCutter`] |
//! | `finder` | regions of a contig with their reads | [`RegionFinder`] |
//! | `finalize` | the reads of a region, clipped and sorted | [`finalize_region`], [`trim_reads`] |
//! | `walk` | all of this for the records of a run | [`RegionWalk`] |
//!
//! ```text
//! records of a contig, in order
//!    │ ReadIntake: filters, decodes
//!    │ PositionalDownsampler: at most 50 reads per start
//!    ▼
//! RegionFinder: ActivityWindow ──► RegionCutter ──► AssemblyRegion { spans, is_active, reads }
//! ```
//!
//! Positions are 1-based, as in GATK, with both ends included. Results are those of GATK 4.6.2.0 to the
//! last bit. The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

pub mod activity;
mod finalize;
mod finder;
pub mod intake;
mod intervals;
pub mod profile;
mod read;
mod reference;
mod walk;

pub use finalize::{FinalizeOptions, finalize_region, is_read_for_genotypes, sort_reads, trim_reads};
pub use finder::{AssemblyRegion, RegionFinder};
pub use intervals::Intervals;
pub use read::CallerRead;
pub use readmill_pairwise::ContigSpan;
pub use reference::{Contig, normalize_reference};
pub use walk::{DEFAULT_MAX_READS_PER_START, RegionWalk};

/// Positions that are added at both ends of a region or interval.
pub const PADDING: i32 = 100;

//! Tallies: statistics that are counted while reads pass through a run, and the files that report
//! them.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | descriptions | what flags, subcommands and runs know of a tally | [`TallySpec`], [`TallyReport`] |
//! | numbers of reads | count reads by flags or contig, or all of them | [`flagstat`], [`idxstats`], [`count`] |
//! | statistics | the sections of `samtools stats` | [`stats`] |
//! | checksums | our own, and those of other tools | [`checksum`], [`sequencing`] |
//! | adapters | count adapter bases like Picard MarkIlluminaAdapters | [`adapters`] |
//!
//! Each tally is one file with a [`TallySpec`], which [`TALLIES`] lists. The command line derives
//! the flag `--NAME FILE` and the subcommand from it; the run makes a [`TallyReport`], counts with it on
//! all threads, and writes its text at the end. The crate starts no threads and writes no files.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod adapters;
pub mod checksum;
pub mod count;
pub mod flagstat;
pub mod idxstats;
pub mod sequencing;
mod spec;
pub mod stats;

pub use adapters::{AdapterBaseCounts, AdapterBases};
pub use flagstat::{Flagstat, FlagstatCounts};
pub use idxstats::{Idxstats, IdxstatsCounts};
pub use sequencing::{SequencingChecksum, SequencingSums};
pub use spec::{CountMemory, TallyContext, TallyReport, TallySpec};
pub use stats::{Stats, StatsCounts};

pub const TALLIES: &[&TallySpec] = &[
    &flagstat::SPEC,
    &idxstats::SPEC,
    &stats::SPEC,
    &checksum::SPEC,
    &sequencing::SAMTOOLS_CHECKSUM,
    &sequencing::BAMSEQCHKSUM,
    &adapters::SPEC,
];

//! Tallies: statistics that are counted while reads pass through a run.
//!
//! Each tally is one file with a [`TallySpec`], which [`TALLIES`] lists. The command line derives
//! the flag `--NAME FILE` and the subcommand from it; the run makes a [`TallyReport`], counts with it on
//! all threads, and writes its text at the end.

pub mod adapters;
pub mod checksum;
pub mod count;
pub mod flagstat;
pub mod idxstats;
mod spec;
pub mod stats;

pub use adapters::{AdapterBaseCounts, AdapterBases};
pub use checksum::{Checksum, ChecksumColumns};
pub use flagstat::{Flagstat, FlagstatCounts};
pub use idxstats::{Idxstats, IdxstatsCounts};
pub use spec::{CountMemory, TallyContext, TallyReport, TallySpec};
pub use stats::{Stats, StatsCounts};

pub const TALLIES: &[&TallySpec] = &[
    &flagstat::SPEC,
    &idxstats::SPEC,
    &stats::SPEC,
    &checksum::SPEC,
    &checksum::SAMTOOLS_CHECKSUM,
    &checksum::BAMSEQCHKSUM,
    &adapters::SPEC,
];

//! Tallies, which count reads during a run, one file each.
//!
//! A module with a tally has a [`TallySpec`], which [`TALLIES`] lists. The flag, the subcommand and the file of the result
//! follow from it.

pub mod adapters;
pub mod checksum;
pub mod count;
pub mod flagstat;
pub mod idxstats;
mod spec;
pub mod stats;

pub use adapters::{AdapterBases, AdapterCounts};
pub use checksum::{Checksum, Columns};
pub use flagstat::{Flagstat, FlagstatCounts};
pub use idxstats::{Idxstats, IdxstatsCounts};
pub use spec::{CountMemory, Report, RunNames, TallyContext, TallySpec};
pub use stats::{Stats, StatsCounts};

/// All tallies whose result is a file, in the order of the help.
pub const TALLIES: &[&TallySpec] = &[
    &flagstat::SPEC,
    &idxstats::SPEC,
    &stats::SPEC,
    &checksum::SPEC,
    &checksum::SAMTOOLS_CHECKSUM,
    &checksum::BAMSEQCHKSUM,
    &adapters::SPEC,
];

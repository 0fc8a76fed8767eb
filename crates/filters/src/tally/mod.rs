//! Tallies, which count reads during a run, one file each.

pub mod adapters;
pub mod checksum;
pub mod flagstat;
pub mod idxstats;
pub mod stats;

pub use adapters::{AdapterBases, AdapterCounts};
pub use checksum::{Checksum, Columns};
pub use flagstat::{Flagstat, FlagstatCounts};
pub use idxstats::{Idxstats, IdxstatsCounts};
pub use stats::{Stats, StatsCounts};

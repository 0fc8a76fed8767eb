//! Sorting: each read leaves an entry beside its bytes in the arena; entries are sorted, bytes are
//! not. What does not fit is written out as sorted runs, and everything is merged once at the end.
//!
//! | step | file |
//! |---|---|
//! | a record's place in the order as bytes | [`key`] |
//! | entries, sorted in lists by radix | [`entry`] |
//! | records into the arena, entries into lists | [`run`] |
//! | entries of equal keys, by the rest of their keys | `ties` |
//! | sorted records on disk | [`frame`] |
//! | runs and lists, as rows of blocks | [`sources`] |
//! | the order divided into ranges, serially, block by block | [`merge`] |
//! | the records of a range put in order, in parallel | [`range`] |
//! | partitions of the output cut from ranges | [`partition`] |
//! | the tournament that merges | [`tournament`] |
//! | what `-M` changes in reads | [`Minimise`] |
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod entry;
pub mod frame;
pub mod key;
pub mod merge;
mod minimise;
pub mod partition;
pub mod range;
pub mod run;
pub mod sources;
mod ties;
pub mod tournament;

pub use entry::Entry;
pub use frame::{FrameWriter, Frames, Framing, SpilledRun};
pub use key::{Key, Keyer, Order};
pub use merge::Merge;
pub use minimise::Minimise;
pub use partition::{CRAM_PARTITION, Cutter, PARTITION, Partition};
pub use range::{Ordered, Range};
pub use run::{List, Run, RunSort};
pub use sources::Sources;

//! Sorts reads. The bytes of each read go into an arena, and an entry with its key goes into a list. Entries
//! are sorted, bytes are not moved. What does not fit into memory is spilled as sorted runs, and everything
//! is merged once at the end.
//!
//! | step | file |
//! |---|---|
//! | sort keys of records | [`key`] |
//! | entries, sorted in lists by radix | [`entry`] |
//! | records into the arena, entries into lists | [`run`] |
//! | entries of equal keys, by the tails of their keys | `ties` |
//! | sorted records on disk | [`frame`] |
//! | the order of all runs and lists split into ranges, serially; their records put in order, in parallel | [`merge`] |
//! | partitions of the output cut from ranges | [`partition`] |
//! | the order divided among separate runs of the program | [`ranges`] |
//! | the tournament tree of the merge | [`tournament`] |
//! | the edits of `-M` | [`Minimise`] |
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod entry;
pub mod frame;
pub mod key;
pub mod merge;
pub mod partition;
pub mod ranges;
pub mod run;
mod ties;
pub mod tournament;

pub use entry::Entry;
pub use frame::{FrameWriter, Frames, Framing, SpilledRun, StoredRun};
pub use key::{Key, Keyer, Minimise, Order};
pub use merge::{Merge, Ordered, PARTITION, Range, RangeStart, Sources};
pub use partition::{Cutter, Partition};
pub use run::{List, Run, RunSort};

//! Sorting: each read leaves a 16-byte entry beside its bytes in the arena; entries are sorted, bytes are
//! not. What does not fit is written out as sorted runs, and everything is merged once at the end.
//!
//! | step | file |
//! |---|---|
//! | a record's place in the order as a number | [`key`] |
//! | entries, sorted in lists by radix | [`entry`] |
//! | records into the arena, entries into lists | [`run`] |
//! | sorted records on disk | [`frame`] |
//! | many sorted lists into one order, cut into partitions | [`merge`] |

pub mod entry;
pub mod frame;
pub mod key;
pub mod merge;
pub mod run;

pub use entry::Entry;
pub use frame::SpilledRun;
pub use key::Order;
pub use merge::{Merge, Partition};
pub use run::{Run, RunSort};

//! Alignments put onto reads that were not aligned.
//!
//! All files have their templates in one order, so they are read side by side: whatever stands first in a file of alignments is
//! of the next template of the reads, or of a later one. A ticket has one of these tasks:
//!
//! | task | in parallel | then, in order |
//! |---|---|---|
//! | open | a piece of a file is inflated | its records join those of its file; templates with all their alignments become groups |
//! | merge | the records of a group are written | their number of bytes is known |
//! | records | | they go on as those of any other input |
//!
//! Whoever claims takes what is furthest. A file is read only so far ahead, unless the others wait for it, so files whose
//! alignments are few or many for a stretch need no more memory. Groups end where the reads say it, so neither records nor their batches
//! depend on threads.

mod flow;
mod header;
mod queue;

use readmill_record::Error;

pub use flow::{MergeLink, MergeWorker};
pub use queue::{MergeTask, MergeTaskResult, Merging, memory};

/// What is to be done where alignments are in another order than the reads.
const OTHER_ORDER: &str = "bring both into one order: readmill sort --sort queryname ALIGNED -u -o - | readmill merge-alignment \
UNALIGNED - ..., where UNALIGNED is sorted in the same way";

/// Whether an error says that alignments are in another order than the reads, or sorted by coordinate.
pub fn says_other_order(error: &Error) -> bool {
    error.hint.as_deref() == Some(OTHER_ORDER)
}

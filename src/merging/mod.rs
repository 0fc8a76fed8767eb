//! The input that merges alignments with the unaligned reads they come from, as Picard
//! MergeBamAlignment does.
//!
//! All files have their templates in the same order, so they are read side by side. The next record
//! in a file of alignments belongs to the next template of the reads, or to a later one. A ticket
//! has one of these tasks:
//!
//! | task | in parallel | then, in order |
//! |---|---|---|
//! | open | inflates a chunk of a file | adds its records to those of the file; templates with all their alignments form groups |
//! | merge | writes the records of a group | queues the records |
//! | records | | passes the records on, like records of any other input |
//!
//! The claimer prefers the task closest to the output ([`Merging::next_task`]). A file is only read a
//! few chunks ahead, unless the other files wait for it. So files with few or many alignments in
//! some part of the order need no more memory. Where a group ends depends only on the reads, so
//! neither records nor their batches depend on threads.

mod flow;
mod header;
mod queue;

use readmill_record::Error;

pub use flow::{MergeLink, MergeWorker};
pub use queue::{MergeTask, MergeTaskResult, Merging, waiting_memory_bytes};

/// Hint of all errors about alignments in another order than the reads. [`is_order_error`]
/// recognises these errors by it.
const ORDER_HINT: &str = "sort both files in the same order: readmill sort --sort queryname ALIGNED -u -o - | readmill merge-alignment \
UNALIGNED - ..., where UNALIGNED is sorted in the same order";

/// Returns whether an error says that alignments are in another order than the reads, or sorted by
/// coordinate. The command line then adds the command that fixes it.
pub fn is_order_error(error: &Error) -> bool {
    error.hint.as_deref() == Some(ORDER_HINT)
}

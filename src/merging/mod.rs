//! The input that merges alignments into the unaligned reads, as Picard MergeBamAlignment does.
//!
//! All files have their templates in the same order, so they are read in parallel. The next record
//! in an alignment file belongs to the next template of the reads, or to a later one. A ticket has
//! one of these tasks:
//!
//! | task | in parallel | then, in order |
//! |---|---|---|
//! | open | inflates a chunk of a file | adds its records to those of the file; templates with all their alignments form groups |
//! | merge | writes the records of a group | queues the records |
//! | records | | passes the records on, like records of any other input |
//!
//! The claimer prefers the task closest to the output ([`Merging::next_task`]). A file is read only
//! a few chunks ahead, unless the other files wait for it. So files with few or many alignments in
//! some region need no more memory. Group borders depend only on the reads, so neither records nor
//! their batches depend on threads.

mod flow;
mod header;
mod queue;

use readmill_record::Error;

pub use flow::{MergeLink, MergeWorker};
pub use queue::{MergeTask, MergeTaskResult, Merging, waiting_memory_bytes};

/// The hint of all errors about alignments whose order differs from that of the reads.
/// [`is_order_error`] recognises these errors by it.
const ORDER_HINT: &str = "sort both files in the same order: readmill sort --sort queryname ALIGNED -u -o - | readmill merge-alignment \
UNALIGNED - ..., where UNALIGNED is sorted in the same order";

/// Returns whether an error is about alignments whose order differs from that of the reads, or that
/// are sorted by coordinate. The command line then adds a command that fixes the order.
pub fn is_order_error(error: &Error) -> bool {
    error.hint.as_deref() == Some(ORDER_HINT)
}

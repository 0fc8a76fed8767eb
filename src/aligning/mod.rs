//! The input whose reads are aligned while they are read.
//!
//! An aligner of pairs needs a whole *cohort* of templates to infer insert sizes, before it can
//! choose between candidate positions. A cohort is larger than the chunk of one ticket. So each
//! batch goes through four tasks, each with its own ticket:
//!
//! | task | in parallel | then, in order |
//! |---|---|---|
//! | take | reads and parses text, trims reads | checks the FASTQ; adds the batch to its cohort, or cuts it between cohorts |
//! | seed | finds candidate positions | infers insert sizes if the cohort is complete |
//! | emit | writes records, once the cohort is complete | queues the records |
//! | records | | passes the records on, like records of any other input |
//!
//! The claimer prefers the task closest to the output ([`Lanes::next_task`]), but always reads a
//! few batches per thread ahead. So at most one cohort waits in memory, in addition to the batches
//! in flight. The output does not depend on which task is chosen: batches join cohorts, cohorts are
//! written, and records are passed on in input order.

mod flow;
mod input_counts;
mod kernel;
mod lane;
mod lanes;
mod mixed;
mod qualities;
mod queue;
mod read_names;
mod read_tags;
mod scan;
mod slice;
mod trimming;
mod unaligned;

pub use flow::{AlignLink, AlignWorker};
pub use kernel::{
    AlignNeeds, AlignRoom, build_header, estimate_needs, index_files, load_index, open_without_index,
    report_alternates,
};
pub use lane::ChosenLanes;
pub use lanes::Lanes;
pub use mixed::SingleReadCounter;
pub use queue::{AlignTask, AlignTaskResult};
pub use scan::{LaneScan, ScannedLane};
pub use slice::{LanePlace, LaneSlice, SliceStart};
pub use trimming::Trimming;
pub use unaligned::Unaligned;

//! Reads that are aligned on their way in.
//!
//! An aligner of pairs wants to see a whole *cohort* of templates before it chooses between places, and a cohort is larger
//! than what one ticket carries. So a batch comes by four times, with a ticket of its own each time:
//!
//! | task | in parallel | then, in order |
//! |---|---|---|
//! | take | text claimed and parsed, reads trimmed | FASTQ judged; the batch joins its cohort, or parts of it theirs |
//! | seed | candidates found | nothing, or the cohort is complete: insert sizes are inferred |
//! | emit, once its cohort is complete | records written | their number of bytes is known |
//! | records | | they go on as those of any other input |
//!
//! Whoever claims takes what is furthest: records before batches to be emitted before batches without candidates; but a few
//! batches for each thread are always taken ahead. So no more than a cohort waits, besides what is in flight. What comes out depends on neither: batches join their cohorts, cohorts are emitted,
//! and records go on in the order of the input.

mod fastqc;
mod flow;
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

pub use fastqc::AlignFastqc;
pub use flow::{AlignLink, AlignWorker};
pub use kernel::{
    AlignNeeds, AlignRoom, header, index_files, load, needs, report_alternates, without_index,
};
pub use lane::ChosenLanes;
pub use lanes::Lanes;
pub use mixed::LoneReads;
pub use queue::{AlignTask, AlignTaskResult};
pub use scan::{LaneScan, ScannedLane};
pub use slice::{LanePlace, LaneSlice, SliceStart};
pub use trimming::Trimming;
pub use unaligned::Unaligned;

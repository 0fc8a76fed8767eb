//! Which of the reads to be aligned a run opens. A stage of a job (`readmill shard`) needs only
//! some of them, or none.

use crate::aligning::LaneSlice;

/// The part of the reads to be aligned that a run opens. It has no effect on a plan without
/// alignment, which opens all inputs.
pub(crate) enum AlignScope {
    /// All reads and the aligner's index, for a run in one process.
    Whole,
    /// All reads, but not the aligner's index: only the first reads are examined, to choose the
    /// settings that all stages share.
    First,
    /// No reads yet. The stage opens one lane later, to find where its slices start.
    Scan,
    /// A slice of a lane and the aligner's index; `None` for a slice without reads.
    Slice(Option<Box<LaneSlice>>),
    /// No reads, because the stage only needs the header.
    Header,
}

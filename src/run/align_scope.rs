//! How much of the reads that are to be aligned a run opens: stages of a job need a part of them, or none.

use crate::aligning::LaneSlice;

/// The part of the reads to be aligned that a run opens; in a plan that aligns none, all inputs are opened.
pub(crate) enum AlignScope {
    /// All reads, and the aligner's index.
    Whole,
    /// The first reads, to make decisions.
    First,
    /// None yet: a lane will be scanned.
    Scan,
    /// A slice of a lane, and the aligner's index; `None` for a slice without reads.
    Slice(Option<Box<LaneSlice>>),
    /// None: only the header is needed.
    Header,
}

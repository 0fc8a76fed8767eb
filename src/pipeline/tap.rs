//! The points of a run at which tallies observe reads.

/// A point of the pipeline at which tallies observe reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    /// Input reads, before any step.
    Input,
    /// Reads after the early steps, before the sort.
    SortBuffer,
    /// Sorted reads, before the late steps (all steps after the sort).
    BeforeLate,
    /// Reads after all steps.
    AfterLate,
    /// Reads of the main output.
    MainOutput,
}

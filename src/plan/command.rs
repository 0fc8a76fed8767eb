//! The subcommands that process reads.

/// A subcommand that processes reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Any combination of steps.
    Prep,
    /// Alignment, and any combination of steps.
    Align,
    /// Records of reads that are not aligned.
    Import,
    /// Alignments put onto reads that were not aligned.
    MergeAlignment,
    /// Sort.
    Sort,
    /// Sort several inputs into one output.
    Merge,
    /// Mark duplicates.
    Markdup,
    /// Drop and edit reads.
    Filter,
    /// Reads of some regions, in any format.
    View,
    /// Split reads among files.
    Split,
    /// Write reads as FASTQ.
    Fastq,
    /// Count errors for recalibration.
    BqsrTable,
    /// Recalibrate by a table.
    BqsrApply,
    /// The tally of this name.
    Tally(&'static str),
}

impl Command {
    /// Its name, as it is given and as @PG has it.
    pub fn name(self) -> &'static str {
        match self {
            Command::Prep => "prep",
            Command::Align => "align",
            Command::Import => "import",
            Command::MergeAlignment => "merge-alignment",
            Command::Sort => "sort",
            Command::Merge => "merge",
            Command::Markdup => "markdup",
            Command::Filter => "filter",
            Command::View => "view",
            Command::Split => "split",
            Command::Fastq => "fastq",
            Command::BqsrTable => "bqsr table",
            Command::BqsrApply => "bqsr apply",
            Command::Tally(name) => name,
        }
    }

    /// Whether it marks duplicates without being asked.
    pub(super) fn marks_duplicates(self) -> bool {
        self == Command::Markdup
    }

    /// Whether it sorts by coordinate without being asked.
    pub(super) fn sorts_by_coordinate(self) -> bool {
        matches!(self, Command::Sort | Command::Merge)
    }

    /// Whether reads always keep the order of the input.
    pub(super) fn keeps_order(self) -> bool {
        matches!(
            self,
            Command::BqsrApply | Command::Split | Command::Filter | Command::View | Command::Tally(_)
        )
    }
}

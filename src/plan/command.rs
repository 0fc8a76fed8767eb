//! The subcommands that process reads, and what they do by default.

/// A subcommand that processes reads.
///
/// All of them run the same pipeline. They differ in their flags, in the steps that are on by
/// default, and in the name that `@PG` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Any combination of steps in a single pass.
    Prep,
    /// Alignment, followed by any combination of steps.
    Align,
    /// Conversion of unaligned reads to unaligned records.
    Import,
    /// Merging of alignments into unaligned reads, as in Picard MergeBamAlignment.
    MergeAlignment,
    Sort,
    Merge,
    Markdup,
    Filter,
    View,
    Split,
    Fastq,
    BqsrTable,
    BqsrApply,
    /// A subcommand that only counts reads, such as `flagstat`; the value is its name.
    Tally(&'static str),
}

impl Command {
    /// Returns the name as it is typed on the command line and written to `@PG`.
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

    /// Returns whether the subcommand always marks duplicates, so that `@PG` needs no flag for it.
    pub(super) fn marks_duplicates(self) -> bool {
        self == Command::Markdup
    }

    /// Returns whether the subcommand sorts by coordinate by default.
    pub(super) fn sorts_by_coordinate(self) -> bool {
        matches!(self, Command::Sort | Command::Merge)
    }

    /// Returns whether the subcommand always keeps the order of the input, so that `@PG` needs no
    /// `--sort`.
    pub(super) fn keeps_order(self) -> bool {
        matches!(
            self,
            Command::BqsrApply | Command::Split | Command::Filter | Command::View | Command::Tally(_)
        )
    }
}

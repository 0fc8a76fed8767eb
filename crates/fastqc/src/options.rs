//! Options that apply to all modules of a report.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastqcOptions {
    /// Report each position on a line of its own in long reads, too (FastQC `--nogroup`). Otherwise
    /// positions are grouped in reads of more than 75 bases.
    pub no_group: bool,
}

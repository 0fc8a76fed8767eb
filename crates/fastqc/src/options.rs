//! Options that apply to all modules of a report.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastqcOptions {
    /// Do not group positions of long reads (FastQC `--nogroup`). By default, positions are grouped
    /// in reads of more than 75 bases.
    pub no_group: bool,
}

//! Options: which experiments run, and how much of each.

use std::path::PathBuf;

/// The experiments that run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the reads are written that are measured.
    pub directory: PathBuf,
    /// Where plots are written.
    pub plots: PathBuf,
    /// Pairs of reads that are measured.
    pub pairs: u64,
    /// Measurements of everything; the median counts.
    pub rounds: usize,
    /// Cores for which is projected.
    pub cores: usize,
    /// Numbers of threads that are measured together.
    pub threads: Vec<usize>,
    /// Microseconds of work for a read that they have, one table each.
    pub work: Vec<f64>,
    /// Seconds of each such measurement.
    pub seconds: f64,
}

//! The coverage of one contig.

use crate::depth::piece::ContigTally;

/// The coverage of a contig, or of a region of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContigCoverage {
    pub(crate) tally: ContigTally,
    /// Positions that are covered, and the sum of their depths.
    pub(crate) covered: u64,
    pub(crate) depth: u64,
}

impl ContigCoverage {
    pub(crate) fn mean_quality(&self) -> f64 {
        mean(self.tally.qualities, self.tally.bases).unwrap_or(0.0)
    }
}

/// The mean of `n` numbers of this sum; none of no numbers.
pub(crate) fn mean(sum: u64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum as f64 / n as f64)
}

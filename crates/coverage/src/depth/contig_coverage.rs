//! The sums for the line of one contig in `samtools coverage`.

use crate::depth::piece::ContigTally;

/// The coverage of a contig, or of the requested region.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContigCoverage {
    pub(crate) tally: ContigTally,
    pub(crate) covered: u64,
    pub(crate) depth: u64,
}

impl ContigCoverage {
    pub(crate) fn mean_quality(&self) -> f64 {
        mean_of(self.tally.qualities, self.tally.bases).unwrap_or(0.0)
    }
}

pub(crate) fn mean_of(sum: u64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum as f64 / n as f64)
}

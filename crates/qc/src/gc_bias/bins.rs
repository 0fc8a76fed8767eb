//! Counts of reads by the GC percentage of their reference window.

use serde::{Deserialize, Serialize};

/// Number of GC percentages, from 0 to 100.
pub(super) const BINS: usize = 101;

/// Maximum number of N in a window that belongs to a bin.
pub(super) const MAX_N: u64 = 4;

pub(super) const C: u8 = 2;
pub(super) const G: u8 = 4;

/// The counts of non-duplicate reads, and of duplicates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GcReads(pub(super) [GcCounts; 2]);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GcCounts {
    /// The number of read 1 of pairs and of unpaired reads, mapped or not.
    pub clusters: u64,
    pub aligned: u64,
    pub bins: Vec<GcBin>,
}

/// Counts for the reads whose window has a given GC percentage.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct GcBin {
    pub reads: u64,
    pub bases: u64,
    /// Mismatches, and inserted and deleted bases.
    pub errors: u64,
}

impl GcReads {
    pub fn merge(&mut self, from: &GcReads) {
        self.0.iter_mut().zip(&from.0).for_each(|(into, from)| into.merge(from));
    }
}

impl GcCounts {
    pub fn merge(&mut self, from: &GcCounts) {
        self.clusters += from.clusters;
        self.aligned += from.aligned;
        if self.bins.len() < from.bins.len() {
            self.bins.resize(from.bins.len(), GcBin::default());
        }
        for (into, from) in self.bins.iter_mut().zip(&from.bins) {
            into.reads += from.reads;
            into.bases += from.bases;
            into.errors += from.errors;
        }
    }
}

/// Returns the bin of a window with `gc` bases G or C. Rounds down.
pub(super) fn gc_percentage(gc: u64, window: u32) -> usize {
    (gc * 100 / u64::from(window)) as usize
}

//! Reads by the percentage of G and C of their windows.

use serde::{Deserialize, Serialize};

/// Percentages of G and C, from 0 to 100.
pub(super) const BINS: usize = 101;

/// Windows with more N than this belong to no bin.
pub(super) const MAX_N: u64 = 4;

/// The codes of C and G.
pub(super) const C: u8 = 2;
pub(super) const G: u8 = 4;

/// The counts of reads that are no duplicates, and of those that are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GcReads(pub(super) [GcCounts; 2]);

/// The counts of some reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GcCounts {
    /// First reads, and reads without a mate.
    pub clusters: u64,
    pub aligned: u64,
    pub bins: Vec<GcBin>,
}

/// The reads of the windows of one percentage.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct GcBin {
    pub reads: u64,
    pub bases: u64,
    /// Mismatches, inserted and deleted bases.
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

/// The bin of a window with so many G and C.
pub(super) fn percentage(gc: u64, window: u32) -> usize {
    (gc * 100 / u64::from(window)) as usize
}

//! CollectGcBiasMetrics: reads by the share of G and C in the reference where they start.
//!
//! A read belongs to one window of the reference: for a forward read, the one that begins behind its first base; for a reverse
//! read, the one that ends with the base before its last one. Unlike all other programs, this one counts secondary and
//! supplementary records and reads that fail quality controls.

mod scan;
mod table;

use readmill_record::Result;
use serde::{Deserialize, Serialize};

pub use scan::{GcScan, GcScanWorker, GcWindows, Piece};

use crate::alignment::mismatches;
use crate::counts::count_bytes;
use crate::read::{N, Read};
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::room::Room;

/// Percentages of G and C, from 0 to 100.
const BINS: usize = 101;

/// Windows with more N than this belong to no bin.
const MOST_N: u64 = 4;

/// The codes of C and G.
const C: u8 = 2;
const G: u8 = 4;

/// The counts of reads that are no duplicates, and of those that are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GcBias([GcCounts; 2]);

/// The counts of some reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GcCounts {
    /// First reads, and reads without a mate.
    clusters: u64,
    aligned: u64,
    bins: Vec<GcBin>,
}

/// The reads of the windows of one percentage.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct GcBin {
    reads: u64,
    bases: u64,
    /// Mismatches, inserted and deleted bases.
    errors: u64,
}

/// What reads are compared with.
pub(crate) struct GcContext<'a> {
    pub reference: &'a ReferenceContigs,
    /// Bases of a window.
    pub window: u32,
    pub room: &'a Room,
}

impl GcBias {
    /// Counts a record; its mismatches are counted here if they are not known.
    #[inline]
    pub fn add(
        &mut self,
        read: &Read<'_>,
        known: Option<u64>,
        context: &GcContext<'_>,
        pages: &mut ReferencePages,
    ) -> Result<()> {
        if read.bases.is_empty() {
            return Ok(());
        }
        let flags = read.flags;
        let counts = &mut self.0[usize::from(flags.is_duplicate())];
        counts.clusters += u64::from(!flags.is_paired() || flags.is_first());
        if flags.is_unmapped() {
            return Ok(());
        }
        counts.aligned += 1;
        let Some(gc) = context.gc(read, pages)? else { return Ok(()) };
        context.room.lengthen(&mut counts.bins, BINS, BINS)?;
        let mismatches = match known {
            Some(mismatches) => mismatches,
            None => mismatches(read, context.reference, pages)?,
        };
        let gaps = read.record.cigar().ops().filter(|(op, _)| matches!(op, 1 | 2));
        let bin = &mut counts.bins[gc];
        bin.reads += 1;
        bin.bases += read.bases.len() as u64;
        bin.errors += mismatches + gaps.map(|(_, n)| u64::from(n)).sum::<u64>();
        Ok(())
    }

    /// Adds other counts.
    pub fn merge(&mut self, from: &GcBias) {
        self.0.iter_mut().zip(&from.0).for_each(|(into, from)| into.merge(from));
    }
}

impl GcCounts {
    fn merge(&mut self, from: &GcCounts) {
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

impl GcContext<'_> {
    /// The bin of a mapped read; `None` if it lies before the first window, beyond its contig, or among N. Behind the last
    /// window of its contig it is 0, as in Picard.
    #[inline]
    fn gc(&self, read: &Read<'_>, pages: &mut ReferencePages) -> Result<Option<usize>> {
        let record = read.record;
        let Some((contig, length)) = self.reference.place(record.ref_id())? else { return Ok(None) };
        let start = if read.flags.is_reverse() {
            i64::from(record.pos()) + record.cigar().reference_length() - i64::from(self.window)
        } else {
            i64::from(record.pos()) + 1
        };
        let Some(start) = u32::try_from(start).ok().filter(|start| (1..=length).contains(start)) else {
            return Ok(None);
        };
        if start >= length.saturating_sub(self.window) {
            return Ok(Some(0));
        }
        let codes = pages.of(self.reference).codes(contig, start, start + self.window)?;
        let gc = count_bytes(codes, |code| (code == C) | (code == G));
        let is_known = count_bytes(codes, |code| code == N) <= MOST_N;
        Ok(is_known.then(|| percentage(gc, self.window)))
    }
}

/// The bin of a window with so many G and C.
fn percentage(gc: u64, window: u32) -> usize {
    (gc * 100 / u64::from(window)) as usize
}

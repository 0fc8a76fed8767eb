//! Counts of trimmed and dropped reads.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::counts::TrimReadCounts;
use crate::filter::{FILTER_VERDICTS, FilterVerdict};
use crate::overlap::Overlap;
use crate::poly::Tail;

/// Insert sizes from this value on are counted as unknown, as in fastp.
pub(crate) const MAX_INSERT_SIZE: usize = 512;

/// Counts that are collected while reads are trimmed.
///
/// Each thread counts a batch in its own tally, and the pipeline adds the tallies with `+=`, in any
/// order. `shard` jobs store tallies as JSON, so the field names are part of a file format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimTally {
    /// Counts of read 1 and read 2 before trimming. Single reads count as read 1.
    pub before: [TrimReadCounts; 2],
    pub after: [TrimReadCounts; 2],
    /// Number of reads for each verdict, in the order of [`FILTER_VERDICTS`].
    verdicts: [u64; FILTER_VERDICTS.len()],
    /// Number of reads with a trimmed adapter, and number of adapter bases.
    pub(crate) adapters: [u64; 2],
    pub(crate) corrected: [u64; 2],
    /// Number of reads with a poly-X tail, and number of bases in these tails, by
    /// [base](crate::poly::BASES).
    pub(crate) tails: [[u64; 4]; 2],
    /// Number of pairs by insert size. The last element counts pairs whose size is unknown or at
    /// least [`MAX_INSERT_SIZE`].
    pub(crate) inserts: Vec<u64>,
}

impl Default for TrimTally {
    fn default() -> Self {
        TrimTally {
            before: Default::default(),
            after: Default::default(),
            verdicts: Default::default(),
            adapters: Default::default(),
            corrected: Default::default(),
            tails: Default::default(),
            inserts: vec![0; MAX_INSERT_SIZE + 1],
        }
    }
}

impl TrimTally {
    pub fn reads_with_verdict(&self, verdict: FilterVerdict) -> u64 {
        self.verdicts[verdict as usize]
    }

    pub fn dropped_reads(&self) -> u64 {
        self.verdicts.iter().sum::<u64>() - self.reads_with_verdict(FilterVerdict::Passed)
    }

    pub fn has_pairs(&self) -> bool {
        self.before[1].reads > 0
    }

    pub(crate) fn count_verdict(&mut self, verdict: FilterVerdict, reads: usize) {
        self.verdicts[verdict as usize] += reads as u64;
    }

    /// Counts a read with `bases` adapter bases. Does nothing if `bases` is 0.
    pub(crate) fn count_adapter(&mut self, bases: usize) {
        if bases > 0 {
            self.adapters[0] += 1;
            self.adapters[1] += bases as u64;
        }
    }

    pub(crate) fn count_tail(&mut self, tail: Tail) {
        self.tails[0][tail.base] += 1;
        self.tails[1][tail.base] += tail.length as u64;
    }

    /// Counts the insert size of a pair.
    ///
    /// `lengths` is the sum of both read lengths before adapters are cut. `fronts` is the number of
    /// bases that were already cut from both 5' ends, which are part of the insert.
    pub(crate) fn count_insert_size(&mut self, overlap: Option<Overlap>, lengths: usize, fronts: usize) {
        let size = overlap.map(|Overlap { offset, length, .. }| {
            fronts + if offset > 0 { lengths - length } else { length }
        });
        self.inserts[size.unwrap_or(MAX_INSERT_SIZE).min(MAX_INSERT_SIZE)] += 1;
    }
}

impl AddAssign<&TrimTally> for TrimTally {
    fn add_assign(&mut self, other: &TrimTally) {
        fn add(to: &mut [u64], more: &[u64]) {
            to.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        for segment in 0..2 {
            self.before[segment] += other.before[segment];
            self.after[segment] += other.after[segment];
            add(&mut self.tails[segment], &other.tails[segment]);
        }
        add(&mut self.verdicts, &other.verdicts);
        add(&mut self.adapters, &other.adapters);
        add(&mut self.corrected, &other.corrected);
        add(&mut self.inserts, &other.inserts);
    }
}

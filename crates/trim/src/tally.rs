//! Counts of trimmed and dropped reads.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::counts::TrimReadCounts;
use crate::filter::{FILTER_VERDICTS, FilterVerdict};
use crate::overlap::Overlap;
use crate::poly::Tail;

/// Insert sizes from this one on share one count with unknown sizes, as in fastp.
pub(crate) const MAX_INSERT_SIZE: usize = 512;

/// Everything that is counted while reads are trimmed.
///
/// Each thread counts a batch in a tally of its own, and the pipeline adds them with `+=`. All
/// counts are sums, so the order of additions does not matter. `shard` jobs store tallies as JSON,
/// so the field names are a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimTally {
    /// Counts of first and last reads before trimming. Single reads count as first reads.
    pub before: [TrimReadCounts; 2],
    pub after: [TrimReadCounts; 2],
    /// Number of reads for each verdict, in the order of [`FILTER_VERDICTS`].
    verdicts: [u64; FILTER_VERDICTS.len()],
    /// Number of reads that lost an adapter, and number of bases that were cut with it.
    pub(crate) adapters: [u64; 2],
    pub(crate) corrected: [u64; 2],
    /// Reads with a tail of one base, by base, and the bases of these tails.
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

    /// Counts a read that lost `bases` bases of adapter. Zero bases do not count as a trimmed read.
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
    /// `lengths` is the sum of both read lengths before adapters are cut, and `fronts` the number
    /// of bases that were cut from both 5' ends: they belong to the insert, too.
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

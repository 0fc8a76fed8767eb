//! Counts of trimmed and dropped reads.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::counts::ReadCounts;
use crate::filter::{VERDICTS, Verdict};
use crate::overlap::Overlap;
use crate::poly::Tail;

/// Insert sizes from this on are not told apart.
pub(crate) const LONGEST_INSERT: usize = 512;

/// Counts of trimming. They are sums, whatever the order of reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimTally {
    /// First and last reads as they came. Single reads are first ones.
    pub before: [ReadCounts; 2],
    /// Those that stay, as they are left.
    pub after: [ReadCounts; 2],
    /// Reads by what the filters say of them, in the order of [`VERDICTS`].
    verdicts: [u64; VERDICTS.len()],
    /// Reads with an adapter, and the bases that were cut off.
    pub(crate) adapters: [u64; 2],
    /// Reads with a corrected base, and such bases.
    pub(crate) corrected: [u64; 2],
    /// Reads with a tail of one base, by base, and bases of these tails.
    pub(crate) tails: [[u64; 4]; 2],
    /// Pairs by the length of their template; the last number is that of pairs of which it is not known.
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
            inserts: vec![0; LONGEST_INSERT + 1],
        }
    }
}

impl TrimTally {
    /// Reads of which the filters say so.
    pub fn reads(&self, verdict: Verdict) -> u64 {
        self.verdicts[verdict as usize]
    }

    /// Reads that were dropped.
    pub fn dropped(&self) -> u64 {
        self.verdicts.iter().sum::<u64>() - self.reads(Verdict::Passed)
    }

    /// Whether there were pairs.
    pub fn has_pairs(&self) -> bool {
        self.before[1].reads > 0
    }

    pub(crate) fn judged(&mut self, verdict: Verdict, reads: usize) {
        self.verdicts[verdict as usize] += reads as u64;
    }

    /// Adds an adapter of so many bases, if it has any, to those of one read.
    pub(crate) fn adapter(&mut self, bases: usize) {
        if bases > 0 {
            self.adapters[0] += 1;
            self.adapters[1] += bases as u64;
        }
    }

    pub(crate) fn tail(&mut self, tail: Tail) {
        self.tails[0][tail.base] += 1;
        self.tails[1][tail.base] += tail.length as u64;
    }

    /// Adds a pair of reads of these lengths, of whose fronts so many bases were cut off.
    pub(crate) fn insert(&mut self, overlap: Option<Overlap>, lengths: usize, fronts: usize) {
        let size = overlap.map(|Overlap { offset, length, .. }| {
            fronts + if offset > 0 { lengths - length } else { length }
        });
        self.inserts[size.unwrap_or(LONGEST_INSERT).min(LONGEST_INSERT)] += 1;
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

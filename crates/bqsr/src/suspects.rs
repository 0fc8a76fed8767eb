//! Finds positions at which so many reads differ from the reference that the sample itself differs. They
//! replace known sites where there are none.
//!
//! Reads come sorted by position, in batches. Each batch lists the positions where its reads begin, end and
//! differ ([`SiteEvents`]). The batches are added up in order ([`SiteScan`]), and a position is decided when no later
//! read can reach it. So the result does not depend on the borders of batches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Fewer differing reads than this are sequencing errors, at any depth.
pub const LEAST_READS: u64 = 3;

/// At least one read in this number must differ.
pub const ONE_OF: u64 = 5;

/// A contig's number in the high bits, then a 0-based position in it.
type SitePosition = u64;

fn place(contig: u32, position: i64) -> SitePosition {
    u64::from(contig) << 32 | position.max(0) as u64
}

/// The positions where the reads of a batch begin, end and differ.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SiteEvents {
    first: Option<SitePosition>,
    starts: Vec<SitePosition>,
    ends: Vec<SitePosition>,
    differing: Vec<SitePosition>,
}

impl SiteEvents {
    /// Replaces positions by their differences, which take fewer bytes in a file.
    #[must_use]
    pub fn packed(mut self) -> Self {
        for places in [&mut self.starts, &mut self.ends, &mut self.differing] {
            places.sort_unstable();
            let mut before = 0;
            for place in places {
                before = std::mem::replace(place, *place - before);
            }
        }
        self
    }

    /// Replaces differences by positions.
    #[must_use]
    pub fn unpacked(mut self) -> Self {
        for places in [&mut self.starts, &mut self.ends, &mut self.differing] {
            let mut sum = 0u64;
            for place in places {
                sum = sum.wrapping_add(*place);
                *place = sum;
            }
        }
        self
    }

    /// Adds the start of a read; no later read starts before it.
    pub fn begin(&mut self, contig: u32, position: i64) {
        self.first.get_or_insert(place(contig, position));
    }

    /// Adds the compared bases of a read, from `start` to `end`.
    pub fn cover(&mut self, contig: u32, start: i64, end: i64) {
        self.starts.push(place(contig, start));
        self.ends.push(place(contig, end));
    }

    /// Adds a base that differs.
    pub fn differ(&mut self, contig: u32, position: i64) {
        self.differing.push(place(contig, position));
    }
}

/// Counts by position.
type PositionCounts = BTreeMap<SitePosition, u64>;

/// The positions that are not decided yet. Memory grows with these positions, not with the reads on them.
#[derive(Debug, Default)]
pub struct SiteScan {
    starts: PositionCounts,
    ends: PositionCounts,
    differing: PositionCounts,
    /// The read depth at the last decided position.
    depth: u64,
}

impl SiteScan {
    /// Adds the next batch; calls `found` with the positions that are decided by it, in order.
    pub fn add<E>(
        &mut self,
        seen: SiteEvents,
        found: impl FnMut(u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(first) = seen.first {
            self.decide(first, found)?;
        }
        let SiteEvents { starts, ends, differing, .. } = seen;
        let counts = [&mut self.starts, &mut self.ends, &mut self.differing];
        for (counts, places) in counts.into_iter().zip([starts, ends, differing]) {
            places.into_iter().for_each(|place| *counts.entry(place).or_default() += 1);
        }
        Ok(())
    }

    /// Decides the remaining positions; there are no more reads.
    pub fn finish<E>(&mut self, found: impl FnMut(u32, u32) -> Result<(), E>) -> Result<(), E> {
        self.decide(SitePosition::MAX, found)
    }

    /// Decides all positions before `limit`.
    fn decide<E>(
        &mut self,
        limit: SitePosition,
        mut found: impl FnMut(u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((at, reads)) = take_before(&mut self.differing, limit) {
            self.pass(at + 1);
            if reads >= LEAST_READS && reads * ONE_OF >= self.depth {
                found((at >> 32) as u32, at as u32)?;
            }
        }
        self.pass(limit);
        Ok(())
    }

    /// Advances the depth to `limit`, by all starts and ends before it.
    fn pass(&mut self, limit: SitePosition) {
        while let Some((_, reads)) = take_before(&mut self.starts, limit) {
            self.depth += reads;
        }
        while let Some((_, reads)) = take_before(&mut self.ends, limit) {
            self.depth -= reads;
        }
    }
}

/// Removes the first position before `limit`.
fn take_before(counts: &mut PositionCounts, limit: SitePosition) -> Option<(SitePosition, u64)> {
    counts.first_entry().filter(|first| *first.key() < limit).map(|first| first.remove_entry())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads as (contig, start, end, positions that differ), cut into batches of `together` reads.
    fn suspected(reads: &[(u32, i64, i64, &[i64])], together: usize) -> Vec<(u32, u32)> {
        let (mut pile, mut all) = (SiteScan::default(), Vec::new());
        let mut take = |contig, position| {
            all.push((contig, position));
            Ok::<(), ()>(())
        };
        for stretch in reads.chunks(together) {
            let mut seen = SiteEvents::default();
            for &(contig, start, end, differing) in stretch {
                seen.begin(contig, start);
                seen.cover(contig, start, end);
                differing.iter().for_each(|&at| seen.differ(contig, at));
            }
            pile.add(seen, &mut take).unwrap();
        }
        pile.finish(&mut take).unwrap();
        all
    }

    #[test]
    fn a_position_is_suspected_by_three_reads_and_one_of_five() {
        let few = [(0, 10, 20, &[15i64][..]), (0, 11, 21, &[15]), (0, 12, 22, &[15, 16])];
        assert_eq!(suspected(&few, 9), [(0, 15)]);
        assert_eq!(suspected(&few[1..], 9), [], "two reads");
        let mut deep: Vec<(u32, i64, i64, &[i64])> = vec![(0, 10, 20, &[]); 12];
        deep.extend(few);
        assert_eq!(suspected(&deep, 99), [(0, 15)], "three of fifteen");
        deep.push((0, 15, 25, &[]));
        assert_eq!(suspected(&deep, 99), [], "three of sixteen");
        deep[0].2 = 15;
        assert_eq!(suspected(&deep, 99), [(0, 15)], "one of them ended before");
    }

    #[test]
    fn borders_of_batches_do_not_matter() {
        let differing: Vec<Vec<i64>> = (0..400i64)
            .map(|i| (i..i + 30).filter(|at| (at * 7919 + i * i) % 11 < 2).collect())
            .collect();
        let reads: Vec<(u32, i64, i64, &[i64])> = (0..400usize)
            .map(|i| ((i / 250) as u32, i as i64, i as i64 + 30 - (i % 5) as i64, &differing[i][..]))
            .collect();
        let whole = suspected(&reads, reads.len());
        assert!(whole.len() > 20, "{}", whole.len());
        assert!(whole.is_sorted());
        for together in [1, 2, 7, 50, 249, 251] {
            assert_eq!(suspected(&reads, together), whole, "{together}");
        }
    }
}

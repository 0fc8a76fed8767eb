//! Finds likely variants: positions at which many reads mismatch because the sample differs from
//! the reference.
//!
//! If there are no known sites, these positions are excluded from counting instead. The reads must
//! be sorted by position:
//!
//! 1. Threads list, in parallel, the positions where the reads of a batch start, end and mismatch
//!    ([`SiteEvents`]).
//! 2. The lists are added in order ([`SiteScan`]). A position is decided when no later read can
//!    reach it.
//!
//! So the result does not depend on where batches end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub const MIN_MISMATCHING_READS: u64 = 3;

/// A position is a suspect if at least one in this many reads mismatches, and at least
/// [`MIN_MISMATCHING_READS`] reads do. Fewer mismatches are sequencing errors at any depth.
pub const MAX_READS_PER_MISMATCH: u64 = 5;

/// A genomic position as one number: the contig's index in the upper 32 bits, the 0-based position
/// in the lower 32 bits.
type SitePosition = u64;

fn site_position(contig: u32, position: i64) -> SitePosition {
    u64::from(contig) << 32 | position.max(0) as u64
}

/// The positions where the reads of a batch start, end and mismatch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SiteEvents {
    first: Option<SitePosition>,
    starts: Vec<SitePosition>,
    ends: Vec<SitePosition>,
    differing: Vec<SitePosition>,
}

impl SiteEvents {
    /// Sorts the positions and replaces them with their differences, which take less space in a
    /// file.
    #[must_use]
    pub fn into_differences(mut self) -> Self {
        for places in [&mut self.starts, &mut self.ends, &mut self.differing] {
            places.sort_unstable();
            let mut before = 0;
            for place in places {
                before = std::mem::replace(place, *place - before);
            }
        }
        self
    }

    #[must_use]
    pub fn into_positions(mut self) -> Self {
        for places in [&mut self.starts, &mut self.ends, &mut self.differing] {
            let mut sum = 0u64;
            for place in places {
                sum = sum.wrapping_add(*place);
                *place = sum;
            }
        }
        self
    }

    /// Records the start of a read, even if the read is not counted. No later read starts before
    /// it.
    pub fn note_read_start(&mut self, contig: u32, position: i64) {
        self.first.get_or_insert(site_position(contig, position));
    }

    /// Adds the compared bases of a read, the positions in `start..end`.
    pub fn add_span(&mut self, contig: u32, start: i64, end: i64) {
        self.starts.push(site_position(contig, start));
        self.ends.push(site_position(contig, end));
    }

    pub fn add_mismatch(&mut self, contig: u32, position: i64) {
        self.differing.push(site_position(contig, position));
    }
}

type PositionCounts = BTreeMap<SitePosition, u64>;

/// Decides which positions are suspects. Memory grows with the number of undecided positions, not
/// with depth.
#[derive(Debug, Default)]
pub struct SiteScan {
    starts: PositionCounts,
    ends: PositionCounts,
    differing: PositionCounts,
    depth: u64,
}

impl SiteScan {
    /// Adds the next batch. Calls `found` with the contig and position of each suspect that is
    /// decided by this batch, in order.
    pub fn add_batch<E>(
        &mut self,
        seen: SiteEvents,
        found: impl FnMut(u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(first) = seen.first {
            self.report_suspects_before(first, found)?;
        }
        let SiteEvents { starts, ends, differing, .. } = seen;
        let counts = [&mut self.starts, &mut self.ends, &mut self.differing];
        for (counts, places) in counts.into_iter().zip([starts, ends, differing]) {
            places.into_iter().for_each(|place| *counts.entry(place).or_default() += 1);
        }
        Ok(())
    }

    /// Decides all remaining positions. Called after the last read.
    pub fn finish<E>(&mut self, found: impl FnMut(u32, u32) -> Result<(), E>) -> Result<(), E> {
        self.report_suspects_before(SitePosition::MAX, found)
    }

    fn report_suspects_before<E>(
        &mut self,
        limit: SitePosition,
        mut found: impl FnMut(u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((at, reads)) = take_before(&mut self.differing, limit) {
            self.advance_depth(at + 1);
            if reads >= MIN_MISMATCHING_READS && reads * MAX_READS_PER_MISMATCH >= self.depth {
                found((at >> 32) as u32, at as u32)?;
            }
        }
        self.advance_depth(limit);
        Ok(())
    }

    /// Updates the depth by all starts and ends before `limit`.
    fn advance_depth(&mut self, limit: SitePosition) {
        while let Some((_, reads)) = take_before(&mut self.starts, limit) {
            self.depth += reads;
        }
        while let Some((_, reads)) = take_before(&mut self.ends, limit) {
            self.depth -= reads;
        }
    }
}

/// Removes and returns the first position, if it is before `limit`.
fn take_before(counts: &mut PositionCounts, limit: SitePosition) -> Option<(SitePosition, u64)> {
    counts.first_entry().filter(|first| *first.key() < limit).map(|first| first.remove_entry())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a scan of reads, given as contig, start, end and mismatching positions, in batches of
    /// `together` reads.
    fn suspected(reads: &[(u32, i64, i64, &[i64])], together: usize) -> Vec<(u32, u32)> {
        let (mut pile, mut all) = (SiteScan::default(), Vec::new());
        let mut take = |contig, position| {
            all.push((contig, position));
            Ok::<(), ()>(())
        };
        for stretch in reads.chunks(together) {
            let mut seen = SiteEvents::default();
            for &(contig, start, end, differing) in stretch {
                seen.note_read_start(contig, start);
                seen.add_span(contig, start, end);
                differing.iter().for_each(|&at| seen.add_mismatch(contig, at));
            }
            pile.add_batch(seen, &mut take).unwrap();
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

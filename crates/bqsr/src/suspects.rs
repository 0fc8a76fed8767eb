//! Positions at which so many reads differ from the reference that it is the sample that differs: what stands in
//! for known sites where there are none.
//!
//! Reads come sorted by position, in stretches. Each stretch says where its reads begin, end and differ
//! ([`Seen`]); the stretches are added up in order ([`Pile`]), and a position is judged once no read that is still to come
//! can reach it. So the answer does not depend on where stretches were cut.

use std::collections::BTreeMap;

/// Fewer reads than this that differ are taken for errors of the sequencer, however few reads there are.
pub const LEAST_READS: u64 = 3;

/// At least one read of so many must differ.
pub const ONE_OF: u64 = 5;

/// A contig's number, then a 0-based position in it.
type Place = u64;

fn place(contig: u32, position: i64) -> Place {
    u64::from(contig) << 32 | position.max(0) as u64
}

/// What a stretch of reads says.
#[derive(Debug, Default)]
pub struct Seen {
    first: Option<Place>,
    starts: Vec<Place>,
    ends: Vec<Place>,
    differing: Vec<Place>,
}

impl Seen {
    /// A read begins here; no later one does before it, in sorted order.
    pub fn begin(&mut self, contig: u32, position: i64) {
        self.first.get_or_insert(place(contig, position));
    }

    /// Bases of a read are compared from `start` to `end`.
    pub fn cover(&mut self, contig: u32, start: i64, end: i64) {
        self.starts.push(place(contig, start));
        self.ends.push(place(contig, end));
    }

    /// A base differs here.
    pub fn differ(&mut self, contig: u32, position: i64) {
        self.differing.push(place(contig, position));
    }
}

/// How often something is at a place.
type Counts = BTreeMap<Place, u64>;

/// What is not judged yet. It grows with the positions that are open, not with the reads on them.
#[derive(Debug, Default)]
pub struct Pile {
    starts: Counts,
    ends: Counts,
    differing: Counts,
    /// Reads that have begun and not ended at the position judged last.
    depth: u64,
}

impl Pile {
    /// Adds the stretch that comes next; hands out the positions, in order, that are suspected by then.
    pub fn add<E>(&mut self, seen: Seen, found: impl FnMut(u32, u32) -> Result<(), E>) -> Result<(), E> {
        if let Some(first) = seen.first {
            self.judge(first, found)?;
        }
        let Seen { starts, ends, differing, .. } = seen;
        let counts = [&mut self.starts, &mut self.ends, &mut self.differing];
        for (counts, places) in counts.into_iter().zip([starts, ends, differing]) {
            places.into_iter().for_each(|place| *counts.entry(place).or_default() += 1);
        }
        Ok(())
    }

    /// No more reads come.
    pub fn finish<E>(&mut self, found: impl FnMut(u32, u32) -> Result<(), E>) -> Result<(), E> {
        self.judge(Place::MAX, found)
    }

    /// Judges all positions before `limit`.
    fn judge<E>(
        &mut self,
        limit: Place,
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

    /// Goes on to `limit`: reads that begin or end before it have begun or ended.
    fn pass(&mut self, limit: Place) {
        while let Some((_, reads)) = take_before(&mut self.starts, limit) {
            self.depth += reads;
        }
        while let Some((_, reads)) = take_before(&mut self.ends, limit) {
            self.depth -= reads;
        }
    }
}

/// Takes the first place before `limit`.
fn take_before(counts: &mut Counts, limit: Place) -> Option<(Place, u64)> {
    counts.first_entry().filter(|first| *first.key() < limit).map(|first| first.remove_entry())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads as (contig, start, end, positions that differ), cut into stretches of so many.
    fn suspected(reads: &[(u32, i64, i64, &[i64])], together: usize) -> Vec<(u32, u32)> {
        let (mut pile, mut all) = (Pile::default(), Vec::new());
        let mut take = |contig, position| {
            all.push((contig, position));
            Ok::<(), ()>(())
        };
        for stretch in reads.chunks(together) {
            let mut seen = Seen::default();
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
    fn where_stretches_are_cut_does_not_matter() {
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

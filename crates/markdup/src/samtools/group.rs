//! A group: the reads that become duplicates of one read.
//!
//! Determines in which order the reads replaced each other, and which of them are optical
//! duplicates. samtools compares reads in coordinate order:
//!
//! 1. A read that loses is linked to the read that won, which may itself lose later.
//! 2. The first paired read at an end replaces all single reads at this end. Later single reads are
//!    linked to it, whether or not it is kept.
//! 3. A read is an optical duplicate if it is near the read to which it was linked, or near any
//!    better read of the group.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::detail::FlowCellPlace;
use crate::tables::OrdinalTable;

pub struct DuplicateGroups {
    pub members: OrdinalTable,
    /// The group of each single read, and of each paired read that is not a duplicate but has
    /// single reads linked to it.
    pub singles: OrdinalTable,
    pub number: u64,
    pub reads: u64,
}

impl DuplicateGroups {
    pub fn bytes(&self) -> u64 {
        self.members.bytes_of_rows() + self.singles.bytes_of_rows()
    }
}

pub struct GroupMember {
    pub group: u64,
    pub place: (i32, u64),
    pub end: (i64, bool),
    pub is_single: bool,
    pub failed: bool,
    pub score: i64,
    pub seen: Option<FlowCellPlace>,
    /// The read name, which breaks ties between equal scores.
    pub name: Box<[u8]>,
}

/// Memory in bytes of a read while its group is judged, excluding its name: the member, its links,
/// its entry in the grid, and allocation overhead.
const MEMBER_BYTES: u64 = (size_of::<GroupMember>() + 128) as u64;

impl GroupMember {
    pub fn bytes(&self) -> u64 {
        MEMBER_BYTES + self.name.len() as u64
    }

    pub fn ordinal(&self) -> u64 {
        self.place.1
    }

    /// Returns whether this read replaces another paired read: it passed quality control and the
    /// other did not; or else it has a higher score; or else a smaller name.
    fn is_better_pair(&self, other: &GroupMember) -> bool {
        let rank = |read: &GroupMember| (read.failed, Reverse(read.score));
        (rank(self), &self.name).lt(&(rank(other), &other.name))
    }
}

pub struct GroupLinks {
    /// The index of the member to which each member was linked. `None` for the member that is kept.
    pub links: Vec<Option<usize>>,
    /// Number of reads that each member represents, including itself.
    pub counts: Vec<u64>,
    pub root: usize,
    pub optical: Vec<bool>,
}

impl GroupLinks {
    /// Judges the members of a group, which must be in coordinate order.
    ///
    /// `distance` is the maximum distance of optical duplicates, or `None` if they are not searched
    /// for. With `first_only`, only members near the read to which they were linked are optical.
    pub fn of_group(members: &[GroupMember], distance: Option<i64>, first_only: bool) -> Self {
        let mut links = vec![None; members.len()];
        let mut counts = vec![1; members.len()];
        // `ends` has the read to which single reads of an end are linked, `best` the best paired
        // read so far.
        let mut ends: HashMap<(i64, bool), usize> = HashMap::new();
        let mut best: Option<usize> = None;
        for (at, read) in members.iter().enumerate() {
            let entry = ends.entry(read.end).or_insert(at);
            let holder = &members[*entry];
            if *entry == at {
                // the first read at this end
            } else if read.is_single {
                if holder.is_single && read.score > holder.score {
                    links[*entry] = Some(at);
                    counts[at] += counts[*entry];
                    *entry = at;
                } else {
                    links[at] = Some(*entry);
                    counts[*entry] += 1;
                }
            } else if holder.is_single {
                links[*entry] = Some(at);
                counts[at] += 1; // excludes the reads that the single read represented
                *entry = at;
            }
            if read.is_single {
                continue;
            }
            match best {
                Some(other) if read.is_better_pair(&members[other]) => {
                    links[other] = Some(at);
                    counts[at] += counts[other];
                    best = Some(at);
                }
                Some(other) => {
                    links[at] = Some(other);
                    counts[other] += 1;
                }
                None => best = Some(at),
            }
        }
        let root = links.iter().position(Option::is_none).unwrap_or(0);
        let mut optical = vec![false; members.len()];
        if let Some(distance) = distance {
            let seen = |at: usize| members[at].seen;
            for (at, link) in links.iter().enumerate() {
                let places = link.and_then(|link| seen(at).zip(seen(link)));
                optical[at] = places.is_some_and(|(one, other)| one.is_near(&other, distance));
            }
            if !first_only {
                mark_near_better(members, root, distance, &mut optical);
            }
        }
        GroupLinks { links, counts, root, optical }
    }
}

/// Marks the members that are near a better member.
///
/// Members are entered into a grid, best first. All members of one cell are near each other, so
/// each cell is compared with its neighbours only once, and the time is linear.
fn mark_near_better(members: &[GroupMember], root: usize, distance: i64, optical: &mut [bool]) {
    let mut order: Vec<usize> = (0..members.len()).filter(|&at| members[at].seen.is_some()).collect();
    let rank = |at: usize| {
        let read = &members[at];
        (at != root, read.is_single, read.failed, Reverse(read.score))
    };
    order.sort_by(|&a, &b| rank(a).cmp(&rank(b)).then_with(|| members[a].name.cmp(&members[b].name)));
    let side = distance.saturating_add(1).max(1);
    let mut grid: HashMap<(u64, i64, i64), Vec<FlowCellPlace>> = HashMap::new();
    for at in order {
        let Some(place) = members[at].seen else { continue };
        let (x, y) = (place.x.div_euclid(side), place.y.div_euclid(side));
        let near = |dx, dy| {
            let cell = grid.get(&(place.part, x.saturating_add(dx), y.saturating_add(dy)));
            cell.is_some_and(|cell| cell.iter().any(|other| place.is_near(other, distance)))
        };
        optical[at] |= grid.contains_key(&(place.part, x, y))
            || [-1, 0, 1].iter().any(|&dx| [-1, 0, 1].iter().any(|&dy| near(dx, dy)));
        grid.entry((place.part, x, y)).or_default().push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samtools::detail::ReadCoords;

    /// Returns a member whose name is `M:1:1101:x:y`.
    fn read(number: u64, name: &str, is_single: bool, score: i64) -> GroupMember {
        let seen = ReadCoords::Illumina.parse_location(name.as_bytes()).unwrap();
        GroupMember {
            group: 0,
            place: (100, number),
            end: (101, false),
            is_single,
            failed: false,
            score,
            seen,
            name: name.as_bytes().into(),
        }
    }

    fn judge(
        reads: &[(&str, bool, i64)],
        first_only: bool,
    ) -> (Vec<Option<usize>>, Vec<u64>, Vec<bool>) {
        let reads = reads.iter().enumerate();
        let members: Vec<GroupMember> =
            reads.map(|(n, &(name, single, score))| read(n as u64, name, single, score)).collect();
        let GroupLinks { links, counts, optical, root } =
            GroupLinks::of_group(&members, Some(10), first_only);
        assert_eq!(links.iter().filter(|link| link.is_none()).count(), 1);
        assert!(links[root].is_none());
        (links, counts, optical)
    }

    /// For pairs at x = 0, 10, 20 and 30, samtools 1.24 gives these marks. Only the pair at 10 is
    /// near the kept pair, which is at 0.
    #[test]
    fn reads_near_a_better_duplicate_are_optical() {
        let reads = [
            ("M:1:1101:0:0", false, 5),
            ("M:1:1101:30:0", false, 2),
            ("M:1:1101:10:0", false, 4),
            ("M:1:1101:20:0", false, 3),
            ("M:2:1101:20:0", false, 1),
        ];
        let (links, counts, optical) = judge(&reads, false);
        assert_eq!(links, [None, Some(0), Some(0), Some(0), Some(0)]);
        assert_eq!((counts[0], optical), (5, vec![false, true, true, true, false]));
        assert_eq!(judge(&reads, true).2, [false, false, true, false, false]);
    }

    /// In samtools 1.24, the pair represents itself and the single read that it replaced, but not
    /// the duplicate of this single read.
    #[test]
    fn the_first_pair_takes_the_place_of_single_reads() {
        let reads = [
            ("M:1:1101:4:6", true, 400),
            ("M:1:1101:18:0", true, 200),
            ("M:1:1101:2:3", false, 300),
            ("M:1:1101:18:1", false, 0),
        ];
        let (links, counts, optical) = judge(&reads, false);
        assert_eq!(links, [Some(2), Some(0), None, Some(2)]);
        assert_eq!((counts[2], optical), (3, vec![true, true, false, false]));
    }

    #[test]
    fn a_better_read_inherits_the_count_and_ties_go_to_the_smaller_name() {
        let reads =
            [("M:1:1101:50:1", false, 1), ("M:1:1101:60:2", false, 1), ("M:1:1101:10:3", false, 1)];
        let (links, counts, optical) = judge(&reads, false);
        assert_eq!((links, counts[2]), (vec![Some(2), Some(0), None], 3));
        assert_eq!(optical, [false, true, false]);
    }

    #[test]
    fn a_deep_set_at_one_place_takes_linear_time() {
        let names: Vec<String> = (0..200_000).map(|n| format!("M:1:1101:{}:{}", n % 7, n)).collect();
        let reads: Vec<(&str, bool, i64)> = names.iter().map(|name| (name.as_str(), false, 1)).collect();
        // 0:0 is kept; 0:14, 0:105, 0:1001, 0:10003 and 0:100002 have the smallest names within ten
        // pixels.
        assert_eq!(judge(&reads, false).2.iter().filter(|optical| !**optical).count(), 6);
    }
}

//! Optical duplicates: templates of a duplicate set that were sequenced close together on the flow
//! cell.
//!
//! They come from one cluster that was read twice, not from PCR, so they are excluded from the
//! estimate of the library size. The rules follow Picard 3.4 (OpticalDuplicateFinder):
//!
//! 1. Sets of two or three members are compared pairwise, starting with the template that is kept.
//! 2. In larger sets, members linked by steps of at most the distance form a cluster, and one
//!    member of each cluster is not marked.

use std::collections::{BTreeSet, HashMap};

use super::location::Location;

#[derive(Clone, Copy, Debug)]
pub struct SetMember {
    pub location: Location,
    /// Read group number from [`Libraries::optical_group`](super::Libraries::optical_group). Only
    /// members of the same read group are compared.
    pub group: u16,
    /// Leftmost position of the first read (1-based) in coordinate mode, otherwise 0. Breaks ties.
    pub pos: u32,
    /// Ordinals of the records that get the member's mark. Both are equal if there is only one.
    pub ids: (u64, u64),
}

impl SetMember {
    /// Returns the position in the file, which breaks ties between equal scores and locations.
    pub fn place(&self) -> FilePosition {
        (self.pos, self.ids.0, self.ids.1)
    }
}

pub type FilePosition = (u32, u64, u64);

/// Memory in bytes for one candidate, including the working memory of the search. The resolver
/// reserves it for the largest set.
pub const CANDIDATE_BYTES: u64 = 120;

/// The members of a duplicate set that may be optical duplicates.
///
/// The scan adds the members of a set, and calls [`Candidates::find_optical`] when the set is
/// complete:
///
/// ```
/// use readmill_markdup::location::Location;
/// use readmill_markdup::optical::{Candidates, SetMember};
///
/// let member = |ordinal, x| SetMember {
///     location: Location { tile: 1101, x, y: 500 },
///     group: 0,
///     pos: 0,
///     ids: (ordinal, ordinal),
/// };
/// let kept = member(0, 1000);
/// let mut candidates = Candidates::default();
/// for member in [kept, member(1, 1060), member(2, 9000)] {
///     candidates.add(member, 300_000);
/// }
/// let optical = candidates.find_optical(100, kept.place());
/// assert_eq!(optical.len(), 1);
/// assert_eq!(optical[0].ids.0, 1);
/// ```
#[derive(Default)]
pub struct Candidates {
    /// The members with a known location. Empty if the set is too large to be searched.
    located: Vec<SetMember>,
    count: u64,
}

impl Candidates {
    /// Adds a member. A set of more than `max_set_size` members is neither stored nor searched.
    /// Returns the change in the number of stored members, which the caller uses to limit memory.
    pub fn add(&mut self, member: SetMember, max_set_size: u64) -> i64 {
        let before = self.located.len() as i64;
        self.count += 1;
        if self.count > max_set_size {
            self.located = Vec::new();
        } else if member.location.tile != Location::NONE.tile {
            if self.located.len() == self.located.capacity() {
                self.located.reserve_exact(self.located.len() / 4 + 4);
            }
            self.located.push(member);
        }
        self.located.len() as i64 - before
    }

    pub fn buffered_count(&self) -> i64 {
        self.located.len() as i64
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn merge_part(&mut self, other: Candidates, max_set_size: u64) {
        self.count += other.count;
        self.located.extend(other.located);
        if self.count > max_set_size {
            self.located = Vec::new();
        }
    }

    /// Returns the optical duplicates.
    ///
    /// `distance` is the maximum difference in x and in y. `keeper` is the file position of the
    /// template that is kept; it is never returned. If it is not among the candidates, one
    /// candidate of each cluster is not returned.
    pub fn find_optical(mut self, distance: i32, keeper: FilePosition) -> Vec<SetMember> {
        if self.located.len() < 2 {
            return Vec::new();
        }
        self.located.sort_unstable_by_key(|m| (m.location.tile, m.location.x, m.location.y, m.place()));
        let keeper = self.located.iter().position(|member| member.place() == keeper);
        let marked = if self.count < 4 {
            mark_few(&self.located, distance, keeper)
        } else {
            mark_clusters(&self.located, distance, keeper)
        };
        let mut marked = marked.into_iter();
        self.located.retain(|_| marked.next() == Some(true));
        self.located
    }
}

/// Returns whether two members are in the same read group and tile, and at most `distance` apart in
/// both x and y.
fn are_close(a: &SetMember, b: &SetMember, distance: i32) -> bool {
    let near = |a: i32, b: i32| i64::from(a).abs_diff(b.into()) as i64 <= i64::from(distance);
    a.group == b.group
        && a.location.tile == b.location.tile
        && near(a.location.x, b.location.x)
        && near(a.location.y, b.location.y)
}

/// Marks the optical duplicates among two or three members: first those close to the keeper, then
/// one of any two others that are close to each other.
fn mark_few(members: &[SetMember], distance: i32, keeper: Option<usize>) -> Vec<bool> {
    let close = |i: usize, j: usize| are_close(&members[i], &members[j], distance);
    let mut marked = vec![false; members.len()];
    if let Some(keeper) = keeper {
        for i in (0..members.len()).filter(|&i| i != keeper) {
            marked[i] = close(i, keeper);
        }
    }
    for i in 0..members.len() {
        for j in i + 1..members.len() {
            let other = Some(i) != keeper && Some(j) != keeper;
            if other && !(marked[i] && marked[j]) && close(i, j) {
                let which = if marked[j] { i } else { j };
                marked[which] = true;
            }
        }
    }
    marked
}

/// Marks the optical duplicates among four or more members. Members linked by steps of at most
/// `distance` form a cluster. One member of each cluster is not marked: the keeper, or the member
/// with the smallest x, then y.
fn mark_clusters(members: &[SetMember], distance: i32, keeper: Option<usize>) -> Vec<bool> {
    let mut clusters = Clusters((0..members.len() as u32).collect());
    let mut tiles: HashMap<(u16, i32), Vec<u32>> = HashMap::new();
    for (i, member) in members.iter().enumerate() {
        tiles.entry((member.group, member.location.tile)).or_default().push(i as u32);
    }
    tiles.values().for_each(|tile| join_close_members(members, tile, distance, &mut clusters));
    let rank = |i: usize| (Some(i) != keeper, members[i].location.x, members[i].location.y, i);
    let mut stays: HashMap<u32, usize> = HashMap::new();
    for i in 0..members.len() {
        let best = stays.entry(clusters.find_root(i as u32)).or_insert(i);
        if rank(i) < rank(*best) {
            *best = i;
        }
    }
    (0..members.len()).map(|i| stays.get(&clusters.find_root(i as u32)) != Some(&i)).collect()
}

/// Disjoint sets of member indices (union-find with path halving).
struct Clusters(Vec<u32>);

impl Clusters {
    fn find_root(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            let above = self.0[self.0[i as usize] as usize];
            self.0[i as usize] = above;
            i = above;
        }
        i
    }

    fn join_sets(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find_root(a), self.find_root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Joins all members of a tile that are close to each other.
///
/// The tile is divided into squares that are small enough for all members of a square to be close.
/// For two neighbouring squares, one close pair is sufficient. So time grows with the number of
/// members instead of its square.
fn join_close_members(members: &[SetMember], tile: &[u32], distance: i32, clusters: &mut Clusters) {
    if distance < 0 {
        return;
    }
    let side = i64::from(distance) + 1;
    let mut squares: HashMap<(i64, i64), Vec<u32>> = HashMap::new();
    for &i in tile {
        let at = members[i as usize].location;
        let square = (i64::from(at.x).div_euclid(side), i64::from(at.y).div_euclid(side));
        squares.entry(square).or_default().push(i);
    }
    for (&(x, y), square) in &squares {
        square.windows(2).for_each(|two| clusters.join_sets(two[0], two[1]));
        for neighbour in [(x + 1, y - 1), (x + 1, y), (x + 1, y + 1), (x, y + 1)] {
            let Some(other) = squares.get(&neighbour) else { continue };
            let together = clusters.find_root(square[0]) == clusters.find_root(other[0]);
            if !together && squares_touch(members, square, other, distance) {
                clusters.join_sets(square[0], other[0]);
            }
        }
    }
}

/// Returns whether any member of `left` is close to any member of `right`, the members of two
/// neighbouring squares. Sweeps over x and keeps the members of `left` within the distance sorted
/// by y.
fn squares_touch(members: &[SetMember], left: &[u32], right: &[u32], distance: i32) -> bool {
    let point = |&i: &u32| {
        let at = members[i as usize].location;
        (i64::from(at.x), i64::from(at.y))
    };
    let distance = i64::from(distance);
    let (mut left, mut right): (Vec<_>, Vec<_>) =
        (left.iter().map(point).collect(), right.iter().map(point).collect());
    left.sort_unstable();
    right.sort_unstable();
    let mut ys: BTreeSet<(i64, i64)> = BTreeSet::new();
    let (mut entering, mut leaving) = (left.iter().peekable(), left.iter().peekable());
    for (x, y) in right {
        while let Some(&(lx, ly)) = entering.next_if(|point| point.0 <= x + distance) {
            ys.insert((ly, lx));
        }
        while let Some(&(lx, ly)) = leaving.next_if(|point| point.0 < x - distance) {
            ys.remove(&(ly, lx));
        }
        if ys.range((y - distance, i64::MIN)..=(y + distance, i64::MAX)).next().is_some() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    /// Returns members at these points of one tile, numbered in order.
    fn members(points: &[(i32, i32)]) -> Vec<SetMember> {
        let member = |(i, &(x, y)): (usize, &(i32, i32))| SetMember {
            location: Location { tile: 1, x, y },
            group: 0,
            pos: 0,
            ids: (i as u64, 0),
        };
        points.iter().enumerate().map(member).collect()
    }

    fn t(points: &[(i32, i32)], keeper: u64, expected: &[u64]) {
        let mut candidates = Candidates::default();
        for member in members(points) {
            candidates.add(member, 300_000);
        }
        let mut optical: Vec<u64> =
            candidates.find_optical(100, (0, keeper, 0)).iter().map(|member| member.ids.0).collect();
        optical.sort_unstable();
        assert_eq!(optical, expected, "{points:?}");
    }

    #[test]
    fn two_and_three() {
        t(&[(0, 0), (100, 100)], 0, &[1]);
        t(&[(0, 0), (100, 100)], 1, &[0]);
        t(&[(0, 0), (101, 0)], 0, &[]);
        t(&[(0, 0), (100, 0), (200, 0)], 0, &[1, 2]); // 1 is close to 0 and marked; then 2 is close to 1
        t(&[(0, 0), (1000, 0), (1001, 0)], 0, &[2]);
        t(&[(0, 0), (1000, 0), (1001, 0)], 9, &[2]);
    }

    #[test]
    fn four_and_more_reach_each_other_over_steps() {
        t(&[(0, 0), (100, 0), (200, 0), (300, 0)], 2, &[0, 1, 3]);
        t(&[(0, 0), (5, 5), (1000, 0), (1100, 0), (1200, 90)], 0, &[1, 3, 4]);
        t(&[(0, 0), (500, 0), (1000, 0), (1500, 0)], 0, &[]);
    }

    #[test]
    fn squares_find_what_all_pairs_find() {
        let mut rng = Rng::new(1);
        let mut random = |n: u64| rng.below64(n);
        for round in 0..300 {
            let width = [300, 900, 3000][round % 3];
            let points: Vec<(i32, i32)> =
                (0..4 + random(60)).map(|_| (random(width) as i32, random(width) as i32)).collect();
            let members = members(&points);
            let all: Vec<u32> = (0..members.len() as u32).collect();
            let distance = random(150) as i32;
            let mut fast = Clusters(all.clone());
            join_close_members(&members, &all, distance, &mut fast);
            let mut slow = Clusters(all.clone());
            for i in 0..members.len() {
                for j in 0..i {
                    if are_close(&members[i], &members[j], distance) {
                        slow.join_sets(i as u32, j as u32);
                    }
                }
            }
            for &i in &all {
                assert_eq!(fast.find_root(i), slow.find_root(i), "{points:?} at {distance}");
            }
        }
    }
}

//! Clusters the UMIs at one position into molecules, so that sequencing errors do not split a
//! molecule.
//!
//! | method | origin | two near UMIs are linked |
//! |---|---|---|
//! | [`Method::Exact`] | `unique` of umi_tools 1.1.6, `identity` of fgumi 0.9.0 | never |
//! | [`Method::Directional`] | `directional` of umi_tools | if one occurs at most (n + 1) / 2 times, the other n times |
//! | [`Method::Adjacency`] | `adjacency` of umi_tools | always; then divided among the most frequent UMIs |
//! | [`Method::Cluster`] | `cluster` of umi_tools | always |
//! | [`Method::Paired`] | `paired` of fgumi and of fgbio 4 | if one occurs at most n / 2 + 1 times, the other n times |
//!
//! Fractions are rounded down. Two UMIs are near if they have the same length and dash positions
//! and differ in at most `edits` symbols. (umi_tools and fgumi fail if lengths differ.)
//!
//! [`Neighbours`] finds near UMIs without comparing all pairs. UMIs of the same shape are cut at
//! the same places into `edits + 1` parts. If two UMIs differ in at most `edits` symbols, at least
//! one part is equal (the pigeonhole principle). So the UMIs are sorted by each part in turn, and
//! each UMI is compared only with UMIs that share a part with it.

use std::cmp::Reverse;

use super::code::Umi;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each distinct UMI is a molecule.
    Exact,
    /// A UMI and the UMIs that may be errors of it: near it, and at most half as frequent.
    Directional,
    /// Groups of UMIs linked by nearness. Each group is divided among its most frequent UMIs, using
    /// as few as needed for every other UMI to be near one of them.
    Adjacency,
    /// Groups of UMIs linked by nearness, over any number of steps.
    Cluster,
    /// UMIs of both ends of a duplex molecule, [normalised](super::code::normalise_umi). Frequencies are
    /// compared almost as in `Directional`.
    Paired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmiCount {
    pub umi: Umi,
    pub count: u64,
    /// Number of the first template with this UMI, in any numbering. If two UMIs are equally
    /// frequent, [`Method::Directional`] starts with the one that has the smaller number.
    pub place: u64,
}

impl Method {
    /// Returns whether the two strands of a molecule are clustered together. With all other
    /// methods, umi_tools and fgumi separate templates whose first segments are at different ends.
    pub fn joins_strands(self) -> bool {
        self == Method::Paired
    }

    fn is_linked(self, parent: u64, child: u64) -> bool {
        match self {
            Method::Exact => false,
            Method::Directional => child <= parent / 2 + parent % 2,
            Method::Paired => child <= parent / 2 + 1,
            Method::Adjacency | Method::Cluster => true,
        }
    }
}

/// Returns, for each UMI of a position, the index of its cluster's root: the most frequent UMI of
/// the cluster, or the first in text order if several are equally frequent.
///
/// Memory is proportional to the number of UMIs, and time to the number of pairs that share a part.
/// The result does not depend on the order of `seen`.
///
/// ```
/// use readmill_markdup::umi::{Method, Umi, UmiCount, cluster_umis};
///
/// let count = |text: &str, count| UmiCount { umi: Umi::parse(text.as_bytes()).unwrap(), count, place: 0 };
/// let seen = [count("ACGT", 456), count("TCGT", 2), count("AAAT", 90)];
/// assert_eq!(cluster_umis(&seen, Method::Directional, 1), [0, 0, 2]); // TCGT is an error of ACGT
/// assert_eq!(cluster_umis(&seen, Method::Exact, 1), [0, 1, 2]);
/// ```
pub fn cluster_umis(seen: &[UmiCount], method: Method, edits: u32) -> Vec<u32> {
    let mut roots: Vec<u32> = (0..seen.len() as u32).collect();
    if method == Method::Exact || edits == 0 || seen.len() < 2 {
        return roots;
    }
    let mut seeds = roots.clone();
    match method {
        Method::Directional => seeds.sort_unstable_by_key(|&at| arrival_sort_key(&seen[at as usize])),
        _ => seeds.sort_unstable_by_key(|&at| text_sort_key(&seen[at as usize])),
    }
    let umis: Vec<Umi> = seen.iter().map(|seen| seen.umi).collect();
    let near = Neighbours::new(&umis, edits);
    let mut reached = vec![false; seen.len()];
    let mut assigned = vec![false; seen.len()];
    let mut members = Vec::new();
    for seed in seeds {
        if reached[seed as usize] {
            continue;
        }
        collect_linked(seed, seen, method, &near, &mut reached, &mut members);
        if method == Method::Adjacency {
            members.sort_unstable_by_key(|&at| text_sort_key(&seen[at as usize]));
            divide_group(&members, &near, &mut assigned, &mut roots);
        } else {
            let root = members.iter().copied().min_by_key(|&at| text_sort_key(&seen[at as usize]));
            members.iter().for_each(|&at| roots[at as usize] = root.unwrap_or(at));
        }
    }
    roots
}

/// The order that selects roots, and in which most methods start clusters.
fn text_sort_key(seen: &UmiCount) -> (Reverse<u64>, Umi) {
    (Reverse(seen.count), seen.umi)
}

/// The order in which umi_tools starts clusters with `directional`.
fn arrival_sort_key(seen: &UmiCount) -> (Reverse<u64>, u64, Umi) {
    (Reverse(seen.count), seen.place, seen.umi)
}

/// Collects `seed` and all UMIs that are linked to it over any number of steps and were not reached
/// before.
fn collect_linked(
    seed: u32,
    seen: &[UmiCount],
    method: Method,
    near: &Neighbours<'_>,
    reached: &mut [bool],
    members: &mut Vec<u32>,
) {
    members.clear();
    members.push(seed);
    reached[seed as usize] = true;
    let mut at = 0;
    while let Some(&parent) = members.get(at) {
        near.visit_near(parent, |child| {
            let links =
                |child: u32| method.is_linked(seen[parent as usize].count, seen[child as usize].count);
            if !reached[child as usize] && links(child) {
                reached[child as usize] = true;
                members.push(child);
            }
        });
        at += 1;
    }
}

/// Divides a group, which is sorted by descending frequency. The leading members become roots until
/// each member is a root or near one. Then each root, in order, takes the members near it that are
/// not taken yet.
fn divide_group(members: &[u32], near: &Neighbours<'_>, assigned: &mut [bool], roots: &mut [u32]) {
    let (mut leads, mut covered) = (0, 0);
    while covered < members.len() {
        near.visit_near(members[leads], |other| {
            covered += usize::from(!std::mem::replace(&mut assigned[other as usize], true));
        });
        leads += 1;
    }
    members[leads..].iter().for_each(|&at| assigned[at as usize] = false);
    for &lead in &members[..leads] {
        near.visit_near(lead, |other| {
            if !std::mem::replace(&mut assigned[other as usize], true) {
                roots[other as usize] = lead;
            }
        });
    }
}

/// Maximum number of UMIs that are compared pairwise, without an index.
const MAX_WITHOUT_INDEX: usize = 24;

/// An index that finds the UMIs near a given one. Takes `28 (edits + 1)` bytes per UMI.
pub struct Neighbours<'a> {
    umis: &'a [Umi],
    edits: u32,
    /// The UMIs sorted by each of their parts. Empty if there are few UMIs.
    parts: Vec<PartIndex>,
}

/// The UMIs sorted by one of their parts. UMIs with the same shape and part are adjacent.
struct PartIndex {
    umis: Vec<Umi>,
    indices: Vec<u32>,
    sharing: Vec<(u32, u32)>,
}

impl<'a> Neighbours<'a> {
    pub fn new(umis: &'a [Umi], edits: u32) -> Self {
        let longest = umis.iter().map(|umi| umi.len()).max().unwrap_or(0);
        // More parts than symbols are useless: with that many edits, all UMIs of one shape are near.
        let parts = if umis.len() <= MAX_WITHOUT_INDEX { 0 } else { longest.min(edits as usize) + 1 };
        Neighbours {
            umis,
            edits,
            parts: (0..parts).map(|part| PartIndex::new(umis, part, parts)).collect(),
        }
    }

    /// Calls `visit` with the index of each near UMI at least once, including the UMI itself. A
    /// neighbour that shares several parts is visited for each of them.
    pub fn visit_near(&self, of: u32, mut visit: impl FnMut(u32)) {
        let umi = self.umis[of as usize];
        if self.parts.is_empty() {
            let is_near =
                |other: &Umi| umi.shape() == other.shape() && umi.is_within(*other, self.edits);
            let near = (0..).zip(self.umis).filter(|(_, other)| is_near(other));
            near.for_each(|(at, _)| visit(at));
        }
        for part in &self.parts {
            let (start, end) = part.sharing[of as usize];
            let sharing = start as usize..end as usize;
            for (&other, &at) in part.umis[sharing.clone()].iter().zip(&part.indices[sharing]) {
                if umi.is_within(other, self.edits) {
                    visit(at);
                }
            }
        }
    }
}

impl PartIndex {
    fn new(umis: &[Umi], part: usize, parts: usize) -> Self {
        let key = |&at: &u32| {
            let umi = umis[at as usize];
            let (from, to) = (umi.len() * part / parts, umi.len() * (part + 1) / parts);
            (umi.shape(), umi.window(from, to))
        };
        let mut indices: Vec<u32> = (0..umis.len() as u32).collect();
        indices.sort_by_cached_key(key);
        let (mut sharing, mut start) = (vec![(0, 0); umis.len()], 0);
        for same in indices.chunk_by(|a, b| key(a) == key(b)) {
            let end = start + same.len() as u32;
            same.iter().for_each(|&at| sharing[at as usize] = (start, end));
            start = end;
        }
        PartIndex { umis: indices.iter().map(|&at| umis[at as usize]).collect(), indices, sharing }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use readmill_simulate::Rng;

    use super::super::testing::{text, umi};
    use super::*;

    #[test]
    fn all_within_the_distance_are_found_and_no_others() {
        let random = &mut Rng::new(2);
        for (symbols, max_length) in [(&b"ACGT"[..], 6), (b"ACGTN-", 5), (b"AC", 12), (b"A-", 42)] {
            for (number, edits) in
                [(MAX_WITHOUT_INDEX, 1), (200, 0), (200, 1), (200, 2), (100, 5), (100, u32::MAX)]
            {
                let umis = |_| {
                    let length = max_length - random.below64(3).min(1);
                    umi(&text(random, symbols, length))
                };
                let umis: Vec<Umi> = (0..number).map(umis).collect();
                let near = Neighbours::new(&umis, edits);
                for (at, umi) in umis.iter().enumerate() {
                    let mut found = Vec::new();
                    near.visit_near(at as u32, |other| found.push(other as usize));
                    found.sort_unstable();
                    found.dedup();
                    let is_near = |&other: &usize| umi.distance(umis[other]).is_some_and(|d| d <= edits);
                    assert_eq!(found, (0..umis.len()).filter(is_near).collect::<Vec<_>>(), "{umi}");
                }
            }
        }
    }

    const METHODS: [Method; 5] =
        [Method::Exact, Method::Directional, Method::Adjacency, Method::Cluster, Method::Paired];

    /// Clusters UMIs with these counts, given in order of arrival. Formats each cluster as its root
    /// and members.
    fn clusters(counts: &[(&str, u64)], method: Method, edits: u32) -> Vec<String> {
        let seen = |(place, &(text, count)): (usize, &(&str, u64))| UmiCount {
            umi: umi(text),
            count,
            place: place as u64,
        };
        let seen: Vec<UmiCount> = counts.iter().enumerate().map(seen).collect();
        let mut members: HashMap<u32, Vec<&str>> = HashMap::new();
        for (at, root) in cluster_umis(&seen, method, edits).into_iter().enumerate() {
            members.entry(root).or_default().push(counts[at].0);
        }
        let shown = |(root, members): (u32, Vec<&str>)| {
            format!("{}: {}", counts[root as usize].0, members.join(" "))
        };
        let mut shown: Vec<String> = members.into_iter().map(shown).collect();
        shown.sort();
        shown
    }

    /// The example in figure 1 of Smith, Heger and Sudbery (2017).
    const PUBLISHED: [(&str, u64); 6] =
        [("ACGT", 456), ("TCGT", 2), ("CCGT", 2), ("ACAT", 72), ("ACAG", 1), ("AAAT", 90)];

    #[test]
    fn the_published_example() {
        assert_eq!(clusters(&PUBLISHED, Method::Exact, 1).len(), 6);
        assert_eq!(clusters(&PUBLISHED, Method::Cluster, 1), ["ACGT: ACGT TCGT CCGT ACAT ACAG AAAT"]);
        assert_eq!(
            clusters(&PUBLISHED, Method::Adjacency, 1),
            ["AAAT: AAAT", "ACAT: ACAT ACAG", "ACGT: ACGT TCGT CCGT"]
        );
        assert_eq!(
            clusters(&PUBLISHED, Method::Directional, 1),
            ["AAAT: AAAT", "ACGT: ACGT TCGT CCGT ACAT ACAG"]
        );
    }

    #[test]
    fn how_much_rarer_an_error_is() {
        let both =
            |parent, child, method| clusters(&[("AA", parent), ("AC", child)], method, 1).len() == 1;
        let max_child = |parent, method| (1..=parent).rev().find(|&child| both(parent, child, method));
        let max_children =
            |method| [1, 2, 3, 4, 5, 100].map(|parent| max_child(parent, method).unwrap_or(0));
        assert_eq!(max_children(Method::Directional), [1, 1, 2, 2, 3, 50]);
        assert_eq!(max_children(Method::Paired), [1, 2, 2, 3, 3, 51]);
    }

    #[test]
    fn ties_of_directional_are_settled_by_arrival_and_of_paired_by_text() {
        let between = [("CA", 4), ("AC", 4), ("AA", 1)];
        assert_eq!(clusters(&between, Method::Directional, 1), ["AC: AC", "CA: CA AA"]);
        assert_eq!(clusters(&between, Method::Paired, 1), ["AC: AC AA", "CA: CA"]);
        assert_eq!(clusters(&[("CA", 1), ("AA", 1)], Method::Directional, 1), ["AA: CA AA"]);
    }

    #[test]
    fn only_equal_shapes_are_near() {
        let mixed = [("AAA", 9), ("AA", 1), ("A-A", 1), ("AAN", 1), ("", 1), ("-AA", 1)];
        for method in METHODS.into_iter().filter(|&method| method != Method::Exact) {
            let expected = ["-AA: -AA", ": ", "A-A: A-A", "AA: AA", "AAA: AAA AAN"];
            assert_eq!(clusters(&mixed, method, 3), expected, "{method:?}");
        }
        assert_eq!(clusters(&[], Method::Directional, 1).len(), 0);
    }

    /// Returns random distinct UMIs with their counts, in order of arrival. Many differ from
    /// another UMI in only a few symbols.
    fn random_seen(random: &mut Rng, symbols: &[u8], length: u64, max_umis: u64) -> Vec<(String, u64)> {
        let mut seen: Vec<(String, u64)> = Vec::new();
        for _ in 0..1 + random.below64(max_umis) {
            let length = length - u64::from(random.below64(8) == 0);
            let text = text(random, symbols, length);
            if seen.iter().all(|(other, _)| *other != text) {
                seen.push((text, 1 + random.below64(3) * random.below64(4)));
            }
        }
        seen
    }

    /// Clusters UMI strings by the published rules of the tools, comparing all pairs.
    fn cluster_slowly(seen: &[(String, u64)], method: Method, edits: u32) -> Vec<u32> {
        let near =
            |a: usize, b: usize| umi(&seen[a].0).distance(umi(&seen[b].0)).is_some_and(|d| d <= edits);
        let links = |a: usize, b: usize| {
            near(a, b)
                && match method {
                    Method::Exact => a == b,
                    Method::Directional => seen[a].1 >= 2 * seen[b].1 - 1,
                    Method::Paired => seen[b].1 < seen[a].1 / 2 + 2,
                    Method::Adjacency | Method::Cluster => true,
                }
        };
        let mut seeds: Vec<usize> = (0..seen.len()).collect();
        if method != Method::Directional {
            seeds.sort_by_key(|&at| &seen[at].0);
        }
        seeds.sort_by_key(|&at| Reverse(seen[at].1));
        let mut roots = vec![u32::MAX; seen.len()];
        for &seed in &seeds {
            if roots[seed] != u32::MAX {
                continue;
            }
            let mut group = vec![seed];
            while let Some(next) = (0..seen.len()).find(|at| {
                roots[*at] == u32::MAX
                    && !group.contains(at)
                    && group.iter().any(|&from| links(from, *at))
            }) {
                group.push(next);
            }
            group.sort_by_key(|&at| (Reverse(seen[at].1), &seen[at].0));
            if method != Method::Adjacency {
                group.iter().for_each(|&at| roots[at] = group[0] as u32);
                continue;
            }
            let covers =
                |leads: &[usize]| group.iter().all(|&at| leads.iter().any(|&lead| near(lead, at)));
            let leads = (1..=group.len()).map(|n| &group[..n]).find(|leads| covers(leads)).unwrap();
            for &at in &group {
                let lead = if leads.contains(&at) {
                    at
                } else {
                    *leads.iter().find(|&&lead| near(lead, at)).unwrap()
                };
                roots[at] = lead as u32;
            }
        }
        roots
    }

    #[test]
    fn as_comparing_all_with_all() {
        let random = &mut Rng::new(3);
        for round in 0..80 {
            let (symbols, length, max_umis) =
                [(&b"ACGT"[..], 4, 50), (b"ACGTN", 3, 20), (b"ACGT-", 4, 50), (b"AC", 7, 60)][round % 4];
            let counts = random_seen(random, symbols, length, max_umis);
            let seen = |(place, (text, count)): (usize, &(String, u64))| UmiCount {
                umi: umi(text),
                count: *count,
                place: place as u64,
            };
            let seen: Vec<UmiCount> = counts.iter().enumerate().map(seen).collect();
            for method in METHODS {
                for edits in 0..4 {
                    let expected = cluster_slowly(&counts, method, edits);
                    assert_eq!(
                        cluster_umis(&seen, method, edits),
                        expected,
                        "{method:?} {edits} {counts:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_order_of_the_list_is_of_no_matter() {
        let random = &mut Rng::new(4);
        for method in METHODS {
            let counts = random_seen(random, b"ACGT", 4, 200);
            let mut seen: Vec<UmiCount> = (0..)
                .zip(&counts)
                .map(|(place, (text, count))| UmiCount { umi: umi(text), count: *count, place })
                .collect();
            let umis_of = |seen: &[UmiCount]| {
                let roots = cluster_umis(seen, method, 1);
                let mut pairs: Vec<(Umi, Umi)> = seen
                    .iter()
                    .zip(roots)
                    .map(|(one, root)| (one.umi, seen[root as usize].umi))
                    .collect();
                pairs.sort_unstable();
                pairs
            };
            let expected = umis_of(&seen);
            seen.sort_unstable_by_key(|one| one.umi);
            assert_eq!(umis_of(&seen), expected, "{method:?}");
        }
    }

    #[test]
    fn a_hundred_thousand_at_one_position() {
        let random = &mut Rng::new(5);
        let mut counts: HashMap<String, u64> = HashMap::new();
        while counts.len() < 100_000 {
            counts.insert(text(random, b"ACGT", 12), 1 + random.below64(100));
        }
        let seen: Vec<UmiCount> = counts
            .iter()
            .map(|(text, &count)| UmiCount { umi: umi(text), count, place: umi(text).code() as u64 })
            .collect();
        for method in METHODS {
            let started = std::time::Instant::now();
            let roots = cluster_umis(&seen, method, 1);
            println!("{method:?}: {:?}", started.elapsed());
            assert!((0..).zip(&roots).all(|(at, &root)| roots[root as usize] == root
                && seen[at].count <= seen[root as usize].count));
        }
    }
}

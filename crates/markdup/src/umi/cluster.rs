//! Clusters the UMIs of one position into molecules.
//!
//! | method | origin | two near UMIs are linked |
//! |---|---|---|
//! | [`Method::Exact`] | `unique` of umi_tools 1.1.6, `identity` of fgumi 0.9.0 | never |
//! | [`Method::Directional`] | `directional` of umi_tools | if one is seen up to (n + 1) / 2 times, the other n |
//! | [`Method::Adjacency`] | `adjacency` of umi_tools | always, and divided among the most frequent |
//! | [`Method::Cluster`] | `cluster` of umi_tools | always |
//! | [`Method::Paired`] | `paired` of fgumi and of fgbio 4 | if one is seen up to n / 2 + 1 times, the other n |
//!
//! Fractions are rounded down. Two UMIs are near if not more than `edits` symbols differ, and length
//! and dashes are the same. (umi_tools and fgumi stop with an error where lengths differ.)

use std::cmp::Reverse;

use super::code::Umi;
use super::neighbours::Neighbours;

#[cfg(test)]
mod tests;

/// How UMIs of one position become molecules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each UMI is a molecule.
    Exact,
    /// A UMI and those that may come from it by errors: near, and at most half as frequent.
    Directional,
    /// Groups of UMIs linked by nearness, each divided among as few of its most frequent as are near
    /// all.
    Adjacency,
    /// Groups of UMIs linked by nearness.
    Cluster,
    /// UMIs of both ends of a duplex molecule, [normalised](super::duplex::normalise); much as
    /// directional.
    Paired,
}

/// A UMI of one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmiCount {
    /// The UMI, which no other entry has.
    pub umi: Umi,
    /// Number of templates that have it.
    pub count: u64,
    /// Number of the first template that has it, in any numbering: of two equally frequent UMIs
    /// [`Method::Directional`] begins with that of the smaller number.
    pub place: u64,
}

impl Method {
    /// Whether the two strands of a molecule are one cluster. With all other methods, umi_tools and
    /// fgumi keep templates apart whose first segments are at different ends.
    pub fn joins_strands(self) -> bool {
        self == Method::Paired
    }

    /// Whether a UMI seen `child` times may come from a near one seen `parent` times.
    fn links(self, parent: u64, child: u64) -> bool {
        match self {
            Method::Exact => false,
            Method::Directional => child <= parent / 2 + parent % 2,
            Method::Paired => child <= parent / 2 + 1,
            Method::Adjacency | Method::Cluster => true,
        }
    }
}

/// Returns, for each UMI of a position, the index of its cluster's root: the most frequent UMI of the
/// cluster, of several the first by its text.
///
/// Takes memory in proportion to the number of UMIs, and time in proportion to that of pairs that share a
/// part ([`super::neighbours`]). The result does not depend on the order of `seen`.
pub fn cluster(seen: &[UmiCount], method: Method, edits: u32) -> Vec<u32> {
    let mut roots: Vec<u32> = (0..seen.len() as u32).collect();
    if method == Method::Exact || edits == 0 || seen.len() < 2 {
        return roots;
    }
    let mut seeds = roots.clone();
    match method {
        Method::Directional => seeds.sort_unstable_by_key(|&at| by_arrival(&seen[at as usize])),
        _ => seeds.sort_unstable_by_key(|&at| by_text(&seen[at as usize])),
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
        reach(seed, seen, method, &near, &mut reached, &mut members);
        if method == Method::Adjacency {
            members.sort_unstable_by_key(|&at| by_text(&seen[at as usize]));
            divide(&members, &near, &mut assigned, &mut roots);
        } else {
            let root = members.iter().copied().min_by_key(|&at| by_text(&seen[at as usize]));
            members.iter().for_each(|&at| roots[at as usize] = root.unwrap_or(at));
        }
    }
    roots
}

/// The order of roots, and in which most methods begin clusters.
fn by_text(seen: &UmiCount) -> (Reverse<u64>, Umi) {
    (Reverse(seen.count), seen.umi)
}

/// The order in which umi_tools begins clusters with `directional`.
fn by_arrival(seen: &UmiCount) -> (Reverse<u64>, u64, Umi) {
    (Reverse(seen.count), seen.place, seen.umi)
}

/// Collects `seed` and what is linked to it, over any number of links, and not reached before.
fn reach(
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
        near.visit(parent, |child| {
            let links =
                |child: u32| method.links(seen[parent as usize].count, seen[child as usize].count);
            if !reached[child as usize] && links(child) {
                reached[child as usize] = true;
                members.push(child);
            }
        });
        at += 1;
    }
}

/// Divides a group, most frequent first, among as many of its first members as it takes until each
/// member is one of them or near one; each of those is a root, and takes what is near it and not taken
/// yet.
fn divide(members: &[u32], near: &Neighbours<'_>, assigned: &mut [bool], roots: &mut [u32]) {
    let (mut leads, mut covered) = (0, 0);
    while covered < members.len() {
        near.visit(members[leads], |other| {
            covered += usize::from(!std::mem::replace(&mut assigned[other as usize], true));
        });
        leads += 1;
    }
    members[leads..].iter().for_each(|&at| assigned[at as usize] = false);
    for &template_offset in &members[..leads] {
        near.visit(template_offset, |other| {
            if !std::mem::replace(&mut assigned[other as usize], true) {
                roots[other as usize] = template_offset;
            }
        });
    }
}

//! Finds UMIs that are few edits from one, without comparing all with all.
//!
//! Two UMIs of one shape that differ in at most `edits` symbols, cut at the same places into `edits +
//! 1` parts, have at least one part in common (the pigeonhole principle). So the UMIs are sorted by
//! each part in turn, and one is compared with those that share a part with it.

use super::code::Umi;

/// Up to this number, all UMIs are compared with all others.
const FEW: usize = 24;

/// Finds UMIs near one of a list. Takes `28 (edits + 1)` bytes a UMI.
pub struct Neighbours<'a> {
    umis: &'a [Umi],
    edits: u32,
    /// The UMIs by each of their parts. Empty where UMIs are few.
    parts: Vec<PartIndex>,
}

/// The UMIs by one of their parts: those that share it, and the shape, are adjacent.
struct PartIndex {
    umis: Vec<Umi>,
    /// Their indices in the list.
    indices: Vec<u32>,
    /// For each UMI of the list, the range of those that share the part with it.
    sharing: Vec<(u32, u32)>,
}

impl<'a> Neighbours<'a> {
    /// Builds the index for neighbours of at most `edits` edits.
    pub fn new(umis: &'a [Umi], edits: u32) -> Self {
        let longest = umis.iter().map(|umi| umi.len()).max().unwrap_or(0);
        // More parts than symbols are useless: with that many edits, all are near.
        let parts = if umis.len() <= FEW { 0 } else { longest.min(edits as usize) + 1 };
        Neighbours {
            umis,
            edits,
            parts: (0..parts).map(|part| PartIndex::new(umis, part, parts)).collect(),
        }
    }

    /// Visits the neighbours of a UMI, each at least once, itself among them.
    pub fn visit(&self, of: u32, mut visit: impl FnMut(u32)) {
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
    use readmill_simulate::Rng;

    use super::super::testing::{text, umi};
    use super::*;

    #[test]
    fn all_within_the_distance_are_found_and_no_others() {
        let random = &mut Rng::new(2);
        for (symbols, most) in [(&b"ACGT"[..], 6), (b"ACGTN-", 5), (b"AC", 12), (b"A-", 42)] {
            for (number, edits) in [(FEW, 1), (200, 0), (200, 1), (200, 2), (100, 5), (100, u32::MAX)] {
                let umis = |_| {
                    let length = most - random.below64(3).min(1);
                    umi(&text(random, symbols, length))
                };
                let umis: Vec<Umi> = (0..number).map(umis).collect();
                let near = Neighbours::new(&umis, edits);
                for (at, umi) in umis.iter().enumerate() {
                    let mut found = Vec::new();
                    near.visit(at as u32, |other| found.push(other as usize));
                    found.sort_unstable();
                    found.dedup();
                    let is_near = |&other: &usize| umi.distance(umis[other]).is_some_and(|d| d <= edits);
                    assert_eq!(found, (0..umis.len()).filter(is_near).collect::<Vec<_>>(), "{umi}");
                }
            }
        }
    }
}

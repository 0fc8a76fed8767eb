//! UMIs that are few edits from one, without comparing all with all.
//!
//! Two UMIs of one shape that differ in at most `edits` symbols, cut at the same places into `edits + 1`
//! parts, have at least one part in common (the pigeonhole principle). So the UMIs are sorted by each part in
//! turn, and one is compared with those that share a part with it.

use super::code::Umi;

/// So few UMIs are compared with all others.
const FEW: usize = 24;

/// Finds UMIs near one of a list. Takes `8 (edits + 1)` bytes a UMI.
pub struct Neighbours<'a> {
    umis: &'a [Umi],
    edits: u32,
    /// For each part, the UMIs in the order of that part. None where UMIs are few.
    parts: Vec<Part>,
}

/// The UMIs by one of their parts.
struct Part {
    /// Indices of UMIs; those that share the part stand together.
    order: Vec<u32>,
    /// Where in `order` those start that share the part of this UMI.
    starts: Vec<u32>,
}

impl<'a> Neighbours<'a> {
    /// For so many edits at most between neighbours.
    pub fn new(umis: &'a [Umi], edits: u32) -> Self {
        let longest = umis.iter().map(|umi| umi.len()).max().unwrap_or(0);
        // More parts than symbols are of no use: where so many edits are allowed, all are near each other.
        let parts = if umis.len() <= FEW { 0 } else { longest.min(edits as usize) + 1 };
        Neighbours { umis, edits, parts: (0..parts).map(|part| Part::new(umis, part, parts)).collect() }
    }

    /// Visits the neighbours of a UMI, each at least once, itself among them.
    pub fn visit(&self, of: u32, mut visit: impl FnMut(u32)) {
        let umi = self.umis[of as usize];
        let mut consider = |other: u32| {
            if umi.distance(self.umis[other as usize]).is_some_and(|edits| edits <= self.edits) {
                visit(other);
            }
        };
        if self.parts.is_empty() {
            (0..self.umis.len() as u32).for_each(consider);
            return;
        }
        for part in &self.parts {
            part.sharing(of).for_each(&mut consider);
        }
    }
}

impl Part {
    fn new(umis: &[Umi], part: usize, parts: usize) -> Self {
        let key = |&at: &u32| {
            let umi = umis[at as usize];
            let (from, to) = (umi.len() * part / parts, umi.len() * (part + 1) / parts);
            (umi.shape(), umi.window(from, to))
        };
        let mut order: Vec<u32> = (0..umis.len() as u32).collect();
        order.sort_by_cached_key(key);
        let (mut starts, mut start) = (vec![0; umis.len()], 0);
        for sharing in order.chunk_by(|a, b| key(a) == key(b)) {
            sharing.iter().for_each(|&at| starts[at as usize] = start);
            start += sharing.len() as u32;
        }
        Part { order, starts }
    }

    /// The UMIs that share the part with this one, itself among them.
    fn sharing(&self, of: u32) -> impl Iterator<Item = u32> {
        let start = self.starts[of as usize];
        let same = move |&&at: &&u32| self.starts[at as usize] == start;
        self.order[start as usize..].iter().take_while(same).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, umi};
    use super::*;

    #[test]
    fn all_within_the_distance_are_found_and_no_others() {
        let random = &mut Random::new(2);
        for (symbols, most) in [(&b"ACGT"[..], 6), (b"ACGTN-", 5), (b"AC", 12), (b"A-", 42)] {
            for (number, edits) in [(FEW, 1), (200, 0), (200, 1), (200, 2), (100, 5), (100, 60)] {
                let umis = |_| {
                    let length = most - random.below(3).min(1);
                    umi(&random.text(symbols, length))
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

//! Marks duplicates where UMIs distinguish molecules: the templates of one position whose UMIs belong to one
//! molecule are a set.
//!
//! Items of one position are adjacent, and within it those of one UMI. A first scan counts the UMIs of a
//! position; they are clustered into molecules, and a second scan marks the templates. So memory grows with
//! the different UMIs of a position, not with its templates.

use readmill_record::{Error, Result};

use super::collect::Merged;
use super::held::{Items, Sorting};
use super::item::{self, Item, Shape};
use super::resolve::{Findings, FragmentSet, PairSet};
use super::umi::tell::{apart, strand, umi};
use super::umi::{Seen, Strand, Umis, cluster, duplex};

/// Bytes that a UMI of the current position takes, sets and indexes included.
const EACH: u64 = 400;

/// Marks duplicates among pairs and fragments, whose chunks must be sorted.
pub fn judge<S: Shape, T: Sorting>(
    findings: &mut Findings<'_, T>,
    items: &Items<S>,
    umis: &Umis,
) -> Result<()> {
    judge_pairs(findings, items, umis)?;
    judge_fragments(findings, items, umis)
}

/// A merge with one item of lookahead.
struct Walk<'a, T> {
    next: Option<T>,
    rest: Merged<'a, T>,
}

impl<'a, T: Item> Walk<'a, T> {
    fn new(mut rest: Merged<'a, T>) -> Result<Self> {
        Ok(Walk { next: rest.next_item()?, rest })
    }

    /// Returns the next item, if `is` holds for it.
    fn next_if(&mut self, is: impl FnOnce(&T) -> bool) -> Result<Option<T>> {
        match self.next {
            Some(item) if is(&item) => {
                self.next = self.rest.next_item()?;
                Ok(Some(item))
            }
            _ => Ok(None),
        }
    }
}

/// The UMIs of a position, counted.
#[derive(Default)]
struct Counted {
    seen: Vec<Seen>,
    templates: u64,
}

impl Counted {
    /// Counts a template, or none if `count` is 0. Equal codes are adjacent.
    fn add(&mut self, code: u128, place: u64) {
        let umi = umi(code);
        self.templates += 1;
        match self.seen.last_mut() {
            Some(last) if last.umi == umi => {
                last.count += 1;
                last.place = last.place.min(place);
            }
            _ => self.seen.push(Seen { umi, count: 1, place }),
        }
    }

    /// Returns an error if the UMIs do not fit into `room` bytes.
    fn check(&self, room: u64) -> Result<()> {
        if self.seen.len() as u64 * EACH <= room {
            return Ok(());
        }
        let what =
            format!("the {} different UMIs of one position do not fit into the memory", self.seen.len());
        Err(Error::usage(what).hint("raise -m"))
    }
}

fn judge_pairs<S: Shape, T: Sorting>(
    findings: &mut Findings<'_, T>,
    items: &Items<S>,
    umis: &Umis,
) -> Result<()> {
    let spill = findings.spill;
    let mut ahead = Walk::new(items.pairs.merge(spill)?)?;
    let mut behind = items.pairs.merge(spill)?;
    while let Some(first) = ahead.next {
        let side = apart(item::pair_code::<S>(&first));
        let mut counted = Counted::default();
        let stands = |pair: &S::Pair| {
            item::pairs_stand_together::<S>(&first, pair) && apart(item::pair_code::<S>(pair)) == side
        };
        while let Some(pair) = ahead.next_if(stands)? {
            let code = item::pair_code::<S>(&pair);
            let (left, right, _) = item::pair_ordinals::<S>(&pair);
            counted.add(code, if strand(code) == Strand::A { left } else { right });
            counted.check(findings.room)?;
        }
        let roots = cluster(&counted.seen, umis.method, umis.edits);
        let mut molecules = Molecules::new(roots, findings.sets.len(), umis);
        let mut sets: Vec<Option<PairSet<S>>> = Vec::new();
        let mut at = 0;
        for _ in 0..counted.templates {
            let Some(pair) = behind.next_item()? else { break };
            let code = item::pair_code::<S>(&pair);
            while counted.seen[at].umi != umi(code) {
                at += 1;
            }
            let root = counted.seen[molecules.roots[at] as usize].umi;
            let own = duplex::strand_beside(root, umi(code), strand(code), umis.edits);
            let (set, number) = molecules.set(at, own);
            if sets.len() <= set {
                sets.resize_with(
                    set / molecules.strands * molecules.strands + molecules.strands,
                    || None,
                );
            }
            match &mut sets[set] {
                Some(set) => {
                    set.add(pair, findings);
                    findings.check_held()?;
                }
                none => *none = Some(PairSet::new(pair, number, findings)),
            }
        }
        for set in sets {
            match set {
                Some(set) => set.close(findings)?,
                None => findings.note_set(0, 0)?,
            }
        }
    }
    Ok(())
}

/// The molecules of a position, numbered as they are seen, and their sets: one, or one for each strand.
struct Molecules {
    roots: Vec<u32>,
    /// The number of the molecule of each root.
    number_of: Vec<u32>,
    met: u32,
    /// The number of the first set.
    base: u64,
    strands: usize,
}

impl Molecules {
    fn new(roots: Vec<u32>, base: u64, umis: &Umis) -> Self {
        let strands = if umis.method.joins_strands() { 2 } else { 1 };
        Molecules { number_of: vec![u32::MAX; roots.len()], roots, met: 0, base, strands }
    }

    /// Returns the set of the UMI at `at` and this strand: its index within the position, and its number in
    /// all.
    fn set(&mut self, at: usize, strand: Strand) -> (usize, u64) {
        let molecule = &mut self.number_of[self.roots[at] as usize];
        if *molecule == u32::MAX {
            *molecule = self.met;
            self.met += 1;
        }
        let other = self.strands == 2 && strand == Strand::B;
        let set = *molecule as usize * self.strands + usize::from(other);
        (set, self.base + set as u64)
    }
}

fn judge_fragments<S: Shape, T: Sorting>(
    findings: &mut Findings<'_, T>,
    items: &Items<S>,
    umis: &Umis,
) -> Result<()> {
    let spill = findings.spill;
    let mut ahead = Walk::new(items.fragments.merge(spill)?)?;
    let mut behind = items.fragments.merge(spill)?;
    let mut present = Walk::new(items.present.merge(spill)?)?;
    while let Some(first) = ahead.next {
        let place = item::end_place(first.as_ref());
        let mut counted = Counted::default();
        while let Some(fragment) =
            ahead.next_if(|fragment| item::end_place(fragment.as_ref()) == place)?
        {
            let ordinal = item::fragment_ordinals::<S>(&fragment).0;
            counted.add(item::fragment_code::<S>(&fragment), ordinal);
            counted.check(findings.room)?;
        }
        let fragments = std::mem::take(&mut counted.templates);
        let own = counted.seen.len();
        while present.next_if(|end| item::end_place(end.as_ref()) < place)?.is_some() {}
        let mut paired = Vec::new();
        while let Some(end) = present.next_if(|end| item::end_place(end.as_ref()) == place)? {
            let umi = umi(item::end_code::<S>(&end));
            let known = counted.seen[..own].binary_search_by_key(&umi, |seen| seen.umi);
            match (known, counted.seen.last_mut()) {
                (Ok(at), _) => {
                    counted.seen[at].count += 1;
                    paired.push(at);
                }
                (Err(_), Some(last)) if last.umi == umi => last.count += 1,
                _ => {
                    paired.push(counted.seen.len());
                    counted.seen.push(Seen { umi, count: 1, place: u64::MAX });
                }
            }
            counted.check(findings.room)?;
        }
        let roots = cluster(&counted.seen, umis.method, umis.edits);
        let mut is_paired = vec![false; roots.len()];
        paired.iter().for_each(|&at| is_paired[roots[at] as usize] = true);
        let mut molecules = Molecules::new(roots, findings.sets.len(), umis);
        let mut sets: Vec<FragmentSet<S>> = Vec::new();
        let mut at = 0;
        for _ in 0..fragments {
            let Some(fragment) = behind.next_item()? else { break };
            while counted.seen[at].umi != umi(item::fragment_code::<S>(&fragment)) {
                at += 1;
            }
            let (set, number) = molecules.set(at, Strand::A);
            match sets.get_mut(set / molecules.strands) {
                Some(set) => {
                    set.add(fragment, findings);
                    findings.check_held()?;
                }
                None => {
                    let paired = is_paired[molecules.roots[at] as usize];
                    sets.push(FragmentSet::new(fragment, paired, findings));
                }
            }
            if findings.rules.molecules {
                findings.note_member(&findings.judged_fragment::<S>(&fragment), number);
            }
        }
        for set in sets {
            set.close(findings);
            (0..molecules.strands).try_for_each(|_| findings.note_set(0, 0))?;
        }
    }
    Ok(())
}

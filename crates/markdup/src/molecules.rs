//! Marks duplicates if UMIs separate molecules: templates at one position whose UMIs belong to the
//! same molecule form a set.
//!
//! Items are sorted by position and, within a position, by UMI. Each position is scanned twice:
//!
//! 1. The first cursor counts the distinct UMIs of the position, which are then clustered into
//!    molecules.
//! 2. The second cursor is one position behind and marks the templates of each molecule.
//!
//! So memory grows with the number of distinct UMIs at a position, not with the number of
//! templates.

use readmill_record::{Error, Result};

use super::end_store::ItemSorters;
use super::item::{self, Item, ItemLayout};
use super::marks::{DuplicateMarks, FragmentSet, PairSet};
use super::molecule_counts::{FamilyCounts, MoleculeCounts};
use super::sorter::{ChunkSorter, MergedItems};
use super::umi::{Strand, UmiCount, Umis, cluster_umis, code, code_separates, code_strand, code_umi};

/// Memory in bytes for one distinct UMI of the current position, including its set and cluster
/// indices.
const BYTES_PER_UMI: u64 = 400;

/// Marks duplicates among pairs and fragments, whose chunks must be sorted, and counts the molecules.
/// Called by the resolver instead of [`DuplicateMarks::mark_sets`].
///
/// # Errors
/// The distinct UMIs of one position do not fit in memory.
pub fn mark_sets<S: ItemLayout, T: ChunkSorter>(
    marks: &mut DuplicateMarks<'_, T>,
    items: &ItemSorters<S>,
    umis: &Umis,
) -> Result<()> {
    let pairs = mark_pairs(marks, items, umis)?;
    let single_reads = mark_fragments(marks, items, umis)?;
    let joins_strands = umis.method.joins_strands();
    marks.tally.molecules = Some(MoleculeCounts { pairs, single_reads, joins_strands });
    Ok(())
}

/// A merge of sorted items with one item of lookahead.
struct Lookahead<'a, T> {
    next: Option<T>,
    rest: MergedItems<'a, T>,
}

impl<'a, T: Item> Lookahead<'a, T> {
    fn new(mut rest: MergedItems<'a, T>) -> Result<Self> {
        Ok(Lookahead { next: rest.next_item()?, rest })
    }

    fn take_if(&mut self, is: impl FnOnce(&T) -> bool) -> Result<Option<T>> {
        match self.next {
            Some(item) if is(&item) => {
                self.next = self.rest.next_item()?;
                Ok(Some(item))
            }
            _ => Ok(None),
        }
    }
}

#[derive(Default)]
struct UmiCounts {
    seen: Vec<UmiCount>,
    templates: u64,
}

impl UmiCounts {
    /// Counts a template. Equal codes must be adjacent. `place` is an ordinal; as in umi_tools, the
    /// smallest one of each UMI breaks ties.
    fn count_template(&mut self, code: u128, place: u64) {
        let umi = code_umi(code);
        self.templates += 1;
        match self.seen.last_mut() {
            Some(last) if last.umi == umi => {
                last.count += 1;
                last.place = last.place.min(place);
            }
            _ => self.seen.push(UmiCount { umi, count: 1, place }),
        }
    }

    fn check_room(&self, room: u64) -> Result<()> {
        if self.seen.len() as u64 * BYTES_PER_UMI <= room {
            return Ok(());
        }
        let what = format!("not enough memory for {} different UMIs at one position", self.seen.len());
        Err(Error::usage(what).hint("raise -m"))
    }
}

fn mark_pairs<S: ItemLayout, T: ChunkSorter>(
    marks: &mut DuplicateMarks<'_, T>,
    items: &ItemSorters<S>,
    umis: &Umis,
) -> Result<FamilyCounts> {
    let spill = marks.spill;
    let mut families = FamilyCounts::default();
    let mut ahead = Lookahead::new(items.pairs.merge(spill)?)?;
    let mut behind = items.pairs.merge(spill)?;
    while let Some(first) = ahead.next {
        let side = code_separates(item::pair_code::<S>(&first));
        let mut counted = UmiCounts::default();
        let stands = |pair: &S::Pair| {
            item::pairs_share_position::<S>(&first, pair)
                && code_separates(item::pair_code::<S>(pair)) == side
        };
        while let Some(pair) = ahead.take_if(stands)? {
            let code = item::pair_code::<S>(&pair);
            let (left, right, _) = item::pair_ordinals::<S>(&pair);
            counted.count_template(code, if code_strand(code) == Strand::A { left } else { right });
            counted.check_room(marks.room)?;
        }
        let roots = cluster_umis(&counted.seen, umis.method, umis.edits);
        let mut molecules = Molecules::new(roots, marks.sets.len(), umis);
        let mut sets: Vec<Option<PairSet<S>>> = Vec::new();
        let mut at = 0;
        for _ in 0..counted.templates {
            let Some(pair) = behind.next_item()? else { break };
            let code = item::pair_code::<S>(&pair);
            while counted.seen[at].umi != code_umi(code) {
                at += 1;
            }
            let root = counted.seen[molecules.roots[at] as usize].umi;
            families.count_template(!root.is_empty(), root != code_umi(code));
            let own = code::find_strand_in_molecule(root, code_umi(code), code_strand(code), umis.edits);
            let (set, number) = molecules.assign_set(at, own);
            if sets.len() <= set {
                sets.resize_with(
                    set / molecules.strands * molecules.strands + molecules.strands,
                    || None,
                );
            }
            match &mut sets[set] {
                Some(set) => {
                    set.add_pair(pair, marks);
                    marks.check_room()?;
                }
                none => *none = Some(PairSet::new(pair, number, marks)),
            }
        }
        let size = |set: &Option<PairSet<S>>| set.as_ref().map_or(0, PairSet::size);
        for strands in sets.chunks(molecules.strands).filter(|sets| has_umi::<S>(sets)) {
            families.count_family([strands.first().map_or(0, size), strands.get(1).map_or(0, size)]);
        }
        for set in sets {
            match set {
                Some(set) => set.close_set(marks)?,
                None => marks.note_set(0, 0)?,
            }
        }
    }
    Ok(families)
}

/// Returns whether the sets of a molecule have a UMI. All templates without a UMI at a position are in
/// one molecule, because UMIs of different lengths are never clustered.
fn has_umi<S: ItemLayout>(sets: &[Option<PairSet<S>>]) -> bool {
    sets.iter().flatten().any(|set| !code_umi(item::pair_code::<S>(set.first())).is_empty())
}

/// The molecules of a position, numbered in the order in which they are found, and their sets: one
/// per molecule, or one per strand of a duplex molecule.
struct Molecules {
    roots: Vec<u32>,
    /// Molecule number of each root UMI, or `u32::MAX` until the molecule is found.
    number_of: Vec<u32>,
    found: u32,
    base: u64,
    /// Number of sets per molecule: 2 if both strands of a duplex molecule are clustered together,
    /// otherwise 1.
    strands: usize,
}

impl Molecules {
    fn new(roots: Vec<u32>, base: u64, umis: &Umis) -> Self {
        let strands = if umis.method.joins_strands() { 2 } else { 1 };
        Molecules { number_of: vec![u32::MAX; roots.len()], roots, found: 0, base, strands }
    }

    /// Returns the set of the UMI at index `at` on `strand`: the index of the set within the
    /// position, and its number in the whole input.
    fn assign_set(&mut self, at: usize, strand: Strand) -> (usize, u64) {
        let molecule = &mut self.number_of[self.roots[at] as usize];
        if *molecule == u32::MAX {
            *molecule = self.found;
            self.found += 1;
        }
        let other = self.strands == 2 && strand == Strand::B;
        let set = *molecule as usize * self.strands + usize::from(other);
        (set, self.base + set as u64)
    }
}

/// Marks duplicates among single reads. UMIs of paired reads at the same end are included in the
/// clustering: a single read is a duplicate if its molecule has a paired read.
fn mark_fragments<S: ItemLayout, T: ChunkSorter>(
    marks: &mut DuplicateMarks<'_, T>,
    items: &ItemSorters<S>,
    umis: &Umis,
) -> Result<FamilyCounts> {
    let spill = marks.spill;
    let mut families = FamilyCounts::default();
    let mut ahead = Lookahead::new(items.fragments.merge(spill)?)?;
    let mut behind = items.fragments.merge(spill)?;
    let mut paired_ends = Lookahead::new(items.paired_ends.merge(spill)?)?;
    while let Some(first) = ahead.next {
        let place = item::end_place(first.as_ref());
        let mut counted = UmiCounts::default();
        while let Some(fragment) =
            ahead.take_if(|fragment| item::end_place(fragment.as_ref()) == place)?
        {
            let ordinal = item::fragment_ordinals::<S>(&fragment).0;
            counted.count_template(item::fragment_code::<S>(&fragment), ordinal);
            counted.check_room(marks.room)?;
        }
        let fragments = std::mem::take(&mut counted.templates);
        let own = counted.seen.len();
        while paired_ends.take_if(|end| item::end_place(end.as_ref()) < place)?.is_some() {}
        let mut paired = Vec::new();
        while let Some(end) = paired_ends.take_if(|end| item::end_place(end.as_ref()) == place)? {
            let umi = code_umi(item::end_code::<S>(&end));
            let known = counted.seen[..own].binary_search_by_key(&umi, |seen| seen.umi);
            match (known, counted.seen.last_mut()) {
                (Ok(at), _) => {
                    counted.seen[at].count += 1;
                    paired.push(at);
                }
                (Err(_), Some(last)) if last.umi == umi => last.count += 1,
                _ => {
                    paired.push(counted.seen.len());
                    counted.seen.push(UmiCount { umi, count: 1, place: u64::MAX });
                }
            }
            counted.check_room(marks.room)?;
        }
        let roots = cluster_umis(&counted.seen, umis.method, umis.edits);
        let mut is_paired = vec![false; roots.len()];
        paired.iter().for_each(|&at| is_paired[roots[at] as usize] = true);
        let mut molecules = Molecules::new(roots, marks.sets.len(), umis);
        let mut sets: Vec<FragmentSet<S>> = Vec::new();
        let mut at = 0;
        for _ in 0..fragments {
            let Some(fragment) = behind.next_item()? else { break };
            while counted.seen[at].umi != code_umi(item::fragment_code::<S>(&fragment)) {
                at += 1;
            }
            let (set, number) = molecules.assign_set(at, Strand::A);
            let root = molecules.roots[at] as usize;
            if !is_paired[root] {
                families.count_template(!counted.seen[at].umi.is_empty(), root != at);
            }
            match sets.get_mut(set / molecules.strands) {
                Some(set) => {
                    set.add_fragment(fragment, marks);
                    marks.check_room()?;
                }
                None => sets.push(FragmentSet::new(fragment, is_paired[root], marks)),
            }
            if marks.rules.molecules {
                marks.note_member(&marks.fragment_entry::<S>(&fragment), number);
            }
        }
        for set in sets {
            if let Some(first) = set.kept()
                && !code_umi(item::fragment_code::<S>(first)).is_empty()
            {
                families.count_family([set.size(), 0]);
            }
            set.close_set(marks);
            (0..molecules.strands).try_for_each(|_| marks.note_set(0, 0))?;
        }
    }
    Ok(families)
}

//! Resolves duplicates: turns the items of the whole input into the marks of each record.
//!
//! 1. Join the halves by name. This adds pairs, paired ends and fragments.
//! 2. Sort the items. Spill them first if the items and the marks do not fit in memory.
//! 3. Scan the items once and mark duplicates ([`marks`](super::marks), or
//!    [`molecules`] with UMIs).
//! 4. Copy the marks of a template to its other records if these are not adjacent.
//! 5. Build a [`Verdict`] from the marks.
//!
//! With samtools' rules, nothing is joined, and reads with equal scores remain [`Undecided`] until
//! their names are read again.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::end_store::{AnyItems, EndStore, ItemSorters};
use super::ends::{DuplicateEnds, MatePairing};
use super::item::ItemLayout;
use super::join::{HalfJoiner, JoinCounts, TemplateRecords};
use super::marks::DuplicateMarks;
use super::optical::CANDIDATE_BYTES;
use super::rules::{Coding, Rules};
use super::samtools::found::Findings;
use super::samtools::{DuplicateDetails, KeyedReads, Undecided};
use super::sorter::{ChunkSorter, Sorter, spill_sorted};
use super::tables::{BitSet, OrdinalTable};
use super::tiles;
use super::verdict::{DuplicateCounts, DuplicateSets, Verdict};
use super::{Mode, molecule_counts, molecules};

/// Minimum memory in bytes that joined items may take before they are spilled.
const MIN_JOIN_BYTES: u64 = 8 << 20;

/// Resolves the duplicates of an input, with the threads, memory and spill of the caller.
///
/// ```
/// use std::sync::Arc;
///
/// use readmill_format::spill::Spill;
/// use readmill_markdup::{
///     ChunkSorter, DuplicateEnds, DuplicateResolver, EndStore, Item, MatePairing, Mode, Rules,
/// };
/// use readmill_record::{Header, Result};
///
/// struct OneThread;
/// impl ChunkSorter for OneThread {
///     fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()> {
///         chunks.iter_mut().for_each(|chunk| chunk.sort_unstable());
///         Ok(())
///     }
/// }
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n").unwrap();
/// let ends = DuplicateEnds::new(&header, MatePairing::InBatch, Rules::default()).unwrap();
/// let store = EndStore::new(&ends); // filled from the parts of all batches
/// let resolver = DuplicateResolver {
///     threads: &OneThread,
///     spill: Arc::new(Spill::new(&[std::env::temp_dir()])),
///     duplicate_ends: &ends,
///     room: 64 << 20,
///     in_use: &|_| {},
/// };
/// let resolved = resolver.resolve(Mode::Template, true, store, 0).unwrap();
/// assert_eq!(resolved.verdict.tally.pairs, 0);
/// ```
pub struct DuplicateResolver<'a, T> {
    pub threads: &'a T,
    pub spill: Arc<Spill>,
    pub duplicate_ends: &'a DuplicateEnds,
    /// Memory limit in bytes for the stored items and everything derived from them, except the bits
    /// that [`verdict_bytes`] counts.
    pub room: u64,
    pub in_use: &'a dyn Fn(u64),
}

/// Returns the minimum memory in bytes of a verdict on `records` records. The pipeline does not
/// start the scan if this memory is not available.
pub fn verdict_bytes(rules: &Rules, records: u64) -> u64 {
    let details = rules.samtools.as_ref().map(|rules| &rules.details);
    let optical = details.is_some_and(|details| details.optical.is_some());
    let bits = 1 + u64::from(rules.optical.is_some() || optical);
    let tables = u64::from(rules.members || rules.molecules || rules.samtools.is_some());
    let tables = tables + details.map_or(0, Findings::table_count);
    bits * BitSet::bytes(records) + tables * OrdinalTable::bytes_of_bits(records)
}

pub struct Resolved {
    pub verdict: Verdict,
    /// The decisions that need read names, with samtools' rules. `None` with Picard's rules.
    pub undecided: Option<Undecided>,
}

impl<T: ChunkSorter> DuplicateResolver<'_, T> {
    /// Resolves the duplicates of an input of `records` records.
    ///
    /// `grouped` means that the input proved to be grouped by name. Then mates are not joined by
    /// name, because a read whose mate is not adjacent has no mate in the file.
    ///
    /// # Errors
    /// One duplicate set or the UMIs of one position do not fit in memory, or the spill fails.
    pub fn resolve(&self, mode: Mode, grouped: bool, ends: EndStore, records: u64) -> Result<Resolved> {
        let EndStore { items, mut name_groups, examined, .. } = ends;
        if grouped {
            name_groups = Sorter::default();
        }
        let tally = DuplicateCounts { libraries: examined.into_counts(), ..DuplicateCounts::default() };
        let run = |name_groups| ResolverRun { resolver: self, mode, grouped, name_groups, records };
        let verdict = match items {
            AnyItems::PositionOnly(items) => run(name_groups).resolve_items(items, tally)?,
            AnyItems::Barcoded(items) => run(name_groups).resolve_items(items, tally)?,
            AnyItems::Samtools(items) => {
                let &DuplicateResolver { threads, ref spill, room, in_use, .. } = self;
                let names = name_groups;
                let keys = KeyedReads { items, names, records, threads, spill, room, in_use };
                let details = self.duplicate_ends.rules.samtools.as_ref().map(|rules| &rules.details);
                let none = DuplicateDetails::default();
                let (verdict, undecided) = keys.resolve_keys(mode, details.unwrap_or(&none), tally)?;
                return Ok(Resolved { verdict, undecided: Some(undecided) });
            }
        };
        Ok(Resolved { verdict, undecided: None })
    }
}

struct ResolverRun<'a, T> {
    resolver: &'a DuplicateResolver<'a, T>,
    mode: Mode,
    grouped: bool,
    name_groups: Sorter<[u64; 3]>,
    records: u64,
}

impl<T: ChunkSorter> ResolverRun<'_, T> {
    fn resolve_items<S: ItemLayout>(
        mut self,
        mut items: ItemSorters<S>,
        mut tally: DuplicateCounts,
    ) -> Result<Verdict> {
        let &DuplicateResolver { threads, duplicate_ends, room, .. } = self.resolver;
        let spill = &*self.resolver.spill;
        (self.resolver.in_use)(items.filled_bytes() + self.name_groups.filled_bytes());
        if self.name_groups.bytes() > room / 4 {
            spill_sorted(&mut self.name_groups, threads, spill, 0)?;
        }
        threads.sort(self.name_groups.chunks_mut())?;
        let counts = JoinCounts::default();
        let templates = self.join_halves(&mut items, &counts)?;
        tally.mated = items.pairs.len();
        (tally.lone, tally.doubled_names) = (counts.lone.get(), counts.doubled.get());
        if items.fragments.is_empty() {
            items.paired_ends = Sorter::default(); // paired ends are only compared with single reads
        }
        let max_candidates = duplicate_ends
            .rules
            .optical
            .map_or(0, |optical| optical.max_set_size.min(items.pairs.len()));
        let beside = self.name_groups.bytes() + templates.as_ref().map_or(0, Sorter::bytes);
        (self.resolver.in_use)(items.filled_bytes() + beside);
        if items.bytes() + beside + max_candidates * CANDIDATE_BYTES > room {
            items.spill(threads, spill, 0)?;
        }
        threads.sort(items.pairs.chunks_mut())?;
        threads.sort(items.paired_ends.chunks_mut())?;
        threads.sort(items.fragments.chunks_mut())?;
        let rules = &duplicate_ends.rules;
        let tiles = if rules.counts_tiles() { tiles::MAX_COUNTER_BYTES } else { 0 };
        let has_umis = matches!(rules.coding, Some(Coding::Umis(_)));
        let counts = tiles + if has_umis { molecule_counts::MAX_BYTES } else { 0 };
        let room = room.saturating_sub(items.bytes() + beside + counts).max(MIN_JOIN_BYTES);
        let mut marks = DuplicateMarks::new(
            self.mode,
            &duplicate_ends.rules,
            threads,
            spill,
            self.records,
            room,
            tally,
        );
        match &duplicate_ends.rules.coding {
            Some(Coding::Umis(umis)) => molecules::mark_sets(&mut marks, &items, umis)?,
            _ => marks.mark_sets(&items)?,
        }
        (self.resolver.in_use)(items.filled_bytes() + beside + marks.peak_bytes());
        drop(items);
        if let Some(mut templates) = templates {
            threads.sort(templates.chunks_mut())?;
            share_marks(&mut marks, &templates, spill)?;
            self.share_members(&mut marks, &templates)?;
        }
        share_marks_by_name(&mut marks, &self.name_groups, spill)?;
        self.build_verdict(marks)
    }

    /// Joins the halves by name with the method that the mate pairing requires. With
    /// [`MatePairing::NameInput`], also returns the records of each template.
    fn join_halves<S: ItemLayout>(
        &self,
        items: &mut ItemSorters<S>,
        counts: &JoinCounts,
    ) -> Result<Option<TemplateRecords>> {
        let &DuplicateResolver { threads, duplicate_ends, room, .. } = self.resolver;
        let spill = &*self.resolver.spill;
        if items.halves.is_empty() {
            return Ok(None);
        }
        if items.bytes() + items.halves.bytes() > room {
            items.spill(threads, spill, 0)?;
        }
        let limit = room.saturating_sub(items.bytes() + self.name_groups.bytes()).max(MIN_JOIN_BYTES);
        threads.sort(items.halves.chunks_mut())?;
        let DuplicateEnds { libraries, rules, .. } = duplicate_ends;
        let join = HalfJoiner { libraries, rules, spill, counts };
        let by_input = duplicate_ends.mate_pairing() == MatePairing::NameInput;
        let spill_if_full = |items: &mut ItemSorters<S>| {
            if items.bytes() > if by_input { limit / 2 } else { limit } {
                items.spill(threads, spill, 0)?;
            }
            Ok(())
        };
        if self.grouped {
            join.store_all_unmated(items, duplicate_ends.mate_pairing(), spill_if_full)?;
            return Ok(None);
        }
        if duplicate_ends.mate_pairing() == MatePairing::InBatch
            || duplicate_ends.mate_pairing() == MatePairing::NameCoordinate
        {
            join.join_by_place(items, spill_if_full)?;
            return Ok(None);
        }
        if duplicate_ends.mate_pairing() == MatePairing::InBatchThenName {
            join.join_by_name_groups(items, &self.name_groups, spill_if_full)?;
            return Ok(None);
        }
        let templates = join.join_by_input(items, |items, templates| {
            if templates.bytes() > limit / 2 {
                spill_sorted(templates, threads, spill, 0)?;
            }
            spill_if_full(items)
        })?;
        Ok(Some(templates))
    }

    /// Builds the verdict from the marks, with tables of set membership if sets are written to
    /// records.
    fn build_verdict(&self, mut marks: DuplicateMarks<'_, T>) -> Result<Verdict> {
        let DuplicateResolver { threads, spill, duplicate_ends, room, in_use } = self.resolver;
        let tiles = marks.take_tiles();
        let DuplicateMarks { mode, duplicates, optical, mut members, sets: rows, mut tally, .. } = marks;
        tally.tiles = tiles;
        let mut sets = None;
        if duplicate_ends.rules.members || duplicate_ends.rules.molecules {
            threads.sort(members.chunks_mut())?;
            let of = OrdinalTable::new(&members, self.records, spill, room / 4)?;
            let linked = self.linked_members(&of)?;
            let tables = of.bytes_of_rows() + linked.as_ref().map_or(0, OrdinalTable::bytes_of_rows);
            in_use(self.name_groups.filled_bytes() + members.filled_bytes() + rows.bytes() + tables);
            sets = Some(DuplicateSets { of, linked, rows });
        }
        let by_template =
            mode == Mode::Template && duplicate_ends.mate_pairing() != MatePairing::NameInput;
        let spill = Arc::clone(spill);
        let findings = None;
        Ok(Verdict { mode, by_template, duplicates, optical, sets, findings, spill, tally })
    }

    /// Returns the set of each name group whose set is stored at a different name group with the
    /// same name, or `None` if there are none.
    fn linked_members(&self, of: &OrdinalTable) -> Result<Option<OrdinalTable>> {
        let DuplicateResolver { threads, spill, room, .. } = self.resolver;
        let mut linked: Sorter<[u64; 2]> = Sorter::default();
        for_each_name(&self.name_groups, spill, |firsts| {
            let mut set = None;
            for &first in firsts {
                set = set.or(of.get(first, spill)?);
            }
            if let Some(set) = set {
                firsts.iter().for_each(|&first| linked.push([first, set]));
            }
            if linked.bytes() > room / 4 {
                spill_sorted(&mut linked, *threads, spill, 0)?;
            }
            Ok(())
        })?;
        if linked.is_empty() {
            return Ok(None);
        }
        threads.sort(linked.chunks_mut())?;
        OrdinalTable::new(&linked, self.records, spill, room / 4).map(Some)
    }

    fn share_members(
        &self,
        marks: &mut DuplicateMarks<'_, T>,
        templates: &TemplateRecords,
    ) -> Result<()> {
        let &DuplicateResolver { threads, room, .. } = self.resolver;
        let spill = &*self.resolver.spill;
        threads.sort(marks.members.chunks_mut())?;
        let firsts = std::mem::take(&mut marks.members);
        let mut sets = firsts.merge(spill)?;
        let mut set = sets.next_item()?;
        let mut templates = templates.merge(spill)?;
        let records = &mut marks.members;
        while let Some([template, record]) = templates.next_item()? {
            while let Some([of, number]) = set.filter(|[of, _]| *of < template) {
                records.push([of, number]); // all records of this template are adjacent
                set = sets.next_item()?;
            }
            if let Some([of, number]) = set
                && of == template
                && record != template
            {
                records.push([record, number]);
            }
            if records.bytes() > room / 4 {
                spill_sorted(records, threads, spill, 0)?;
            }
        }
        while let Some(row) = set {
            records.push(row);
            set = sets.next_item()?;
        }
        Ok(())
    }
}

/// Copies the marks of each template's first record to all its records.
fn share_marks<T: ChunkSorter>(
    marks: &mut DuplicateMarks<'_, T>,
    templates: &TemplateRecords,
    spill: &Spill,
) -> Result<()> {
    let mut templates = templates.merge(spill)?;
    while let Some([template, record]) = templates.next_item()? {
        if marks.duplicates.get(template) {
            marks.duplicates.set(record);
        }
        if let Some(optical) = &mut marks.optical
            && optical.get(template)
        {
            optical.set(record);
        }
    }
    Ok(())
}

/// Copies the marks of any name group to all name groups with the same name.
fn share_marks_by_name<T: ChunkSorter>(
    marks: &mut DuplicateMarks<'_, T>,
    name_groups: &Sorter<[u64; 3]>,
    spill: &Spill,
) -> Result<()> {
    for_each_name(name_groups, spill, |firsts| {
        share_among(&mut marks.duplicates, firsts);
        marks.optical.iter_mut().for_each(|bits| share_among(bits, firsts));
        Ok(())
    })
}

fn share_among(bits: &mut BitSet, firsts: &[u64]) {
    if firsts.iter().any(|&first| bits.get(first)) {
        firsts.iter().for_each(|&first| bits.set(first));
    }
}

/// Calls `show` for each name with several name groups, with the first records of these groups.
fn for_each_name(
    name_groups: &Sorter<[u64; 3]>,
    spill: &Spill,
    mut show: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut name_groups = name_groups.merge(spill)?;
    let (mut name, mut firsts) = (None, Vec::new());
    loop {
        let next = name_groups.next_item()?;
        let next_name = next.map(|[high, low, _]| [high, low]);
        if next_name != name {
            if firsts.len() > 1 {
                show(&firsts)?;
            }
            firsts.clear();
            name = next_name;
        }
        let Some([_, _, first]) = next else { return Ok(()) };
        firsts.push(first >> 1);
    }
}

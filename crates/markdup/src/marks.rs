//! Marks duplicates in one scan over all items in order.
//!
//! ```text
//!  pairs        ──►  PairSet ──► the best pair is kept, all others are marked
//!     │ first ends
//!  paired ends  ──►  Fragments ──► a fragment at a paired end is marked; otherwise the best one is kept
//!  fragments    ──►
//! ```
//!
//! All three merges advance together, so the scan needs memory only for the current set: the member
//! kept so far, and the candidates for optical duplicates.

use readmill_format::spill::Spill;
use readmill_record::{Error, Result};

use super::Mode;
use super::end_store::ItemSorters;
use super::item::{self, ItemLayout};
use super::libraries::Libraries;
use super::optical::{CANDIDATE_BYTES, Candidates, SetMember};
use super::rules::{Optical, Rules};
use super::sorter::{ChunkSorter, MergedItems, Sorter, spill_sorted};
use super::tables::{BitSet, RowStore};
use super::tiles::{TileCounter, TileCounts, TileEvent};
use super::verdict::{DuplicateCounts, LargestSet};

/// Minimum size of a duplicate set that is reported as unusually large.
const MIN_REPORTED_SET_SIZE: u64 = 100_000;

/// The duplicate marks of all records, filled set by set during the scan.
///
/// The resolver creates it, calls [`mark_sets`](DuplicateMarks::mark_sets), and turns it into a
/// [`Verdict`](super::Verdict):
///
/// - one bit for each record (duplicate or not), and a second bit for optical duplicates;
/// - if requested, the set of each record and the representative and size of each set;
/// - the counts for the metrics.
///
/// Lists that grow with the input are spilled when they exceed `room`.
pub struct DuplicateMarks<'a, T> {
    pub(super) mode: Mode,
    pub(super) rules: &'a Rules,
    threads: &'a T,
    pub(super) spill: &'a Spill,
    pub(super) room: u64,
    pub(super) duplicates: BitSet,
    pub(super) optical: Option<BitSet>,
    /// The set number of each record, for DI, DS and molecule numbers.
    pub(super) members: Sorter<[u64; 2]>,
    /// Representative and number of pairs of each set, by set number.
    pub(super) sets: RowStore<2>,
    pub(super) tally: DuplicateCounts,
    tiles: Option<TileCounter>,
    buffered: i64,
    peak_buffered: i64,
    /// Largest memory in bytes used by members and sets before they were spilled.
    peak_spillable_bytes: u64,
}

pub(super) struct SetEntry {
    pub(super) member: SetMember,
    /// The set number in DI: the ordinal of the member's template or, in coordinate mode, of its
    /// first read.
    number: u64,
    /// Whether Picard writes DI and DS for this member. In template mode, only if the first record
    /// of the template is mapped and primary, because Picard identifies templates by that record.
    is_reported: bool,
}

impl<'a, T: ChunkSorter> DuplicateMarks<'a, T> {
    pub fn new(
        mode: Mode,
        rules: &'a Rules,
        threads: &'a T,
        spill: &'a Spill,
        records: u64,
        room: u64,
        tally: DuplicateCounts,
    ) -> Self {
        DuplicateMarks {
            mode,
            rules,
            threads,
            spill,
            room,
            duplicates: BitSet::new(records),
            optical: rules.optical.map(|_| BitSet::new(records)),
            members: Sorter::default(),
            sets: RowStore::default(),
            tally,
            tiles: rules.counts_tiles().then(TileCounter::default),
            buffered: 0,
            peak_buffered: 0,
            peak_spillable_bytes: 0,
        }
    }

    /// Marks duplicates among pairs and fragments, whose chunks must be sorted.
    ///
    /// Pairs and paired ends are scanned together with the fragments: each fragment at the end of a
    /// pair is a duplicate.
    ///
    /// In each set, the pair or fragment with the highest score stays unmarked; if scores are
    /// equal, the one with the smaller location; if locations are also equal, the one that is first
    /// in the file. In coordinate mode, this is the first in the coordinate-sorted file (the items
    /// are already in this order). In template mode, it is the one whose template is first in the
    /// input.
    ///
    /// # Errors
    /// The candidates for optical duplicates of one set do not fit in memory, or the spill fails.
    pub fn mark_sets<S: ItemLayout>(&mut self, items: &ItemSorters<S>) -> Result<()> {
        let mut fragments = FragmentScan::<S>::new(items.fragments.merge(self.spill)?)?;
        let mut paired_ends = items.paired_ends.merge(self.spill)?;
        let mut other = paired_ends.next_item()?;
        let mut pairs = items.pairs.merge(self.spill)?;
        let mut set: Option<PairSet<S>> = None;
        while let Some(pair) = pairs.next_item()? {
            if S::CODE == 0
                && let Some(end) = item::pair_end::<S>(&pair)
            {
                // First all paired ends that sort before the end of this pair.
                while let Some(key) = other.filter(|key| *key <= end) {
                    fragments.advance_to_end(&key, self)?;
                    other = paired_ends.next_item()?;
                }
                fragments.advance_to_end(&end, self)?;
            }
            match &mut set {
                Some(set) if item::same_set::<S>(&set.first, &pair) => {
                    set.add_pair(pair, self);
                    self.check_room()?;
                }
                _ => {
                    if let Some(set) = set.take() {
                        set.close_set(self)?;
                    }
                    set = Some(PairSet::new(pair, self.sets.len(), self));
                }
            }
        }
        if let Some(set) = set {
            set.close_set(self)?;
        }
        while let Some(key) = other {
            fragments.advance_to_end(&key, self)?;
            other = paired_ends.next_item()?;
        }
        fragments.finish_sets(self)
    }

    pub(super) fn pair_entry<S: ItemLayout>(&self, pair: &S::Pair) -> SetEntry {
        let (one, two, template) = item::pair_ordinals::<S>(pair);
        let (location, group, pos) = item::pair_member::<S>(pair);
        let group = Libraries::optical_group(group);
        match self.mode {
            Mode::Template => {
                let (pos, ids) = (0, (template, template));
                // Picard identifies templates by their first record, but only if it is mapped and
                // primary.
                let is_reported = item::pair_first_record_participates::<S>(pair);
                SetEntry {
                    member: SetMember { location, group, pos, ids },
                    number: template,
                    is_reported,
                }
            }
            Mode::Coordinate => {
                let ids = (one, two);
                SetEntry {
                    member: SetMember { location, group, pos, ids },
                    number: one,
                    is_reported: true,
                }
            }
        }
    }

    pub(super) fn fragment_entry<S: ItemLayout>(&self, fragment: &S::Fragment) -> SetEntry {
        let (ordinal, template) = item::fragment_ordinals::<S>(fragment);
        let (location, group, pos) = item::fragment_member::<S>(fragment);
        let group = Libraries::optical_group(group);
        let (pos, number) = match self.mode {
            Mode::Template => (0, template),
            Mode::Coordinate => (pos, ordinal),
        };
        let member = SetMember { location, group, pos, ids: (number, number) };
        SetEntry { member, number, is_reported: true }
    }

    fn marks_only_optical(&self) -> bool {
        self.rules.optical.is_some_and(|optical| optical.only_optical)
    }

    fn mark_pair(&mut self, entry: &SetEntry) {
        if !self.marks_only_optical() {
            self.duplicates.set(entry.member.ids.0);
            self.duplicates.set(entry.member.ids.1);
            self.tally.pairs += 1;
            self.count_tile(&entry.member, TileEvent::Duplicate);
        }
    }

    pub(super) fn mark_fragment<S: ItemLayout>(&mut self, fragment: &S::Fragment) {
        if !self.marks_only_optical() {
            let number = self.fragment_entry::<S>(fragment).number;
            self.duplicates.set(number);
            self.tally.fragments += 1;
        }
    }

    fn count_tile(&mut self, member: &SetMember, what: TileEvent) {
        if let Some(tiles) = &mut self.tiles {
            tiles.count_pair(member, what);
        }
    }

    pub(super) fn take_tiles(&mut self) -> Vec<TileCounts> {
        self.tiles.take().map_or_else(Vec::new, TileCounter::into_sorted_counts)
    }

    /// Marks the optical duplicates among the candidates of a set and returns their number.
    /// `keeper` is the member that is kept.
    fn mark_optical(&mut self, candidates: Candidates, keeper: &SetEntry, are_pairs: bool) -> u64 {
        let Some(Optical { distance, only_optical: alone, .. }) = self.rules.optical else { return 0 };
        self.buffered -= candidates.buffered_count();
        let marked = candidates.find_optical(distance, keeper.member.place());
        for member in &marked {
            for id in [member.ids.0, member.ids.1] {
                if let Some(optical) = &mut self.optical {
                    optical.set(id);
                }
                if alone {
                    self.duplicates.set(id);
                }
            }
            if are_pairs {
                self.count_tile(member, TileEvent::Optical);
                if alone {
                    self.count_tile(member, TileEvent::Duplicate);
                }
            }
        }
        marked.len() as u64
    }

    /// Counts a set of `size` pairs for the metrics of its library. `optical` of the pairs are
    /// optical duplicates.
    ///
    /// If optical duplicates are not searched for, only sets of one pair enter the histogram of set
    /// sizes, as in Picard with READ_NAME_REGEX=null.
    fn count_set(&mut self, library: u16, size: u64, optical: u64, locus: (i32, i64)) {
        let tally = &mut self.tally;
        if self.rules.optical.is_some() || size == 1 {
            tally.sizes.count(size, optical);
        }
        if optical > 0 {
            let at = usize::from(library);
            if tally.libraries.len() <= at {
                tally.libraries.resize_with(at + 1, Default::default);
            }
            tally.libraries[at].optical_pairs += optical;
        }
        self.note_depth(size, locus.0, locus.1);
    }

    /// Remembers the largest set with at least [`MIN_REPORTED_SET_SIZE`] members. The summary warns
    /// about it.
    fn note_depth(&mut self, size: u64, ref_id: i32, five_prime: i64) {
        if size >= MIN_REPORTED_SET_SIZE && self.tally.deepest.is_none_or(|deepest| deepest.size < size)
        {
            self.tally.deepest = Some(LargestSet { size, ref_id, five_prime });
        }
    }

    pub(super) fn note_member(&mut self, entry: &SetEntry, set: u64) {
        self.members.push([entry.member.ids.0, set]);
        if entry.member.ids.1 != entry.member.ids.0 {
            self.members.push([entry.member.ids.1, set]);
        }
    }

    /// Stores the representative and size of the next set. Sets are numbered in the order of these
    /// calls. `pairs` is 0 for a set of single reads.
    pub(super) fn note_set(&mut self, representative: u64, pairs: u64) -> Result<()> {
        self.sets.push([representative, pairs]);
        self.spill_if_full()
    }

    /// Returns an upper bound for the memory in bytes that members, sets and candidates used at the
    /// same time. It is reported to the ledger as peak memory.
    pub fn peak_bytes(&self) -> u64 {
        let noted = self.peak_spillable_bytes.max(self.members.filled_bytes() + self.sets.bytes());
        noted + self.peak_buffered.max(0) as u64 * CANDIDATE_BYTES
    }

    /// Spills members and sets if they exceed the memory limit.
    ///
    /// # Errors
    /// The candidates for optical duplicates do not fit in memory; they cannot be spilled.
    pub(super) fn check_room(&mut self) -> Result<()> {
        if self.members.len().is_multiple_of(1 << 14) {
            self.spill_if_full()?;
        }
        self.peak_buffered = self.peak_buffered.max(self.buffered);
        if self.buffered.max(0) as u64 * CANDIDATE_BYTES <= self.room {
            return Ok(());
        }
        let what = format!(
            "not enough memory to find optical duplicates among {} templates at one position",
            self.buffered
        );
        Err(Error::usage(what).hint("raise -m, or lower --max-optical-set-size"))
    }

    fn spill_if_full(&mut self) -> Result<()> {
        if self.members.bytes() + self.sets.bytes() > self.room {
            self.peak_spillable_bytes =
                self.peak_spillable_bytes.max(self.members.bytes() + self.sets.bytes());
            spill_sorted(&mut self.members, self.threads, self.spill, 0)?;
            self.sets.spill(self.spill)?;
        }
        Ok(())
    }
}

/// A set of duplicate pairs during the scan. Of its pairs, it stores only the first, the best so
/// far, and the candidates for optical duplicates.
pub(super) struct PairSet<S: ItemLayout> {
    first: S::Pair,
    kept: S::Pair,
    size: u64,
    number: u64,
    /// The candidates in two parts: index 1 has pairs whose read 1 is reverse and read 2 forward,
    /// index 0 all others. Picard searches both parts separately.
    candidates: [Candidates; 2],
}

const REVERSE_FORWARD: u8 = 0b10;

impl<S: ItemLayout> PairSet<S> {
    pub(super) fn first(&self) -> &S::Pair {
        &self.first
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Starts a set with its first pair. The pair is recorded at once only if molecules are
    /// numbered; otherwise sets of one pair are not recorded.
    pub(super) fn new<T: ChunkSorter>(
        first: S::Pair,
        number: u64,
        marks: &mut DuplicateMarks<'_, T>,
    ) -> Self {
        if marks.rules.molecules {
            marks.note_member(&marks.pair_entry::<S>(&first), number);
        }
        if marks.tiles.is_some() {
            marks.count_tile(&marks.pair_entry::<S>(&first).member, TileEvent::Pair);
        }
        PairSet { first, kept: first, size: 1, number, candidates: Default::default() }
    }

    /// Adds a pair. Either this pair or the pair kept so far becomes a duplicate: the one with the
    /// worse score or, if they tie, the later one.
    pub(super) fn add_pair<T: ChunkSorter>(&mut self, pair: S::Pair, marks: &mut DuplicateMarks<'_, T>) {
        if self.size == 1 {
            let first = self.first;
            let entry = self.add_candidate(&first, marks);
            if marks.rules.members && !marks.rules.molecules && entry.is_reported {
                marks.note_member(&entry, self.number);
            }
        }
        self.size += 1;
        let new = self.add_candidate(&pair, marks);
        marks.count_tile(&new.member, TileEvent::Pair);
        if marks.rules.molecules || marks.rules.members && new.is_reported {
            marks.note_member(&new, self.number);
        }
        let kept = marks.pair_entry::<S>(&self.kept);
        let prefers = item::pair_prefers::<S>(&pair, &self.kept);
        if prefers.unwrap_or(new.member.place() < kept.member.place()) {
            self.kept = pair;
            marks.mark_pair(&kept);
        } else {
            marks.mark_pair(&new);
        }
    }

    fn add_candidate<T: ChunkSorter>(
        &mut self,
        pair: &S::Pair,
        marks: &mut DuplicateMarks<'_, T>,
    ) -> SetEntry {
        let entry = marks.pair_entry::<S>(pair);
        if let Some(optical) = marks.rules.optical {
            let lies = usize::from(item::pair_sequenced_strands::<S>(pair) == REVERSE_FORWARD);
            marks.buffered += self.candidates[lies].add(entry.member, optical.max_set_size);
        }
        entry
    }

    /// Completes a set: finds its optical duplicates and counts it. The two parts of candidates are
    /// searched separately, unless one of them is empty.
    pub(super) fn close_set<T: ChunkSorter>(self, marks: &mut DuplicateMarks<'_, T>) -> Result<()> {
        let kept = marks.pair_entry::<S>(&self.kept);
        let mut optical = 0;
        if self.size > 1 {
            if let Some(rules) = marks.rules.optical {
                let [mut others, reverse_forward] = self.candidates;
                if others.is_empty() || reverse_forward.is_empty() {
                    others.merge_part(reverse_forward, rules.max_set_size);
                } else {
                    optical += marks.mark_optical(reverse_forward, &kept, true);
                }
                optical += marks.mark_optical(others, &kept, true);
            }
            if marks.marks_only_optical() {
                marks.tally.pairs += optical;
            }
        }
        if marks.rules.molecules || marks.rules.members && self.size > 1 {
            marks.note_set(kept.number, self.size)?;
        }
        let (library, locus) =
            (item::pair_library::<S>(&self.first), item::pair_locus::<S>(&self.first));
        marks.count_set(library, self.size, optical, locus);
        Ok(())
    }
}

/// A cursor over sorted fragments that advances with the paired ends and marks fragments set by set.
struct FragmentScan<'a, S: ItemLayout> {
    merged: MergedItems<'a, S::Fragment>,
    next: Option<S::Fragment>,
    set: Option<(S::EndKey, FragmentSet<S>)>,
}

pub(super) struct FragmentSet<S: ItemLayout> {
    /// The read kept so far. `None` if a pair has this end, because all fragments are then
    /// duplicates.
    kept: Option<S::Fragment>,
    size: u64,
    candidates: Candidates,
    locus: (i32, i64),
}

impl<S: ItemLayout> FragmentSet<S> {
    /// Returns the read kept so far, or `None` if a pair has this end.
    pub(super) fn kept(&self) -> Option<&S::Fragment> {
        self.kept.as_ref()
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn new<T: ChunkSorter>(
        fragment: S::Fragment,
        paired: bool,
        marks: &mut DuplicateMarks<'_, T>,
    ) -> Self {
        let (kept, size, candidates) = Default::default();
        let locus = item::fragment_locus::<S>(&fragment);
        let mut set = FragmentSet { kept, size, candidates, locus };
        if paired {
            set.add_fragment(fragment, marks);
        } else {
            (set.kept, set.size) = (Some(fragment), 1);
            if let Some(optical) = marks.rules.optical.filter(|optical| optical.includes_singles) {
                let member = marks.fragment_entry::<S>(&fragment).member;
                marks.buffered += set.candidates.add(member, optical.max_set_size);
            }
        }
        set
    }

    pub(super) fn add_fragment<T: ChunkSorter>(
        &mut self,
        fragment: S::Fragment,
        marks: &mut DuplicateMarks<'_, T>,
    ) {
        self.size += 1;
        let new = marks.fragment_entry::<S>(&fragment);
        if let Some(optical) = marks.rules.optical.filter(|optical| optical.includes_singles) {
            marks.buffered += self.candidates.add(new.member, optical.max_set_size);
        }
        let Some(kept) = self.kept else {
            return marks.mark_fragment::<S>(&fragment);
        };
        let place = marks.fragment_entry::<S>(&kept).member.place();
        let prefers = item::fragment_prefers::<S>(&fragment, &kept);
        if prefers.unwrap_or(new.member.place() < place) {
            self.kept = Some(fragment);
            marks.mark_fragment::<S>(&kept);
        } else {
            marks.mark_fragment::<S>(&fragment);
        }
    }

    pub(super) fn close_set<T: ChunkSorter>(self, marks: &mut DuplicateMarks<'_, T>) {
        marks.note_depth(self.size, self.locus.0, self.locus.1);
        if self.size < 2 {
            return;
        }
        let nobody = SetEntry {
            member: SetMember {
                location: super::location::Location::NONE,
                group: 0,
                pos: u32::MAX,
                ids: (u64::MAX, u64::MAX),
            },
            number: 0,
            is_reported: false,
        };
        let keeper = self.kept.map_or(nobody, |kept| marks.fragment_entry::<S>(&kept));
        let optical = marks.mark_optical(self.candidates, &keeper, false);
        marks.tally.optical_fragments += optical;
        if marks.marks_only_optical() {
            marks.tally.fragments += optical;
        }
    }
}

impl<'a, S: ItemLayout> FragmentScan<'a, S> {
    fn new(mut merged: MergedItems<'a, S::Fragment>) -> Result<Self> {
        Ok(FragmentScan { next: merged.next_item()?, merged, set: None })
    }

    /// Advances to a paired end. One read of each set before it is kept; all fragments at the
    /// paired end are duplicates.
    fn advance_to_end<T: ChunkSorter>(
        &mut self,
        key: &S::EndKey,
        marks: &mut DuplicateMarks<'_, T>,
    ) -> Result<()> {
        while let Some(fragment) = self.next {
            let end = item::fragment_end::<S>(&fragment);
            if end > *key {
                break;
            }
            self.add_next(fragment, end == *key, marks)?;
        }
        Ok(())
    }

    fn add_next<T: ChunkSorter>(
        &mut self,
        fragment: S::Fragment,
        paired: bool,
        marks: &mut DuplicateMarks<'_, T>,
    ) -> Result<()> {
        let end = item::fragment_end::<S>(&fragment);
        match &mut self.set {
            Some((of, set)) if *of == end => {
                set.add_fragment(fragment, marks);
                marks.check_room()?;
            }
            _ => {
                if let Some((_, set)) = self.set.take() {
                    set.close_set(marks);
                }
                self.set = Some((end, FragmentSet::new(fragment, paired, marks)));
            }
        }
        self.next = self.merged.next_item()?;
        Ok(())
    }

    fn finish_sets<T: ChunkSorter>(mut self, marks: &mut DuplicateMarks<'_, T>) -> Result<()> {
        while let Some(fragment) = self.next {
            self.add_next(fragment, false, marks)?;
        }
        if let Some((_, set)) = self.set {
            set.close_set(marks);
        }
        Ok(())
    }
}

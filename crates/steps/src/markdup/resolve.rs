//! Which templates are duplicates: one look at all ends in order.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::Mode;
use super::collect::{Merged, Sorter};
use super::held::{Items, Sorting, spill_sorted};
use super::item::{self, Shape};
use super::libraries::Libraries;
use super::optical::{Candidates, Member};
use super::rules::{Optical, Rules};
use super::table::{Bits, Rows};
use super::verdict::{Deepest, Tally};

/// Sets larger than this are told of.
const DEEP: u64 = 100_000;

/// What judging finds.
pub struct Findings<'a, T> {
    pub(super) mode: Mode,
    rules: &'a Rules,
    threads: &'a T,
    spill: &'a Spill,
    /// Bytes that may be held.
    room: u64,
    pub(super) duplicates: Bits,
    pub(super) optical: Option<Bits>,
    /// Records and the number of their set.
    pub(super) members: Sorter<[u64; 2]>,
    /// Representative and size of each set.
    pub(super) sets: Rows<2>,
    pub(super) tally: Tally,
}

/// A template or a single read as sets see it.
struct Judged {
    member: Member,
    /// Its number in the file, for DI.
    number: u64,
}

impl<'a, T: Sorting> Findings<'a, T> {
    /// Nothing yet, of so many records.
    pub fn new(
        mode: Mode,
        rules: &'a Rules,
        (threads, spill): (&'a T, &'a Spill),
        (records, room): (u64, u64),
        tally: Tally,
    ) -> Self {
        Findings {
            mode,
            rules,
            threads,
            spill,
            room,
            duplicates: Bits::new(records),
            optical: rules.optical.map(|_| Bits::new(records)),
            members: Sorter::default(),
            sets: Rows::default(),
            tally,
        }
    }

    /// Marks duplicates among pairs and fragments, whose chunks must be sorted.
    ///
    /// Pairs and paired ends are walked beside the fragments: each fragment whose end a pair has is a
    /// duplicate. The first of each set is the one that stays; ties in score and location are decided by
    /// place in the file: in coordinate mode that of the coordinate-sorted file (which the items'
    /// order already is), in template mode that of the templates in the input.
    pub fn judge<S: Shape>(&mut self, items: &Items<S>) -> Result<()> {
        let mut fragments = Fragments::<S>::new(items.fragments.merge(self.spill)?)?;
        let mut present = items.present.merge(self.spill)?;
        let mut other = present.next_item()?;
        let mut pairs = items.pairs.merge(self.spill)?;
        let mut set: Option<PairSet<S>> = None;
        while let Some(pair) = pairs.next_item()? {
            if S::CODE == 0
                && let Some(end) = item::pair_end::<S>(&pair)
            {
                // Paired ends up to this pair's, in order.
                while let Some(key) = other.filter(|key| *key <= end) {
                    fragments.paired_end(&key, self)?;
                    other = present.next_item()?;
                }
                fragments.paired_end(&end, self)?;
            }
            match &mut set {
                Some(set) if item::same_set::<S>(&set.first, &pair) => set.add(pair, self),
                _ => {
                    if let Some(set) = set.replace(PairSet::new(pair)) {
                        set.close(self)?;
                    }
                }
            }
        }
        if let Some(set) = set {
            set.close(self)?;
        }
        while let Some(key) = other {
            fragments.paired_end(&key, self)?;
            other = present.next_item()?;
        }
        fragments.finish(self)
    }

    fn judged_pair<S: Shape>(&self, pair: &S::Pair) -> Judged {
        let (one, two, template) = item::pair_ordinals::<S>(pair);
        let (location, group, pos) = item::pair_member::<S>(pair);
        let group = Libraries::optical(group);
        match self.mode {
            Mode::Template => {
                let (place, ids) = ((0, template, 0), (template, template));
                Judged { member: Member { location, group, place, ids }, number: template }
            }
            Mode::Coordinate => {
                let (place, ids) = ((pos, one, two), (one, two));
                Judged { member: Member { location, group, place, ids }, number: one }
            }
        }
    }

    fn judged_fragment<S: Shape>(&self, fragment: &S::Fragment) -> Judged {
        let (ordinal, template) = item::fragment_ordinals::<S>(fragment);
        let (location, group, pos) = item::fragment_member::<S>(fragment);
        let group = Libraries::optical(group);
        let (place, number) = match self.mode {
            Mode::Template => ((0, template, 0), template),
            Mode::Coordinate => ((pos, ordinal, 0), ordinal),
        };
        Judged { member: Member { location, group, place, ids: (number, number) }, number }
    }

    /// Whether optical duplicates alone count.
    fn optical_alone(&self) -> bool {
        self.rules.optical.is_some_and(|optical| optical.alone)
    }

    fn mark_pair(&mut self, judged: &Judged) {
        if !self.optical_alone() {
            self.duplicates.set(judged.member.ids.0);
            self.duplicates.set(judged.member.ids.1);
            self.tally.pairs += 1;
        }
    }

    fn mark_fragment<S: Shape>(&mut self, fragment: &S::Fragment) {
        if !self.optical_alone() {
            let number = self.judged_fragment::<S>(fragment).number;
            self.duplicates.set(number);
            self.tally.fragments += 1;
        }
    }

    /// Marks the optical duplicates among the candidates; gives how many there are.
    fn mark_optical(&mut self, candidates: Candidates, keeper: &Judged) -> u64 {
        let Some(Optical { distance, alone, .. }) = self.rules.optical else { return 0 };
        let marked = candidates.optical(distance, keeper.member.place);
        for member in &marked {
            for id in [member.ids.0, member.ids.1] {
                if let Some(optical) = &mut self.optical {
                    optical.set(id);
                }
                if alone {
                    self.duplicates.set(id);
                }
            }
        }
        marked.len() as u64
    }

    /// Counts a set of pairs.
    fn count(&mut self, library: u16, size: u64, optical: u64, locus: (i32, i64)) {
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
        self.note_depth(size, locus);
    }

    fn note_depth(&mut self, size: u64, (ref_id, five_prime): (i32, i64)) {
        if size >= DEEP && self.tally.deepest.is_none_or(|deepest| deepest.size < size) {
            self.tally.deepest = Some(Deepest { size, ref_id, five_prime });
        }
    }

    /// Notes that a template belongs to the set that will be the next one closed.
    fn note_member(&mut self, judged: &Judged) {
        let set = self.sets.len();
        self.members.push([judged.member.ids.0, set]);
        if judged.member.ids.1 != judged.member.ids.0 {
            self.members.push([judged.member.ids.1, set]);
        }
    }

    /// Spills what takes too much room.
    fn relieve(&mut self) -> Result<()> {
        if self.members.bytes() + self.sets.bytes() > self.room {
            spill_sorted(&mut self.members, self.threads, self.spill, 0)?;
            self.sets.spill(self.spill)?;
        }
        Ok(())
    }
}

/// A set of pairs as it goes by: only who stays so far is held, and who can be an optical duplicate.
struct PairSet<S: Shape> {
    /// The first in order: nobody scores better.
    first: S::Pair,
    /// Who stays so far: the first, or one that ties with it.
    kept: S::Pair,
    size: u64,
    /// Those whose first segment is not on the reverse strand while the last is on the forward strand, and
    /// those that are so.
    candidates: [Candidates; 2],
}

/// First segment reverse, last segment forward.
const REVERSE_FORWARD: u8 = 0b10;

impl<S: Shape> PairSet<S> {
    fn new(first: S::Pair) -> Self {
        PairSet { first, kept: first, size: 1, candidates: Default::default() }
    }

    /// Adds the next in order. One of it and the one that stayed so far is a duplicate: the new one, unless it
    /// ties with the other and its template comes earlier.
    fn add<T: Sorting>(&mut self, pair: S::Pair, findings: &mut Findings<'_, T>) {
        if self.size == 1 {
            let first = self.first;
            self.join(&first, findings);
        }
        self.size += 1;
        let new = self.join(&pair, findings);
        let kept = findings.judged_pair::<S>(&self.kept);
        let prefers = item::pair_prefers::<S>(&pair, &self.kept);
        if prefers.unwrap_or(new.member.place < kept.member.place) {
            self.kept = pair;
            findings.mark_pair(&kept);
        } else {
            findings.mark_pair(&new);
        }
    }

    fn join<T: Sorting>(&mut self, pair: &S::Pair, findings: &mut Findings<'_, T>) -> Judged {
        let judged = findings.judged_pair::<S>(pair);
        if let Some(optical) = findings.rules.optical {
            let lies = usize::from(item::pair_sequenced::<S>(pair) == REVERSE_FORWARD);
            self.candidates[lies].add(judged.member, optical.most);
        }
        if findings.rules.members {
            findings.note_member(&judged);
        }
        judged
    }

    fn close<T: Sorting>(self, findings: &mut Findings<'_, T>) -> Result<()> {
        let mut optical = 0;
        if self.size > 1 {
            let kept = findings.judged_pair::<S>(&self.kept);
            if let Some(rules) = findings.rules.optical {
                let [mut others, reverse_forward] = self.candidates;
                if others.is_empty() || reverse_forward.is_empty() {
                    others.join(reverse_forward, rules.most);
                } else {
                    optical += findings.mark_optical(reverse_forward, &kept);
                }
                optical += findings.mark_optical(others, &kept);
            }
            if findings.optical_alone() {
                findings.tally.pairs += optical;
            }
            if findings.rules.members {
                findings.sets.push([kept.number, self.size]);
                findings.relieve()?;
            }
        }
        let (library, locus) = (item::pair_library::<S>(&self.first), item::pair_locus::<S>(&self.first));
        findings.count(library, self.size, optical, locus);
        Ok(())
    }
}

/// Fragments in order, judged set by set as paired ends go by.
struct Fragments<'a, S: Shape> {
    merged: Merged<'a, S::Fragment>,
    next: Option<S::Fragment>,
    set: Option<FragmentSet<S>>,
}

/// A set of single reads as it goes by.
struct FragmentSet<S: Shape> {
    end: S::EndKey,
    /// Who stays so far; nobody if a pair has the end.
    kept: Option<S::Fragment>,
    size: u64,
    candidates: Candidates,
    locus: (i32, i64),
}

impl<S: Shape> FragmentSet<S> {
    fn add<T: Sorting>(&mut self, fragment: S::Fragment, findings: &mut Findings<'_, T>) {
        self.size += 1;
        let new = findings.judged_fragment::<S>(&fragment);
        if let Some(optical) = findings.rules.optical.filter(|optical| optical.single) {
            self.candidates.add(new.member, optical.most);
        }
        let Some(kept) = self.kept else {
            return findings.mark_fragment::<S>(&fragment);
        };
        let place = findings.judged_fragment::<S>(&kept).member.place;
        let prefers = item::fragment_prefers::<S>(&fragment, &kept);
        if prefers.unwrap_or(new.member.place < place) {
            self.kept = Some(fragment);
            findings.mark_fragment::<S>(&kept);
        } else {
            findings.mark_fragment::<S>(&fragment);
        }
    }

    fn close<T: Sorting>(self, findings: &mut Findings<'_, T>) {
        findings.note_depth(self.size, self.locus);
        if self.size < 2 {
            return;
        }
        let nobody = Judged {
            member: Member {
                location: super::location::Location::NONE,
                group: 0,
                place: (u32::MAX, u64::MAX, u64::MAX),
                ids: (0, 0),
            },
            number: 0,
        };
        let keeper = self.kept.map_or(nobody, |kept| findings.judged_fragment::<S>(&kept));
        let optical = findings.mark_optical(self.candidates, &keeper);
        findings.tally.optical_fragments += optical;
        if findings.optical_alone() {
            findings.tally.fragments += optical;
        }
    }
}

impl<'a, S: Shape> Fragments<'a, S> {
    fn new(mut merged: Merged<'a, S::Fragment>) -> Result<Self> {
        Ok(Fragments { next: merged.next_item()?, merged, set: None })
    }

    /// A pair has an end at `key`: sets before it are judged among themselves, the set at it is all
    /// duplicates.
    fn paired_end<T: Sorting>(
        &mut self,
        key: &S::EndKey,
        findings: &mut Findings<'_, T>,
    ) -> Result<()> {
        while let Some(fragment) = self.next {
            let end = item::fragment_end::<S>(&fragment);
            if end > *key {
                break;
            }
            self.add(fragment, end == *key, findings)?;
        }
        Ok(())
    }

    fn add<T: Sorting>(
        &mut self,
        fragment: S::Fragment,
        paired: bool,
        findings: &mut Findings<'_, T>,
    ) -> Result<()> {
        let end = item::fragment_end::<S>(&fragment);
        match &mut self.set {
            Some(set) if set.end == end => set.add(fragment, findings),
            _ => {
                let mut set = FragmentSet {
                    end,
                    kept: None,
                    size: 0,
                    candidates: Candidates::default(),
                    locus: item::fragment_locus::<S>(&fragment),
                };
                if !paired {
                    set.kept = Some(fragment);
                    set.size = 1;
                    if let Some(optical) = findings.rules.optical.filter(|optical| optical.single) {
                        let member = findings.judged_fragment::<S>(&fragment).member;
                        set.candidates.add(member, optical.most);
                    }
                } else {
                    set.add(fragment, findings);
                }
                if let Some(set) = self.set.replace(set) {
                    set.close(findings);
                }
            }
        }
        self.next = self.merged.next_item()?;
        Ok(())
    }

    fn finish<T: Sorting>(mut self, findings: &mut Findings<'_, T>) -> Result<()> {
        while let Some(fragment) = self.next {
            self.add(fragment, false, findings)?;
        }
        if let Some(set) = self.set {
            set.close(findings);
        }
        Ok(())
    }
}

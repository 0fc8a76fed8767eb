//! Marks duplicates by samtools' rules, in one scan of all keys in order.
//!
//! Reads that share the best score of their set are all marked and listed as tied. Their names
//! later decide which one is kept ([`Undecided`]).

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::detail::DuplicateDetails;
use super::item::{self, EndItem, PairItem, SingleItem};
use super::store::SamtoolsItems;
use super::undecided::Undecided;
use crate::Mode;
use crate::sorter::{ChunkSorter, MergedItems, Sorter, spill_sorted};
use crate::tables::BitSet;
use crate::verdict::{DuplicateCounts, Verdict};

/// Minimum memory in bytes for the list of ties before it is spilled.
const MIN_TIE_BYTES: u64 = 8 << 20;

pub struct KeyedReads<'a, T> {
    pub items: SamtoolsItems,
    /// Names of records that get the marks of other records, and of reads that may give their
    /// marks.
    pub names: Sorter<[u64; 3]>,
    pub records: u64,
    pub threads: &'a T,
    pub spill: &'a Arc<Spill>,
    pub room: u64,
    pub in_use: &'a dyn Fn(u64),
}

impl<T: ChunkSorter> KeyedReads<'_, T> {
    pub fn resolve_keys(
        self,
        mode: Mode,
        details: &DuplicateDetails,
        mut tally: DuplicateCounts,
    ) -> Result<(Verdict, Undecided)> {
        let KeyedReads { mut items, mut names, records, threads, spill, room, in_use } = self;
        in_use(items.filled_bytes() + names.filled_bytes());
        tally.reads = items.reads;
        // Names are needed only after the reads are sorted, and sorting takes memory.
        spill_sorted(&mut names, threads, spill, 0)?;
        if items.bytes() > room {
            items.spill(threads, spill, 0)?;
        }
        threads.sort(items.pairs.chunks_mut())?;
        threads.sort(items.paired_ends.chunks_mut())?;
        threads.sort(items.singles.chunks_mut())?;
        threads.sort(items.located_ends.chunks_mut())?;
        let beside = room.saturating_sub(items.bytes()).max(MIN_TIE_BYTES);
        let duplicates = BitSet::new(records);
        let mut marks =
            SamtoolsMarks { threads, spill, room: beside, duplicates, tied: Sorter::default(), sets: 0 };
        let undecided = if details.is_wanted() {
            let groups = marks.scan_groups(&items, records, &mut tally)?;
            in_use(items.filled_bytes() + groups.bytes());
            drop(items);
            Undecided::of_groups(groups, names, records, spill, (details, room))
        } else {
            marks.scan_sets(&items, &mut tally)?;
            in_use(items.filled_bytes() + marks.tied.filled_bytes());
            drop(items);
            threads.sort(marks.tied.chunks_mut())?;
            Undecided::new(&marks.tied, marks.sets, names, records, spill, room)?
        };
        in_use(marks.tied.filled_bytes() + undecided.bytes());
        let optical = details.optical.is_some().then(|| BitSet::new(records));
        let (duplicates, spill) = (marks.duplicates, Arc::clone(spill));
        let (by_template, sets, findings) = (false, None, None);
        Ok((Verdict { mode, by_template, duplicates, optical, sets, findings, spill, tally }, undecided))
    }
}

pub(super) struct SamtoolsMarks<'a, T> {
    pub(super) threads: &'a T,
    pub(super) spill: &'a Spill,
    pub(super) room: u64,
    pub(super) duplicates: BitSet,
    /// Reads that share the best score of their set, with the set number. All of them are marked.
    /// The scan for details uses this list for the members of groups.
    pub(super) tied: Sorter<[u64; 2]>,
    pub(super) sets: u64,
}

impl<T: ChunkSorter> SamtoolsMarks<'_, T> {
    /// Scans pairs and single reads together, because a single read at the end of a paired read is
    /// a duplicate.
    fn scan_sets(&mut self, items: &SamtoolsItems, tally: &mut DuplicateCounts) -> Result<()> {
        let mut singles = SingleScan::new(items.singles.merge(self.spill)?)?;
        let mut paired_ends = items.paired_ends.merge(self.spill)?;
        let mut other = paired_ends.next_item()?;
        let mut pairs = items.pairs.merge(self.spill)?;
        let mut set: Option<SamtoolsPairSet> = None;
        while let Some(pair) = pairs.next_item()? {
            if let Some(end) = item::pair_end(&pair) {
                while let Some(key) = other.filter(|key| *key < end) {
                    singles.advance_to_end(&key, &mut self.duplicates)?;
                    other = paired_ends.next_item()?;
                }
                singles.advance_to_end(&end, &mut self.duplicates)?;
            }
            match &mut set {
                Some(set) if item::same_set(&set.best, &pair) => {
                    tally.pairs += 1;
                    self.mark_in_set(set, &pair)?;
                }
                _ => set = Some(SamtoolsPairSet { best: pair, tied: None }),
            }
        }
        while let Some(key) = other {
            singles.advance_to_end(&key, &mut self.duplicates)?;
            other = paired_ends.next_item()?;
        }
        tally.fragments += singles.finish_singles(&mut self.duplicates)?;
        Ok(())
    }

    /// Marks a read that sorts after the best read of its set. If it has the same score, it is also
    /// listed as tied, because it may still replace the best read.
    fn mark_in_set(&mut self, set: &mut SamtoolsPairSet, pair: &PairItem) -> Result<()> {
        self.duplicates.set(item::pair_ordinal(pair));
        if !item::are_tied(&set.best, pair) {
            return Ok(());
        }
        let number = match set.tied {
            Some(number) => number,
            None => {
                let (number, best) = (self.sets, item::pair_ordinal(&set.best));
                self.duplicates.set(best);
                self.tied.push([best, number]);
                self.sets += 1;
                *set.tied.insert(number)
            }
        };
        self.tied.push([item::pair_ordinal(pair), number]);
        if self.tied.bytes() > self.room {
            spill_sorted(&mut self.tied, self.threads, self.spill, 0)?;
        }
        Ok(())
    }
}

struct SamtoolsPairSet {
    best: PairItem,
    /// Number of the set in the list of ties, if several reads have the best score.
    tied: Option<u64>,
}

struct SingleScan<'a> {
    merged: MergedItems<'a, SingleItem>,
    next: Option<SingleItem>,
    /// End of the previous single read.
    before: Option<EndItem>,
    marked: u64,
}

impl<'a> SingleScan<'a> {
    fn new(mut merged: MergedItems<'a, SingleItem>) -> Result<Self> {
        Ok(SingleScan { next: merged.next_item()?, merged, before: None, marked: 0 })
    }

    /// Advances to the end of a paired read. The first read of each set before it is kept; all
    /// single reads at it are duplicates.
    fn advance_to_end(&mut self, key: &EndItem, duplicates: &mut BitSet) -> Result<()> {
        while let Some(single) = self.next {
            let end = item::single_end(&single);
            if end > *key {
                break;
            }
            self.add_single(&single, end == *key, duplicates)?;
        }
        Ok(())
    }

    fn add_single(&mut self, single: &SingleItem, paired: bool, duplicates: &mut BitSet) -> Result<()> {
        let end = item::single_end(single);
        if paired || self.before == Some(end) {
            duplicates.set(item::single_ordinal(single));
            self.marked += 1;
        }
        self.before = Some(end);
        self.next = self.merged.next_item()?;
        Ok(())
    }

    fn finish_singles(mut self, duplicates: &mut BitSet) -> Result<u64> {
        while let Some(single) = self.next {
            self.add_single(&single, false, duplicates)?;
        }
        Ok(self.marked)
    }
}

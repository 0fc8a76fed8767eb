//! Stores the items of the whole input until duplicates are resolved, in one [`Sorter`] per kind.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::ends::{DuplicateEnds, EndsPart};
use super::grouping::Grouping;
use super::item::{Barcoded, ItemLayout, PositionOnly};
use super::metrics::ExaminedCounts;
use super::rules::FieldCounts;
use super::samtools::SamtoolsItems;
use super::sorter::{ChunkSorter, Sorter, spill_sorted};

pub struct ItemSorters<S: ItemLayout> {
    pub pairs: Sorter<S::Pair>,
    /// Ends that mark fragments as duplicates: ends of pairs that cannot be derived from the pair,
    /// and ends of reads whose mate is missing.
    pub paired_ends: Sorter<S::EndKey>,
    pub halves: Sorter<S::Half>,
    pub fragments: Sorter<S::Fragment>,
}

impl<S: ItemLayout> Default for ItemSorters<S> {
    fn default() -> Self {
        let (pairs, paired_ends, halves, fragments) = Default::default();
        ItemSorters { pairs, paired_ends, halves, fragments }
    }
}

impl<S: ItemLayout> ItemSorters<S> {
    fn push_part(&mut self, part: &EndsPart) {
        self.pairs.extend_from_words(&part.pairs);
        self.paired_ends.extend_from_words(&part.paired_ends);
        self.halves.extend_from_words(&part.halves);
        self.fragments.extend_from_words(&part.fragments);
    }

    pub fn bytes(&self) -> u64 {
        self.pairs.bytes() + self.paired_ends.bytes() + self.halves.bytes() + self.fragments.bytes()
    }

    pub fn filled_bytes(&self) -> u64 {
        self.pairs.filled_bytes()
            + self.paired_ends.filled_bytes()
            + self.halves.filled_bytes()
            + self.fragments.filled_bytes()
    }

    /// Sorts the items in memory and writes them to the spill, one run per kind. `turn` selects the
    /// spill directory.
    pub fn spill(&mut self, threads: &impl ChunkSorter, spill: &Spill, turn: usize) -> Result<()> {
        spill_sorted(&mut self.pairs, threads, spill, turn)?;
        spill_sorted(&mut self.paired_ends, threads, spill, turn)?;
        spill_sorted(&mut self.halves, threads, spill, turn)?;
        spill_sorted(&mut self.fragments, threads, spill, turn)
    }
}

pub enum AnyItems {
    PositionOnly(ItemSorters<PositionOnly>),
    Barcoded(ItemSorters<Barcoded>),
    Samtools(SamtoolsItems),
}

/// The items of the whole input, with the counts and the grouping evidence that the resolver needs.
///
/// One thread adds the parts of all batches in input order. When memory is short,
/// [`EndStore::spill`] moves the items to disk. At the end of the input, the store is passed to
/// [`DuplicateResolver::resolve`](super::DuplicateResolver::resolve), or written by
/// [`EndStore::store_ends`] if the job runs in stages.
pub struct EndStore {
    pub items: AnyItems,
    /// Name hash (128 bits) and first record of each name group. Collected only if marks may have
    /// to be copied between groups with the same name.
    pub name_groups: Sorter<[u64; 3]>,
    /// Name hashes (128 bits) of name groups in which a mate is missing. Two equal hashes prove
    /// that the input is not grouped by name.
    pub incomplete: Sorter<[u64; 2]>,
    pub grouping: Grouping,
    pub examined: ExaminedCounts,
    pub fields: FieldCounts,
    /// Paired reads whose read group is missing or not in the header. The pipeline warns about
    /// them.
    pub without_read_group: u64,
    pub has_dt: bool,
}

impl Default for EndStore {
    fn default() -> Self {
        let (name_groups, incomplete, grouping) = Default::default();
        let (examined, fields, without_read_group, has_dt) = Default::default();
        let items = AnyItems::PositionOnly(ItemSorters::default());
        EndStore {
            items,
            name_groups,
            incomplete,
            grouping,
            examined,
            fields,
            without_read_group,
            has_dt,
        }
    }
}

impl EndStore {
    pub fn new(duplicate_ends: &DuplicateEnds) -> Self {
        let items = if duplicate_ends.rules.samtools.is_some() {
            AnyItems::Samtools(SamtoolsItems::default())
        } else if duplicate_ends.is_barcoded() {
            AnyItems::Barcoded(ItemSorters::default())
        } else {
            AnyItems::PositionOnly(ItemSorters::default())
        };
        EndStore { items, ..EndStore::default() }
    }

    /// Adds the items and counts of a batch. Batches must be added in input order.
    pub fn push(&mut self, part: &EndsPart) {
        self.push_items(part);
        self.grouping.add_evidence(&part.evidence);
        if self.grouping.is_scattered() {
            self.incomplete = Sorter::default(); // the input is already known not to be grouped
        } else {
            part.evidence.incomplete_names().iter().for_each(|&name| self.incomplete.push(name));
        }
        self.examined.add(&part.examined);
        self.fields.add(&part.fields);
        self.fields.add(&part.samtools.fields);
        self.without_read_group += part.without_read_group;
        self.has_dt |= part.has_dt;
    }

    /// Returns whether mates were paired within batches. These pairs are useless if the input turns
    /// out not to be grouped and is marked in coordinate mode.
    pub fn has_pairs(&self) -> bool {
        match &self.items {
            AnyItems::PositionOnly(items) => !items.pairs.is_empty(),
            AnyItems::Barcoded(items) => !items.pairs.is_empty(),
            AnyItems::Samtools(_) => false,
        }
    }

    /// Removes all items but keeps the counts. Called before items are collected again with a
    /// different mate pairing.
    pub fn clear_items(&mut self, duplicate_ends: &DuplicateEnds) {
        self.items = EndStore::new(duplicate_ends).items;
        self.name_groups = Sorter::default();
    }

    /// Adds the items of a batch without its counts, which were added when it was first collected.
    pub fn push_items(&mut self, part: &EndsPart) {
        match &mut self.items {
            AnyItems::PositionOnly(items) => items.push_part(part),
            AnyItems::Barcoded(items) => items.push_part(part),
            AnyItems::Samtools(items) => items.push_part(&part.samtools),
        }
        self.name_groups.extend_from_words(&part.name_groups);
        self.name_groups.extend_from_words(&part.samtools.names);
    }

    pub fn has_halves(&self) -> bool {
        match &self.items {
            AnyItems::PositionOnly(items) => !items.halves.is_empty(),
            AnyItems::Barcoded(items) => !items.halves.is_empty(),
            AnyItems::Samtools(_) => false,
        }
    }

    pub fn bytes(&self) -> u64 {
        let items = match &self.items {
            AnyItems::PositionOnly(items) => items.bytes(),
            AnyItems::Barcoded(items) => items.bytes(),
            AnyItems::Samtools(items) => items.bytes(),
        };
        items + self.name_groups.bytes() + self.incomplete.bytes()
    }

    pub fn filled_bytes(&self) -> u64 {
        let items = match &self.items {
            AnyItems::PositionOnly(items) => items.filled_bytes(),
            AnyItems::Barcoded(items) => items.filled_bytes(),
            AnyItems::Samtools(items) => items.filled_bytes(),
        };
        items + self.name_groups.filled_bytes() + self.incomplete.filled_bytes()
    }

    pub fn spill(&mut self, threads: &impl ChunkSorter, spill: &Spill, turn: usize) -> Result<()> {
        match &mut self.items {
            AnyItems::PositionOnly(items) => items.spill(threads, spill, turn)?,
            AnyItems::Barcoded(items) => items.spill(threads, spill, turn)?,
            AnyItems::Samtools(items) => items.spill(threads, spill, turn)?,
        }
        spill_sorted(&mut self.name_groups, threads, spill, turn)?;
        spill_sorted(&mut self.incomplete, threads, spill, turn)
    }

    /// Compares all incomplete name groups: two with the same name are a scattered template. Called
    /// once at the end of the input, before the mode is decided.
    pub fn compare_incomplete(&mut self, threads: &impl ChunkSorter, spill: &Spill) -> Result<()> {
        threads.sort(self.incomplete.chunks_mut())?;
        let incomplete = std::mem::take(&mut self.incomplete);
        let mut names = incomplete.merge(spill)?;
        let mut before = None;
        while let Some(name) = names.next_item()? {
            if before.replace(name) == Some(name) {
                self.grouping.note_scattered();
                break;
            }
        }
        Ok(())
    }
}

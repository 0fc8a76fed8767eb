//! Stores the ends of the whole input until duplicates are resolved: a [`Sorter`] for each kind of item.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::ends::{DuplicateEnds, EndsPart};
use super::grouping::Grouping;
use super::item::{Barcoded, ItemLayout, PositionOnly};
use super::metrics::Examined;
use super::rules::FieldCounts;
use super::samtools::SamtoolsItems;
use super::sorter::{Sorter, Sorting, spill_sorted};

/// The sorters of all items of one layout.
pub struct ItemSorters<S: ItemLayout> {
    /// Pairs of mates.
    pub pairs: Sorter<S::Pair>,
    /// Ends of pairs that cannot be derived from the pairs, and ends of reads without their mates.
    pub paired_ends: Sorter<S::EndKey>,
    /// Reads whose mates were not adjacent.
    pub halves: Sorter<S::Half>,
    /// Single reads.
    pub fragments: Sorter<S::Fragment>,
}

impl<S: ItemLayout> Default for ItemSorters<S> {
    fn default() -> Self {
        let (pairs, paired_ends, halves, fragments) = Default::default();
        ItemSorters { pairs, paired_ends, halves, fragments }
    }
}

impl<S: ItemLayout> ItemSorters<S> {
    fn push(&mut self, part: &EndsPart) {
        self.pairs.extend(&part.pairs);
        self.paired_ends.extend(&part.paired_ends);
        self.halves.extend(&part.halves);
        self.fragments.extend(&part.fragments);
    }

    /// Bytes of memory that is allocated for them.
    pub fn bytes(&self) -> u64 {
        self.pairs.bytes() + self.paired_ends.bytes() + self.halves.bytes() + self.fragments.bytes()
    }

    /// Bytes of memory that hold items.
    pub fn filled(&self) -> u64 {
        self.pairs.filled() + self.paired_ends.filled() + self.halves.filled() + self.fragments.filled()
    }

    /// Sorts what is in memory and writes it to the spill.
    pub fn spill(&mut self, threads: &impl Sorting, spill: &Spill, turn: usize) -> Result<()> {
        spill_sorted(&mut self.pairs, threads, spill, turn)?;
        spill_sorted(&mut self.paired_ends, threads, spill, turn)?;
        spill_sorted(&mut self.halves, threads, spill, turn)?;
        spill_sorted(&mut self.fragments, threads, spill, turn)
    }
}

/// The items, in the layout that the run uses.
pub enum AnyItems {
    /// Without codes.
    PositionOnly(ItemSorters<PositionOnly>),
    /// With codes.
    Barcoded(ItemSorters<Barcoded>),
    /// By the rules of samtools.
    Samtools(SamtoolsItems),
}

/// Everything that is stored of the ends of the input.
pub struct EndStore {
    /// The items.
    pub items: AnyItems,
    /// Name hashes (128 bits) and beginnings of all name groups, where they may be needed.
    pub name_groups: Sorter<[u64; 3]>,
    /// Name hashes (128 bits) of incomplete name groups.
    pub incomplete: Sorter<[u64; 2]>,
    /// Whether the input is grouped by name.
    pub grouping: Grouping,
    /// Records of each kind.
    pub examined: Examined,
    /// How many reads have the fields of barcodes and UMIs.
    pub fields: FieldCounts,
    /// Paired reads without a read group.
    pub without_read_group: u64,
    /// Whether any record has a DT field.
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
    /// Creates the store for the items that `duplicate_ends` collects.
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

    /// Adds the items of a batch; batches come in input order.
    pub fn push(&mut self, part: &EndsPart) {
        self.push_items(part);
        self.grouping.add(&part.evidence);
        if self.grouping.is_scattered() {
            self.incomplete = Sorter::default(); // the input is known not to be grouped
        } else {
            part.evidence.incomplete().iter().for_each(|&name| self.incomplete.push(name));
        }
        self.examined.add(&part.examined);
        self.fields.add(&part.fields);
        self.fields.add(&part.samtools.fields);
        self.without_read_group += part.without_read_group;
        self.has_dt |= part.has_dt;
    }

    /// Whether mates were paired where they stood together.
    pub fn any_pairs(&self) -> bool {
        match &self.items {
            AnyItems::PositionOnly(items) => !items.pairs.is_empty(),
            AnyItems::Barcoded(items) => !items.pairs.is_empty(),
            AnyItems::Samtools(_) => false,
        }
    }

    /// Drops all items, and keeps what was counted.
    pub fn clear_items(&mut self, duplicate_ends: &DuplicateEnds) {
        self.items = EndStore::new(duplicate_ends).items;
        self.name_groups = Sorter::default();
    }

    /// Adds the items of a batch whose reads were counted before.
    pub fn push_items(&mut self, part: &EndsPart) {
        match &mut self.items {
            AnyItems::PositionOnly(items) => items.push(part),
            AnyItems::Barcoded(items) => items.push(part),
            AnyItems::Samtools(items) => items.push(&part.samtools),
        }
        self.name_groups.extend(&part.name_groups);
        self.name_groups.extend(&part.samtools.names);
    }

    /// Whether there are reads to be joined with their mates.
    pub fn any_halves(&self) -> bool {
        match &self.items {
            AnyItems::PositionOnly(items) => !items.halves.is_empty(),
            AnyItems::Barcoded(items) => !items.halves.is_empty(),
            AnyItems::Samtools(_) => false,
        }
    }

    /// Bytes of memory all items take.
    pub fn bytes(&self) -> u64 {
        let items = match &self.items {
            AnyItems::PositionOnly(items) => items.bytes(),
            AnyItems::Barcoded(items) => items.bytes(),
            AnyItems::Samtools(items) => items.bytes(),
        };
        items + self.name_groups.bytes() + self.incomplete.bytes()
    }

    /// Bytes of memory that hold items.
    pub fn filled(&self) -> u64 {
        let items = match &self.items {
            AnyItems::PositionOnly(items) => items.filled(),
            AnyItems::Barcoded(items) => items.filled(),
            AnyItems::Samtools(items) => items.filled(),
        };
        items + self.name_groups.filled() + self.incomplete.filled()
    }

    /// Sorts what is in memory and writes it to the spill.
    pub fn spill(&mut self, threads: &impl Sorting, spill: &Spill, turn: usize) -> Result<()> {
        match &mut self.items {
            AnyItems::PositionOnly(items) => items.spill(threads, spill, turn)?,
            AnyItems::Barcoded(items) => items.spill(threads, spill, turn)?,
            AnyItems::Samtools(items) => items.spill(threads, spill, turn)?,
        }
        spill_sorted(&mut self.name_groups, threads, spill, turn)?;
        spill_sorted(&mut self.incomplete, threads, spill, turn)
    }

    /// Compares all incomplete name groups: two of one name are a scattered template.
    pub fn compare_incomplete(&mut self, threads: &impl Sorting, spill: &Spill) -> Result<()> {
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

//! Stores the items of an input slice in a file, for a job in stages.
//!
//! The records of a slice are numbered from 0. Items have these numbers in fields of fixed width,
//! so the number of records before the slice can be added when an item is read, and the items keep
//! their order.

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};

use super::end_store::{AnyItems, EndStore, ItemSorters};
use super::grouping::Grouping;
use super::item::{self, HalfOrder, ItemLayout};
use super::metrics::ExaminedCounts;
use super::rules::FieldCounts;
use super::sorter::{ChunkSorter, StoredItems};

#[derive(Serialize, Deserialize)]
pub struct StoredEnds {
    pairs: StoredItems,
    paired_ends: StoredItems,
    halves: StoredItems,
    fragments: StoredItems,
    name_groups: StoredItems,
    incomplete: StoredItems,
    is_barcoded: bool,
    grouping: Grouping,
    examined: ExaminedCounts,
    fields: FieldCounts,
    without_read_group: u64,
    has_dt: bool,
}

impl StoredEnds {
    /// Returns the file offset of the first item, or `None` if there are no items. Items are
    /// contiguous.
    pub fn first_offset(&self) -> Option<u64> {
        let first = [&self.pairs, &self.paired_ends, &self.halves, &self.fragments];
        let all = first.into_iter().chain([&self.name_groups, &self.incomplete]);
        all.filter(|items| items.len > 0).map(|items| items.extent.start).min()
    }

    /// Returns the extents of the items, so that the spill that adopts their file can set the file
    /// number.
    pub fn extents_mut(&mut self) -> Vec<&mut Extent> {
        let all = [
            &mut self.pairs,
            &mut self.paired_ends,
            &mut self.halves,
            &mut self.fragments,
            &mut self.name_groups,
            &mut self.incomplete,
        ];
        all.into_iter().map(|items| &mut items.extent).collect()
    }
}

impl EndStore {
    /// Sorts all items and writes them to the file of `into`, for the next stage of the job.
    ///
    /// # Errors
    /// The store holds samtools keys, which cannot be stored.
    pub fn store_ends(
        mut self,
        threads: &impl ChunkSorter,
        spill: &Spill,
        into: &Spill,
    ) -> Result<StoredEnds> {
        match &mut self.items {
            AnyItems::PositionOnly(items) => items.sort_items(threads)?,
            AnyItems::Barcoded(items) => items.sort_items(threads)?,
            AnyItems::Samtools(_) => return Err(layout_error()),
        }
        threads.sort(self.name_groups.chunks_mut())?;
        threads.sort(self.incomplete.chunks_mut())?;
        let (is_barcoded, [pairs, paired_ends, halves, fragments]) = match &self.items {
            AnyItems::PositionOnly(items) => (false, items.store_items(spill, into)?),
            AnyItems::Barcoded(items) => (true, items.store_items(spill, into)?),
            AnyItems::Samtools(_) => return Err(layout_error()),
        };
        Ok(StoredEnds {
            pairs,
            paired_ends,
            halves,
            fragments,
            name_groups: self.name_groups.store_run(spill, into)?,
            incomplete: self.incomplete.store_run(spill, into)?,
            is_barcoded,
            grouping: self.grouping,
            examined: self.examined,
            fields: self.fields,
            without_read_group: self.without_read_group,
            has_dt: self.has_dt,
        })
    }

    /// Adds the items of the next slice of the input, whose first record is record `base`. `spill`
    /// must have adopted their file.
    ///
    /// # Errors
    /// The items have a different layout than this store.
    pub fn adopt_ends(
        &mut self,
        ends: StoredEnds,
        base: u64,
        order: HalfOrder,
        spill: &Spill,
    ) -> Result<()> {
        match (&mut self.items, ends.is_barcoded) {
            (AnyItems::PositionOnly(items), false) => items.adopt_items(&ends, base, order, spill)?,
            (AnyItems::Barcoded(items), true) => items.adopt_items(&ends, base, order, spill)?,
            _ => return Err(layout_error()),
        }
        self.name_groups.adopt_run(
            ends.name_groups,
            base,
            |[_, _, first], base| *first += base << 1,
            spill,
        )?;
        self.incomplete.adopt_run(ends.incomplete, 0, |_, _| {}, spill)?;
        self.grouping.append_slice(ends.grouping);
        self.examined.add(&ends.examined);
        self.fields.add(&ends.fields);
        self.without_read_group += ends.without_read_group;
        self.has_dt |= ends.has_dt;
        Ok(())
    }
}

fn layout_error() -> Error {
    Error::bug("the ends of a part have another layout")
}

impl<S: ItemLayout> ItemSorters<S> {
    fn sort_items(&mut self, threads: &impl ChunkSorter) -> Result<()> {
        threads.sort(self.pairs.chunks_mut())?;
        threads.sort(self.paired_ends.chunks_mut())?;
        threads.sort(self.halves.chunks_mut())?;
        threads.sort(self.fragments.chunks_mut())
    }

    fn store_items(&self, spill: &Spill, into: &Spill) -> Result<[StoredItems; 4]> {
        Ok([
            self.pairs.store_run(spill, into)?,
            self.paired_ends.store_run(spill, into)?,
            self.halves.store_run(spill, into)?,
            self.fragments.store_run(spill, into)?,
        ])
    }

    fn adopt_items(
        &mut self,
        ends: &StoredEnds,
        base: u64,
        order: HalfOrder,
        spill: &Spill,
    ) -> Result<()> {
        self.pairs.adopt_run(ends.pairs, base, item::renumber_pair::<S>, spill)?;
        self.paired_ends.adopt_run(ends.paired_ends, 0, |_, _| {}, spill)?;
        let half = match order {
            HalfOrder::Place => item::renumber_half_by_place::<S>,
            HalfOrder::Input => item::renumber_half_by_input::<S>,
        };
        self.halves.adopt_run(ends.halves, base, half, spill)?;
        self.fragments.adopt_run(ends.fragments, base, item::renumber_fragment::<S>, spill)
    }
}

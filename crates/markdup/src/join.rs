//! Joins mates that were not adjacent in the input, by name.
//!
//! Halves are sorted by name hash, so all halves with one name are adjacent. Each method reads them
//! once, pairs the reads of each name, and adds pairs and ends to the items. The methods differ in
//! the order of a name's halves, which decides how names with more than two reads are paired.

use std::cell::Cell;

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::end_store::ItemSorters;
use super::ends::{MatePairing, Pending, pair_or_hold};
use super::item::{self, HalfKind, HalfOrder, ItemLayout, ReadSummary};
use super::libraries::Libraries;
use super::rules::Rules;
use super::sorter::Sorter;

/// Joins halves by name. The resolver selects a method by [`MatePairing`] and by whether the input
/// proved to be grouped.
pub struct HalfJoiner<'a> {
    pub libraries: &'a Libraries,
    pub rules: &'a Rules,
    pub spill: &'a Spill,
    pub counts: &'a JoinCounts,
}

#[derive(Default)]
pub struct JoinCounts {
    pub lone: Cell<u64>,
    /// Names with two first or two last segments, as if the same file had been given twice.
    pub doubled: Cell<u64>,
}

#[derive(Default)]
struct NameEnds {
    seen: [bool; 2],
    is_doubled: bool,
}

impl NameEnds {
    fn note_segment(&mut self, read: &ReadSummary, counts: &JoinCounts) {
        let seen = &mut self.seen[usize::from(read.first_segment)];
        if *seen && !self.is_doubled {
            self.is_doubled = true;
            counts.doubled.set(counts.doubled.get() + 1);
        }
        *seen = true;
    }
}

const CHECK_INTERVAL: u64 = 1 << 16;

/// Pairs of ordinals: the first record of a template, and one record of this template.
pub type TemplateRecords = Sorter<[u64; 2]>;

impl HalfJoiner<'_> {
    /// Joins the halves of each name in coordinate order, as Picard does for a coordinate-sorted
    /// file. Calls `spill_if_full` regularly, so that the joined items can be spilled.
    pub fn join_by_place<S: ItemLayout>(
        &self,
        items: &mut ItemSorters<S>,
        mut spill_if_full: impl FnMut(&mut ItemSorters<S>) -> Result<()>,
    ) -> Result<()> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut pending = Pending::new();
        let (mut previous, mut joined, mut ends) = (None, 0u64, NameEnds::default());
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            if previous.replace(name) != Some(name) {
                self.store_pending_ends(&mut pending, items);
                ends = NameEnds::default();
            }
            let (_, read) = self.unpack_half::<S>(&half, HalfOrder::Place);
            ends.note_segment(&read, self.counts);
            self.pair_or_hold(&mut pending, 0, read, items);
            joined += 1;
            if joined.is_multiple_of(CHECK_INTERVAL) {
                spill_if_full(items)?;
            }
        }
        self.store_pending_ends(&mut pending, items);
        Ok(())
    }

    /// Stores the ends of all halves as paired ends. Used if the input is grouped by name, because
    /// the mates are then missing from the file.
    pub fn store_all_unmated<S: ItemLayout>(
        &self,
        items: &mut ItemSorters<S>,
        mate_pairing: MatePairing,
        mut spill_if_full: impl FnMut(&mut ItemSorters<S>) -> Result<()>,
    ) -> Result<()> {
        let order = if mate_pairing == MatePairing::InBatchThenName {
            HalfOrder::Input
        } else {
            HalfOrder::Place
        };
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut noted = 0u64;
        while let Some(half) = halves.next_item()? {
            self.store_unmated_end(&self.unpack_half::<S>(&half, order).1, items);
            noted += 1;
            if noted.is_multiple_of(CHECK_INTERVAL) {
                spill_if_full(items)?;
            }
        }
        Ok(())
    }

    /// Joins the halves of each name in input order, as if they were adjacent. Returns the records
    /// of each template, through which marks reach all records with its name.
    pub fn join_by_input<S: ItemLayout>(
        &self,
        items: &mut ItemSorters<S>,
        mut spill_if_full: impl FnMut(&mut ItemSorters<S>, &mut TemplateRecords) -> Result<()>,
    ) -> Result<TemplateRecords> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let (mut pending, mut members) = (Pending::new(), TemplateRecords::default());
        let (mut previous, mut template, mut first_record_participates, mut joined) =
            (None, 0, false, 0u64);
        let mut ends = NameEnds::default();
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            let (kind, read) = self.unpack_half::<S>(&half, HalfOrder::Input);
            if previous.replace(name) != Some(name) {
                self.store_pending_ends(&mut pending, items);
                template = read.ordinal;
                first_record_participates = kind != HalfKind::Bystander;
                ends = NameEnds::default();
            }
            members.push([template, read.ordinal]);
            // From here on, the first record represents the whole template.
            let (group, read) = (
                read.read_group.into(),
                ReadSummary { ordinal: template, first_record_participates, ..read },
            );
            match kind {
                HalfKind::Bystander => {}
                HalfKind::Alone => items.fragments.push(self.rules.pack_fragment::<S>(&read)),
                HalfKind::Paired => {
                    ends.note_segment(&read, self.counts);
                    if read.next_ref_id < 0 {
                        items.fragments.push(self.rules.pack_fragment::<S>(&read));
                    }
                    self.pair_or_hold(&mut pending, group, read, items);
                }
            }
            joined += 1;
            if joined.is_multiple_of(CHECK_INTERVAL) {
                spill_if_full(items, &mut members)?;
            }
        }
        self.store_pending_ends(&mut pending, items);
        Ok(members)
    }

    /// Joins the halves of each name in input order, for input in which most templates were paired
    /// in their batch. A pair gets the ordinal of the first name group with its name, which is
    /// found in the sorted `name_groups`.
    pub fn join_by_name_groups<S: ItemLayout>(
        &self,
        items: &mut ItemSorters<S>,
        name_groups: &Sorter<[u64; 3]>,
        mut spill_if_full: impl FnMut(&mut ItemSorters<S>) -> Result<()>,
    ) -> Result<()> {
        let sorted = std::mem::take(&mut items.halves);
        let mut halves = sorted.merge(self.spill)?;
        let mut name_groups = name_groups.merge(self.spill)?;
        let mut pending = Pending::new();
        let (mut previous, mut template, mut joined) = (None, 0, 0u64);
        while let Some(half) = halves.next_item()? {
            let name = item::half_name::<S>(&half);
            if previous.replace(name) != Some(name) {
                self.store_pending_ends(&mut pending, items);
                while let Some([high, low, first]) = name_groups.next_item()? {
                    if [high, low] >= name {
                        template = first;
                        break;
                    }
                }
            }
            let (_, read) = self.unpack_half::<S>(&half, HalfOrder::Input);
            let read = ReadSummary {
                ordinal: template >> 1,
                first_record_participates: template & 1 == 1,
                ..read
            };
            self.pair_or_hold(&mut pending, read.read_group.into(), read, items);
            joined += 1;
            if joined.is_multiple_of(CHECK_INTERVAL) {
                spill_if_full(items)?;
            }
        }
        self.store_pending_ends(&mut pending, items);
        Ok(())
    }

    fn unpack_half<S: ItemLayout>(&self, half: &S::Half, order: HalfOrder) -> (HalfKind, ReadSummary) {
        item::unpack_half::<S>(half, order, |group| self.libraries.library(group))
    }

    fn pair_or_hold<S: ItemLayout>(
        &self,
        pending: &mut Pending<()>,
        name: u128,
        read: ReadSummary,
        items: &mut ItemSorters<S>,
    ) {
        let ItemSorters { pairs, paired_ends, .. } = items;
        let replaced = pair_or_hold(pending, name, read, (), |seen, arriving| {
            self.rules.emit_pair::<S>(
                seen,
                arriving,
                |pair| pairs.push(*pair),
                |end| paired_ends.push(*end),
            );
        });
        if let Some((replaced, ())) = replaced {
            self.store_unmated_end(&replaced, items);
        }
    }

    /// Stores the ends of the pending reads of a name, which have no mate in the file.
    fn store_pending_ends<S: ItemLayout>(&self, pending: &mut Pending<()>, items: &mut ItemSorters<S>) {
        pending.drain(..).for_each(|(_, read, ())| self.store_unmated_end(&read, items));
    }

    /// Counts a read without a mate and stores its end: fragments with this end are still
    /// duplicates.
    fn store_unmated_end<S: ItemLayout>(&self, read: &ReadSummary, items: &mut ItemSorters<S>) {
        self.counts.lone.set(self.counts.lone.get() + 1);
        if read.next_ref_id >= 0 {
            items.paired_ends.push(self.rules.pack_paired_end::<S>(read));
        }
    }
}

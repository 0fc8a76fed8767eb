//! Scans all keys in order and collects the groups of reads that become duplicates of one read.
//! [`GroupJudge`](super::findings::GroupJudge) later reads them again and decides which read is
//! kept.
//!
//! A set of pairs is a group. The single reads at an end belong to the group of the first paired
//! read at this end, in coordinate order. Without a paired read, they form their own group.

use readmill_record::Result;

use super::group::DuplicateGroups;
use super::item;
use super::marks::SamtoolsMarks;
use super::store::SamtoolsItems;
use crate::sorter::{ChunkSorter, Sorter, spill_sorted};
use crate::tables::OrdinalTable;
use crate::verdict::DuplicateCounts;

impl<T: ChunkSorter> SamtoolsMarks<'_, T> {
    /// Finds all groups and marks all their reads, except paired reads that are in a group only
    /// because single reads are linked to them.
    pub(super) fn scan_groups(
        &mut self,
        items: &SamtoolsItems,
        records: u64,
        tally: &mut DuplicateCounts,
    ) -> Result<DuplicateGroups> {
        self.scan_pair_sets(items, tally)?;
        let paired = self.tied.len();
        let members = self.take_table(records)?;
        self.scan_single_sets(items, &members, tally)?;
        let reads = paired + self.tied.len();
        let singles = self.take_table(records)?;
        Ok(DuplicateGroups { members, singles, number: self.sets, reads })
    }

    fn scan_pair_sets(&mut self, items: &SamtoolsItems, tally: &mut DuplicateCounts) -> Result<()> {
        let mut pairs = items.pairs.merge(self.spill)?;
        let Some(mut first) = pairs.next_item()? else { return Ok(()) };
        let mut group = None;
        while let Some(pair) = pairs.next_item()? {
            if !item::same_set(&first, &pair) {
                (first, group) = (pair, None);
                continue;
            }
            let number = match group {
                Some(number) => number,
                None => {
                    let number = self.start_group();
                    self.add_member(item::pair_ordinal(&first), number, true)?;
                    *group.insert(number)
                }
            };
            tally.pairs += 1;
            self.add_member(item::pair_ordinal(&pair), number, true)?;
        }
        Ok(())
    }

    /// Finds the groups of single reads. `members` has the groups of paired reads, which were found
    /// first.
    fn scan_single_sets(
        &mut self,
        items: &SamtoolsItems,
        members: &OrdinalTable,
        tally: &mut DuplicateCounts,
    ) -> Result<()> {
        let mut ends = items.located_ends.merge(self.spill)?;
        let mut paired = ends.next_item()?.map(|end| item::end_and_ordinal(&end));
        let mut singles = items.singles.merge(self.spill)?;
        let (mut before, mut group) = (None, None);
        while let Some(single) = singles.next_item()? {
            let (end, ordinal) = (item::single_end(&single), item::single_ordinal(&single));
            let Some((_, first)) = before.filter(|(same, _)| *same == end) else {
                while paired.is_some_and(|(at, _)| at < end) {
                    paired = ends.next_item()?.map(|end| item::end_and_ordinal(&end));
                }
                (before, group) = (Some((end, ordinal)), None);
                if let Some((_, pair)) = paired.filter(|(at, _)| *at == end) {
                    let number = match members.get(pair, self.spill)? {
                        Some(number) => number,
                        None => {
                            let number = self.start_group();
                            self.add_member(pair, number, false)?;
                            number
                        }
                    };
                    group = Some(number);
                    tally.fragments += 1;
                    self.add_member(ordinal, number, true)?;
                }
                continue;
            };
            let number = match group {
                Some(number) => number,
                None => {
                    let number = self.start_group();
                    self.add_member(first, number, true)?;
                    *group.insert(number)
                }
            };
            tally.fragments += 1;
            self.add_member(ordinal, number, true)?;
        }
        Ok(())
    }

    fn start_group(&mut self) -> u64 {
        self.sets += 1;
        self.sets - 1
    }

    fn add_member(&mut self, ordinal: u64, group: u64, is_marked: bool) -> Result<()> {
        if is_marked {
            self.duplicates.set(ordinal);
        }
        self.tied.push([ordinal, group]);
        if self.tied.bytes() > self.room {
            spill_sorted(&mut self.tied, self.threads, self.spill, 0)?;
        }
        Ok(())
    }

    fn take_table(&mut self, records: u64) -> Result<OrdinalTable> {
        let mut rows: Sorter<[u64; 2]> = std::mem::take(&mut self.tied);
        self.threads.sort(rows.chunks_mut())?;
        OrdinalTable::new(&rows, records, self.spill, self.room / 4)
    }
}

//! Stores the keys of the whole input until duplicates are resolved.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::item::{EndItem, LocatedEnd, PairItem, SingleItem};
use super::part::SamtoolsPart;
use super::report::ReadCounts;
use crate::sorter::{ChunkSorter, Sorter, spill_sorted};

#[derive(Default)]
pub struct SamtoolsItems {
    pub(super) pairs: Sorter<PairItem>,
    /// 5′ ends of paired reads that cannot be derived from the keys of their pairs.
    pub(super) paired_ends: Sorter<EndItem>,
    /// 5′ ends of all paired reads. Collected only if details are requested, to find the read to
    /// which single reads are linked.
    pub(super) located_ends: Sorter<LocatedEnd>,
    pub(super) singles: Sorter<SingleItem>,
    pub(super) reads: ReadCounts,
}

impl SamtoolsItems {
    pub(crate) fn push_part(&mut self, part: &SamtoolsPart) {
        self.pairs.extend_from_words(&part.pairs);
        self.paired_ends.extend_from_words(&part.paired_ends);
        self.located_ends.extend_from_words(&part.located_ends);
        self.singles.extend_from_words(&part.singles);
        self.reads.add(&part.reads);
    }

    pub fn bytes(&self) -> u64 {
        let ends = self.paired_ends.bytes() + self.located_ends.bytes();
        self.pairs.bytes() + ends + self.singles.bytes()
    }

    pub fn filled_bytes(&self) -> u64 {
        let ends = self.paired_ends.filled_bytes() + self.located_ends.filled_bytes();
        self.pairs.filled_bytes() + ends + self.singles.filled_bytes()
    }

    pub fn spill(&mut self, threads: &impl ChunkSorter, spill: &Spill, turn: usize) -> Result<()> {
        spill_sorted(&mut self.pairs, threads, spill, turn)?;
        spill_sorted(&mut self.paired_ends, threads, spill, turn)?;
        spill_sorted(&mut self.located_ends, threads, spill, turn)?;
        spill_sorted(&mut self.singles, threads, spill, turn)
    }
}

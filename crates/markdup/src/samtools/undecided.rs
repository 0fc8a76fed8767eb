//! Marks that depend on names: which of several reads with the best score of their set stays, and which records get the
//! mark of another record of their name.
//!
//! Names are not stored with keys, because ties are rare. They are read again from the tied records: in one pass, or in
//! several if the names of all sets do not fit into the memory. Each set needs the name of its best read so far.

use std::ops::Range;
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{RecordRef, Result, Stamp};

use crate::sorter::Sorter;
use crate::verdict::{BitSet, OrdinalTable, Verdict};

/// Bytes of memory for the best read of a set so far, with a name of up to 254 bytes and what allocating it adds.
const SET_BYTES: u64 = 336;

/// Least bytes for these reads.
const LEAST: u64 = 1 << 16;

/// What names decide, once the reads can be read again.
pub struct Undecided {
    /// The set of each tied read.
    sets_of: OrdinalTable,
    sets: u64,
    /// How many sets are decided in one pass.
    at_once: u64,
    names: Sorter<[u64; 3]>,
    spill: Arc<Spill>,
}

/// A read that shares the best score of its set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TiedRead {
    set: u64,
    name: Vec<u8>,
    pos: i32,
    ordinal: u64,
}

/// The best read so far of each set of a pass.
pub struct KeptReads {
    sets: Range<u64>,
    best: Vec<Option<TiedRead>>,
}

/// Marks the entries of records that get the marks of others of their name.
const OTHER: u64 = 1 << 63;

/// The entry of a record: a hash of its name (128 bits), and its number. Reads that give their marks come before records
/// that get them.
pub fn name_entry(name: &[u8], ordinal: u64, is_other: bool) -> [u64; 3] {
    let hash = xxhash_rust::xxh3::xxh3_128(name);
    [(hash >> 64) as u64, hash as u64, ordinal | if is_other { OTHER } else { 0 }]
}

impl Undecided {
    /// `tied` has the tied reads of all sets, each with the number of its set; its chunks must be sorted. `room` bytes of
    /// memory are free.
    pub(super) fn new(
        tied: &Sorter<[u64; 2]>,
        sets: u64,
        names: Sorter<[u64; 3]>,
        records: u64,
        spill: &Arc<Spill>,
        room: u64,
    ) -> Result<Self> {
        let sets_of = OrdinalTable::new(tied, records, spill, room / 4)?;
        let at_once = sets.min((room / 4).max(LEAST) / SET_BYTES).max(1);
        Ok(Undecided { sets_of, sets, at_once, names, spill: Arc::clone(spill) })
    }

    /// Bytes of memory that it takes until everything is decided, beside
    /// [`verdict_bytes`](crate::verdict_bytes).
    pub fn bytes(&self) -> u64 {
        self.sets_of.bytes_of_rows() + self.sets.min(self.at_once) * SET_BYTES
    }

    /// The sets that are decided pass by pass.
    pub fn passes(&self) -> impl Iterator<Item = KeptReads> {
        let (sets, at_once) = (self.sets, self.at_once);
        (0..sets.div_ceil(at_once)).map(move |pass| {
            let sets = pass * at_once..sets.min((pass + 1) * at_once);
            KeptReads { best: vec![None; (sets.end - sets.start) as usize], sets }
        })
    }

    /// Returns the record, if it is a tied read of a set that is decided in this pass.
    pub fn tied(
        &self,
        sets: &Range<u64>,
        stamp: Stamp,
        record: RecordRef<'_>,
    ) -> Result<Option<TiedRead>> {
        let ordinal = stamp.ordinal();
        let set = self.sets_of.get(ordinal, &self.spill)?.filter(|set| sets.contains(set));
        Ok(set.map(|set| TiedRead { set, name: record.qname().to_vec(), pos: record.pos(), ordinal }))
    }

    /// Marks the secondary, supplementary and unmapped records of the names that have a duplicate.
    fn mark_others(&self, duplicates: &mut BitSet) -> Result<()> {
        let mut names = self.names.merge(&self.spill)?;
        let mut marked = None;
        while let Some([high, low, entry]) = names.next_item()? {
            let name = Some([high, low]);
            if entry & OTHER == 0 && duplicates.get(entry) {
                marked = name;
            } else if entry & OTHER != 0 && marked == name {
                duplicates.set(entry & !OTHER);
            }
        }
        Ok(())
    }
}

impl KeptReads {
    /// The numbers of its sets.
    pub fn sets(&self) -> Range<u64> {
        self.sets.clone()
    }

    /// Takes a read, if it is better than the best of its set so far: by its name, then by its position, then by its
    /// number.
    pub fn offer(&mut self, read: TiedRead) {
        let at = read.set.checked_sub(self.sets.start).map(|at| at as usize);
        if let Some(best) = at.and_then(|at| self.best.get_mut(at))
            && best.as_ref().is_none_or(|best| read < *best)
        {
            *best = Some(read);
        }
    }
}

impl Verdict {
    /// Takes the marks from the reads that stay.
    pub fn keep(&mut self, reads: KeptReads) {
        reads.best.into_iter().flatten().for_each(|read| self.duplicates.clear(read.ordinal));
    }

    /// Gives other records the marks of their names, once all reads that stay are known.
    pub fn conclude(&mut self, undecided: &Undecided) -> Result<()> {
        undecided.mark_others(&mut self.duplicates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: u64, name: &str, pos: i32, ordinal: u64) -> TiedRead {
        TiedRead { set, name: name.into(), pos, ordinal }
    }

    #[test]
    fn the_smaller_name_stays_then_the_earlier_read() {
        let mut kept = KeptReads { sets: 4..6, best: vec![None; 2] };
        for tied in [
            read(4, "b", 1, 1),
            read(4, "ab", 9, 7),
            read(4, "ab", 9, 3),
            read(4, "abc", 0, 0),
            read(5, "Z", 3, 8),
            read(5, "a", 3, 2),
            read(6, "A", 0, 0), // of another pass
        ] {
            kept.offer(tied);
        }
        assert_eq!(kept.best, [Some(read(4, "ab", 9, 3)), Some(read(5, "Z", 3, 8))]);
    }

    #[test]
    fn reads_that_give_marks_come_before_records_that_get_them() {
        assert!(name_entry(b"r", u64::from(u32::MAX), false) < name_entry(b"r", 0, true));
    }
}

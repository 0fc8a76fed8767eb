//! What is merged: sorted runs on disk, and sorted lists in memory.
//!
//! Sources are numbered oldest first, runs before lists, so that equal records keep input order when
//! the source with the lower number goes first. Each source is a row of blocks (frames of a run, a few
//! entries of a list), of which the first key and the bytes are known without looking inside.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Charge, Sealed};

use super::frame::SpilledRun;
use super::key::{Key, Keyer};
use super::run::{self, List, STAMP_BYTES};

/// Everything that is merged.
pub struct Sources {
    /// Where runs lie.
    pub spill: Arc<Spill>,
    /// Makes the rest of a key.
    pub keyer: Arc<Keyer>,
    /// Runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// Lists in memory, oldest first.
    pub lists: Vec<List>,
    /// What the lists' entries point into.
    pub sealed: Arc<Sealed>,
    /// What all of it takes, and what merging it takes.
    pub charges: Vec<Charge>,
}

/// A place in the order of all records: before the first record of a block of some source.
#[derive(Clone, Debug)]
pub struct Border {
    /// That record's key.
    pub key: Key,
    /// The rest of it.
    pub tail: Vec<u8>,
    /// Its source.
    pub source: usize,
    /// Its block.
    pub block: usize,
}

impl Border {
    /// Whether a record of another source comes before the border.
    pub fn is_behind(&self, source: usize, key: Key, tail: impl FnOnce() -> Vec<u8>) -> bool {
        let mut order = key.cmp(&self.key);
        if order.is_eq() && !key.is_decided() {
            order = tail().cmp(&self.tail);
        }
        order.then(source.cmp(&self.source)).is_lt()
    }
}

impl Sources {
    /// Whether all lists were in order before they were sorted, each behind the one before.
    pub fn were_sorted(&self) -> bool {
        let keys = |list: &List| Some((list.entries().first()?.key, list.entries().last()?.key));
        let ends: Vec<(Key, Key)> = self.lists.iter().filter_map(keys).collect();
        self.lists.iter().all(List::was_sorted) && ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// Whether no record comes before one with this key, which was read before all of them.
    pub fn follow(&self, key: Key, tail: &[u8]) -> bool {
        (0..self.len()).all(|source| match self.block_key(source, 0).cmp(&key) {
            Ordering::Equal if !key.is_decided() => self.block_tail(source, 0)[..] >= *tail,
            order => order.is_ge(),
        })
    }

    /// Bytes of all records.
    pub fn record_bytes(&self) -> u64 {
        let runs = self.runs.iter().map(SpilledRun::record_bytes);
        runs.chain(self.lists.iter().map(List::record_bytes)).sum()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.len() + self.lists.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The list that is source `source`, if it is one.
    pub fn list(&self, source: usize) -> Option<&List> {
        self.lists.get(source.checked_sub(self.runs.len())?)
    }

    /// Number of blocks of a source.
    pub fn blocks(&self, source: usize) -> usize {
        self.list(source).map_or_else(|| self.runs[source].frames().len(), List::blocks)
    }

    /// Bytes of the records of a block, or about that.
    pub fn block_bytes(&self, source: usize, block: usize) -> u64 {
        match self.list(source) {
            Some(list) => list.block_bytes(block),
            None => u64::from(self.runs[source].frames()[block].raw),
        }
    }

    /// The first key of a block; behind the last block, one that comes after all.
    pub fn block_key(&self, source: usize, block: usize) -> Key {
        let key = match self.list(source) {
            Some(list) => list.entries().get(list.block_start(block)).map(|entry| entry.key),
            None => self.runs[source].frames().get(block).map(|frame| frame.key),
        };
        key.unwrap_or(Key::LAST)
    }

    /// The rest of a block's first key; nothing where the key is decided.
    pub fn block_tail(&self, source: usize, block: usize) -> Vec<u8> {
        let tail = match self.list(source) {
            Some(list) => list
                .entries()
                .get(list.block_start(block))
                .filter(|entry| !entry.key.is_decided())
                .map(|entry| run::tail(&self.keyer, self.sealed.bytes(), entry.place)),
            None => self.runs[source].frames().get(block).map(|frame| frame.tail.to_vec()),
        };
        tail.unwrap_or_default()
    }

    /// Where the border cuts list `source`, which it meets in one of the given blocks: how many of the
    /// list's entries come before it.
    pub fn cut(&self, list: &List, source: usize, block: usize, border: &Border) -> usize {
        if source == border.source {
            return list.block_start(border.block);
        }
        let start = list.block_start(block);
        let entries = &list.entries()[start..list.block_start(block + 1)];
        let tail = |place| run::tail(&self.keyer, self.sealed.bytes(), place);
        start
            + entries.partition_point(|entry| border.is_behind(source, entry.key, || tail(entry.place)))
    }
}

/// Whether key `a` of a source comes before key `b` of another, for a tournament. `tails` has the rest of each
/// source's key.
pub fn wins(tails: &[Vec<u8>], a: (Key, u32), b: (Key, u32)) -> bool {
    let mut order = a.0.cmp(&b.0);
    if order.is_eq() && !a.0.is_decided() && a.0 != Key::LAST {
        order = tails[a.1 as usize].cmp(&tails[b.1 as usize]);
    }
    order.then(a.1.cmp(&b.1)).is_lt()
}

/// Bytes of the record in an arena record of `len` bytes.
pub fn record_bytes(len: usize) -> u64 {
    len.saturating_sub(STAMP_BYTES) as u64
}

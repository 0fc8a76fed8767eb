//! The sources of the merge: sorted runs on disk, and sorted lists in memory.
//!
//! Sources are numbered oldest first, runs before lists, so that equal records keep input order when the
//! source with the lower number goes first. Each source is a sequence of blocks (frames of a run, a few
//! entries of a list), whose first keys and bytes are known without reading them.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Charge, Sealed};

use super::frame::SpilledRun;
use super::key::{Key, Keyer};
use super::run::{self, List, STAMP_BYTES};

/// All sources of a merge.
pub struct Sources {
    /// The spill with the runs.
    pub spill: Arc<Spill>,
    /// The keyer, which makes the tails of keys.
    pub keyer: Arc<Keyer>,
    /// Runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// Lists in memory, oldest first.
    pub lists: Vec<List>,
    /// The arenas of the lists' entries.
    pub sealed: Arc<Sealed>,
    /// The memory of all of it, and of merging it.
    pub charges: Vec<Charge>,
}

/// A border in the order of all records: before the first record of a block of one source.
#[derive(Clone, Debug)]
pub struct Border {
    /// That record's key.
    pub key: Key,
    /// The key's tail.
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
    /// Whether all lists were already in order before the sort, and each follows the list before.
    pub fn were_sorted(&self) -> bool {
        let keys = |list: &List| Some((list.entries().first()?.key, list.entries().last()?.key));
        let ends: Vec<(Key, Key)> = self.lists.iter().filter_map(keys).collect();
        self.lists.iter().all(List::was_sorted) && ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// Whether no record sorts before one with this key, which was read before all of them.
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

    /// Returns the number of sources.
    pub fn len(&self) -> usize {
        self.runs.len() + self.lists.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the source with the number `source` if it is a list; `None` if it is a run.
    pub fn list(&self, source: usize) -> Option<&List> {
        self.lists.get(source.checked_sub(self.runs.len())?)
    }

    /// Number of blocks of a source.
    pub fn blocks(&self, source: usize) -> usize {
        self.list(source).map_or_else(|| self.runs[source].frames().len(), List::blocks)
    }

    /// Returns the bytes of the records of a block, exactly or approximately.
    pub fn block_bytes(&self, source: usize, block: usize) -> u64 {
        match self.list(source) {
            Some(list) => list.block_bytes(block),
            None => u64::from(self.runs[source].frames()[block].raw),
        }
    }

    /// Returns the first key of a block; after the last block, [`Key::LAST`].
    pub fn block_key(&self, source: usize, block: usize) -> Key {
        let key = match self.list(source) {
            Some(list) => list.entries().get(list.block_start(block)).map(|entry| entry.key),
            None => self.runs[source].frames().get(block).map(|frame| frame.key),
        };
        key.unwrap_or(Key::LAST)
    }

    /// Returns the tail of a block's first key; empty if the key is decided.
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

    /// Returns the number of entries of list `source` before the border, which lies in `block`.
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

/// Whether key `a` of a source sorts before key `b` of another, for a tournament. `tails` has the tail of
/// each source's key.
pub fn wins(tails: &[Vec<u8>], a: (Key, u32), b: (Key, u32)) -> bool {
    let mut order = a.0.cmp(&b.0);
    if order.is_eq() && !a.0.is_decided() && a.0 != Key::LAST {
        order = tails[a.1 as usize].cmp(&tails[b.1 as usize]);
    }
    order.then(a.1.cmp(&b.1)).is_lt()
}

/// Returns the bytes of the record in an arena record of `len` bytes.
pub fn record_bytes(len: usize) -> u64 {
    len.saturating_sub(STAMP_BYTES) as u64
}

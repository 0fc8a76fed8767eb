//! Collects records in the arena and their entries in lists.
//!
//! An arena record is its stamp (8 bytes) followed by the BAM record. Entries are in lists of bounded length
//! in input order. Each list is sorted on its own, on any thread, and a run is as many lists as fill the
//! memory.

use std::sync::Arc;

use readmill_record::{Arena, Batch, Error, RecordRef, Result, Stamp};

use super::entry::{self, Entry, Place};
use super::key::Keyer;
use super::ties::TailSort;

/// Bytes of an arena record in addition to the BAM record.
pub const STAMP_BYTES: usize = 8;

/// Bytes of a buffered record in addition to the BAM record.
pub const OVERHEAD: usize = STAMP_BYTES + size_of::<Entry>();

/// Copies batches into an arena, on any thread.
#[derive(Clone)]
pub struct RunSort {
    keyer: Arc<Keyer>,
}

impl RunSort {
    /// Creates a sort by the keys of `keyer`.
    pub fn new(keyer: Keyer) -> Self {
        RunSort { keyer: Arc::new(keyer) }
    }

    /// Returns the keyer.
    pub fn keyer(&self) -> &Arc<Keyer> {
        &self.keyer
    }

    /// Copies the batch's records into the arena and appends their entries to `entries`.
    ///
    /// # Errors
    ///
    /// If the arena has no room, which the reservation should have prevented.
    pub fn accept(&self, arena: &Arena, batch: &Batch, entries: &mut Vec<Entry>) -> Result<()> {
        let bytes = batch.record_bytes() as usize + STAMP_BYTES * batch.len();
        let Some((mut offset, mut room)) = arena.alloc(bytes) else {
            return Err(Error::usage("the current reads do not fit into the memory").hint("raise -m"));
        };
        entries.reserve(batch.len());
        for (stamp, record) in batch.records() {
            let key = self.keyer.key(record);
            let key = key.map_err(|e| e.record(stamp.ordinal()).qname(record.qname()))?;
            let len = STAMP_BYTES + record.raw().len();
            let (into, rest) = room.split_at_mut(len);
            into[..STAMP_BYTES].copy_from_slice(&stamp.0.to_le_bytes());
            into[STAMP_BYTES..].copy_from_slice(record.raw());
            entries.push(Entry { key, place: Place::new(offset, len) });
            (offset, room) = (offset + len, rest);
        }
        Ok(())
    }
}

/// The entries of the records in the arena.
pub struct Run {
    lists: Vec<Vec<Entry>>,
    list: usize,
}

impl Run {
    /// Creates an empty run whose lists have `list` entries.
    pub fn new(list: usize) -> Self {
        Run { lists: Vec::new(), list }
    }

    /// Appends a batch's entries; batches come in input order.
    pub fn push(&mut self, mut entries: &[Entry]) {
        while !entries.is_empty() {
            if self.lists.last().is_none_or(|list| list.len() == self.list) {
                self.lists.push(Vec::with_capacity(self.list));
            }
            if let Some(list) = self.lists.last_mut() {
                let (now, later) = entries.split_at(entries.len().min(self.list - list.len()));
                list.extend_from_slice(now);
                entries = later;
            }
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Takes all lists in input order, to be sorted one by one.
    pub fn take(&mut self) -> Vec<Vec<Entry>> {
        std::mem::take(&mut self.lists)
    }
}

/// The most entries of a block, which the merge passes without visiting each entry.
const BLOCK: usize = 128;

/// A block ends with the record that reaches this many bytes, so that long records make no larger ranges.
const BLOCK_BYTES: u64 = 64 << 10;

/// The start of a block in its list, and the bytes of its records.
#[derive(Clone, Copy, Debug)]
struct ListBlock {
    start: u32,
    bytes: u64,
}

/// A sorted list, and the bytes of the records of each of its blocks.
#[derive(Default)]
pub struct List {
    entries: Vec<Entry>,
    blocks: Vec<ListBlock>,
    /// Whether its keys were already in order before the sort.
    was_sorted: bool,
}

impl List {
    /// Sorts `entries`, which lie in `arena`.
    pub fn sort(mut entries: Vec<Entry>, arena: &[u8], keyer: &Keyer, scratch: &mut Vec<Entry>) -> Self {
        let was_sorted = entry::sort(&mut entries, scratch);
        let ties = |a: &Entry, b: &Entry| a.key == b.key && !a.key.is_decided();
        let mut tails = TailSort::new(|place, into: &mut Vec<u8>| {
            keyer.tail(RecordRef::new(arena_record(arena, place).1), into);
        });
        for group in entries.chunk_by_mut(ties).filter(|group| group.len() > 1) {
            tails.sort(group, scratch);
        }
        let blocks = blocks(&entries, arena);
        List { entries, blocks, was_sorted }
    }

    /// The entries in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether its keys were already in order before the sort.
    pub fn was_sorted(&self) -> bool {
        self.was_sorted
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Bytes of all its records.
    pub fn record_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Bytes of the records of a block.
    pub fn block_bytes(&self, block: usize) -> u64 {
        self.blocks.get(block).map_or(0, |block| block.bytes)
    }

    /// Returns the start of a block; after the last block, the end of the list.
    pub fn block_start(&self, block: usize) -> usize {
        self.blocks.get(block).map_or(self.entries.len(), |block| block.start as usize)
    }
}

/// Splits sorted entries into blocks.
fn blocks(entries: &[Entry], arena: &[u8]) -> Vec<ListBlock> {
    let mut blocks = Vec::with_capacity(entries.len() / BLOCK + 1);
    let mut open = ListBlock { start: 0, bytes: 0 };
    for (i, entry) in entries.iter().enumerate() {
        open.bytes += record_bytes(arena, entry.place) as u64;
        if i + 1 - open.start as usize == BLOCK || open.bytes >= BLOCK_BYTES {
            blocks.push(open);
            open = ListBlock { start: i as u32 + 1, bytes: 0 };
        }
    }
    if (open.start as usize) < entries.len() {
        blocks.push(open);
    }
    blocks
}

/// Returns the stamp and the record at `place` of the arena's bytes.
pub fn arena_record(arena: &[u8], place: Place) -> (Stamp, &[u8]) {
    let bytes = &arena[place.offset()..];
    let (stamp, rest) = bytes.split_first_chunk::<STAMP_BYTES>().unwrap_or((&[0; 8], &[]));
    let len = place.arena_len().map_or_else(|| record_length(rest), |len| len - STAMP_BYTES);
    (Stamp(u64::from_le_bytes(*stamp)), &rest[..len])
}

/// Returns the bytes of the record at `place`, without its stamp.
pub fn record_bytes(arena: &[u8], place: Place) -> usize {
    place.arena_len().map_or_else(|| arena_record(arena, place).1.len(), |len| len - STAMP_BYTES)
}

/// Returns the length of the BAM record at the start of `bytes`.
pub fn record_length(bytes: &[u8]) -> usize {
    bytes.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize + 4)
}

/// Returns the tail of an entry's key.
pub fn tail(keyer: &Keyer, arena: &[u8], place: Place) -> Vec<u8> {
    let mut tail = Vec::new();
    keyer.tail(RecordRef::new(arena_record(arena, place).1), &mut tail);
    tail
}

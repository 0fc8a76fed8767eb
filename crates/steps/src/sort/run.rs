//! Records into the arena, entries into lists.
//!
//! An arena record is its stamp (8 bytes) followed by the BAM record. Entries are kept in lists of
//! at most [`LIST`] entries in input order; each list is sorted on its own, on any thread, and a run is
//! as many lists as fill the memory.

use readmill_record::{Arena, Batch, RecordRef, Stamp};

use super::entry::{self, Entry, Place};
use super::key::Order;

/// Entries of one list: 4 MiB. (Larger lists make fewer of them to merge, but leave the cache while
/// they are sorted.)
pub const LIST: usize = 1 << 18;

/// Bytes an arena record takes beside the BAM record.
pub const STAMP_BYTES: usize = 8;

/// Bytes a record costs while it waits, beside itself.
pub const OVERHEAD: usize = STAMP_BYTES + size_of::<Entry>();

/// Takes batches into an arena, on any thread.
#[derive(Clone, Copy)]
pub struct RunSort {
    order: Order,
    n_ref: i32,
}

impl RunSort {
    /// Sorts into `order` reads of a file with `n_ref` reference sequences.
    pub fn new(order: Order, n_ref: i32) -> Self {
        RunSort { order, n_ref }
    }

    /// The key of a record.
    pub fn key(&self, record: RecordRef<'_>) -> u64 {
        self.order.key(record, self.n_ref)
    }

    /// Copies the batch's records into the arena and appends their entries to `entries`. False, and
    /// nothing done, when the arena has no room: reservation should have prevented that.
    #[must_use]
    pub fn accept(&self, arena: &Arena, batch: &Batch, entries: &mut Vec<Entry>) -> bool {
        let bytes = batch.record_bytes() as usize + STAMP_BYTES * batch.len();
        let Some((mut offset, mut room)) = arena.alloc(bytes) else { return false };
        entries.reserve(batch.len());
        for (stamp, record) in batch.records() {
            let len = STAMP_BYTES + record.raw().len();
            let (into, rest) = room.split_at_mut(len);
            into[..STAMP_BYTES].copy_from_slice(&stamp.0.to_le_bytes());
            into[STAMP_BYTES..].copy_from_slice(record.raw());
            entries.push(Entry { key: self.key(record), place: Place::new(offset, len) });
            (offset, room) = (offset + len, rest);
        }
        true
    }
}

/// The entries of what is in the arena.
#[derive(Default)]
pub struct Run {
    lists: Vec<Vec<Entry>>,
}

impl Run {
    /// Appends a batch's entries; batches come in input order.
    pub fn push(&mut self, mut entries: &[Entry]) {
        while !entries.is_empty() {
            if self.lists.last().is_none_or(|list| list.len() == LIST) {
                self.lists.push(Vec::with_capacity(LIST));
            }
            if let Some(list) = self.lists.last_mut() {
                let (now, later) = entries.split_at(entries.len().min(LIST - list.len()));
                list.extend_from_slice(now);
                entries = later;
            }
        }
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// The lists, to be sorted one by one.
    pub fn lists_mut(&mut self) -> &mut Vec<Vec<Entry>> {
        &mut self.lists
    }

    /// The lists in input order.
    pub fn lists(&self) -> &[Vec<Entry>] {
        &self.lists
    }
}

/// Sorts one list.
pub fn sort_list(list: &mut Vec<Entry>, scratch: &mut Vec<Entry>) {
    entry::sort(list, scratch);
}

/// The stamp and the record at `place` of the arena's bytes.
pub fn arena_record(arena: &[u8], place: Place) -> (Stamp, &[u8]) {
    let bytes = &arena[place.offset()..];
    let (stamp, rest) = bytes.split_first_chunk::<STAMP_BYTES>().unwrap_or((&[0; 8], &[]));
    let len = place.arena_len().map_or_else(|| record_length(rest), |len| len - STAMP_BYTES);
    (Stamp(u64::from_le_bytes(*stamp)), &rest[..len])
}

/// Bytes of the BAM record that starts `bytes`.
pub fn record_length(bytes: &[u8]) -> usize {
    bytes.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize + 4)
}

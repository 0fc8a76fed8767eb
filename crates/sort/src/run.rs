//! Collects records in the arena and their entries in lists.
//!
//! An arena record is the record's [`Stamp`] (8 bytes, little-endian) followed by the BAM record.
//! Entries are appended, in input order, to lists of bounded length, so that threads can sort lists
//! independently. The lists of one full arena become one run.

use std::sync::Arc;

use readmill_record::{Arena, Batch, Error, RecordRef, Result, Stamp};

use super::entry::{self, Entry, Place};
use super::key::Keyer;
use super::ties::TailSort;

/// Size in bytes of the stamp before the BAM record in the arena.
pub const STAMP_BYTES: usize = 8;

/// Memory of a buffered record in bytes in addition to its BAM record: its stamp and its entry.
pub const RECORD_OVERHEAD: usize = STAMP_BYTES + size_of::<Entry>();

/// Copies batches of records into an arena and creates their entries. Any number of threads can use
/// clones of one `RunSort` at the same time: each call allocates its own part of the arena.
///
/// ```
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Arena, Batch, Header, Stamp};
/// use readmill_sort::{Keyer, Order, RunSort};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let sort = RunSort::new(Keyer::new(Order::Coordinate, &header));
/// let (mut raw, mut batch) = (Vec::new(), Batch::default());
/// LineParser::new(&header).parse(b"r1\t0\tchr1\t7\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw)?;
/// batch.push(&raw, Stamp::new(0, 0))?;
///
/// let (arena, mut entries) = (Arena::new(1 << 16).unwrap(), Vec::new());
/// sort.copy_batch(&arena, &batch, &mut entries)?;
/// assert_eq!(entries[0].place.arena_len(), Some(8 + raw.len()));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone)]
pub struct RunSort {
    keyer: Arc<Keyer>,
}

impl RunSort {
    pub fn new(keyer: Keyer) -> Self {
        RunSort { keyer: Arc::new(keyer) }
    }

    pub fn keyer(&self) -> &Arc<Keyer> {
        &self.keyer
    }

    /// Copies the records of `batch` into `arena` and appends their entries to `entries`, in the
    /// order of the batch.
    ///
    /// # Errors
    ///
    /// A record has no key in this order ([`Keyer::key`]), or the arena is full. Callers reserve
    /// memory for the batch first, so a full arena means that a reservation was too small.
    pub fn copy_batch(&self, arena: &Arena, batch: &Batch, entries: &mut Vec<Entry>) -> Result<()> {
        let bytes = batch.record_bytes() as usize + STAMP_BYTES * batch.len();
        let Some((mut offset, mut room)) = arena.alloc(bytes) else {
            return Err(Error::usage("the current reads do not fit into memory").hint("raise -m"));
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

/// The entries of the records in one arena, divided into lists of equal length in input order.
///
/// When the arena is full, or at the end of the input, [`Run::take_lists`] returns the lists, which
/// are sorted as [`List`]s and merged.
///
/// ```
/// use readmill_sort::entry::Place;
/// use readmill_sort::{Entry, Key, Run};
///
/// let entry = |offset| Entry { key: Key::of(b"k"), place: Place::new(offset, 40) };
/// let mut run = Run::new(2); // two entries for each list
/// run.push(&[entry(0), entry(40), entry(80)]);
/// let lists = run.take_lists();
/// assert_eq!(lists.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
/// assert!(run.is_empty());
/// ```
pub struct Run {
    lists: Vec<Vec<Entry>>,
    list_entries: usize,
}

impl Run {
    /// Creates an empty run whose lists hold `list` entries each. Each list is allocated at its
    /// full length when its first entry is pushed.
    pub fn new(list: usize) -> Self {
        Run { lists: Vec::new(), list_entries: list }
    }

    /// Appends the entries of a batch. Batches must be pushed in input order: equal keys keep the
    /// order in which they were pushed.
    pub fn push(&mut self, mut entries: &[Entry]) {
        while !entries.is_empty() {
            if self.lists.last().is_none_or(|list| list.len() == self.list_entries) {
                self.lists.push(Vec::with_capacity(self.list_entries));
            }
            if let Some(list) = self.lists.last_mut() {
                let (now, later) = entries.split_at(entries.len().min(self.list_entries - list.len()));
                list.extend_from_slice(now);
                entries = later;
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Removes and returns all lists, in input order. The last list may be shorter than the others.
    pub fn take_lists(&mut self) -> Vec<Vec<Entry>> {
        std::mem::take(&mut self.lists)
    }
}

/// Maximum number of entries in a block of a list. The merge looks only at the first key of a
/// block.
const MAX_BLOCK_ENTRIES: usize = 128;

/// A block also ends with the record that reaches this many bytes, so that long reads do not make
/// ranges larger.
const MAX_BLOCK_BYTES: u64 = 64 << 10;

#[derive(Clone, Copy, Debug)]
struct ListBlock {
    start: u32,
    bytes: u64,
}

/// A sorted list of entries in memory, a source of the merge. Like a run on disk, it is divided
/// into blocks, so that the merge can pass many records by looking at one key.
#[derive(Default)]
pub struct List {
    entries: Vec<Entry>,
    blocks: Vec<ListBlock>,
    was_sorted: bool,
}

impl List {
    /// Sorts `entries`, whose records are in `arena`, and divides them into blocks. Equal keys that
    /// are not decided are ordered by their tails, which `keyer` computes from the records; records
    /// with equal tails keep their order.
    ///
    /// `scratch` is a buffer that a thread reuses from list to list.
    pub fn sort(mut entries: Vec<Entry>, arena: &[u8], keyer: &Keyer, scratch: &mut Vec<Entry>) -> Self {
        let was_sorted = entry::sort_entries(&mut entries, scratch);
        let ties = |a: &Entry, b: &Entry| a.key == b.key && !a.key.is_decided();
        let mut tails = TailSort::new(|place, into: &mut Vec<u8>| {
            keyer.write_tail(RecordRef::new(read_arena_record(arena, place).1), into);
        });
        for group in entries.chunk_by_mut(ties).filter(|group| group.len() > 1) {
            tails.sort_group(group, scratch);
        }
        let blocks = split_into_blocks(&entries, arena);
        List { entries, blocks, was_sorted }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns whether the keys were already in order before the sort. Tails were not compared.
    pub fn was_sorted(&self) -> bool {
        self.was_sorted
    }

    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub fn record_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    pub fn block_bytes(&self, block: usize) -> u64 {
        self.blocks.get(block).map_or(0, |block| block.bytes)
    }

    /// Returns the index of the first entry of a block, or the number of entries if there is no
    /// such block.
    pub fn block_start(&self, block: usize) -> usize {
        self.blocks.get(block).map_or(self.entries.len(), |block| block.start as usize)
    }
}

fn split_into_blocks(entries: &[Entry], arena: &[u8]) -> Vec<ListBlock> {
    let mut blocks = Vec::with_capacity(entries.len() / MAX_BLOCK_ENTRIES + 1);
    let mut open = ListBlock { start: 0, bytes: 0 };
    for (i, entry) in entries.iter().enumerate() {
        open.bytes += arena_record_bytes(arena, entry.place) as u64;
        if i + 1 - open.start as usize == MAX_BLOCK_ENTRIES || open.bytes >= MAX_BLOCK_BYTES {
            blocks.push(open);
            open = ListBlock { start: i as u32 + 1, bytes: 0 };
        }
    }
    if (open.start as usize) < entries.len() {
        blocks.push(open);
    }
    blocks
}

/// Returns the stamp and the BAM record at `place` of `arena`. Also used for frames read from disk,
/// which have the same layout.
pub fn read_arena_record(arena: &[u8], place: Place) -> (Stamp, &[u8]) {
    let bytes = &arena[place.offset()..];
    let (stamp, rest) = bytes.split_first_chunk::<STAMP_BYTES>().unwrap_or((&[0; 8], &[]));
    let len = place.arena_len().map_or_else(|| read_bam_record_length(rest), |len| len - STAMP_BYTES);
    (Stamp(u64::from_le_bytes(*stamp)), &rest[..len])
}

pub fn arena_record_bytes(arena: &[u8], place: Place) -> usize {
    place.arena_len().map_or_else(|| read_arena_record(arena, place).1.len(), |len| len - STAMP_BYTES)
}

/// Returns the length in bytes of the BAM record at the start of `bytes`, including its
/// `block_size` field, or 0 if `bytes` is too short to have this field.
pub fn read_bam_record_length(bytes: &[u8]) -> usize {
    bytes.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize + 4)
}

pub fn compute_tail(keyer: &Keyer, arena: &[u8], place: Place) -> Vec<u8> {
    let mut tail = Vec::new();
    keyer.write_tail(RecordRef::new(read_arena_record(arena, place).1), &mut tail);
    tail
}

//! Sorts items of one kind that may not fit into memory.
//!
//! Items are collected in chunks. Any number of threads can sort chunks independently. If memory is
//! short, chunks are merged into a sorted run on disk. Reading merges all chunks and runs:
//!
//! ```text
//!  push ─► chunk, chunk, chunk ──┐ spill
//!                                ▼
//!          run on disk, run on disk, … ─┐
//!          chunks in memory ────────────┴─► LoserTree ─► items in order
//! ```

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;
use readmill_sort::tournament::LoserTree;
use serde::{Deserialize, Serialize};

use super::item::Item;

/// Sorts chunks on the caller's threads. This crate starts no threads; the pipeline implements this
/// trait.
pub trait ChunkSorter {
    fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()>;
}

/// Sorts the items in memory and writes them to the spill as one run. `turn` selects the spill
/// directory.
pub fn spill_sorted<T: Item>(
    items: &mut Sorter<T>,
    threads: &impl ChunkSorter,
    spill: &Spill,
    turn: usize,
) -> Result<()> {
    threads.sort(items.chunks_mut())?;
    items.spill(spill, turn)
}

/// Number of items in one chunk. Only the first chunk grows to this size; later chunks are
/// allocated at full size.
const CHUNK_ITEMS: usize = 1 << 16;

const FIRST_CHUNK_CAPACITY: usize = 1 << 10;

const READ_BUFFER_ITEMS: usize = 512;

/// Maximum number of runs. When it is reached, all runs are merged into one, because each open run
/// has a buffer of up to 32 KiB.
const MAX_RUNS: usize = 64;

/// Converts the ordinals in an item from a slice to the whole input. The slice's first record is
/// record `base` of the input.
pub type RenumberItem<T> = fn(item: &mut T, base: u64);

struct ItemRun<T> {
    extent: Extent,
    renumber: Option<(RenumberItem<T>, u64)>,
}

/// Items of one kind, sorted in chunks and runs.
///
/// Before a merge, the caller sorts the chunks, usually on several threads:
///
/// ```
/// use readmill_format::spill::Spill;
/// use readmill_markdup::sorter::Sorter;
///
/// let spill = Spill::new(&[std::env::temp_dir()]); // its files are only made if something is spilled
/// let mut sorter = Sorter::default();
/// [[7, 0], [3, 1], [5, 2]].into_iter().for_each(|item| sorter.push(item));
/// sorter.chunks_mut().iter_mut().for_each(|chunk| chunk.sort_unstable());
/// let mut items = sorter.merge(&spill).unwrap();
/// assert_eq!(items.next_item().unwrap(), Some([3, 1]));
/// assert_eq!(items.next_item().unwrap(), Some([5, 2]));
/// ```
pub struct Sorter<T> {
    chunks: Vec<Vec<T>>,
    runs: Vec<ItemRun<T>>,
    len: u64,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        Sorter { chunks: Vec::new(), runs: Vec::new(), len: 0 }
    }
}

/// A sorted run of items in the file of a job in stages. The path of the file is stored separately.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredItems {
    pub extent: Extent,
    pub len: u64,
}

impl<T: Item> Sorter<T> {
    pub fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK_ITEMS => chunk.push(item),
            _ => {
                let mut chunk = Vec::with_capacity(if self.chunks.is_empty() {
                    FIRST_CHUNK_CAPACITY
                } else {
                    CHUNK_ITEMS
                });
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        self.len += 1;
    }

    pub fn extend_from_words(&mut self, words: &[u64]) {
        words.chunks_exact(T::WORDS).for_each(|words| self.push(item_from_words(words)));
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.runs.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.capacity() * size_of::<T>()) as u64).sum()
    }

    pub fn filled_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| size_of_val(&chunk[..]) as u64).sum()
    }

    pub fn chunks_mut(&mut self) -> &mut Vec<Vec<T>> {
        &mut self.chunks
    }

    /// Writes the items in memory as one sorted run. The chunks must be sorted. When there are
    /// `MAX_RUNS` runs, they are merged into one.
    pub fn spill(&mut self, spill: &Spill, turn: usize) -> Result<()> {
        if !self.chunks.is_empty() {
            let chunks = Self { chunks: std::mem::take(&mut self.chunks), ..Self::default() };
            let extent = chunks.write_run(spill, spill, turn)?;
            self.runs.push(ItemRun { extent, renumber: None });
        }
        if self.runs.len() >= MAX_RUNS {
            let runs = Self { runs: std::mem::take(&mut self.runs), ..Self::default() };
            let extent = runs.write_run(spill, spill, turn)?;
            runs.runs.iter().for_each(|merged| spill.free_extent(&merged.extent));
            self.runs.push(ItemRun { extent, renumber: None });
        }
        Ok(())
    }

    /// Adds a sorted run from a file that `spill` has adopted. Its records are renumbered from
    /// `base` when they are read, which keeps the order of the items.
    pub fn adopt_run(
        &mut self,
        run: StoredItems,
        base: u64,
        count_from: RenumberItem<T>,
        spill: &Spill,
    ) -> Result<()> {
        let StoredItems { extent, len } = run;
        if len == 0 {
            return Ok(());
        }
        self.runs.push(ItemRun { extent, renumber: Some((count_from, base)) });
        self.len += len;
        self.spill(spill, 0)
    }

    pub fn store_run(&self, spill: &Spill, into: &Spill) -> Result<StoredItems> {
        Ok(StoredItems { extent: self.write_run(spill, into, 0)?, len: self.len })
    }

    fn write_run(&self, spill: &Spill, into: &Spill, turn: usize) -> Result<Extent> {
        let mut items = self.merge(spill)?;
        let mut extent = into.begin_extent(turn)?;
        let mut bytes = Vec::with_capacity(READ_BUFFER_ITEMS * 8 * T::WORDS);
        while let Some(item) = items.next_item()? {
            item.as_ref().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            if bytes.len() == READ_BUFFER_ITEMS * 8 * T::WORDS {
                into.append_bytes(&mut extent, &bytes)?;
                bytes.clear();
            }
        }
        into.append_bytes(&mut extent, &bytes)?;
        Ok(extent)
    }

    /// Opens all items in order. The chunks must be sorted. Several merges can be open at the same
    /// time, as the scan with UMIs requires.
    pub fn merge<'a>(&'a self, spill: &'a Spill) -> Result<MergedItems<'a, T>> {
        let runs = self.runs.iter().map(|&ItemRun { extent, renumber: count_from }| ItemCursor::Disk {
            spill,
            extent,
            at: extent.start,
            buffer: Vec::new(),
            count_from,
        });
        let chunks = self.chunks.iter().map(|chunk| ItemCursor::Memory(chunk.iter()));
        let mut sources: Vec<ItemCursor<'_, T>> = runs.chain(chunks).collect();
        let first = sources.iter_mut().map(ItemCursor::next_or_last).collect::<Result<_>>()?;
        Ok(MergedItems { sources, tree: LoserTree::new(first) })
    }
}

fn item_from_words<T: Item>(words: &[u64]) -> T {
    let mut item = T::ZERO;
    item.as_mut().copy_from_slice(words);
    item
}

/// A cursor over one sorted source of a merge: a chunk in memory, or a run on disk that is read
/// through a buffer.
enum ItemCursor<'a, T> {
    Memory(std::slice::Iter<'a, T>),
    Disk {
        spill: &'a Spill,
        extent: Extent,
        at: u64,
        buffer: Vec<T>,
        count_from: Option<(RenumberItem<T>, u64)>,
    },
}

impl<T: Item> ItemCursor<'_, T> {
    /// Returns the next item. At the end, returns the largest possible item, as the loser tree
    /// expects.
    fn next_or_last(&mut self) -> Result<T> {
        match self {
            ItemCursor::Memory(items) => Ok(items.next().copied().unwrap_or(T::LAST)),
            ItemCursor::Disk { spill, extent, at, buffer, count_from } => {
                if buffer.is_empty() {
                    let left = (extent.end - *at) as usize / (8 * T::WORDS);
                    let mut bytes = vec![0; left.min(READ_BUFFER_ITEMS) * 8 * T::WORDS];
                    spill.read_bytes(extent, *at, &mut bytes)?;
                    *at += bytes.len() as u64;
                    let words: Vec<u64> =
                        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                    buffer.extend(words.chunks_exact(T::WORDS).rev().map(item_from_words::<T>));
                    if let Some((count_from, base)) = count_from {
                        buffer.iter_mut().for_each(|item| count_from(item, *base));
                    }
                }
                Ok(buffer.pop().unwrap_or(T::LAST))
            }
        }
    }
}

pub struct MergedItems<'a, T> {
    sources: Vec<ItemCursor<'a, T>>,
    tree: LoserTree<T>,
}

impl<T: Item> MergedItems<'_, T> {
    pub fn next_item(&mut self) -> Result<Option<T>> {
        let Some((item, source)) = self.tree.winner() else { return Ok(None) };
        let next = self.sources[source].next_or_last()?;
        self.tree.replace_winner(next);
        Ok(Some(item))
    }
}

//! Items of one kind, sorted in parts: chunks in memory, sorted one by one, and sorted runs on disk.

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;
use readmill_sort::tournament::LoserTree;
use serde::{Deserialize, Serialize};

use super::item::Item;

/// Threads to sort on.
pub trait Sorting {
    /// Sorts every chunk.
    fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()>;
}

/// Sorts what is in memory and writes it to the spill.
pub fn spill_sorted<T: Item>(
    items: &mut Sorter<T>,
    threads: &impl Sorting,
    spill: &Spill,
    turn: usize,
) -> Result<()> {
    threads.sort(items.chunks_mut())?;
    items.spill(spill, turn)
}

/// Items of one chunk. Only the first chunk grows to this size; later ones are allocated with it.
const CHUNK: usize = 1 << 16;

/// Initial capacity of the first chunk, in items.
const FEW: usize = 1 << 10;

/// Items written to a run, and read back from it, at a time.
const READ_BACK: usize = 512;

/// More runs than this are merged into one, because each run that is read has a buffer of up to 28 KiB.
const MOST_RUNS: usize = 64;

/// Changes the record numbers of an item, which were counted from record `base` of the input, to those of the whole.
pub type CountFrom<T> = fn(item: &mut T, base: u64);

/// A sorted run on disk.
struct ItemRun<T> {
    extent: Extent,
    /// How its record numbers are changed, and from which record of the input they were counted.
    count_from: Option<(CountFrom<T>, u64)>,
}

/// Items of one kind, sorted in parts.
pub struct Sorter<T> {
    chunks: Vec<Vec<T>>,
    runs: Vec<ItemRun<T>>,
    /// Items in all.
    len: u64,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        Sorter { chunks: Vec::new(), runs: Vec::new(), len: 0 }
    }
}

/// A sorted run of items in a file, without the place of the file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredItems {
    /// Where it lies.
    pub extent: Extent,
    /// Number of its items.
    pub len: u64,
}

impl<T: Item> Sorter<T> {
    /// Adds an item.
    pub fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(item),
            _ => {
                let mut chunk = Vec::with_capacity(if self.chunks.is_empty() { FEW } else { CHUNK });
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        self.len += 1;
    }

    /// Adds the items that `words` holds one after the other.
    pub fn extend(&mut self, words: &[u64]) {
        words.chunks_exact(T::WORDS).for_each(|words| self.push(item(words)));
    }

    /// Items in all, those on disk included.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.runs.is_empty()
    }

    /// Bytes of memory its chunks take.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.capacity() * size_of::<T>()) as u64).sum()
    }

    /// Bytes of its chunks that hold items.
    pub fn filled(&self) -> u64 {
        self.chunks.iter().map(|chunk| size_of_val(&chunk[..]) as u64).sum()
    }

    /// The chunks, to be sorted one by one.
    pub fn chunks_mut(&mut self) -> &mut Vec<Vec<T>> {
        &mut self.chunks
    }

    /// Writes the items in memory as one sorted run; the chunks must be sorted. More than `MOST_RUNS` runs
    /// are first merged into one.
    pub fn spill(&mut self, spill: &Spill, turn: usize) -> Result<()> {
        if !self.chunks.is_empty() {
            let chunks = Self { chunks: std::mem::take(&mut self.chunks), ..Self::default() };
            let extent = chunks.write(spill, spill, turn)?;
            self.runs.push(ItemRun { extent, count_from: None });
        }
        if self.runs.len() >= MOST_RUNS {
            let runs = Self { runs: std::mem::take(&mut self.runs), ..Self::default() };
            let extent = runs.write(spill, spill, turn)?;
            runs.runs.iter().for_each(|merged| spill.free(&merged.extent));
            self.runs.push(ItemRun { extent, count_from: None });
        }
        Ok(())
    }

    /// Adds a sorted run of a file that `spill` has adopted, whose record numbers are counted from record `base`.
    pub fn adopt(
        &mut self,
        run: StoredItems,
        base: u64,
        count_from: CountFrom<T>,
        spill: &Spill,
    ) -> Result<()> {
        let StoredItems { extent, len } = run;
        if len == 0 {
            return Ok(());
        }
        self.runs.push(ItemRun { extent, count_from: Some((count_from, base)) });
        self.len += len;
        self.spill(spill, 0)
    }

    /// Writes all items as one sorted run into the file of `into`; the chunks must be sorted.
    pub fn store(&self, spill: &Spill, into: &Spill) -> Result<StoredItems> {
        Ok(StoredItems { extent: self.write(spill, into, 0)?, len: self.len })
    }

    /// Writes all items, which lie in `spill` and in memory, as one sorted run of `into`.
    fn write(&self, spill: &Spill, into: &Spill, turn: usize) -> Result<Extent> {
        let mut items = self.merge(spill)?;
        let mut extent = into.begin(turn)?;
        let mut bytes = Vec::with_capacity(READ_BACK * 8 * T::WORDS);
        while let Some(item) = items.next_item()? {
            item.as_ref().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            if bytes.len() == READ_BACK * 8 * T::WORDS {
                into.append(&mut extent, &bytes)?;
                bytes.clear();
            }
        }
        into.append(&mut extent, &bytes)?;
        Ok(extent)
    }

    /// All items in order; the chunks must be sorted. Several merges can be open at once.
    pub fn merge<'a>(&'a self, spill: &'a Spill) -> Result<Merged<'a, T>> {
        let runs = self.runs.iter().map(|&ItemRun { extent, count_from }| ItemCursor::Disk {
            spill,
            extent,
            at: extent.start,
            buffer: Vec::new(),
            count_from,
        });
        let chunks = self.chunks.iter().map(|chunk| ItemCursor::Memory(chunk.iter()));
        let mut sources: Vec<ItemCursor<'_, T>> = runs.chain(chunks).collect();
        let first = sources.iter_mut().map(ItemCursor::next).collect::<Result<_>>()?;
        Ok(Merged { sources, tree: LoserTree::new(first) })
    }
}

fn item<T: Item>(words: &[u64]) -> T {
    let mut item = T::ZERO;
    item.as_mut().copy_from_slice(words);
    item
}

enum ItemCursor<'a, T> {
    Memory(std::slice::Iter<'a, T>),
    Disk {
        spill: &'a Spill,
        extent: Extent,
        at: u64,
        buffer: Vec<T>,
        count_from: Option<(CountFrom<T>, u64)>,
    },
}

impl<T: Item> ItemCursor<'_, T> {
    /// Returns the next item, or the largest possible item at the end.
    fn next(&mut self) -> Result<T> {
        match self {
            ItemCursor::Memory(items) => Ok(items.next().copied().unwrap_or(T::LAST)),
            ItemCursor::Disk { spill, extent, at, buffer, count_from } => {
                if buffer.is_empty() {
                    let left = (extent.end - *at) as usize / (8 * T::WORDS);
                    let mut bytes = vec![0; left.min(READ_BACK) * 8 * T::WORDS];
                    spill.read(extent, *at, &mut bytes)?;
                    *at += bytes.len() as u64;
                    let words: Vec<u64> =
                        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                    buffer.extend(words.chunks_exact(T::WORDS).rev().map(item::<T>));
                    if let Some((count_from, base)) = count_from {
                        buffer.iter_mut().for_each(|item| count_from(item, *base));
                    }
                }
                Ok(buffer.pop().unwrap_or(T::LAST))
            }
        }
    }
}

/// Items of all parts in order.
pub struct Merged<'a, T> {
    sources: Vec<ItemCursor<'a, T>>,
    tree: LoserTree<T>,
}

impl<T: Item> Merged<'_, T> {
    /// The next item.
    pub fn next_item(&mut self) -> Result<Option<T>> {
        let Some((item, source)) = self.tree.winner() else { return Ok(None) };
        let next = self.sources[source].next()?;
        self.tree.replace(next);
        Ok(Some(item))
    }
}

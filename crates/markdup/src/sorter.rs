//! A sorter of items: chunks in memory, sorted one by one, and sorted runs on disk.

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;

use super::item::Item;
use readmill_sort::tournament::LoserTree;

/// Items of one chunk. Only the first chunk grows to this size; later ones are allocated with it.
const CHUNK: usize = 1 << 16;

/// Initial capacity of the first chunk, in items.
const FEW: usize = 1 << 10;

/// Items written to a run, and read back from it, at a time.
const READ_BACK: usize = 512;

/// More runs than this are merged into one, because each run that is read has a buffer of up to 28 KiB.
const MOST_RUNS: usize = 64;

/// Items of one kind, sorted in parts.
pub struct Sorter<T> {
    chunks: Vec<Vec<T>>,
    runs: Vec<Extent>,
    /// Items in all.
    len: u64,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        Sorter { chunks: Vec::new(), runs: Vec::new(), len: 0 }
    }
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

    /// Takes all items of another.
    pub fn absorb(&mut self, other: Self) {
        // The last chunk must be the one that is not full.
        let own = std::mem::replace(&mut self.chunks, other.chunks);
        self.chunks.extend(own);
        self.chunks.sort_by_key(|chunk| chunk.len() < CHUNK);
        self.runs.extend(other.runs);
        self.len += other.len;
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
            self.runs.push(chunks.write(spill, turn)?);
        }
        if self.runs.len() >= MOST_RUNS {
            let runs = Self { runs: std::mem::take(&mut self.runs), ..Self::default() };
            let run = runs.write(spill, turn)?;
            runs.runs.iter().for_each(|merged| spill.free(merged));
            self.runs.push(run);
        }
        Ok(())
    }

    /// Writes all items as one sorted run.
    fn write(&self, spill: &Spill, turn: usize) -> Result<Extent> {
        let mut items = self.merge(spill)?;
        let mut extent = spill.begin(turn)?;
        let mut bytes = Vec::with_capacity(READ_BACK * 8 * T::WORDS);
        while let Some(item) = items.next_item()? {
            item.as_ref().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            if bytes.len() == READ_BACK * 8 * T::WORDS {
                spill.append(&mut extent, &bytes)?;
                bytes.clear();
            }
        }
        spill.append(&mut extent, &bytes)?;
        Ok(extent)
    }

    /// All items in order; the chunks must be sorted. Several merges can be open at once.
    pub fn merge<'a>(&'a self, spill: &'a Spill) -> Result<Merged<'a, T>> {
        let runs = self.runs.iter().map(|&extent| ItemCursor::Disk {
            spill,
            extent,
            at: extent.start,
            buffer: Vec::new(),
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
    Disk { spill: &'a Spill, extent: Extent, at: u64, buffer: Vec<T> },
}

impl<T: Item> ItemCursor<'_, T> {
    /// Returns the next item, or the largest possible item at the end.
    fn next(&mut self) -> Result<T> {
        match self {
            ItemCursor::Memory(items) => Ok(items.next().copied().unwrap_or(T::LAST)),
            ItemCursor::Disk { spill, extent, at, buffer } => {
                if buffer.is_empty() {
                    let left = (extent.end - *at) as usize / (8 * T::WORDS);
                    let mut bytes = vec![0; left.min(READ_BACK) * 8 * T::WORDS];
                    spill.read(extent, *at, &mut bytes)?;
                    *at += bytes.len() as u64;
                    let words: Vec<u64> =
                        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                    buffer.extend(words.chunks_exact(T::WORDS).rev().map(item::<T>));
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

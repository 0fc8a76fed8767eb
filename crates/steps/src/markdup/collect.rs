//! All ends, in memory as chunks to be sorted one by one, on disk as sorted runs.

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;

use super::ends::EndsPart;
use super::grouping::Grouping;
use super::item::{EndKey, Fragment, Half, Pair};
use crate::sort::tournament::LoserTree;

/// Items of one chunk; a chunk never grows beyond, so nothing is ever copied to make room.
const CHUNK: usize = 1 << 16;

/// Items written to a run, and read back from it, at a time.
const READ_BACK: usize = 512;

/// More runs than this are merged into one: while they are read, each has a buffer of up to 28 KiB.
const MOST_RUNS: usize = 64;

/// Items of one kind, sorted in parts.
pub struct Sorter<const N: usize> {
    chunks: Vec<Vec<[u64; N]>>,
    runs: Vec<Extent>,
}

impl<const N: usize> Default for Sorter<N> {
    fn default() -> Self {
        Sorter { chunks: Vec::new(), runs: Vec::new() }
    }
}

impl<const N: usize> Sorter<N> {
    /// Adds items.
    pub fn extend(&mut self, mut items: &[[u64; N]]) {
        while !items.is_empty() {
            if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            if let Some(chunk) = self.chunks.last_mut() {
                let (now, later) = items.split_at(items.len().min(CHUNK - chunk.len()));
                chunk.extend_from_slice(now);
                items = later;
            }
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.runs.is_empty()
    }

    /// Bytes of memory its items take.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.len() * 8 * N) as u64).sum()
    }

    /// The chunks, to be sorted one by one.
    pub fn chunks_mut(&mut self) -> &mut Vec<Vec<[u64; N]>> {
        &mut self.chunks
    }

    /// Writes what is in memory, whose chunks must be sorted, as one sorted run. So many runs that their
    /// buffers would count are first merged into one.
    pub fn spill(&mut self, spill: &Spill, turn: usize) -> Result<()> {
        if !self.chunks.is_empty() {
            let chunks = Self { chunks: std::mem::take(&mut self.chunks), runs: Vec::new() };
            self.runs.push(chunks.write(spill, turn)?);
        }
        if self.runs.len() >= MOST_RUNS {
            let runs = Self { chunks: Vec::new(), runs: std::mem::take(&mut self.runs) };
            self.runs.push(runs.write(spill, turn)?);
        }
        Ok(())
    }

    /// Writes all items as one sorted run.
    fn write(self, spill: &Spill, turn: usize) -> Result<Extent> {
        let mut items = self.merge(spill)?;
        let mut extent = spill.begin(turn)?;
        let mut bytes = Vec::with_capacity(READ_BACK * 8 * N);
        while let Some(item) = items.next_item()? {
            item.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            if bytes.len() == READ_BACK * 8 * N {
                spill.append(&mut extent, &bytes)?;
                bytes.clear();
            }
        }
        spill.append(&mut extent, &bytes)?;
        Ok(extent)
    }

    /// All items in order; the chunks must be sorted.
    pub fn merge(self, spill: &Spill) -> Result<Merged<'_, N>> {
        let runs = self.runs.into_iter().map(|extent| Items::Disk {
            spill,
            extent,
            at: extent.start,
            buffer: Vec::new(),
        });
        let chunks = self.chunks.into_iter().map(|chunk| Items::Memory(chunk.into_iter()));
        let mut sources: Vec<Items<'_, N>> = runs.chain(chunks).collect();
        let first = sources.iter_mut().map(Items::next).collect::<Result<_>>()?;
        Ok(Merged { sources, tree: LoserTree::new(first) })
    }
}

enum Items<'a, const N: usize> {
    Memory(std::vec::IntoIter<[u64; N]>),
    Disk { spill: &'a Spill, extent: Extent, at: u64, buffer: Vec<[u64; N]> },
}

impl<const N: usize> Items<'_, N> {
    /// The next item, or the largest there is at the end.
    fn next(&mut self) -> Result<[u64; N]> {
        match self {
            Items::Memory(items) => Ok(items.next().unwrap_or([u64::MAX; N])),
            Items::Disk { spill, extent, at, buffer } => {
                if buffer.is_empty() {
                    let left = (extent.end - *at) as usize / (8 * N);
                    let mut bytes = vec![0; left.min(READ_BACK) * 8 * N];
                    spill.read(extent, *at, &mut bytes)?;
                    *at += bytes.len() as u64;
                    let items = bytes.chunks_exact(8 * N).rev();
                    buffer.extend(items.map(|item| {
                        std::array::from_fn(|i| {
                            let word = item[8 * i..].first_chunk::<8>();
                            word.map_or(0, |word| u64::from_le_bytes(*word))
                        })
                    }));
                }
                Ok(buffer.pop().unwrap_or([u64::MAX; N]))
            }
        }
    }
}

/// Items of all parts in order.
pub struct Merged<'a, const N: usize> {
    sources: Vec<Items<'a, N>>,
    tree: LoserTree<[u64; N]>,
}

impl<const N: usize> Merged<'_, N> {
    /// The next item.
    pub fn next_item(&mut self) -> Result<Option<[u64; N]>> {
        let Some((item, source)) = self.tree.winner() else { return Ok(None) };
        let next = self.sources[source].next()?;
        self.tree.replace(next);
        Ok(Some(item))
    }
}

/// Everything the ends of the input leave.
#[derive(Default)]
pub struct Ends {
    /// Mates that stood together.
    pub pairs: Sorter<6>,
    /// The second ends of pairs, and the ends of reads without their mates.
    pub present: Sorter<2>,
    /// Reads whose mates did not stand beside them.
    pub halves: Sorter<7>,
    /// Reads that are not paired.
    pub fragments: Sorter<4>,
    /// Hashes of the names of stretches without their mate.
    pub incomplete: Sorter<1>,
    /// Whether the input is grouped by name.
    pub grouping: Grouping,
    /// Paired reads without a read group.
    pub without_read_group: u64,
    /// Whether any record has a DT field.
    pub has_dt: bool,
}

const _: () = assert!(
    size_of::<Pair>() == 48
        && size_of::<EndKey>() == 16
        && size_of::<Half>() == 56
        && size_of::<Fragment>() == 32
);

impl Ends {
    /// Adds what a batch left; batches come in input order.
    pub fn push(&mut self, part: &EndsPart) {
        self.pairs.extend(&part.pairs);
        self.present.extend(&part.present);
        self.halves.extend(&part.halves);
        self.fragments.extend(&part.fragments);
        self.grouping.add(&part.evidence);
        if self.grouping.is_scattered() {
            self.incomplete = Sorter::default(); // nothing is left to be proved
        } else {
            self.incomplete.extend(part.evidence.incomplete());
        }
        self.without_read_group += part.without_read_group;
        self.has_dt |= part.has_dt;
    }

    /// Bytes of memory all items take.
    pub fn bytes(&self) -> u64 {
        let mates = self.pairs.bytes() + self.present.bytes() + self.halves.bytes();
        mates + self.fragments.bytes() + self.incomplete.bytes()
    }

    /// Writes everything in memory, whose chunks must be sorted, to the spill.
    pub fn spill(&mut self, spill: &Spill, turn: usize) -> Result<()> {
        self.pairs.spill(spill, turn)?;
        self.present.spill(spill, turn)?;
        self.halves.spill(spill, turn)?;
        self.fragments.spill(spill, turn)?;
        self.incomplete.spill(spill, turn)
    }

    /// Compares all incomplete stretches, whose chunks must be sorted: two of one name are a template
    /// that was scattered.
    pub fn compare_incomplete(&mut self, spill: &Spill) -> Result<()> {
        let mut names = std::mem::take(&mut self.incomplete).merge(spill)?;
        let mut before = None;
        while let Some(name) = names.next_item()? {
            if before.replace(name) == Some(name) {
                self.grouping.note_scattered();
                break;
            }
        }
        Ok(())
    }
}

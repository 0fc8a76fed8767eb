//! The reads of a piece: where their bases are aligned, and whether these count.

use serde::{Deserialize, Serialize};

/// Reads that count, in their order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reads {
    pub list: Vec<CountedRead>,
    blocks: Vec<AlignedBases>,
    /// A byte for each aligned base, read by read.
    values: Vec<u8>,
    /// Aligned bases without qualities at positions that count.
    pub without_quals: u64,
}

/// A read that counts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct CountedRead {
    /// A hash of its name.
    pub name: u64,
    /// Its first position, and the one after its last.
    pub start: u32,
    pub end: u32,
    /// Its aligned bases at positions that count.
    pub counted: u32,
    /// Where its blocks and values begin, and how many they are.
    blocks: (u32, u32),
    values: (u32, u32),
}

/// A run of aligned bases: its first position, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AlignedBases {
    pub start: u32,
    pub length: u32,
}

/// The bit of an aligned base that is N. The others are its quality, or 0 where the position does not count.
pub(crate) const IS_N: u8 = 0x80;

/// Aligned bases of lower qualities count nowhere; larger ones are not told apart.
pub(crate) const NOISE: u8 = 2;
pub(crate) const MAX_QUAL: u8 = 126;

/// A quality as a signed byte of Java: those that no SAM file has are below 0.
pub(crate) fn as_java(qual: u8) -> u8 {
    if qual < IS_N { qual.min(MAX_QUAL) } else { 0 }
}

/// Whether the quality of a base is above noise.
#[inline(always)]
pub(crate) fn is_called(value: u8) -> bool {
    value & !IS_N > NOISE
}

/// Whether a base counts, where `least` is the least quality of those that do.
#[inline(always)]
pub(crate) fn is_good(value: u8, least: u8) -> bool {
    value.wrapping_sub(least) < IS_N - least
}

/// A read, with its blocks and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadView<'a> {
    pub read: &'a CountedRead,
    pub blocks: &'a [AlignedBases],
    pub values: &'a [u8],
}

impl<'a> ReadView<'a> {
    /// Bytes of memory of the read among others.
    pub fn heap_bytes(self) -> usize {
        size_of::<CountedRead>() + size_of_val(self.blocks) + self.values.len()
    }

    /// Each block, with its values.
    #[inline]
    pub fn runs(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        let mut rest = self.values;
        self.blocks.iter().map(move |block| {
            let (values, more) = rest.split_at(block.length as usize);
            rest = more;
            (block.start, values)
        })
    }

    /// Marks the values of this read that count where `other` has a base that counts, too; `marks` are as many as its values.
    pub fn mark_shared(self, other: ReadView<'_>, least: u8, marks: &mut [bool]) {
        let mut from = 0;
        for (start, values) in self.runs() {
            let marks = &mut marks[from..from + values.len()];
            from += values.len();
            let end = start + values.len() as u32;
            for (other_start, theirs) in other.runs() {
                let to = end.min(other_start + theirs.len() as u32);
                let first = start.max(other_start);
                if first >= to {
                    continue;
                }
                let mine = (first - start) as usize..(to - start) as usize;
                let theirs = &theirs[(first - other_start) as usize..(to - other_start) as usize];
                for ((mark, &value), &their) in
                    marks[mine.clone()].iter_mut().zip(&values[mine]).zip(theirs)
                {
                    *mark |= is_good(value, least) & is_good(their, least);
                }
            }
        }
    }
}

impl Reads {
    /// A read by its number.
    #[inline]
    pub fn view(&self, number: usize) -> ReadView<'_> {
        let read = &self.list[number];
        let ((from, blocks), (first, values)) = (read.blocks, read.values);
        ReadView {
            read,
            blocks: &self.blocks[from as usize..][..blocks as usize],
            values: &self.values[first as usize..][..values as usize],
        }
    }

    pub fn views(&self) -> impl Iterator<Item = ReadView<'_>> {
        (0..self.list.len()).map(|number| self.view(number))
    }

    /// The values of all reads.
    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// Adds a run of aligned bases of the next read, and returns its values.
    #[inline]
    pub fn push_block(&mut self, start: u32, values: &[u8]) -> &mut [u8] {
        let from = self.values.len();
        self.blocks.push(AlignedBases { start, length: values.len() as u32 });
        self.values.extend_from_slice(values);
        &mut self.values[from..]
    }

    /// Completes the next read, whose blocks were added.
    pub fn push_read(&mut self, name: u64, start: u32, end: u32, counted: u32) {
        let (blocks, values) = self
            .list
            .last()
            .map_or((0, 0), |last| (last.blocks.0 + last.blocks.1, last.values.0 + last.values.1));
        let blocks = (blocks, self.blocks.len() as u32 - blocks);
        let values = (values, self.values.len() as u32 - values);
        self.list.push(CountedRead { name, start, end, counted, blocks, values });
    }

    /// Whether blocks were added for a read that is not complete.
    pub fn has_open_blocks(&self) -> bool {
        self.list.last().map_or(0, |last| last.blocks.0 + last.blocks.1) < self.blocks.len() as u32
    }

    /// Forgets blocks that were added for a read without aligned bases.
    pub fn forget_blocks(&mut self) {
        let kept = self.list.last().map_or(0, |last| last.blocks.0 + last.blocks.1);
        self.blocks.truncate(kept as usize);
    }

    /// Forgets all reads, and keeps the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.blocks.clear();
        self.values.clear();
        self.without_quals = 0;
    }

    /// Copies of the first reads.
    pub fn first(&self, count: usize) -> Reads {
        let mut first = Reads { without_quals: self.without_quals, ..Reads::default() };
        self.views().take(count).for_each(|view| first.push_copy(view));
        first
    }

    /// Adds a copy of a read.
    pub fn push_copy(&mut self, view: ReadView<'_>) {
        self.blocks.extend_from_slice(view.blocks);
        self.values.extend_from_slice(view.values);
        let CountedRead { name, start, end, counted, .. } = *view.read;
        self.push_read(name, start, end, counted);
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<CountedRead>()
            + self.blocks.capacity() * size_of::<AlignedBases>()
            + self.values.capacity()
    }
}

//! The counted reads of a piece: the positions of their aligned bases, and a byte with the quality
//! of each.

use serde::{Deserialize, Serialize};

/// The counted reads of a piece, in the order of the records. Pieces keep them to count depths, and
/// to find mates and capped bases in later pieces.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reads {
    pub list: Vec<CountedRead>,
    blocks: Vec<AlignedBases>,
    /// One byte for each aligned base, read by read: the quality in the lower 7 bits, and [`IS_N`].
    /// The quality is 0 at positions that do not count.
    values: Vec<u8>,
    /// Number of aligned bases without qualities, at positions that count.
    pub without_quals: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct CountedRead {
    /// A 64-bit hash of the read name.
    pub name: u64,
    /// The first position, and the position after the last one (0-based).
    pub start: u32,
    pub end: u32,
    /// Number of aligned bases at positions that count.
    pub counted: u32,
    /// The index of the first block and the number of blocks; the same for values.
    blocks: (u32, u32),
    values: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AlignedBases {
    pub start: u32,
    pub length: u32,
}

/// The bit that marks an aligned base as N.
pub(crate) const IS_N: u8 = 0x80;

/// Bases up to this quality are never counted. Qualities above [`MAX_QUAL`] are counted as
/// [`MAX_QUAL`].
pub(crate) const NOISE: u8 = 2;
pub(crate) const MAX_QUAL: u8 = 126;

/// Converts a quality to what Picard sees: Java's byte is signed, so qualities from 128 are
/// negative, and 0 is returned for them.
pub(crate) fn as_java(qual: u8) -> u8 {
    if qual < IS_N { qual.min(MAX_QUAL) } else { 0 }
}

/// Returns whether a base is above noise, whether it is N or not.
#[inline(always)]
pub(crate) fn is_called(value: u8) -> bool {
    value & !IS_N > NOISE
}

/// Returns whether a base counts: its quality is at least `min_qual`, and it is not N.
#[inline(always)]
pub(crate) fn is_good(value: u8, min_qual: u8) -> bool {
    value.wrapping_sub(min_qual) < IS_N - min_qual
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadView<'a> {
    pub read: &'a CountedRead,
    pub blocks: &'a [AlignedBases],
    pub values: &'a [u8],
}

impl<'a> ReadView<'a> {
    pub fn heap_bytes(self) -> usize {
        size_of::<CountedRead>() + size_of_val(self.blocks) + self.values.len()
    }

    /// Returns each block as its first position and its values.
    #[inline]
    pub fn runs(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        let mut rest = self.values;
        self.blocks.iter().map(move |block| {
            let (values, more) = rest.split_at(block.length as usize);
            rest = more;
            (block.start, values)
        })
    }

    /// Marks each value that counts if `other` has a counted base at the same position. `marks` has
    /// as many elements as this read has values.
    pub fn mark_shared_positions(self, other: ReadView<'_>, min_qual: u8, marks: &mut [bool]) {
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
                    *mark |= is_good(value, min_qual) & is_good(their, min_qual);
                }
            }
        }
    }
}

impl Reads {
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

    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// Adds a run of aligned bases to the read that will be completed next. Returns the stored
    /// values, so that the caller can mask positions.
    #[inline]
    pub fn push_block(&mut self, start: u32, values: &[u8]) -> &mut [u8] {
        let from = self.values.len();
        self.blocks.push(AlignedBases { start, length: values.len() as u32 });
        self.values.extend_from_slice(values);
        &mut self.values[from..]
    }

    /// Completes a read from the blocks that were added since the last read.
    pub fn push_read(&mut self, name: u64, start: u32, end: u32, counted: u32) {
        let (blocks, values) = self
            .list
            .last()
            .map_or((0, 0), |last| (last.blocks.0 + last.blocks.1, last.values.0 + last.values.1));
        let blocks = (blocks, self.blocks.len() as u32 - blocks);
        let values = (values, self.values.len() as u32 - values);
        self.list.push(CountedRead { name, start, end, counted, blocks, values });
    }

    /// Returns whether blocks were added since the last completed read.
    pub fn has_open_blocks(&self) -> bool {
        self.list.last().map_or(0, |last| last.blocks.0 + last.blocks.1) < self.blocks.len() as u32
    }

    /// Removes the blocks that were added since the last completed read, because the read has no
    /// aligned bases.
    pub fn forget_blocks(&mut self) {
        let kept = self.list.last().map_or(0, |last| last.blocks.0 + last.blocks.1);
        self.blocks.truncate(kept as usize);
    }

    /// Removes all reads and keeps the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.blocks.clear();
        self.values.clear();
        self.without_quals = 0;
    }

    pub fn copy_first(&self, count: usize) -> Reads {
        let mut first = Reads { without_quals: self.without_quals, ..Reads::default() };
        self.views().take(count).for_each(|view| first.push_copy(view));
        first
    }

    pub fn push_copy(&mut self, view: ReadView<'_>) {
        self.blocks.extend_from_slice(view.blocks);
        self.values.extend_from_slice(view.values);
        let CountedRead { name, start, end, counted, .. } = *view.read;
        self.push_read(name, start, end, counted);
    }

    pub fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<CountedRead>()
            + self.blocks.capacity() * size_of::<AlignedBases>()
            + self.values.capacity()
    }
}

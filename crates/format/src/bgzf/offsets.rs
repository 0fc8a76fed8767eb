//! Virtual offsets (SAM specification, section 4.1.1) of the bytes of an inflated chunk.

use super::Chunk;

/// Translates positions in an inflated chunk to virtual offsets. Positions must be requested in
/// ascending order, so the translation takes constant time.
///
/// A position between two blocks belongs to the later one, or to the first of several if empty
/// blocks start at this position. This is the offset that htslib reports for a reader that has
/// consumed all bytes before it.
///
/// ```
/// use readmill_format::bgzf::{BgzfBlock, Chunk, VirtualOffsets};
///
/// let block = |start, size, inflated| BgzfBlock { start, header: 18, size, inflated };
/// let blocks = vec![block(0, 60, 100), block(60, 40, 50)];
/// let chunk = Chunk { compressed: vec![0; 100], blocks, offset: 1000, inflated: 150 };
///
/// let mut offsets = VirtualOffsets::new(&chunk);
/// assert_eq!(offsets.offset_of(99), 1000 << 16 | 99);
/// assert_eq!(offsets.offset_of(100), 1060 << 16, "the first byte of the second block");
/// assert_eq!(offsets.end_offset(), 1100 << 16);
/// ```
pub struct VirtualOffsets<'a> {
    chunk: &'a Chunk,
    block: usize,
    start: usize,
}

impl<'a> VirtualOffsets<'a> {
    pub fn new(chunk: &'a Chunk) -> Self {
        VirtualOffsets { chunk, block: 0, start: 0 }
    }

    /// Returns the virtual offset of byte `at` of the inflated chunk. `at` must not be smaller than
    /// in the previous call.
    #[inline]
    pub fn offset_of(&mut self, at: usize) -> u64 {
        let blocks = &self.chunk.blocks;
        while let Some(block) = blocks.get(self.block) {
            let inside = at - self.start;
            let length = block.inflated as usize;
            if inside < length || inside == 0 {
                return (self.chunk.offset + u64::from(block.start)) << 16 | inside as u64;
            }
            self.start += length;
            self.block += 1;
        }
        self.end_offset()
    }

    pub fn end_offset(&self) -> u64 {
        (self.chunk.offset + self.chunk.compressed.len() as u64) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::BgzfBlock;

    #[test]
    fn a_byte_between_blocks_belongs_to_the_first_of_the_later_ones() {
        let block = |start, size, inflated| BgzfBlock { start, header: 18, size, inflated };
        let blocks = vec![block(0, 100, 10), block(100, 28, 0), block(128, 50, 5), block(178, 22, 0)];
        let chunk = Chunk { compressed: vec![0; 200], blocks, offset: 1000, inflated: 15 };
        let mut offsets = VirtualOffsets::new(&chunk);
        let found = [0, 9, 10, 10, 11, 14, 15]
            .map(|at| (offsets.offset_of(at) >> 16, offsets.offset_of(at) & 0xffff));
        let between = (1100, 0);
        assert_eq!(found, [(1000, 0), (1000, 9), between, between, (1128, 1), (1128, 4), (1178, 0)]);
        assert_eq!(offsets.end_offset() >> 16, 1200);
        assert_eq!(VirtualOffsets::new(&Chunk::default()).offset_of(0), 0);
    }
}

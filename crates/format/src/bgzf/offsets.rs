//! Virtual offsets of the bytes of a chunk.

use super::Chunk;

/// Finds the virtual offsets of bytes of an inflated chunk, which are asked for in order.
///
/// A byte between two blocks belongs to the later one; of several that start there, because all but the last are empty, to
/// the first. So a reader that has taken all bytes before it is where htslib says that it is.
pub struct VirtualOffsets<'a> {
    chunk: &'a Chunk,
    /// The current block, and where its bytes start.
    block: usize,
    start: usize,
}

impl<'a> VirtualOffsets<'a> {
    /// The offsets of bytes of `chunk`.
    pub fn new(chunk: &'a Chunk) -> Self {
        VirtualOffsets { chunk, block: 0, start: 0 }
    }

    /// The virtual offset of byte `at`, which is not before one asked for earlier.
    #[inline]
    pub fn of(&mut self, at: usize) -> u64 {
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
        self.end()
    }

    /// The virtual offset of the byte behind the chunk.
    pub fn end(&self) -> u64 {
        (self.chunk.offset + self.chunk.compressed.len() as u64) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::Block;

    #[test]
    fn a_byte_between_blocks_belongs_to_the_first_of_the_later_ones() {
        let block = |start, size, inflated| Block { start, header: 18, size, inflated };
        let blocks = vec![block(0, 100, 10), block(100, 28, 0), block(128, 50, 5), block(178, 22, 0)];
        let chunk = Chunk { compressed: vec![0; 200], blocks, offset: 1000, inflated: 15 };
        let mut offsets = VirtualOffsets::new(&chunk);
        let found = [0, 9, 10, 10, 11, 14, 15].map(|at| (offsets.of(at) >> 16, offsets.of(at) & 0xffff));
        let between = (1100, 0);
        assert_eq!(found, [(1000, 0), (1000, 9), between, between, (1128, 1), (1128, 4), (1178, 0)]);
        assert_eq!(offsets.end() >> 16, 1200);
        assert_eq!(VirtualOffsets::new(&Chunk::default()).of(0), 0);
    }
}

//! BGZF as a stream of bytes, with all checks that BGZF allows: lengths, checksums, the EOF block.

use std::io::Read;

use super::{BlockReader, Chunk, Inflater};

/// Reads the inflated blocks of a file one after the other. Its errors are [`readmill_record::Error`]s inside of
/// [`std::io::Error`]s.
pub struct InflateReader<R> {
    blocks: BlockReader<R>,
    chunk: Chunk,
    inflater: Inflater,
    bytes: Vec<u8>,
    at: usize,
}

impl<R: Read> InflateReader<R> {
    /// A reader of the blocks that `blocks` has not returned yet.
    pub fn new(blocks: BlockReader<R>) -> Self {
        let (chunk, inflater) = (Chunk::default(), Inflater::default());
        InflateReader { blocks, chunk, inflater, bytes: Vec::new(), at: 0 }
    }
}

impl<R: Read> Read for InflateReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if !self.blocks.next_chunk(&mut self.chunk).map_err(std::io::Error::other)? {
                return Ok(0);
            }
            self.inflater.chunk(&self.chunk, &mut self.bytes).map_err(std::io::Error::other)?;
        }
        let n = into.len().min(self.bytes.len() - self.at);
        into[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

//! Inflates blocks with libdeflate, and verifies lengths and checksums: those of a chunk, or of a whole file as a stream of
//! bytes.

use std::io::Read;

use libdeflater::Decompressor;
use readmill_record::{Error, Result};

use super::{Block, BlockReader, Chunk};

/// One thread's decompressor.
pub struct Inflater(Decompressor);

impl Default for Inflater {
    fn default() -> Self {
        Inflater(Decompressor::new())
    }
}

impl Inflater {
    /// Appends the inflated blocks of the chunk to `out`.
    pub fn chunk(&mut self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.write(chunk, out, start)
    }

    /// Makes `out` the inflated blocks of the chunk. What it was is overwritten, which is faster than to clear it before.
    pub fn replace(&mut self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<()> {
        self.write(chunk, out, 0)
    }

    /// Writes the inflated blocks of the chunk from `at` on, to where `out` ends then.
    fn write(&mut self, chunk: &Chunk, out: &mut Vec<u8>, mut at: usize) -> Result<()> {
        out.truncate(at + chunk.inflated);
        out.reserve(at + chunk.inflated - out.len());
        for block in &chunk.blocks {
            let end = at + block.inflated as usize;
            if out.len() < end {
                // Block by block, so that what is filled with zeros is still in a cache when it is inflated.
                out.resize(end, 0);
            }
            let into = &mut out[at..end];
            at = end;
            let member = &chunk.compressed[block.start as usize..][..block.size as usize];
            self.block(block, member, into).map_err(|what| {
                Error::input(what)
                    .offset(chunk.offset + u64::from(block.start))
                    .hint("the file is damaged: get it again")
            })?;
        }
        out.truncate(at);
        Ok(())
    }

    fn block(&mut self, block: &Block, member: &[u8], into: &mut [u8]) -> Result<(), &'static str> {
        let (data, footer) =
            member[block.header as usize..].split_at(member.len() - block.header as usize - 8);
        let inflated = self.0.deflate_decompress(data, into);
        if inflated != Ok(into.len()) {
            return Err("a BGZF block does not inflate to the length it claims");
        }
        let expected = u32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]);
        if crc32fast::hash(into) != expected {
            return Err("the checksum (CRC) of a BGZF block is wrong");
        }
        Ok(())
    }
}

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

impl<R: Read> InflateReader<R> {
    /// Appends the next `n` bytes to `into`, or fewer at the end of the file; returns how many.
    pub fn append(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize> {
        let mut left = n;
        while left > 0 {
            let taken = self.next(left)?;
            if taken.is_empty() {
                break;
            }
            into.extend_from_slice(taken);
            left -= taken.len();
        }
        Ok(n - left)
    }

    /// Takes the next bytes, `most` at most; none at the end of the file.
    fn next(&mut self, most: usize) -> Result<&[u8]> {
        while self.at == self.bytes.len() {
            if !self.blocks.next_chunk(&mut self.chunk)? {
                return Ok(&[]);
            }
            self.at = 0;
            self.inflater.replace(&self.chunk, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        }
        let from = self.at;
        self.at += most.min(self.bytes.len() - from);
        Ok(&self.bytes[from..self.at])
    }
}

impl<R: Read> Read for InflateReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let taken = self.next(into.len()).map_err(std::io::Error::other)?;
        into[..taken.len()].copy_from_slice(taken);
        Ok(taken.len())
    }
}

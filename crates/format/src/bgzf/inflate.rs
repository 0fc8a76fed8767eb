//! Inflates blocks with libdeflate, and verifies their lengths and checksums.
//!
//! [`Inflater`] works on one chunk and runs on any thread; [`InflateReader`] reads a whole file on one thread.

use std::io::Read;

use libdeflater::Decompressor;
use readmill_record::{Error, Result};

use super::{BgzfBlock, BlockReader, Chunk};

/// A decompressor of chunks, which verifies the CRC-32 and the length of each block. Each thread has its
/// own.
pub struct Inflater(Decompressor);

impl Default for Inflater {
    fn default() -> Self {
        Inflater(Decompressor::new())
    }
}

impl Inflater {
    /// Inflates all blocks of `chunk` and appends them to `out`.
    ///
    /// # Errors
    /// Fails if a block is damaged; the error contains its file offset.
    pub fn append_chunk(&mut self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.write_blocks(chunk, out, start)
    }

    /// Replaces the contents of `out` with the inflated blocks of `chunk`. Overwriting the old bytes is
    /// faster than clearing the buffer first.
    ///
    /// # Errors
    /// The same as for [`Inflater::append_chunk`].
    pub fn replace_with_chunk(&mut self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<()> {
        self.write_blocks(chunk, out, 0)
    }

    fn write_blocks(&mut self, chunk: &Chunk, out: &mut Vec<u8>, mut at: usize) -> Result<()> {
        out.truncate(at + chunk.inflated);
        out.reserve(at + chunk.inflated - out.len());
        for block in &chunk.blocks {
            let end = at + block.inflated as usize;
            if out.len() < end {
                // Zeros are written block by block, so that they are still in a CPU cache when they are
                // overwritten.
                out.resize(end, 0);
            }
            let into = &mut out[at..end];
            at = end;
            let member = &chunk.compressed[block.start as usize..][..block.size as usize];
            self.inflate_block(block, member, into).map_err(|what| {
                Error::input(what)
                    .offset(chunk.offset + u64::from(block.start))
                    .hint("the file is damaged: download or create it again")
            })?;
        }
        out.truncate(at);
        Ok(())
    }

    fn inflate_block(
        &mut self,
        block: &BgzfBlock,
        member: &[u8],
        into: &mut [u8],
    ) -> Result<(), &'static str> {
        let (data, footer) =
            member[block.header as usize..].split_at(member.len() - block.header as usize - 8);
        let inflated = self.0.deflate_decompress(data, into);
        if inflated != Ok(into.len()) {
            return Err("a BGZF block does not inflate to its stated length");
        }
        let expected = u32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]);
        if crc32fast::hash(into) != expected {
            return Err("the checksum (CRC) of a BGZF block is wrong");
        }
        Ok(())
    }
}

/// A reader of the inflated bytes of a BGZF file on a single thread, for text files (VCF, BED, FASTA)
/// and SAM compressed by bgzip. Its I/O errors contain a [`readmill_record::Error`].
///
/// ```
/// use std::io::Read;
/// use readmill_format::bgzf::{BlockReader, Codec, Deflater, EOF_BLOCK, InflateReader};
///
/// let mut file = Vec::new();
/// Deflater::new(Codec::Libdeflate, 1).deflate_block(b"chr1\t10\t20\n", &mut file);
/// file.extend_from_slice(&EOF_BLOCK);
///
/// let mut text = String::new();
/// InflateReader::new(BlockReader::new(&file[..], false)).read_to_string(&mut text)?;
/// assert_eq!(text, "chr1\t10\t20\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct InflateReader<R> {
    blocks: BlockReader<R>,
    chunk: Chunk,
    inflater: Inflater,
    bytes: Vec<u8>,
    at: usize,
}

impl<R: Read> InflateReader<R> {
    pub fn new(blocks: BlockReader<R>) -> Self {
        let (chunk, inflater) = (Chunk::default(), Inflater::default());
        InflateReader { blocks, chunk, inflater, bytes: Vec::new(), at: 0 }
    }
}

impl<R: Read> InflateReader<R> {
    /// Appends the next `n` bytes to `into`. Returns their number, which is smaller only at the end of
    /// the file.
    pub fn append(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize> {
        let mut left = n;
        while left > 0 {
            let taken = self.next_bytes(left)?;
            if taken.is_empty() {
                break;
            }
            into.extend_from_slice(taken);
            left -= taken.len();
        }
        Ok(n - left)
    }

    /// Returns up to `max_bytes` of the next bytes, inflating the next chunk if necessary. The
    /// slice is empty at the end of the file.
    fn next_bytes(&mut self, max_bytes: usize) -> Result<&[u8]> {
        while self.at == self.bytes.len() {
            if !self.blocks.next_chunk(&mut self.chunk)? {
                return Ok(&[]);
            }
            self.at = 0;
            self.inflater
                .replace_with_chunk(&self.chunk, &mut self.bytes)
                .inspect_err(|_| self.bytes.clear())?;
        }
        let from = self.at;
        self.at += max_bytes.min(self.bytes.len() - from);
        Ok(&self.bytes[from..self.at])
    }
}

impl<R: Read> Read for InflateReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let taken = self.next_bytes(into.len()).map_err(std::io::Error::other)?;
        into[..taken.len()].copy_from_slice(taken);
        Ok(taken.len())
    }
}

//! Reads BGZF block by block without inflating: only the block headers are parsed.
//!
//! A chunk is a run of whole blocks. Its limits depend on the bytes of the file alone, never on how many of them a
//! pipe delivered at once.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use readmill_record::{Error, Result};

use super::gzip_tail::BlockInput;
use super::{EOF_BLOCK, MAX_BLOCK};

/// A chunk is complete when its blocks inflate to this many bytes …
const CHUNK_INFLATED: usize = 1 << 20;
/// … or take this many bytes compressed …
const CHUNK_COMPRESSED: usize = 1 << 19;
/// … or are this many (a file of empty blocks must not grow a chunk without limit).
const CHUNK_BLOCKS: usize = 256;

/// Most bytes a chunk can inflate to.
pub const MAX_CHUNK: usize = CHUNK_INFLATED + MAX_BLOCK;

/// One compressed block of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Start of its gzip member in [`Chunk::compressed`].
    pub start: u32,
    /// Bytes of gzip header before the deflate data.
    pub header: u16,
    /// Bytes of the whole member.
    pub size: u32,
    /// Bytes it inflates to, as its footer says.
    pub inflated: u32,
}

/// Blocks that are inflated together.
#[derive(Clone, Default)]
pub struct Chunk {
    /// The blocks' bytes.
    pub compressed: Vec<u8>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Offset of the first block in the file.
    pub offset: u64,
    /// Bytes all blocks inflate to, as their footers say.
    pub inflated: usize,
}

impl Chunk {
    fn clear(&mut self, offset: u64) {
        self.compressed.clear();
        self.blocks.clear();
        (self.offset, self.inflated) = (offset, 0);
    }

    /// Whether blocks of this many compressed bytes are enough.
    fn is_full(&self, compressed: usize, most_blocks: usize) -> bool {
        self.inflated >= CHUNK_INFLATED
            || compressed >= CHUNK_COMPRESSED
            || self.blocks.len() >= most_blocks
    }
}

/// Reads a file chunk by chunk.
pub struct BlockReader<R> {
    input: BlockInput<R>,
    /// Bytes read after the end of the last chunk.
    beyond: Vec<u8>,
    offset: u64,
    inflated: u64,
    last_was_eof_block: bool,
    allow_missing_eof: bool,
    /// Set where the EOF block is missing.
    lacks_eof: Option<Arc<AtomicBool>>,
    /// What may follow the blocks.
    tail: BlockTail,
    /// The most blocks of a chunk.
    most_blocks: usize,
    /// Bytes to read from the system at a time.
    read_size: usize,
}

/// What may follow the blocks of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockTail {
    /// Nothing.
    #[default]
    Nothing,
    /// NUL bytes.
    Nuls,
    /// Plain gzip members, as where files are joined by `cat`, and NUL bytes. Offsets of blocks are those of the file up to
    /// the first such member only.
    Members,
}

/// Bytes to read from the system at a time, straight into the chunk. Bytes beyond the end of a chunk are copied
/// into the next one, so this is a small part of a chunk.
const READ_SIZE: usize = 64 << 10;

/// The same for small chunks: about a block.
const READ_SIZE_OF_FEW: usize = 24 << 10;

impl<R: Read> BlockReader<R> {
    /// A reader of `input`, which starts at its first block. A file without the empty EOF block at its end is
    /// refused, unless `allow_missing_eof`.
    pub fn new(input: R, allow_missing_eof: bool) -> Self {
        let beyond = Vec::new();
        BlockReader {
            input: BlockInput::Blocks(input),
            beyond,
            offset: 0,
            inflated: 0,
            last_was_eof_block: false,
            allow_missing_eof,
            lacks_eof: None,
            tail: BlockTail::Nothing,
            most_blocks: CHUNK_BLOCKS,
            read_size: READ_SIZE,
        }
    }

    /// The same reader, whose input starts at an offset of a file.
    #[must_use]
    pub fn from_offset(self, offset: u64) -> Self {
        BlockReader { offset, ..self }
    }

    /// The same reader, which accepts what may follow blocks of text.
    #[must_use]
    pub fn with_tail(self, tail: BlockTail) -> Self {
        BlockReader { tail, ..self }
    }

    /// The same reader, which accepts a file without the EOF block, and sets `lacks_eof` if it is missing.
    #[must_use]
    pub fn noting_missing_eof(self, lacks_eof: Arc<AtomicBool>) -> Self {
        BlockReader { allow_missing_eof: true, lacks_eof: Some(lacks_eof), ..self }
    }

    /// Makes chunks of at most so many blocks from here on; `None` makes usual chunks.
    pub fn limit_chunks(&mut self, blocks: Option<usize>) {
        self.most_blocks = blocks.map_or(CHUNK_BLOCKS, |blocks| blocks.clamp(1, CHUNK_BLOCKS));
        self.read_size = if blocks.is_some() { READ_SIZE_OF_FEW } else { READ_SIZE };
    }

    /// Where the next block starts in the file, and the inflated size of the blocks read so far.
    pub fn sizes(&self) -> (u64, u64) {
        (self.offset, self.inflated)
    }

    /// The `n` bytes of `chunk` from `start` on, reading them if needed; fewer only at the end of the file.
    fn need<'a>(&mut self, chunk: &'a mut Chunk, start: usize, n: usize) -> Result<&'a [u8]> {
        let bytes = &mut chunk.compressed;
        while bytes.len() < start + n {
            match (&mut self.input).take(self.read_size as u64).read_to_end(bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => {
                    let is_damaged = self.input.has_members() && e.raw_os_error().is_none();
                    let error = match is_damaged {
                        true => Error::input(format!("the gzip data is damaged or cut short ({e})"))
                            .hint("get the file again"),
                        false => Error::io("reading failed", &e).offset(self.offset),
                    };
                    return Err(error);
                }
            }
        }
        Ok(&bytes[start..bytes.len().min(start + n)])
    }

    /// Reads the next chunk into `chunk`; false at the end of the file.
    pub fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear(self.offset);
        chunk.compressed.append(&mut self.beyond);
        let mut start = 0;
        while !chunk.is_full(start, self.most_blocks) {
            let Some((header, size)) = self.next_header(chunk, start)? else { break };
            let member = self.need(chunk, start, size)?;
            let footer = member.last_chunk::<4>().filter(|_| member.len() == size);
            let inflated = u32::from_le_bytes(*footer.ok_or_else(|| truncated(self.offset))?);
            if inflated as usize > MAX_BLOCK {
                let what = "a BGZF block claims to hold more than 64 KiB";
                return Err(Error::input(what).offset(self.offset));
            }
            self.last_was_eof_block = member == EOF_BLOCK;
            chunk.blocks.push(Block {
                start: start as u32,
                header: header as u16,
                size: size as u32,
                inflated,
            });
            chunk.inflated += inflated as usize;
            self.inflated += u64::from(inflated);
            start += size;
            self.offset += size as u64;
        }
        self.beyond.extend_from_slice(&chunk.compressed[start..]);
        chunk.compressed.truncate(start);
        Ok(!chunk.blocks.is_empty())
    }

    /// Lengths of the gzip header and of the whole member that starts here; `None` at the end.
    fn next_header(&mut self, chunk: &mut Chunk, start: usize) -> Result<Option<(usize, usize)>> {
        let (offset, complete) = (self.offset, self.last_was_eof_block || self.allow_missing_eof);
        let fixed = self.need(chunk, start, 12)?;
        if fixed.is_empty() {
            if complete {
                let lacks_eof = self.lacks_eof.iter().filter(|_| !self.last_was_eof_block);
                lacks_eof.for_each(|it| it.store(true, Relaxed));
                return Ok(None);
            }
            return Err(Error::input(
                "the BGZF EOF block is missing at the end, so the file is truncated",
            )
            .offset(offset)
            .hint("get the file again, or pass --allow-missing-eof to go on with what is there"));
        }
        let is_padding = fixed[0] == 0 && self.tail != BlockTail::Nothing;
        if is_padding && !self.input.has_members() {
            return self.pass_over_nuls(chunk, start);
        }
        if fixed.len() < 12 && (fixed[0] == 0x1f || !self.last_was_eof_block) {
            return Err(truncated(offset));
        }
        if fixed[0] != 0x1f || fixed[..3] != [0x1f, 0x8b, 8] || fixed[3] & 4 == 0 {
            let is_gzip = fixed.starts_with(&[0x1f, 0x8b, 8]);
            if is_gzip && self.tail == BlockTail::Members && !self.input.has_members() {
                let start_of_members = chunk.compressed.split_off(start);
                self.input.go_on_with_members(start_of_members);
                return self.next_header(chunk, start);
            }
            return Err(self.no_block(is_gzip));
        }
        let header = 12 + usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
        let plain = fixed[3] == 4;
        let head = self.need(chunk, start, header)?;
        if head.len() < header {
            return Err(truncated(offset));
        }
        let size = block_size(&head[12..]).filter(|&size| plain && size > header + 8);
        let size =
            size.ok_or_else(|| Error::input("the header of a BGZF block is damaged").offset(offset))?;
        Ok(Some((header, size)))
    }
}

impl<R: Read> BlockReader<R> {
    /// Passes over NUL bytes up to the end of the file.
    fn pass_over_nuls(&mut self, chunk: &mut Chunk, start: usize) -> Result<Option<(usize, usize)>> {
        loop {
            if chunk.compressed[start..].iter().any(|byte| *byte != 0) {
                return Err(self.no_block(false));
            }
            chunk.compressed.truncate(start);
            if self.need(chunk, start, 1)?.is_empty() {
                return self.next_header(chunk, start);
            }
        }
    }

    /// The error for bytes that are no block.
    fn no_block(&self, is_gzip: bool) -> Error {
        let (what, hint) = match (is_gzip, self.last_was_eof_block) {
            (true, _) => (
                "this is gzip, but not BGZF",
                "compress the file again: gzip -dc FILE | bgzip > NEW".into(),
            ),
            (_, true) => (
                "the bytes behind the BGZF EOF block are not BGZF",
                format!("cut them off: head -c {} FILE > NEW", self.offset),
            ),
            _ => ("this is not a BGZF block", "the file is damaged: get it again".into()),
        };
        Error::input(what).offset(self.offset).hint(hint)
    }
}

/// BSIZE + 1 from the gzip extra fields, among which `BC` need not be the first.
fn block_size(mut extra: &[u8]) -> Option<usize> {
    loop {
        let &[a, b, low, high] = extra.first_chunk::<4>()?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        let value = extra.get(4..4 + length)?;
        if (a, b, length) == (b'B', b'C', 2) {
            return Some(usize::from(u16::from_le_bytes([value[0], value[1]])) + 1);
        }
        extra = &extra[4 + length..];
    }
}

fn truncated(offset: u64) -> Error {
    Error::input("the file ends inside a BGZF block")
        .offset(offset)
        .hint("it is truncated: get it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::{BLOCK_PAYLOAD, Codec, Deflater, Inflater};

    fn file(payload: &[u8], eof: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut deflater = Deflater::new(Codec::default(), 1);
        for piece in payload.chunks(BLOCK_PAYLOAD) {
            deflater.block(piece, &mut out);
        }
        if eof {
            out.extend_from_slice(&EOF_BLOCK);
        }
        out
    }

    /// A reader that delivers a few bytes at a time, like a slow pipe.
    struct Trickle<'a>(&'a [u8], usize);
    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.1 = self.1 * 7 % 1009 + 1;
            let n = self.1.min(into.len()).min(self.0.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn read_all(input: impl Read, allow: bool) -> Result<(Vec<u8>, Vec<usize>)> {
        let (mut reader, mut inflater) = (BlockReader::new(input, allow), Inflater::default());
        let (mut chunk, mut all, mut sizes) = (Chunk::default(), Vec::new(), Vec::new());
        while reader.next_chunk(&mut chunk)? {
            sizes.push(chunk.inflated);
            let mut out = Vec::new();
            inflater.chunk(&chunk, &mut out)?;
            all.extend_from_slice(&out);
        }
        Ok((all, sizes))
    }

    #[test]
    fn chunks_depend_on_the_bytes_alone() {
        let payload: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251 * (i >> 12)) as u8).collect();
        let bytes = file(&payload, true);
        let whole = read_all(&bytes[..], false).unwrap();
        assert_eq!(whole.0, payload);
        assert!(whole.1.len() >= 4);
        assert_eq!(read_all(Trickle(&bytes, 5), false).unwrap(), whole);
    }

    #[test]
    fn a_cut_file_is_noticed_wherever_it_is_cut() {
        let bytes = file(&[7; 200_000], true);
        for cut in (1..bytes.len()).step_by(97).chain(bytes.len() - 28..bytes.len()) {
            assert!(read_all(&bytes[..cut], false).is_err(), "cut at {cut}");
        }
        let without = file(&[7; 1000], false);
        assert!(read_all(&without[..], false).unwrap_err().to_string().contains("EOF block"));
        assert_eq!(read_all(&without[..], true).unwrap().0, [7; 1000]);
        assert!(read_all(&[][..], false).is_err());
    }

    #[test]
    fn damage_is_an_error_that_says_where() {
        let bytes = file(&[b'x'; 150_000], true);
        let first = block_size(&bytes[12..18]).unwrap();
        for at in [first + 2, first + 20, first + first - 6, first + first - 2] {
            let mut bad = bytes.clone();
            bad[at] ^= 0x55;
            let error = read_all(&bad[..], false).unwrap_err();
            assert!(error.place.offset.is_some(), "{error}");
        }
    }

    #[test]
    fn further_gzip_fields_are_passed_over() {
        let mut bytes = file(b"hello", false);
        let size = u16::from_le_bytes([bytes[16], bytes[17]]) + 6;
        bytes.splice(10..12, [12, 0]);
        bytes.splice(12..12, *b"ZZ\x02\0!!");
        bytes[22..24].copy_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&EOF_BLOCK);
        assert_eq!(read_all(&bytes[..], false).unwrap().0, b"hello");
    }
}

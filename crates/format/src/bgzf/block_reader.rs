//! Reads BGZF block by block without inflating it: only the block headers are parsed, so one thread
//! can supply many threads with work.
//!
//! A [`Chunk`] consists of consecutive whole blocks. Where it ends depends only on the bytes of the
//! file, never on how many of them a pipe delivered at once. So the output of a run does not depend
//! on timing.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use readmill_record::{Error, Result};

use super::gzip_tail::BlockInput;
use super::{EOF_BLOCK, MAX_BLOCK};

/// A chunk is complete when its blocks inflate to this many bytes, or when it reaches one of the
/// next two limits.
const CHUNK_INFLATED_BYTES: usize = 1 << 20;
/// Maximum compressed size of a chunk in bytes, exceeded by at most one block.
const CHUNK_COMPRESSED_BYTES: usize = 1 << 19;
/// Maximum number of blocks in a chunk, so that a file of empty blocks does not make a chunk grow
/// without limit.
const CHUNK_BLOCKS: usize = 256;

/// Maximum inflated size of a chunk in bytes. Readers charge their buffers to the ledger by this
/// size.
pub const MAX_CHUNK_BYTES: usize = CHUNK_INFLATED_BYTES + MAX_BLOCK;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BgzfBlock {
    pub start: u32,
    /// Size of the gzip header, so the DEFLATE data starts at `start + header`.
    pub header: u16,
    /// Size of the whole gzip member in bytes: header, DEFLATE data and the 8-byte footer.
    pub size: u32,
    /// Inflated size according to the footer (ISIZE). [`Inflater`](super::Inflater) verifies it.
    pub inflated: u32,
}

/// Consecutive blocks that one thread inflates together, about 1 MiB of data.
#[derive(Clone, Default)]
pub struct Chunk {
    pub compressed: Vec<u8>,
    pub blocks: Vec<BgzfBlock>,
    pub offset: u64,
    pub inflated: usize,
}

impl Chunk {
    fn clear(&mut self, offset: u64) {
        self.compressed.clear();
        self.blocks.clear();
        (self.offset, self.inflated) = (offset, 0);
    }

    /// Returns whether the chunk has reached one of its limits. `compressed` is the size of its
    /// blocks so far; the buffer may already hold bytes of later blocks.
    fn is_full(&self, compressed: usize, max_blocks: usize) -> bool {
        self.inflated >= CHUNK_INFLATED_BYTES
            || compressed >= CHUNK_COMPRESSED_BYTES
            || self.blocks.len() >= max_blocks
    }
}

/// Splits a BGZF file into chunks without inflating it.
///
/// Claiming a chunk is fast, because only the block headers are parsed. In the pipeline, one thread
/// at a time claims chunks, and all threads inflate them.
///
/// The file must end with [`EOF_BLOCK`] unless the reader allows it to be missing.
/// [`BlockReader::with_tail`] selects what may follow the blocks.
///
/// ```
/// use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater};
///
/// let mut file = Vec::new();
/// let mut deflater = Deflater::new(Codec::Libdeflate, 6);
/// deflater.deflate_block(b"first ", &mut file);
/// deflater.deflate_block(b"second", &mut file);
/// file.extend_from_slice(&EOF_BLOCK);
///
/// let mut reader = BlockReader::new(&file[..], false);
/// let (mut chunk, mut inflater, mut text) = (Chunk::default(), Inflater::default(), Vec::new());
/// while reader.next_chunk(&mut chunk)? {
///     inflater.append_chunk(&chunk, &mut text)?;
/// }
/// assert_eq!(text, b"first second");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct BlockReader<R> {
    input: BlockInput<R>,
    /// Bytes that were read beyond the end of the last chunk. They start the next one.
    read_ahead: Vec<u8>,
    offset: u64,
    inflated: u64,
    last_was_eof_block: bool,
    allow_missing_eof: bool,
    lacks_eof: Option<Arc<AtomicBool>>,
    tail: BlockTail,
    max_blocks: usize,
    read_size: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockTail {
    /// Nothing may follow: BAM and CRAM.
    #[default]
    Nothing,
    /// NUL bytes, which tapes and some copy programs add to fill their last block.
    Nuls,
    /// Plain gzip members, as in a file that `cat` joined from bgzip and gzip output, and NUL
    /// bytes. Block offsets equal file offsets only up to the first such member.
    Members,
}

/// Number of bytes per read call, which go straight into the chunk. Bytes beyond the end of a chunk
/// are copied to the next one, so this is a small part of a chunk.
const READ_SIZE: usize = 64 << 10;

const SMALL_READ_SIZE: usize = 24 << 10;

impl<R: Read> BlockReader<R> {
    /// Returns a reader of `input`, which starts with a block. A missing EOF block at the end is an
    /// error unless `allow_missing_eof` is set (the option `--allow-missing-eof`).
    pub fn new(input: R, allow_missing_eof: bool) -> Self {
        let beyond = Vec::new();
        BlockReader {
            input: BlockInput::Blocks(input),
            read_ahead: beyond,
            offset: 0,
            inflated: 0,
            last_was_eof_block: false,
            allow_missing_eof,
            lacks_eof: None,
            tail: BlockTail::Nothing,
            max_blocks: CHUNK_BLOCKS,
            read_size: READ_SIZE,
        }
    }

    /// Sets the file offset at which the input starts, for reading regions and parts of files.
    #[must_use]
    pub fn from_offset(self, offset: u64) -> Self {
        BlockReader { offset, ..self }
    }

    /// Selects the data that is accepted after the blocks. The default is [`BlockTail::Nothing`].
    #[must_use]
    pub fn with_tail(self, tail: BlockTail) -> Self {
        BlockReader { tail, ..self }
    }

    /// Accepts a file without an EOF block, and sets `lacks_eof` to true if it is missing. The
    /// FASTQ reader uses this to report a missing EOF block later instead of failing at once.
    #[must_use]
    pub fn with_missing_eof_flag(self, lacks_eof: Arc<AtomicBool>) -> Self {
        BlockReader { allow_missing_eof: true, lacks_eof: Some(lacks_eof), ..self }
    }

    /// Limits later chunks to `blocks` blocks; `None` restores the usual size. A reader that needs
    /// only a header or a small region uses this to inflate little more than that.
    pub fn limit_chunks(&mut self, blocks: Option<usize>) {
        self.max_blocks = blocks.map_or(CHUNK_BLOCKS, |blocks| blocks.clamp(1, CHUNK_BLOCKS));
        self.read_size = if blocks.is_some() { SMALL_READ_SIZE } else { READ_SIZE };
    }

    /// Returns the file offset of the next block, and the total inflated size of the blocks so far,
    /// in bytes.
    pub fn offset_and_inflated_bytes(&self) -> (u64, u64) {
        (self.offset, self.inflated)
    }

    /// Returns the `n` bytes of `chunk` from `start` on, reading them first if necessary. The
    /// result is shorter only at the end of the file.
    fn buffered_bytes<'a>(&mut self, chunk: &'a mut Chunk, start: usize, n: usize) -> Result<&'a [u8]> {
        let bytes = &mut chunk.compressed;
        while bytes.len() < start + n {
            match (&mut self.input).take(self.read_size as u64).read_to_end(bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => {
                    let is_damaged = self.input.has_members() && e.raw_os_error().is_none();
                    let error = match is_damaged {
                        true => Error::input(format!("the gzip data is damaged or truncated ({e})"))
                            .hint("download or create the file again"),
                        false => Error::io("reading failed", &e).offset(self.offset),
                    };
                    return Err(error);
                }
            }
        }
        Ok(&bytes[start..bytes.len().min(start + n)])
    }

    /// Reads the next chunk into `chunk`, whose memory is reused. Returns `false` at the end of the
    /// file.
    ///
    /// # Errors
    /// Fails if the input cannot be read, a header is damaged, or the file is truncated.
    pub fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear(self.offset);
        chunk.compressed.append(&mut self.read_ahead);
        let mut start = 0;
        while !chunk.is_full(start, self.max_blocks) {
            let Some((header, size)) = self.next_header(chunk, start)? else { break };
            let member = self.buffered_bytes(chunk, start, size)?;
            let footer = member.last_chunk::<4>().filter(|_| member.len() == size);
            let inflated = u32::from_le_bytes(*footer.ok_or_else(|| truncated_error(self.offset))?);
            if inflated as usize > MAX_BLOCK {
                let what = "a BGZF block has a stated length of more than 64 KiB";
                return Err(Error::input(what).offset(self.offset));
            }
            self.last_was_eof_block = member == EOF_BLOCK;
            chunk.blocks.push(BgzfBlock {
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
        self.read_ahead.extend_from_slice(&chunk.compressed[start..]);
        chunk.compressed.truncate(start);
        Ok(!chunk.blocks.is_empty())
    }

    /// Parses the block header at offset `start` of `chunk`. Returns the size of the header and of
    /// the whole member in bytes, or `None` at the end of the file.
    fn next_header(&mut self, chunk: &mut Chunk, start: usize) -> Result<Option<(usize, usize)>> {
        let (offset, complete) = (self.offset, self.last_was_eof_block || self.allow_missing_eof);
        let fixed = self.buffered_bytes(chunk, start, 12)?;
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
            .hint("download or create the file again, or use --allow-missing-eof to read the part that exists"));
        }
        let is_padding = fixed[0] == 0 && self.tail != BlockTail::Nothing;
        if is_padding && !self.input.has_members() {
            return self.skip_nuls(chunk, start);
        }
        if fixed.len() < 12 && (fixed[0] == 0x1f || !self.last_was_eof_block) {
            return Err(truncated_error(offset));
        }
        if fixed[0] != 0x1f || fixed[..3] != [0x1f, 0x8b, 8] || fixed[3] & 4 == 0 {
            let is_gzip = fixed.starts_with(&[0x1f, 0x8b, 8]);
            if is_gzip && self.tail == BlockTail::Members && !self.input.has_members() {
                let start_of_members = chunk.compressed.split_off(start);
                self.input.switch_to_members(start_of_members);
                return self.next_header(chunk, start);
            }
            return Err(self.not_bgzf_error(is_gzip));
        }
        let header = 12 + usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
        let plain = fixed[3] == 4;
        let head = self.buffered_bytes(chunk, start, header)?;
        if head.len() < header {
            return Err(truncated_error(offset));
        }
        let size = find_block_size(&head[12..]).filter(|&size| plain && size > header + 8);
        let size =
            size.ok_or_else(|| Error::input("the header of a BGZF block is damaged").offset(offset))?;
        Ok(Some((header, size)))
    }
}

impl<R: Read> BlockReader<R> {
    fn skip_nuls(&mut self, chunk: &mut Chunk, start: usize) -> Result<Option<(usize, usize)>> {
        loop {
            if chunk.compressed[start..].iter().any(|byte| *byte != 0) {
                return Err(self.not_bgzf_error(false));
            }
            chunk.compressed.truncate(start);
            if self.buffered_bytes(chunk, start, 1)?.is_empty() {
                return self.next_header(chunk, start);
            }
        }
    }

    fn not_bgzf_error(&self, is_gzip: bool) -> Error {
        let (what, hint) = match (is_gzip, self.last_was_eof_block) {
            (true, _) => (
                "this is gzip, but not BGZF",
                "compress the file with bgzip: gzip -dc FILE | bgzip > NEW".into(),
            ),
            (_, true) => (
                "the bytes after the BGZF EOF block are not BGZF",
                format!("remove them: head -c {} FILE > NEW", self.offset),
            ),
            _ => ("this is not a BGZF block", "the file is damaged: download or create it again".into()),
        };
        Error::input(what).offset(self.offset).hint(hint)
    }
}

/// Returns the size of a block (BSIZE + 1) from its gzip extra fields. Other fields may precede
/// `BC`.
fn find_block_size(mut extra: &[u8]) -> Option<usize> {
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

fn truncated_error(offset: u64) -> Error {
    Error::input("the file ends inside a BGZF block")
        .offset(offset)
        .hint("the file is truncated: download or create it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::{BLOCK_PAYLOAD, Codec, Deflater, Inflater};

    fn file(payload: &[u8], eof: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut deflater = Deflater::new(Codec::default(), 1);
        for piece in payload.chunks(BLOCK_PAYLOAD) {
            deflater.deflate_block(piece, &mut out);
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
            inflater.append_chunk(&chunk, &mut out)?;
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
        let first = find_block_size(&bytes[12..18]).unwrap();
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

//! Random access to a BGZF file: a window of inflated bytes that starts at any block and grows
//! block by block.
//!
//! The caller works with positions in [`BlockWindow::bytes`]; the window translates between these and
//! virtual offsets. It is used to read regions of an indexed BAM file, and the slices of a job in
//! stages.

use std::fs::File;
use std::sync::Arc;

use readmill_record::{Charge, Result, make_room};

use super::{BlockReader, Chunk, Inflater};
use crate::file_slice::FileSlice;

const MAX_CONSUMED_BYTES: usize = 1 << 16;

/// Maximum number of consumed blocks that are kept. Blocks may be tiny, so a limit of bytes alone would
/// not limit the list.
const MAX_CONSUMED_BLOCKS: usize = 1 << 10;

/// The inflated bytes of consecutive blocks of a file, with the position of each block.
pub struct BlockWindow {
    file: Arc<File>,
    reader: BlockReader<FileSlice>,
    inflater: Inflater,
    chunk: Chunk,
    at_a_time: Option<usize>,
    bytes: Vec<u8>,
    starts: Vec<(u64, usize)>,
    ended: bool,
    is_short: bool,
    kept_bytes: usize,
    charge: Charge,
}

impl BlockWindow {
    /// Opens a window at the block at file offset `offset`. [`BlockWindow::inflate_more`] inflates
    /// `at_a_time` blocks, or a whole chunk if `at_a_time` is `None`. `charge` pays for the inflated
    /// bytes.
    pub fn new(file: &Arc<File>, offset: u64, at_a_time: Option<usize>, charge: Charge) -> Self {
        let (inflater, chunk, bytes, starts, ended, is_short, kept) = Default::default();
        let reader = open_reader(file, offset, at_a_time);
        let file = Arc::clone(file);
        BlockWindow {
            file,
            reader,
            inflater,
            chunk,
            at_a_time,
            bytes,
            starts,
            ended,
            is_short,
            kept_bytes: kept,
            charge,
        }
    }

    /// Makes [`Self::forget_consumed`] keep at least `bytes` consumed bytes, so that
    /// [`Self::block_range`] still finds the blocks before the current one.
    pub fn keep_consumed(&mut self, bytes: usize) {
        self.kept_bytes = bytes;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether nothing more can be inflated, at the end of the file or because the ledger has no
    /// memory left (see [`Self::is_short`]).
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns whether reading ended early because the ledger had no memory for the next blocks.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    pub fn next_offset(&self) -> u64 {
        self.reader.offset_and_inflated_bytes().0
    }

    /// Inflates the next blocks and appends them to the bytes. Returns `false` at the end of the file,
    /// or if there is no memory for them; [`Self::is_short`] is then true.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or a block is damaged.
    pub fn inflate_more(&mut self) -> Result<bool> {
        let BlockWindow { reader, inflater, chunk, bytes, starts, charge, .. } = self;
        if !reader.next_chunk(chunk)? {
            self.ended = true;
            return Ok(false);
        }
        if make_room(bytes, chunk.inflated, charge).is_err() {
            (self.ended, self.is_short) = (true, true);
            return Ok(false);
        }
        let mut at = bytes.len();
        for block in &chunk.blocks {
            starts.push((chunk.offset + u64::from(block.start), at));
            at += block.inflated as usize;
        }
        inflater.append_chunk(chunk, bytes)?;
        Ok(true)
    }

    /// Continues at the block at file offset `offset`. All bytes and positions so far are dropped.
    pub fn move_to_block(&mut self, offset: u64) {
        self.bytes.clear();
        self.starts.clear();
        (self.ended, self.is_short) = (false, false);
        self.reader = open_reader(&self.file, offset, self.at_a_time);
    }

    /// Drops the blocks that end before byte `at`, except those that [`Self::keep_consumed`] protects.
    /// Returns the number of bytes removed from the front, which the caller subtracts from its
    /// positions. To save copies, nothing is removed until enough blocks can be dropped.
    pub fn forget_consumed(&mut self, at: usize) -> usize {
        let before = |at: usize| self.starts.partition_point(|&(_, start)| start < at).saturating_sub(1);
        // Blocks may be tiny, and the list of their starts also takes memory.
        let keep = before(at.saturating_sub(self.kept_bytes))
            .max(before(at).saturating_sub(MAX_CONSUMED_BLOCKS));
        let cut = self.starts.get(keep).map_or(0, |&(_, start)| start);
        if cut < MAX_CONSUMED_BYTES.max(self.kept_bytes) && keep < MAX_CONSUMED_BLOCKS {
            return 0;
        }
        self.bytes.drain(..cut);
        self.starts.drain(..keep);
        self.starts.iter_mut().for_each(|(_, start)| *start -= cut);
        cut
    }

    /// Returns the position of the first block at or after file offset `offset`; `None` if it has
    /// not been inflated yet.
    pub fn first_block_from(&self, offset: u64) -> Option<usize> {
        let block = self.starts.partition_point(|&(start, _)| start < offset);
        self.starts.get(block).map(|&(_, at)| at)
    }

    /// Returns the position and the length of the block at file offset `offset`; `None` if it is
    /// not in the window.
    pub fn block_range(&self, offset: u64) -> Option<(usize, usize)> {
        let block = self.starts.binary_search_by_key(&offset, |&(start, _)| start).ok()?;
        let (_, at) = self.starts[block];
        let end = self.starts.get(block + 1).map_or(self.bytes.len(), |&(_, end)| end);
        Some((at, end - at))
    }

    /// Returns the file offset of the block that contains byte `at`, and the position of the byte in the
    /// block. Together they are its virtual offset. For the end of the bytes, returns the start of the
    /// next block.
    pub fn virtual_position(&self, at: usize) -> (u64, usize) {
        if at == self.bytes.len() {
            return (self.next_offset(), 0);
        }
        let block = self.starts.partition_point(|&(_, start)| start <= at).saturating_sub(1);
        let (offset, start) = self.starts.get(block).copied().unwrap_or((self.next_offset(), at));
        (offset, at - start)
    }
}

fn open_reader(file: &Arc<File>, offset: u64, at_a_time: Option<usize>) -> BlockReader<FileSlice> {
    let slice = FileSlice::new(file, offset, u64::MAX);
    let mut reader = BlockReader::new(slice, true).from_offset(offset);
    reader.limit_chunks(at_a_time);
    reader
}

#[cfg(test)]
mod tests {
    use readmill_record::Ledger;

    use super::*;
    use crate::bgzf::{Codec, Deflater, EOF_BLOCK};

    /// Returns a file with a block for each payload, and the offsets of the blocks.
    fn file(payloads: &[&[u8]]) -> (Arc<File>, Vec<u64>) {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        let mut deflater = Deflater::new(Codec::default(), 1);
        for payload in payloads {
            offsets.push(bytes.len() as u64);
            deflater.deflate_block(payload, &mut bytes);
        }
        offsets.push(bytes.len() as u64);
        bytes.extend_from_slice(&EOF_BLOCK);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        (Arc::new(file.reopen().unwrap()), offsets)
    }

    #[test]
    fn bytes_know_where_they_lie() {
        let (file, offsets) = file(&[b"abc", b"", b"defg"]);
        let charge = Ledger::unlimited().empty_charge("test");
        let mut window = BlockWindow::new(&file, offsets[0], Some(1), charge);
        assert!(window.inflate_more().unwrap() && window.bytes() == b"abc");
        assert_eq!(window.virtual_position(2), (offsets[0], 2));
        assert_eq!(window.virtual_position(3), (offsets[1], 0));
        while window.inflate_more().unwrap() {}
        assert_eq!(window.bytes(), b"abcdefg");
        assert_eq!(
            (window.virtual_position(3), window.virtual_position(6)),
            ((offsets[2], 0), (offsets[2], 3))
        );
        assert_eq!(window.block_range(offsets[2]), Some((3, 4)));
        assert_eq!(window.block_range(offsets[1]), Some((3, 0)));
        assert_eq!((window.block_range(1), window.first_block_from(1)), (None, Some(3)));
        window.move_to_block(offsets[2]);
        assert!(window.inflate_more().unwrap() && window.bytes() == b"defg");
        assert_eq!(window.virtual_position(1), (offsets[2], 1));
        window.move_to_block(1);
        assert!(window.inflate_more().is_err(), "there is no block");
    }

    #[test]
    fn what_is_behind_is_forgotten() {
        let block = [7; 60_000];
        let (file, offsets) = file(&[&block[..]; 8]);
        let charge = Ledger::unlimited().empty_charge("test");
        let mut window = BlockWindow::new(&file, 0, Some(1), charge);
        while window.inflate_more().unwrap() {}
        assert_eq!(window.forget_consumed(100_000), 0);
        assert_eq!(window.forget_consumed(400_000), 360_000);
        assert_eq!(window.virtual_position(40_000), (offsets[6], 40_000));
        assert_eq!(window.bytes().len(), 120_000);
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let block = [7; 60_000];
        let (file, offsets) = file(&[&block[..]; 8]);
        let mut window = BlockWindow::new(&file, 0, Some(1), Ledger::unlimited().empty_charge("test"));
        window.keep_consumed(130_000);
        while window.inflate_more().unwrap() {}
        assert_eq!(window.forget_consumed(300_000), 0);
        assert_eq!(window.forget_consumed(480_000), 300_000);
        assert_eq!(
            (window.block_range(offsets[4]), window.block_range(offsets[5])),
            (None, Some((0, 60_000)))
        );
    }
}

//! Plain gzip members after BGZF blocks, as in the output of `cat bgzipped.gz gzipped.gz`. They are
//! converted to stored BGZF blocks while they are read.
//!
//! So the block reader needs no second code path. The blocks before the first member are still
//! inflated on any thread; only the members are inflated on the thread that reads the file.

use std::io::{self, BufReader, Chain, Cursor, Read};

use super::EOF_BLOCK;
use crate::gzip::GzipMembers;

const PAYLOAD: usize = 60 << 10;

const READ_SIZE: usize = 64 << 10;

/// The input of a [`super::BlockReader`]. It starts with blocks, and switches to members at the
/// first header of plain gzip.
pub(super) enum BlockInput<R> {
    Blocks(R),
    Members(Box<StoredBlocks<R>>),
    Nothing,
}

impl<R: Read> BlockInput<R> {
    /// Switches to gzip members. `start` holds the bytes of the first member that have been read
    /// already.
    pub fn switch_to_members(&mut self, start: Vec<u8>) {
        if let BlockInput::Blocks(input) = std::mem::replace(self, BlockInput::Nothing) {
            *self = BlockInput::Members(Box::new(StoredBlocks::new(start, input)));
        }
    }

    pub fn has_members(&self) -> bool {
        matches!(self, BlockInput::Members(_))
    }
}

impl<R: Read> Read for BlockInput<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            BlockInput::Blocks(input) => input.read(into),
            BlockInput::Members(members) => members.read(into),
            BlockInput::Nothing => Ok(0),
        }
    }
}

pub(super) struct StoredBlocks<R> {
    text: GzipMembers<BufReader<Chain<Cursor<Vec<u8>>, R>>>,
    block: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> StoredBlocks<R> {
    fn new(start: Vec<u8>, input: R) -> Self {
        let input = BufReader::with_capacity(READ_SIZE, Cursor::new(start).chain(input));
        StoredBlocks { text: GzipMembers::new(input), block: Vec::new(), at: 0, ended: false }
    }

    fn next_block(&mut self) -> io::Result<()> {
        let mut text = Vec::with_capacity(PAYLOAD);
        (&mut self.text).take(PAYLOAD as u64).read_to_end(&mut text)?;
        self.block.clear();
        self.at = 0;
        self.ended = text.is_empty();
        if self.ended {
            self.block.extend_from_slice(&EOF_BLOCK);
            return Ok(());
        }
        let length = text.len() as u16; // at most 60 KiB, so it fits
        // Header, the five bytes that precede stored data, and the footer.
        let size = (18 + 5 + text.len() + 8 - 1) as u16;
        self.block.extend_from_slice(&EOF_BLOCK[..16]);
        self.block.extend_from_slice(&size.to_le_bytes());
        self.block.push(1);
        self.block.extend_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(&(!length).to_le_bytes());
        self.block.extend_from_slice(&text);
        self.block.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        self.block.extend_from_slice(&u32::from(length).to_le_bytes());
        Ok(())
    }
}

impl<R: Read> Read for StoredBlocks<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            if self.ended {
                return Ok(0);
            }
            self.next_block()?;
        }
        let n = into.len().min(self.block.len() - self.at);
        into[..n].copy_from_slice(&self.block[self.at..][..n]);
        self.at += n;
        Ok(n)
    }
}

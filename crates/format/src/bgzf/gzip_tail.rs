//! Plain gzip members behind BGZF blocks (`cat bgzipped.gz gzipped.gz`), made into blocks while they are read.
//!
//! Such a block stores its bytes as they are, so that whoever reads blocks needs not know of other members. The blocks before
//! are inflated on any thread as ever; the members are inflated where they are read.

use std::io::{self, BufReader, Chain, Cursor, Read};

use super::EOF_BLOCK;
use crate::gzip::GzipMembers;

/// Bytes of a stored block.
const PAYLOAD: usize = 60 << 10;

/// Bytes of compressed data that are read at a time.
const READ_SIZE: usize = 64 << 10;

/// The input of a reader of blocks.
pub(super) enum BlockInput<R> {
    /// Blocks as they are stored.
    Blocks(R),
    /// Members as blocks.
    Members(Box<StoredBlocks<R>>),
    /// No input any more.
    Nothing,
}

impl<R: Read> BlockInput<R> {
    /// Reads members from here on; `start` has been read already.
    pub fn go_on_with_members(&mut self, start: Vec<u8>) {
        if let BlockInput::Blocks(input) = std::mem::replace(self, BlockInput::Nothing) {
            *self = BlockInput::Members(Box::new(StoredBlocks::new(start, input)));
        }
    }

    /// Whether members are read.
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

/// The text of members as BGZF, with its EOF block.
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

    /// Makes the next block; the last one is the EOF block.
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
        let length = text.len() as u16; // of at most 60 KiB
        // Header, the five bytes before stored data, and the footer.
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

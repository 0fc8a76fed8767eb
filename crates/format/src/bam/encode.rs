//! One partition of the output: records into BGZF blocks, and the index entries that belong to them.
//!
//! A partition starts a block of its own, so it can be encoded on any thread; where it lands in the
//! file is decided when it is written.

use readmill_record::{Batch, RecordRef};

use super::index::{Fragment, FragmentBuilder, Scheme};
use crate::bgzf::{BLOCK_PAYLOAD, Deflater};

/// One thread's encoder.
pub struct Encoder {
    deflater: Deflater,
    block: Vec<u8>,
    index: Option<FragmentBuilder>,
}

impl Encoder {
    /// An encoder at a compression level (0 to 12), which notes index entries if given a scheme.
    pub fn new(level: u8, index: Option<Scheme>) -> Self {
        Encoder {
            deflater: Deflater::new(level),
            block: Vec::with_capacity(BLOCK_PAYLOAD),
            index: index.map(FragmentBuilder::new),
        }
    }

    /// Appends bytes that are not records, such as the header, as blocks of their own.
    pub fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(BLOCK_PAYLOAD) {
            self.deflater.block(piece, out);
        }
    }

    /// Appends the batch's records as whole blocks. A block is closed, as htslib closes it, before a
    /// record that would not fit; a record larger than a block is spread over several.
    pub fn partition(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Option<Fragment> {
        let base = out.len();
        let mut open: Option<(RecordRef<'_>, u64)> = None;
        for (_, record) in batch.records() {
            let raw = record.raw();
            if self.block.len() + raw.len() > BLOCK_PAYLOAD {
                self.close_block(out);
            }
            let start = ((out.len() - base) as u64) << 16 | self.block.len() as u64;
            self.note(open.replace((record, start)), start);
            if raw.len() <= BLOCK_PAYLOAD {
                self.block.extend_from_slice(raw);
            } else {
                self.bytes(raw, out);
            }
        }
        self.close_block(out);
        self.note(open, ((out.len() - base) as u64) << 16);
        self.index.as_mut().map(FragmentBuilder::finish)
    }

    fn note(&mut self, done: Option<(RecordRef<'_>, u64)>, end: u64) {
        if let (Some(index), Some((record, start))) = (&mut self.index, done) {
            index.add(record, start, end);
        }
    }

    fn close_block(&mut self, out: &mut Vec<u8>) {
        if !self.block.is_empty() {
            self.deflater.block(&self.block, out);
            self.block.clear();
        }
    }
}

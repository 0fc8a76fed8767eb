//! BAM (SAM specification, section 4.2): its header, its index, and an [`Encoder`] of one partition of the output: records
//! as BGZF blocks, with their index entries.
//!
//! A partition starts a new block, so any thread can encode it; its place in the file is known when it is written.

pub mod header;
pub mod index;

use readmill_record::{Batch, RecordRef};

use crate::bgzf::{BLOCK_PAYLOAD, Codec, Deflater};
use index::{Fragment, FragmentBuilder, Scheme};

/// One thread's encoder.
pub struct Encoder {
    deflater: Deflater,
    block: PendingBlock,
    index: Option<FragmentBuilder>,
}

/// The block to fill. Records that are contiguous in the batch, as they are unless a step dropped or rewrote some,
/// are compressed in place.
#[derive(Default)]
struct PendingBlock {
    /// The range of its bytes in the batch, as long as they are contiguous.
    piece: std::ops::Range<usize>,
    /// Its bytes, if they are not contiguous.
    copied: Vec<u8>,
}

impl PendingBlock {
    fn len(&self) -> usize {
        self.piece.len() + self.copied.len()
    }

    /// Adds the bytes of `batch` in `range`.
    fn push(&mut self, batch: &[u8], range: std::ops::Range<usize>) {
        if self.len() == 0 {
            self.piece = range;
        } else if self.copied.is_empty() && self.piece.end == range.start {
            self.piece.end = range.end;
        } else {
            self.copied.extend_from_slice(&batch[std::mem::take(&mut self.piece)]);
            self.copied.extend_from_slice(&batch[range]);
        }
    }

    /// Compresses the bytes and empties the block.
    fn close(&mut self, batch: &[u8], deflater: &mut Deflater, out: &mut Vec<u8>) {
        if self.len() > 0 {
            let piece = &batch[std::mem::take(&mut self.piece)];
            deflater.block(if piece.is_empty() { &self.copied } else { piece }, out);
            self.copied.clear();
        }
    }
}

impl Encoder {
    /// An encoder with a codec at a level (0 to 12); with a scheme, it collects index entries.
    pub fn new(codec: Codec, level: u8, index: Option<Scheme>) -> Self {
        Encoder {
            deflater: Deflater::new(codec, level),
            block: PendingBlock::default(),
            index: index.map(FragmentBuilder::new),
        }
    }

    /// Appends bytes that are not records, such as the header, in blocks of their own.
    pub fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(BLOCK_PAYLOAD) {
            self.deflater.block(piece, out);
        }
    }

    /// Appends the batch's records as whole blocks. A block ends before a record that would not fit, as in htslib;
    /// a record larger than a block is split over several.
    pub fn partition(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Option<Fragment> {
        let base = out.len();
        let mut open: Option<(RecordRef<'_>, u64)> = None;
        for &span in &batch.spans {
            let (from, len) = (span.start as usize, span.len as usize);
            if self.block.len() + len > BLOCK_PAYLOAD {
                self.block.close(&batch.bytes, &mut self.deflater, out);
            }
            let start = ((out.len() - base) as u64) << 16 | self.block.len() as u64;
            self.note(open.replace((batch.record(span), start)), start);
            if len <= BLOCK_PAYLOAD {
                self.block.push(&batch.bytes, from..from + len);
            } else {
                self.bytes(&batch.bytes[from..from + len], out);
            }
        }
        self.block.close(&batch.bytes, &mut self.deflater, out);
        self.note(open, ((out.len() - base) as u64) << 16);
        self.index.as_mut().map(FragmentBuilder::finish)
    }

    fn note(&mut self, done: Option<(RecordRef<'_>, u64)>, end: u64) {
        if let (Some(index), Some((record, start))) = (&mut self.index, done) {
            index.add(record, start, end);
        }
    }
}

//! BAM (SAM specification, section 4.2): its header, its index, and a [`BamEncoder`] for partitions of
//! the output.
//!
//! Each partition starts a new block, so any thread can encode it. Its file offset is known only when it
//! is written.

pub mod header;
pub mod index;

use readmill_record::{Batch, RecordRef};

use crate::bgzf::{BLOCK_PAYLOAD, Codec, Deflater};
use index::{Fragment, FragmentBuilder, IndexScheme};

/// Encodes partitions: turns records into BGZF blocks and, if requested, index entries. Each thread has
/// its own encoder.
///
/// ```
/// use readmill_format::bam::BamEncoder;
/// use readmill_format::bam::index::{IndexBuilder, IndexScheme};
/// use readmill_format::bgzf::Codec;
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Stamp};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let (mut raw, mut batch) = (Vec::new(), Batch::default());
/// let line = b"r1\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII";
/// LineParser::new(&header).parse(line, &mut raw)?;
/// batch.push(&raw, Stamp::new(0, 0))?;
///
/// // Any thread: encode a partition. Offsets in the fragment are relative to its first byte.
/// let scheme = IndexScheme::for_header(&header);
/// let mut blocks = Vec::new();
/// let mut encoder = BamEncoder::new(Codec::Libdeflate, 6, Some(scheme));
/// let fragment = encoder.encode_partition(&batch, &mut blocks).unwrap();
///
/// // Serially: the partition gets its offset in the file, and the index grows.
/// let mut index = IndexBuilder::new(scheme, &header);
/// index.add_fragment(fragment, 4096);
/// let mut bai = Vec::new();
/// index.write_to(&mut bai)?;
/// assert!(bai.starts_with(b"BAI\x01"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct BamEncoder {
    deflater: Deflater,
    block: PendingBlock,
    index: Option<FragmentBuilder>,
}

/// The block that is being filled. Records that are adjacent in the batch are compressed in place,
/// without a copy. They are adjacent unless a step dropped or rewrote some of them.
#[derive(Default)]
struct PendingBlock {
    piece: std::ops::Range<usize>,
    copied: Vec<u8>,
}

impl PendingBlock {
    fn len(&self) -> usize {
        self.piece.len() + self.copied.len()
    }

    fn push_record(&mut self, batch: &[u8], range: std::ops::Range<usize>) {
        if self.len() == 0 {
            self.piece = range;
        } else if self.copied.is_empty() && self.piece.end == range.start {
            self.piece.end = range.end;
        } else {
            self.copied.extend_from_slice(&batch[std::mem::take(&mut self.piece)]);
            self.copied.extend_from_slice(&batch[range]);
        }
    }

    fn close_block(&mut self, batch: &[u8], deflater: &mut Deflater, out: &mut Vec<u8>) {
        if self.len() > 0 {
            let piece = &batch[std::mem::take(&mut self.piece)];
            deflater.deflate_block(if piece.is_empty() { &self.copied } else { piece }, out);
            self.copied.clear();
        }
    }
}

impl BamEncoder {
    /// Returns an encoder that compresses with `codec` at `level` (0 to 12). If `index` is given, it
    /// also collects index entries.
    pub fn new(codec: Codec, level: u8, index: Option<IndexScheme>) -> Self {
        BamEncoder {
            deflater: Deflater::new(codec, level),
            block: PendingBlock::default(),
            index: index.map(FragmentBuilder::new),
        }
    }

    pub fn append_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(BLOCK_PAYLOAD) {
            self.deflater.deflate_block(piece, out);
        }
    }

    /// Appends the records of a batch as whole blocks, and returns their index entries if the encoder
    /// collects them. A block ends before a record that would not fit, as in htslib; a record larger
    /// than a block is split over several blocks.
    pub fn encode_partition(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Option<Fragment> {
        let base = out.len();
        let mut open: Option<(RecordRef<'_>, u64)> = None;
        for &span in &batch.spans {
            let (from, len) = (span.start as usize, span.len as usize);
            if self.block.len() + len > BLOCK_PAYLOAD {
                self.block.close_block(&batch.bytes, &mut self.deflater, out);
            }
            let start = ((out.len() - base) as u64) << 16 | self.block.len() as u64;
            self.index_record(open.replace((batch.record(span), start)), start);
            if len <= BLOCK_PAYLOAD {
                self.block.push_record(&batch.bytes, from..from + len);
            } else {
                self.append_bytes(&batch.bytes[from..from + len], out);
            }
        }
        self.block.close_block(&batch.bytes, &mut self.deflater, out);
        self.index_record(open, ((out.len() - base) as u64) << 16);
        self.index.as_mut().map(FragmentBuilder::finish_partition)
    }

    fn index_record(&mut self, done: Option<(RecordRef<'_>, u64)>, end: u64) {
        if let (Some(index), Some((record, start))) = (&mut self.index, done) {
            index.add_record(record, start, end);
        }
    }
}

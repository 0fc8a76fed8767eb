//! Indexes sorted text compressed by bgzip (VCF, BED, GFF, SAM), as tabix does, and BCF.
//!
//! An [`Indexer`] gets the inflated bytes of a file piece by piece, in order, with their virtual
//! offsets. It keeps the line or record that the end of a piece cuts. Each record begins where the
//! previous one ends; comment lines between two records belong to the later one.

mod bcf;
mod columns;
mod numbers;
mod sam;
mod text;
mod vcf;

pub use bcf::BcfIndexer;
pub use columns::TextPreset;
pub use sam::SamIndexer;
pub use text::TextIndexer;

use std::borrow::Cow;

use readmill_record::{Error, Result};

use crate::bam::index::{
    Fragment, FragmentBuilder, IndexBuilder, IndexFormat, IndexScheme, RecordInterval,
};
use crate::bgzf::VirtualOffsets;

/// Builds the index of a file from its inflated bytes, in one pass on one thread. `readmill index`
/// inflates chunks in parallel and passes them to an indexer in order.
///
/// ```
/// use readmill_format::bam::index::IndexFormat;
/// use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater, VirtualOffsets};
/// use readmill_format::tabix::{Indexer, TextIndexer, TextPreset};
///
/// let mut file = Vec::new();
/// Deflater::new(Codec::Libdeflate, 6).deflate_block(b"chr1\t10\t20\nchr1\t15\t30\n", &mut file);
/// file.extend_from_slice(&EOF_BLOCK);
///
/// let (mut reader, mut chunk) = (BlockReader::new(&file[..], false), Chunk::default());
/// let (mut inflater, mut bytes) = (Inflater::default(), Vec::new());
/// let mut indexer = Box::new(TextIndexer::new(TextPreset::Bed, IndexFormat::Tbi, 14));
/// while reader.next_chunk(&mut chunk)? {
///     inflater.replace_with_chunk(&chunk, &mut bytes)?;
///     indexer.take_piece(&bytes, &mut VirtualOffsets::new(&chunk))?;
/// }
/// let (index, _scheme, records) = indexer.finish_file(reader.offset_and_inflated_bytes().0 << 16)?;
/// assert_eq!(records, 2);
/// let mut tbi = Vec::new();
/// index.write_to(&mut tbi)?;
/// assert!(!tbi.is_empty());
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait Indexer: Send {
    /// Takes the next piece of the file. `offsets` translates positions in the piece to virtual offsets.
    ///
    /// # Errors
    /// Fails if a line or record is damaged, or out of order.
    fn take_piece(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()>;

    fn heap_bytes(&self) -> u64;

    /// Ends the file at virtual offset `end`. Returns the index, its scheme, and the number of records.
    ///
    /// # Errors
    /// Fails if the file ends within a record.
    fn finish_file(self: Box<Self>, end: u64) -> Result<(IndexBuilder, IndexScheme, u64)>;
}

struct EntryCollector {
    scheme: IndexScheme,
    fragment: FragmentBuilder,
    builder: IndexBuilder,
    start: u64,
    last: Option<(i32, i64)>,
    records: u64,
    /// Whether positions beyond the maximum of the index are clamped to it instead of being an error.
    clamps_positions: bool,
}

impl EntryCollector {
    fn new(scheme: IndexScheme, n_ref: usize, start: u64) -> Self {
        EntryCollector {
            scheme,
            fragment: FragmentBuilder::new(scheme),
            builder: IndexBuilder::with_reference_count(scheme, n_ref),
            start,
            last: None,
            records: 0,
            clamps_positions: false,
        }
    }

    /// Adds the next record, which ends at virtual offset `end`. `sorting` returns the hint on how to
    /// sort the file.
    ///
    /// # Errors
    /// Fails if the record is out of order, or beyond the maximum position of the index.
    fn add_record(
        &mut self,
        place: RecordInterval,
        end: u64,
        sorting: impl Fn() -> Cow<'static, str>,
    ) -> Result<()> {
        if let Some((ref_id, start)) = self.last {
            let (last, now) = (ref_id.cast_unsigned(), place.ref_id.cast_unsigned());
            if now < last || now == last && place.ref_id >= 0 && place.start < start {
                let what =
                    "the record is before the previous one, but only a sorted file can be indexed";
                return Err(Error::input(what).hint(sorting()));
            }
        }
        if !self.clamps_positions && place.ref_id >= 0 && place.end > self.scheme.max_bases() as i64 {
            return Err(self.position_error(place.end));
        }
        self.last = Some((place.ref_id, place.start));
        self.fragment.add_interval(place, self.start, end);
        (self.start, self.records) = (end, self.records + 1);
        Ok(())
    }

    /// Returns the error for a record that ends at base `end`, beyond the maximum of the index. The
    /// maximum of a CSI follows from the contig lengths that the header states.
    fn position_error(&self, end: i64) -> Error {
        let max = self.scheme.max_bases();
        if self.scheme.kind() == IndexFormat::Csi {
            let what = format!(
                "the record ends at base {end}, but the index has only {max} bases for each contig, because the header states no longer contig"
            );
            return Error::input(what)
                .hint("correct the contig lengths in the header: bcftools reheader -f FASTA.fai");
        }
        let what = format!("the record ends at base {end}, beyond the maximum of this index type");
        Error::input(what).hint("write a CSI index: --csi")
    }

    fn flush_entries(&mut self) {
        let fragment: Fragment = self.fragment.finish_partition();
        self.builder.add_fragment(fragment, 0);
    }
}

#[derive(Default)]
struct LineSplitter {
    partial: Vec<u8>,
    number: u64,
}

impl LineSplitter {
    /// Calls `line` with each complete line: its text without the line end, its number from 1, and the
    /// virtual offset after it.
    fn for_each_line(
        &mut self,
        bytes: &[u8],
        offsets: &mut VirtualOffsets<'_>,
        mut line: impl FnMut(&[u8], u64, u64) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            self.number += 1;
            let end = offsets.offset_of(newline + 1);
            let piece = &bytes[from..newline];
            from = newline + 1;
            if self.partial.is_empty() {
                line(without_return(piece), self.number, end)?;
            } else {
                self.partial.extend_from_slice(piece);
                line(without_return(&self.partial), self.number, end)?;
                self.partial.clear();
            }
        }
        self.partial.extend_from_slice(&bytes[from..]);
        Ok(())
    }

    fn take_rest(&mut self) -> Option<(Vec<u8>, u64)> {
        self.number += u64::from(!self.partial.is_empty());
        (!self.partial.is_empty()).then(|| (std::mem::take(&mut self.partial), self.number))
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

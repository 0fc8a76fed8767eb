//! Indexes of sorted text compressed by bgzip (VCF, BED, GFF, SAM), as tabix writes them, and of BCF.
//!
//! An indexer gets the inflated bytes of a file in pieces, in order, with their virtual offsets. It keeps the end of a line
//! or record that a piece cuts. Where a record ends, the next one begins; lines of comment between two records belong to
//! the later one.

mod bcf;
mod columns;
mod numbers;
mod sam;
mod text;
mod vcf;

pub use bcf::BcfIndexer;
pub use columns::Preset;
pub use sam::SamIndexer;
pub use text::TextIndexer;

use std::borrow::Cow;

use readmill_record::{Error, Result};

use crate::bam::index::{Fragment, FragmentBuilder, IndexBuilder, Interval, Scheme};
use crate::bgzf::VirtualOffsets;

/// Makes the index of a file from its bytes.
pub trait Indexer: Send {
    /// Takes the next piece of the file.
    ///
    /// # Errors
    /// A line or record is damaged, or out of order.
    fn take(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()>;

    /// Bytes of memory in use.
    fn heap_bytes(&self) -> u64;

    /// Ends the file, whose last byte is at `end`; returns its index, and the number of its records.
    ///
    /// # Errors
    /// It ends inside a record.
    fn finish(self: Box<Self>, end: u64) -> Result<(IndexBuilder, Scheme, u64)>;
}

/// Collects the entries of records that come one after the other.
struct Entries {
    scheme: Scheme,
    fragment: FragmentBuilder,
    builder: IndexBuilder,
    /// The virtual offset at which the next record begins.
    start: u64,
    last: Option<(i32, i64)>,
    records: u64,
    /// Whether records beyond what the index can hold count as at its end.
    clamps: bool,
}

impl Entries {
    /// Entries of a file whose first record begins at `start`.
    fn new(scheme: Scheme, n_ref: usize, start: u64) -> Self {
        Entries {
            scheme,
            fragment: FragmentBuilder::new(scheme),
            builder: IndexBuilder::of(scheme, n_ref),
            start,
            last: None,
            records: 0,
            clamps: false,
        }
    }

    /// Adds the next record, which ends at `end`. `sorting` tells how such a file is sorted.
    ///
    /// # Errors
    /// It is out of order, or beyond what the index can hold.
    fn add(&mut self, place: Interval, end: u64, sorting: impl Fn() -> Cow<'static, str>) -> Result<()> {
        if let Some((ref_id, start)) = self.last {
            let (last, now) = (ref_id.cast_unsigned(), place.ref_id.cast_unsigned());
            if now < last || now == last && place.ref_id >= 0 && place.start < start {
                let what = "it lies before the one ahead of it, and only a sorted file can be indexed";
                return Err(Error::input(what).hint(sorting()));
            }
        }
        if !self.clamps && place.ref_id >= 0 && place.end > self.scheme.most_bases() as i64 {
            let what = format!("it ends at base {}, beyond what this kind of index can hold", place.end);
            return Err(Error::input(what).hint("make a CSI index: --csi"));
        }
        self.last = Some((place.ref_id, place.start));
        self.fragment.add_interval(place, self.start, end);
        (self.start, self.records) = (end, self.records + 1);
        Ok(())
    }

    /// Adds what came since the last call to the index.
    fn flush(&mut self) {
        let fragment: Fragment = self.fragment.finish();
        self.builder.absorb(fragment, 0);
    }
}

/// Cuts bytes that come in pieces into lines.
#[derive(Default)]
struct Lines {
    /// The start of a line that the last piece cut.
    partial: Vec<u8>,
    /// Number of lines so far.
    number: u64,
}

impl Lines {
    /// Calls `line` with each complete line, without its end, its number from 1, and the virtual offset behind it.
    fn each(
        &mut self,
        bytes: &[u8],
        offsets: &mut VirtualOffsets<'_>,
        mut line: impl FnMut(&[u8], u64, u64) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            self.number += 1;
            let end = offsets.of(newline + 1);
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

    /// The last line, if it has no end.
    fn rest(&mut self) -> Option<(Vec<u8>, u64)> {
        self.number += u64::from(!self.partial.is_empty());
        (!self.partial.is_empty()).then(|| (std::mem::take(&mut self.partial), self.number))
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

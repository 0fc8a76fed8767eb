//! The setup that all decoders of an input share, and the state and buffers for decoding a record.

use std::collections::HashMap;

use readmill_record::{Charge, Header, Prepaid, Result, make_room};

use super::slice::{SliceHeader, SliceReference};
use crate::Version;
use crate::bases::References;
use crate::encoding::{SeriesEncoding, Streams};
use crate::reader::exceeds_container_error;
use crate::scheme::{Encodings, Scheme, TagKey};

/// The setup that all decoders of an input share: version, sources of bases, and read groups.
///
#[derive(Debug)]
pub struct Setup {
    pub version: Version,
    pub references: References,
    /// Prefix of generated names, for records without a stored name. htslib uses the file name.
    pub prefix: Vec<u8>,
    /// IDs of the read groups in header order. Records store the index.
    pub groups: Vec<Vec<u8>>,
    _charge: Charge,
}

impl Setup {
    /// Returns the setup for a file with this header. `prefix` begins the generated names of
    /// records without a stored name.
    ///
    /// # Errors
    /// The IDs of the read groups do not fit in memory.
    pub fn new(
        version: Version,
        header: &Header,
        references: References,
        prefix: &[u8],
    ) -> Result<Self> {
        let mut prepaid = Prepaid::new(references.ledger().empty_charge("read groups"));
        let mut groups = Vec::new();
        for line in header.lines_of_kind(b"RG") {
            let id = line.get(b"ID").unwrap_or_default();
            make_room(&mut groups, 1, prepaid.charge_mut())?;
            prepaid.pay_block(id.len())?;
            groups.push(id.to_vec());
        }
        let (prefix, _charge) = (prefix.to_vec(), prepaid.into_charge());
        Ok(Setup { version, references, prefix, groups, _charge })
    }

    /// Returns the maximum size in bytes of a record's RG field and its generated name, which are
    /// not stored as text. [`Container::max_bam_bytes`](crate::Container::max_bam_bytes) adds them
    /// for each record.
    pub fn max_implied_bytes(&self) -> usize {
        let group = self.groups.iter().map(Vec::len).max().map_or(0, |n| n + 4);
        group + self.prefix.len() + 22
    }
}

pub struct StoredTag<'a> {
    pub key: TagKey,
    pub encoding: &'a SeriesEncoding,
}

/// Buffers for the parts of a record before it is assembled, reused from record to record.
#[derive(Default)]
pub struct RecordBuffers {
    pub name: Vec<u8>,
    pub tags: Vec<u8>,
    pub seq: Vec<u8>,
    pub qual: Vec<u8>,
    pub cigar: Vec<u32>,
    pub md: Vec<u8>,
    pub stored: Vec<u8>,
}

impl RecordBuffers {
    pub fn capacity_bytes(&self) -> usize {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        let bytes = [name, tags, seq, qual, md, stored].map(Vec::capacity);
        bytes.iter().sum::<usize>() + cigar.capacity() * size_of::<u32>()
    }

    pub fn used_bytes(&self) -> usize {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        let bytes = [name, tags, seq, qual, md, stored].map(Vec::len);
        bytes.iter().sum::<usize>() + size_of_val(&cigar[..])
    }

    /// Clears all parts except the CIGAR, and sets the name to `*`, as for `Detail::Places`.
    pub fn keep_only_places(&mut self) {
        let RecordBuffers { name, tags, seq, qual, .. } = self;
        [&mut *name, tags, seq, qual].into_iter().for_each(Vec::clear);
        name.push(b'*');
    }

    pub fn clear(&mut self) {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        [name, tags, seq, qual, md, stored].into_iter().for_each(Vec::clear);
        cigar.clear();
    }
}

/// Which of MD and NM to compute because they are not stored.
#[derive(Clone, Copy, Default)]
pub struct WantedTags {
    pub md: bool,
    pub nm: bool,
}

/// The memory for the parts of a record.
pub struct PartsMemory<'a> {
    /// Size in bytes that was charged with the container.
    prepaid_bytes: usize,
    /// Maximum size in bytes of the parts of the current record. It is the size that the container
    /// has left.
    max_bytes: usize,
    /// The smaller of the two.
    free_bytes: usize,
    extra: &'a mut Charge,
}

impl<'a> PartsMemory<'a> {
    pub fn new(prepaid_bytes: usize, extra: &'a mut Charge) -> Self {
        PartsMemory { prepaid_bytes, max_bytes: 0, free_bytes: 0, extra }
    }

    pub fn start_record(&mut self, max_bytes: usize) {
        (self.max_bytes, self.free_bytes) = (max_bytes, max_bytes.min(self.prepaid_bytes));
    }

    /// Charges the parts of the record, which take `used` bytes in total. Parts above the usual
    /// size are charged one by one, because one very long read may be among short ones.
    ///
    /// # Errors
    /// The parts exceed the size that the container announced, or the free memory.
    #[inline]
    pub fn reserve(&mut self, used: usize) -> Result<()> {
        if used <= self.free_bytes { Ok(()) } else { self.charge_extra(used) }
    }

    #[cold]
    fn charge_extra(&mut self, used: usize) -> Result<()> {
        if used > self.max_bytes {
            return Err(exceeds_container_error());
        }
        let beyond = (used - self.prepaid_bytes) as u64;
        if beyond > self.extra.bytes() {
            self.extra.grow(beyond - self.extra.bytes())?;
        }
        Ok(())
    }
}

pub struct RecordReader<'a> {
    pub setup: &'a Setup,
    pub needs_only_places: bool,
    /// Whether the blocks of names, bases, qualities and tags have been left compressed.
    pub blocks_skipped: bool,
    pub scheme: &'a Scheme,
    pub slice: &'a SliceHeader,
    pub series: &'a Encodings,
    pub tag_lists: &'a [Vec<StoredTag<'a>>],
    pub streams: &'a mut Streams,
    pub bases: SliceReference<'a>,
    pub scratch: &'a mut RecordBuffers,
    /// Position of the previous record (1-based), the base for delta-coded positions.
    pub last_pos: i64,
    pub parts: PartsMemory<'a>,
    /// For templates without stored names: maps the index of a later record to that of the first
    /// one, whose name it gets.
    pub first_records: HashMap<usize, usize>,
}

#[derive(Clone, Copy, Default)]
pub struct FixedFields {
    pub flags: u16,
    /// CRAM flags (CF), such as [`DETACHED`](crate::scheme::DETACHED).
    pub cram: i32,
    pub contig: i32,
    pub pos: i64,
    /// Position of the last base (1-based, inclusive).
    pub end: i64,
    pub length: usize,
    pub mapq: u8,
    pub group: i32,
}

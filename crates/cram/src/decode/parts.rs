//! The setup that all decoders of an input share, and the state and buffers for reading a record.

use std::collections::HashMap;

use readmill_record::{Charge, Header, Prepaid, Result, make_room};

use super::slice::{Slice, SliceReference};
use crate::Version;
use crate::bases::References;
use crate::encoding::{Encoding, Streams};
use crate::scheme::{Encodings, Scheme, TagKey};

/// The state that all decoders of an input share.
#[derive(Debug)]
pub struct Setup {
    /// Version of the file.
    pub version: Version,
    /// The source of the bases.
    pub references: References,
    /// The prefix of names that are not stored: the name of the file, as in htslib.
    pub prefix: Vec<u8>,
    /// Names of the read groups, in the order of the header.
    pub groups: Vec<Vec<u8>>,
    /// The charge for the read groups.
    _charge: Charge,
}

impl Setup {
    /// The setup for a file with this header.
    ///
    /// # Errors
    /// The memory for the names is not free.
    pub fn new(
        version: Version,
        header: &Header,
        references: References,
        prefix: &[u8],
    ) -> Result<Self> {
        let mut prepaid = Prepaid::new(references.ledger().empty("read groups"));
        let mut groups = Vec::new();
        for line in header.lines_of(b"RG") {
            let id = line.get(b"ID").unwrap_or_default();
            make_room(&mut groups, 1, prepaid.charge())?;
            prepaid.block(id.len())?;
            groups.push(id.to_vec());
        }
        let (prefix, _charge) = (prefix.to_vec(), prepaid.into_charge());
        Ok(Setup { version, references, prefix, groups, _charge })
    }

    /// The most bytes that a record takes for its RG field and for a name that is not stored.
    pub fn most_implied_bytes(&self) -> usize {
        let group = self.groups.iter().map(Vec::len).max().map_or(0, |n| n + 4);
        group + self.prefix.len() + 22
    }
}

/// A tag of a record, and its encoding.
pub struct StoredTag<'a> {
    pub key: TagKey,
    pub encoding: &'a Encoding,
}

/// Memory for the parts of a record.
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
    /// Bytes of capacity.
    pub fn bytes(&self) -> usize {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        let bytes = [name, tags, seq, qual, md, stored].map(Vec::capacity);
        bytes.iter().sum::<usize>() + cigar.capacity() * size_of::<u32>()
    }

    /// Bytes that are in use.
    pub fn used(&self) -> usize {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        let bytes = [name, tags, seq, qual, md, stored].map(Vec::len);
        bytes.iter().sum::<usize>() + size_of_val(&cigar[..])
    }

    /// Empties all parts but the CIGAR; the name is that of reads without one.
    pub fn leave_places(&mut self) {
        let RecordBuffers { name, tags, seq, qual, .. } = self;
        [&mut *name, tags, seq, qual].into_iter().for_each(Vec::clear);
        name.push(b'*');
    }

    /// Empties all parts.
    pub fn clear(&mut self) {
        let RecordBuffers { name, tags, seq, qual, cigar, md, stored } = self;
        [name, tags, seq, qual, md, stored].into_iter().for_each(Vec::clear);
        cigar.clear();
    }
}

/// Which of MD and NM to make.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    pub md: bool,
    pub nm: bool,
}

/// Reads the records of a slice.
pub struct RecordReader<'a> {
    pub setup: &'a Setup,
    /// Whether only the places of reads are wanted.
    pub places_only: bool,
    /// Whether names, bases, qualities and tags were left out of `streams`.
    pub left_out: bool,
    pub scheme: &'a Scheme,
    pub slice: &'a Slice,
    pub series: &'a Encodings,
    pub lines: &'a [Vec<StoredTag<'a>>],
    pub streams: &'a mut Streams,
    pub bases: SliceReference<'a>,
    pub scratch: &'a mut RecordBuffers,
    /// Position of the record before (1-based).
    pub last_pos: i64,
    /// The most bytes that the parts of the current record may take.
    pub most: usize,
    /// Bytes of parts that are always available.
    pub parts: usize,
    /// The charge for more than these.
    pub extra: &'a mut Charge,
    /// First records of templates without a name, by the index of their next record.
    pub heads: HashMap<usize, usize>,
}

/// Fields of fixed size.
#[derive(Clone, Copy, Default)]
pub struct Fixed {
    pub flags: u16,
    /// CRAM's own flags.
    pub cram: i32,
    pub contig: i32,
    /// 1-based.
    pub pos: i64,
    /// 1-based, the last base.
    pub end: i64,
    pub length: usize,
    pub mapq: u8,
    pub group: i32,
}

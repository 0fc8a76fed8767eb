//! The state and the buffers for reading a record.

use std::collections::HashMap;

use readmill_record::Charge;

use super::setup::Setup;
use super::slice::Slice;
use super::slice_reference::SliceReference;
use crate::encoding::{Encoding, Streams};
use crate::scheme::{Encodings, Scheme, TagKey};

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

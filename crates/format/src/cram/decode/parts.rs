//! What a record is read with, and into.

use std::collections::HashMap;

use super::setup::Setup;
use super::slice::Slice;
use super::source::Source;
use crate::cram::encoding::{Encoding, Streams};
use crate::cram::scheme::{Encodings, Scheme, TagKey};

/// A tag of a record, and how it is stored.
pub struct StoredTag<'a> {
    pub key: TagKey,
    pub encoding: &'a Encoding,
}

/// Memory for the parts of a record.
#[derive(Default)]
pub struct Scratch {
    pub name: Vec<u8>,
    pub tags: Vec<u8>,
    pub seq: Vec<u8>,
    pub qual: Vec<u8>,
    pub cigar: Vec<u32>,
    pub md: Vec<u8>,
    pub stored: Vec<u8>,
}

/// What of MD and NM is to be made.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    pub md: bool,
    pub nm: bool,
}

/// Reads the records of a slice.
pub struct Reader<'a> {
    pub setup: &'a Setup,
    pub scheme: &'a Scheme,
    pub slice: &'a Slice,
    pub series: &'a Encodings,
    pub lines: &'a [Vec<StoredTag<'a>>],
    pub streams: &'a mut Streams,
    pub bases: Source<'a>,
    pub scratch: &'a mut Scratch,
    /// Position of the record before (1-based).
    pub last_pos: i64,
    /// First records of templates without a name, by the number of the record that follows in them.
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

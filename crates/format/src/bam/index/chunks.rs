//! Indexes an existing BAM file. Its chunks are inflated and indexed on any thread.
//!
//! 1. [`ChunkReader::open_chunk`] (any thread) inflates a chunk and guesses where its first record
//!    starts.
//! 2. [`ChunkJoiner::join_chunk`] (serial) confirms the guess, and completes the record that the end of
//!    the previous chunk cut off.
//! 3. [`ChunkIndexer::index_chunk`] (any thread) collects the index entries of the chunk.
//! 4. [`OrderCheck::check_chunk`] (serial) compares the chunk with the previous one; then the entries go
//!    to the index builder.

use readmill_record::{Error, Limit, RecordRef, Result, UncheckedRecord};

use super::{Fragment, FragmentBuilder, IndexScheme, RecordInterval};
use crate::bgzf::{Chunk, Inflater, VirtualOffsets};
use crate::chain::{TRUNCATED_RECORD, check_block_size, looks_like_records};

#[derive(Default)]
pub struct OpenChunk {
    chunk: Chunk,
    bytes: Vec<u8>,
    first: usize,
    exit: usize,
    records: u64,
    fault: Option<Error>,
}

/// A chunk whose record starts are known, with the record that started in an earlier chunk and ends in
/// this one.
pub struct JoinedChunk {
    open: OpenChunk,
    /// The record that starts in an earlier chunk and ends in this one. `straddler_at` is its virtual
    /// offset. Empty if there is no such record.
    straddler: Vec<u8>,
    straddler_at: u64,
    number: u64,
}

impl OpenChunk {
    fn follow_chain(&mut self, first: usize) {
        (self.first, self.exit, self.records, self.fault) = (first, first, 0, None);
        while let Some(head) = self.bytes.get(self.exit..).and_then(|rest| rest.first_chunk::<4>()) {
            let size = u32::from_le_bytes(*head);
            if let Err(fault) = check_block_size(size) {
                self.fault = Some(fault);
                return;
            }
            let next = self.exit + size as usize + 4;
            if next > self.bytes.len() {
                return;
            }
            (self.exit, self.records) = (next, self.records + 1);
        }
    }
}

pub struct ChunkReader {
    inflater: Inflater,
    n_ref: i32,
}

impl ChunkReader {
    pub fn new(n_ref: i32) -> Self {
        ChunkReader { inflater: Inflater::default(), n_ref }
    }

    /// Inflates a chunk into `bytes` and guesses where its first record starts.
    ///
    /// # Errors
    /// Fails if a block is damaged.
    pub fn open_chunk(&mut self, chunk: Chunk, mut bytes: Vec<u8>) -> Result<OpenChunk> {
        self.inflater.replace_with_chunk(&chunk, &mut bytes)?;
        let mut open = OpenChunk { chunk, bytes, ..OpenChunk::default() };
        let bytes = &open.bytes;
        let at = (0..bytes.len()).find(|&at| looks_like_records(&bytes[at..], self.n_ref));
        open.follow_chain(at.unwrap_or(bytes.len()));
        Ok(open)
    }
}

/// Joins the records that chunk borders cut, serially and in file order.
pub struct ChunkJoiner {
    header: Option<usize>,
    partial: Vec<u8>,
    partial_at: u64,
    records: u64,
    max_record: Limit,
}

impl ChunkJoiner {
    /// Returns a joiner for a file whose first chunk begins with `header` bytes of the file header.
    /// `max_record` is the maximum size of a record.
    pub fn new(header: usize, max_record: Limit) -> Self {
        let (partial, partial_at, records) = Default::default();
        ChunkJoiner { header: Some(header), partial, partial_at, records, max_record }
    }

    /// Takes the next chunk and determines where its records start.
    ///
    /// # Errors
    /// Fails if a record is damaged or too large.
    pub fn join_chunk(&mut self, mut open: OpenChunk) -> Result<JoinedChunk> {
        let entry = self.header.take().unwrap_or(0);
        let number = self.records;
        let taken = self.complete_record(&open.bytes[entry..]).map_err(|e| e.record(number))?;
        let Some(taken) = taken else {
            self.partial.extend_from_slice(&open.bytes);
            (open.first, open.exit, open.records) = (0, 0, 0);
            return Ok(JoinedChunk { open, straddler: Vec::new(), straddler_at: 0, number });
        };
        if entry + taken != open.first {
            open.follow_chain(entry + taken);
        }
        let (straddler, straddler_at) = (std::mem::take(&mut self.partial), self.partial_at);
        self.records += open.records + u64::from(!straddler.is_empty());
        if let Some(fault) = open.fault.take() {
            return Err(fault.record(self.records));
        }
        self.partial.extend_from_slice(&open.bytes[open.exit..]);
        self.partial_at = VirtualOffsets::new(&open.chunk).offset_of(open.exit);
        Ok(JoinedChunk { open, straddler, straddler_at, number })
    }

    /// Completes the partial record with the start of `bytes`. Returns the number of bytes used, or
    /// `None` if the record extends beyond `bytes`.
    fn complete_record(&mut self, bytes: &[u8]) -> Result<Option<usize>> {
        if self.partial.is_empty() {
            return Ok(Some(0));
        }
        let mut head = [0; 4];
        if self.partial.len() + bytes.len() < head.len() {
            return Ok(None);
        }
        head.iter_mut().zip(self.partial.iter().chain(bytes)).for_each(|(to, from)| *to = *from);
        let size = u32::from_le_bytes(head);
        check_block_size(size)?;
        if !self.max_record.allows(size.into()) {
            return Err(self.max_record.limit_error("a record", size.into()));
        }
        let missing = size as usize + 4 - self.partial.len();
        let Some(rest) = bytes.get(..missing) else { return Ok(None) };
        self.partial.extend_from_slice(rest);
        Ok(Some(missing))
    }

    /// Ends the file and returns the number of records.
    ///
    /// # Errors
    /// Fails if the file ends within a record.
    pub fn finish_file(self) -> Result<u64> {
        if self.partial.is_empty() {
            return Ok(self.records);
        }
        Err(Error::input(TRUNCATED_RECORD)
            .record(self.records)
            .hint("the file is truncated: download or create it again"))
    }
}

/// The sort position of a record: its contig (`u32::MAX` if it has none) and its start.
type SortPosition = (u32, i64);

pub struct IndexedChunk {
    /// The index entries, with offsets in the file instead of in the chunk.
    pub fragment: Fragment,
    ends: Option<(SortPosition, SortPosition)>,
    number: u64,
    first_name: Vec<u8>,
    pub buffers: (Chunk, Vec<u8>),
}

pub struct ChunkIndexer {
    builder: FragmentBuilder,
    n_ref: i32,
}

impl ChunkIndexer {
    pub fn new(scheme: IndexScheme, n_ref: i32) -> Self {
        ChunkIndexer { builder: FragmentBuilder::new(scheme), n_ref }
    }

    /// Collects the index entries of the records of a chunk.
    ///
    /// # Errors
    /// Fails if a record is damaged, or not in coordinate order.
    pub fn index_chunk(&mut self, joined: JoinedChunk) -> Result<IndexedChunk> {
        let JoinedChunk { open, straddler, straddler_at, mut number } = joined;
        let first = number;
        let (mut ends, mut first_name) = (None::<(SortPosition, SortPosition)>, Vec::new());
        let mut offsets = VirtualOffsets::new(&open.chunk);
        let mut add = |raw: &[u8], start: u64, end: u64| {
            let record = self.check_record(raw).map_err(|e| e.record(number))?;
            let interval = RecordInterval::of(record);
            let place = (interval.ref_id.cast_unsigned(), interval.start);
            match &mut ends {
                None => {
                    first_name.extend_from_slice(record.qname());
                    ends = Some((place, place));
                }
                Some((_, last)) if is_before(place, *last) => {
                    return Err(unsorted_error(number, record.qname()));
                }
                Some((_, last)) => *last = place,
            }
            number += 1;
            self.builder.add_interval(interval, start, end);
            Ok(())
        };
        let mut at = open.first;
        let mut start = offsets.offset_of(at);
        if !straddler.is_empty() {
            add(&straddler, straddler_at, start)?; // ends where the next record starts
        }
        while at < open.exit {
            let size =
                u32::from_le_bytes(*open.bytes[at..].first_chunk().unwrap_or(&[0; 4])) as usize + 4;
            let next = at + size;
            let end = offsets.offset_of(next);
            add(&open.bytes[at..next], start, end)?;
            (at, start) = (next, end);
        }
        let fragment = self.builder.finish_partition();
        Ok(IndexedChunk { fragment, ends, number: first, first_name, buffers: (open.chunk, open.bytes) })
    }

    #[inline]
    fn check_record<'a>(&self, raw: &'a [u8]) -> Result<RecordRef<'a>> {
        let checked = UncheckedRecord::new(raw).check_without_fields(self.n_ref);
        checked
            .map_err(|what| Error::input(what).hint("the file is damaged: download or create it again"))
    }
}

/// Returns whether a record at `place` must not follow a record at `last`. Reads without a contig come
/// last, in any order.
fn is_before(place: SortPosition, last: SortPosition) -> bool {
    place < last && last.0 != u32::MAX || last.0 == u32::MAX && place.0 != u32::MAX
}

fn unsorted_error(number: u64, name: &[u8]) -> Error {
    Error::input(
        "the read is before the previous one, but only a file sorted by coordinate can be indexed",
    )
    .record(number)
    .qname(name)
    .hint("sort the file, which also writes an index: readmill sort FILE -o SORTED.bam")
}

/// Checks that each chunk continues the coordinate order of the previous one.
#[derive(Default)]
pub struct OrderCheck(Option<SortPosition>);

impl OrderCheck {
    /// Checks the next chunk.
    ///
    /// # Errors
    /// Fails if the first record of `chunk` should precede the last record of an earlier chunk.
    pub fn check_chunk(&mut self, chunk: &IndexedChunk) -> Result<()> {
        let Some((first, last)) = chunk.ends else { return Ok(()) };
        if self.0.is_some_and(|before| is_before(first, before)) {
            return Err(unsorted_error(chunk.number, &chunk.first_name));
        }
        self.0 = Some(last);
        Ok(())
    }
}

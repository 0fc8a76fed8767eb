//! Turns inflated chunks into batches of whole records by following the chain of record lengths.
//!
//! A record may start anywhere in a chunk and span any number of chunks. The work is split so that
//! almost all of it runs in parallel:
//!
//! 1. [`OpenedChunk::guess_first_record`] (any thread) guesses where the first record of its chunk
//!    starts (htslib starts each block with a record; htsjdk does not) and follows the chain from there.
//! 2. [`ChunkLinker::link_chunk`] (serial, in file order) knows where the last chunk ended, so one
//!    comparison shows whether the guess was right. After a wrong guess it follows the chain again.
//!
//! ```text
//! chunk 1  [ rec | rec | rec | re ]          the record across the border, and the records of the
//! chunk 2  [ c | rec | rec | rec ]           last template, move to the start of the next batch
//!             ^ guess of chunk 2
//! ```
//!
//! Few records move, so linking takes only microseconds per chunk.

use readmill_record::view::FIXED_BYTES;
use readmill_record::{Batch, Error, Limit, RecordRef, Result, Stamp, UncheckedBatch, batch::Span};

use crate::bgzf::{Chunk, Inflater};

/// Maximum number of bytes of a template that waits for its remaining records. A longer template is
/// split between batches, and the input no longer counts as grouped by name.
const MAX_WAITING_BYTES: usize = 1 << 20;

const MAX_REUSED_BYTES: usize = 3 << 19;

/// Number of consecutive records that must be plausible for a guess. A wrong guess costs only time.
const MIN_GUESS_RECORDS: usize = 4;

pub const TRUNCATED_RECORD: &str = "the file ends inside a record";

/// The inflated bytes of a chunk, and the records that start in it.
///
/// For BAM, [`OpenedChunk::inflate_chunk`] and [`OpenedChunk::guess_first_record`] fill it. For SAM
/// and CRAM, the decoder appends records to [`OpenedChunk::bytes_mut`] and registers each with
/// [`OpenedChunk::push_record`]. A [`ChunkLinker`] consumes it.
#[derive(Default)]
pub struct OpenedChunk {
    batch: UncheckedBatch,
    first: usize,
    exit: usize,
    fault: Option<Error>,
    /// Whether the buffer still holds the bytes of an earlier chunk. They are cleared only when
    /// necessary, because inflating overwrites them.
    is_stale: bool,
}

impl OpenedChunk {
    pub fn reuse(mut batch: Batch) -> Self {
        if batch.bytes.capacity() > MAX_REUSED_BYTES {
            batch = Batch::default(); // free the memory of one large record
        }
        OpenedChunk {
            batch: UncheckedBatch::in_memory_of(batch),
            is_stale: true,
            ..OpenedChunk::default()
        }
    }

    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        let bytes = self.batch.parts_mut().0;
        if std::mem::take(&mut self.is_stale) {
            bytes.clear();
        }
        bytes
    }

    /// Replaces the bytes with the inflated blocks of `chunk`.
    ///
    /// # Errors
    /// Fails if a block is damaged.
    pub fn inflate_chunk(&mut self, inflater: &mut Inflater, chunk: &Chunk) -> Result<()> {
        self.is_stale = false;
        inflater.replace_with_chunk(chunk, self.batch.parts_mut().0)
    }

    /// Guesses where the first record starts, and follows the chain of records from there. `n_ref` is
    /// the number of reference sequences in the header, which limits the indexes in a plausible record.
    pub fn guess_first_record(&mut self, n_ref: i32) {
        let bytes = self.batch.bytes();
        let at = (0..bytes.len()).find(|&at| looks_like_records(&bytes[at..], n_ref));
        let first = at.unwrap_or(bytes.len());
        self.follow_chain(first);
    }

    fn follow_chain(&mut self, first: usize) {
        let (bytes, spans) = self.batch.parts_mut();
        spans.clear();
        (self.first, self.exit, self.fault) = (first, first, None);
        while let Some(head) = bytes.get(self.exit..).and_then(|rest| rest.first_chunk::<4>()) {
            let size = u32::from_le_bytes(*head);
            if let Err(fault) = check_block_size(size) {
                self.fault = Some(fault);
                return;
            }
            let len = size as usize + 4;
            if self.exit + len > bytes.len() {
                return;
            }
            match Span::new(self.exit, len, Stamp::default()) {
                Ok(span) => spans.push(span),
                Err(fault) => {
                    self.fault = Some(fault);
                    return;
                }
            }
            self.exit += len;
        }
    }

    /// Registers the record that was just appended to the bytes at `start`. Used by decoders of formats
    /// with known record starts, such as SAM text.
    pub fn push_record(&mut self, start: usize) {
        self.push_sized_record(start, self.batch.bytes().len() - start);
    }

    pub fn push_sized_record(&mut self, start: usize, len: usize) {
        match Span::new(start, len, Stamp::default()) {
            Ok(span) if self.fault.is_none() => {
                self.batch.parts_mut().1.push(span);
                self.exit = start + len;
            }
            Ok(_) => {}
            Err(fault) => self.set_fault(fault),
        }
    }

    /// Drops the records for which `keep` returns false. The bytes and the order of the others do not
    /// change.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) {
        let (bytes, spans) = self.batch.parts_mut();
        spans.retain(|span| keep(&bytes[span.start as usize..][..span.len as usize]));
    }

    /// Returns the records of a chunk that starts and ends at record borders, like the chunks of CRAM.
    ///
    /// # Errors
    /// Returns the error that ended the chunk, if any.
    pub fn into_batch(mut self) -> Result<UncheckedBatch> {
        self.bytes_mut();
        self.fault.map_or(Ok(self.batch), Err)
    }

    pub fn len(&self) -> usize {
        if self.is_stale { 0 } else { self.batch.bytes().len() }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn record_count(&self) -> usize {
        self.batch.len()
    }

    /// Ends the chunk with an error in the record after the last one. The linker reports the error once
    /// all records before it have been passed on.
    pub fn set_fault(&mut self, error: Error) {
        self.fault = Some(error);
    }
}

/// Checks that a record can have this `block_size`: at least the fixed fields (SAM specification,
/// section 4.2), and at most 2^31 - 1 bytes.
pub(crate) fn check_block_size(block_size: u32) -> Result<()> {
    if (FIXED_BYTES as u32 - 4..=i32::MAX as u32).contains(&block_size) {
        return Ok(());
    }
    Err(Error::input(format!("a record has an invalid length of {block_size} bytes"))
        .hint("the file is damaged: download or create it again"))
}

pub(crate) fn looks_like_records(bytes: &[u8], n_ref: i32) -> bool {
    let mut rest = bytes;
    for _ in 0..MIN_GUESS_RECORDS {
        if rest.len() < FIXED_BYTES {
            return true; // the chunk ends here; all records before looked right
        }
        if !RecordRef::is_plausible(rest, n_ref) {
            return false;
        }
        let size = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize + 4;
        rest = rest.get(size..).unwrap_or_default();
    }
    true
}

/// Checks that the last record of a BAM file is whole. `bytes` are the inflated end of the file, and
/// `first` is the position in them of a record start, if one is known.
///
/// If none is known, the first half of `bytes` is searched for one. Nothing is refused unless records
/// can be followed from there to the end, because a record may be longer than `bytes`, and its data
/// may look like records.
///
/// # Errors
/// Fails if the file ends inside a record, or if a record has an invalid length.
pub fn check_last_record(bytes: &[u8], first: Option<usize>, n_ref: i32) -> Result<()> {
    let is_whole = match first {
        Some(first) => follow_records(bytes, first)? == bytes.len(),
        None => ends_with_record(bytes, n_ref) || !ends_inside_record(bytes, n_ref),
    };
    if is_whole {
        return Ok(());
    }
    Err(Error::input(TRUNCATED_RECORD).hint("the file is truncated: download or create it again"))
}

fn record_length(bytes: &[u8]) -> Option<usize> {
    bytes.first_chunk().map(|size| u32::from_le_bytes(*size) as usize + 4)
}

/// Returns the end of the last whole record of those that start at `at`.
fn follow_records(bytes: &[u8], mut at: usize) -> Result<usize> {
    while let Some(length) = record_length(&bytes[at..]) {
        check_block_size((length - 4) as u32)?;
        if length > bytes.len() - at {
            break;
        }
        at += length;
    }
    Ok(at)
}

fn ends_with_record(bytes: &[u8], n_ref: i32) -> bool {
    let starts = (0..bytes.len()).rev();
    let mut ends = starts.filter(|&at| record_length(&bytes[at..]) == Some(bytes.len() - at));
    ends.any(|at| RecordRef::is_plausible(&bytes[at..], n_ref))
}

/// Returns whether plausible records can be followed from the first half of `bytes` to a last one that
/// is not whole.
fn ends_inside_record(bytes: &[u8], n_ref: i32) -> bool {
    let next = |at: usize| {
        let is_plausible = RecordRef::is_plausible(&bytes[at..], n_ref);
        record_length(&bytes[at..]).map(|n| at + n).filter(|&end| is_plausible && end <= bytes.len())
    };
    let records = |first: usize| std::iter::successors(Some(first), |&at| next(at));
    let first = (0..bytes.len() / 2).find(|&at| records(at).nth(MIN_GUESS_RECORDS).is_some());
    let Some(last) = first.and_then(|first| records(first).last()) else { return false };
    let rest = &bytes[last..];
    !rest.is_empty() && (rest.len() < FIXED_BYTES || RecordRef::is_plausible(rest, n_ref))
}

/// Turns chunks into batches of whole records and whole templates, and numbers the records.
///
/// This is the serial part of reading: chunks must be linked in file order. Records whose template may
/// continue in the next chunk wait in the linker; [`ChunkLinker::finish_input`] returns the last of
/// them.
///
/// ```
/// use readmill_format::chain::{ChunkLinker, OpenedChunk};
/// use readmill_record::{Batch, Header, Limit};
///
/// # fn main() -> Result<(), readmill_record::Error> {
/// let header = Header::parse(b"")?;
/// let mut parser = readmill_format::sam::LineParser::new(&header);
/// let mut chunk = OpenedChunk::reuse(Batch::default());
/// for name in ["pair", "pair", "last"] {
///     let line = format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII");
///     let start = chunk.bytes_mut().len();
///     parser.parse(line.as_bytes(), chunk.bytes_mut())?;
///     chunk.push_record(start);
/// }
///
/// let mut linker = ChunkLinker::new(Limit::of_bytes(1 << 20));
/// let linked = linker.link_chunk(chunk);
/// assert_eq!(linked.batch.len(), 2, "more records named `last` may follow");
/// let linked = linker.finish_input(Batch::default());
/// assert_eq!((linked.batch.len(), linked.first), (1, 2));
/// # Ok(())
/// # }
/// ```
pub struct ChunkLinker {
    waiting: Vec<u8>,
    lengths: Vec<u32>,
    next: u64,
    /// Ordinal of the first record of the current input, so that errors count records from the start of
    /// its file.
    base: u64,
    has_split: bool,
    spare: Vec<Span>,
    max_record: Limit,
}

pub struct LinkedRecords {
    /// The records, whose content has not been checked yet. They have no ordinals yet.
    pub batch: UncheckedBatch,
    /// Ordinal of the first record, counted over all inputs.
    pub first: u64,
    /// Number of the first record in its own input, for messages.
    pub number: u64,
    /// The error that stopped reading the input after these records, if any.
    pub fault: Option<Error>,
}

impl ChunkLinker {
    /// Returns a linker that refuses records larger than `max_record`, so that a damaged length
    /// cannot exhaust the memory.
    pub fn new(max_record: Limit) -> Self {
        let (waiting, lengths, spare) = Default::default();
        ChunkLinker { waiting, lengths, next: 0, base: 0, has_split: false, spare, max_record }
    }

    /// Returns whether a template was split because it was too long to wait for. The input then
    /// does not count as grouped by name.
    pub fn has_split_template(&self) -> bool {
        self.has_split
    }

    pub fn record_count(&self) -> u64 {
        self.next
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Takes the next chunk and returns the records whose templates are complete. An error in the input
    /// is returned as [`LinkedRecords::fault`].
    pub fn link_chunk(&mut self, mut opened: OpenedChunk) -> LinkedRecords {
        let border = opened.bytes_mut().len();
        let entry = match self.complete_partial_record(opened.batch.bytes()) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                let bytes = opened.batch.bytes();
                self.waiting.reserve_exact(bytes.len()); // a long record; doubling the buffer would take too much memory
                self.waiting.extend_from_slice(bytes);
                opened.batch.parts_mut().1.clear();
                return self.number_records(opened.batch, 0, None);
            }
            Err(fault) => return self.end_with_fault(fault, opened.batch),
        };
        if entry != opened.first {
            opened.follow_chain(entry);
        }
        let OpenedChunk { mut batch, exit, fault, .. } = opened;
        if let Err(fault) = self.put_waiting_first(&mut batch, border) {
            return self.end_with_fault(fault, batch);
        }
        let fault = fault.map(|fault| fault.record(self.next - self.base + batch.len() as u64));
        let keep = if fault.is_some() { batch.len() } else { self.complete_template_records(&batch) };
        self.waiting.clear();
        self.waiting.shrink_to(MAX_REUSED_BYTES);
        self.lengths.clear();
        for &span in &batch.spans()[keep..] {
            self.waiting.extend_from_slice(batch.record(span).raw());
            self.lengths.push(span.len);
        }
        self.waiting.extend_from_slice(&batch.bytes()[exit..border]);
        self.number_records(batch, keep, fault)
    }

    /// Ends the input: returns the records of the last template, and an error if the input ends within a
    /// record. If another input follows, its records continue the numbering.
    pub fn finish_input(&mut self, memory: Batch) -> LinkedRecords {
        let mut batch = UncheckedBatch::in_memory_of(memory);
        let whole: usize = self.lengths.iter().map(|&n| n as usize).sum();
        let mut fault = (whole < self.waiting.len()).then(|| {
            Error::input(TRUNCATED_RECORD)
                .record(self.next - self.base + self.lengths.len() as u64)
                .hint("the file is truncated: download or create it again")
        });
        if let Err(too_much) = self.release_waiting(&mut batch) {
            fault = Some(too_much);
        }
        let keep = batch.len();
        let linked = self.number_records(batch, keep, fault);
        self.base = self.next;
        linked
    }

    /// Returns an empty batch that reuses `memory`. Alignment and merge tasks use it, because their
    /// tickets bring no chunk of input to link.
    pub fn link_nothing(&mut self, memory: Batch) -> LinkedRecords {
        self.number_records(UncheckedBatch::in_memory_of(memory), 0, None)
    }

    fn put_waiting_first(&mut self, batch: &mut UncheckedBatch, border: usize) -> Result<()> {
        let mut spans = std::mem::take(&mut self.spare);
        let mut at = border;
        for &len in &self.lengths {
            spans.push(Span::new(at, len as usize, Stamp::default())?);
            at += len as usize;
        }
        let (bytes, own_spans) = batch.parts_mut();
        bytes.reserve_exact(at - border);
        bytes.extend_from_slice(&self.waiting[..at - border]);
        spans.extend_from_slice(own_spans);
        self.spare = std::mem::replace(own_spans, spans);
        self.spare.clear();
        Ok(())
    }

    fn release_waiting(&mut self, batch: &mut UncheckedBatch) -> Result<()> {
        let (bytes, spans) = batch.parts_mut();
        spans.clear();
        *bytes = std::mem::take(&mut self.waiting);
        let mut at = 0;
        for len in self.lengths.drain(..) {
            spans.push(Span::new(at, len as usize, Stamp::default())?);
            at += len as usize;
        }
        bytes.truncate(at);
        Ok(())
    }

    fn end_with_fault(&mut self, fault: Error, mut batch: UncheckedBatch) -> LinkedRecords {
        let fault = fault.record(self.next - self.base + self.lengths.len() as u64);
        // If the waiting records do not fit into a batch, this error is enough: it is reported at the
        // same record.
        let _ = self.release_waiting(&mut batch);
        let keep = batch.len();
        self.number_records(batch, keep, Some(fault))
    }

    fn number_records(
        &mut self,
        mut batch: UncheckedBatch,
        keep: usize,
        fault: Option<Error>,
    ) -> LinkedRecords {
        batch.parts_mut().1.truncate(keep);
        let first = self.next;
        self.next += keep as u64;
        LinkedRecords { batch, first, number: first - self.base, fault }
    }

    /// Completes the waiting partial record with the start of `chunk`. Returns the position of the first
    /// record that starts in the chunk, or `None` if the chunk ends within the partial record.
    fn complete_partial_record(&mut self, chunk: &[u8]) -> Result<Option<usize>> {
        let whole: usize = self.lengths.iter().map(|&n| n as usize).sum();
        let partial = self.waiting.len() - whole;
        if partial == 0 {
            return Ok(Some(0));
        }
        let mut head = [0; 4];
        let known = self.waiting[whole..].iter().chain(chunk).take(4);
        if known.clone().count() < 4 {
            return Ok(None);
        }
        head.iter_mut().zip(known).for_each(|(to, from)| *to = *from);
        let size = u32::from_le_bytes(head);
        check_block_size(size)?;
        if !self.max_record.allows(size.into()) {
            return Err(self.max_record.limit_error("a record", size.into()));
        }
        let missing = (size as usize + 4) - partial;
        if missing > chunk.len() {
            return Ok(None);
        }
        self.waiting.extend_from_slice(&chunk[..missing]);
        self.lengths.push(size + 4);
        Ok(Some(missing))
    }

    fn complete_template_records(&mut self, batch: &UncheckedBatch) -> usize {
        let name = |span: &Span| batch.record(*span).name();
        let Some((last, before)) = batch.spans().split_last() else { return 0 };
        let mut bytes = last.len as usize;
        let mut keep = before.len();
        for span in before.iter().rev() {
            if name(span) != name(last) || name(last) == b"*" {
                return keep;
            }
            bytes += span.len as usize;
            if bytes > MAX_WAITING_BYTES {
                self.has_split = true;
                return batch.len();
            }
            keep -= 1;
        }
        keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::edit;
    use readmill_simulate::Rng;

    fn record(name: &str, extra: usize) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[4..12].fill(0xff);
        raw[24..32].fill(0xff);
        raw[12] = name.len() as u8 + 1;
        raw.extend_from_slice(name.as_bytes());
        raw.push(0);
        raw.extend_from_slice(b"XXZ");
        raw.extend(std::iter::repeat_n(b'.', extra));
        raw.push(0);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    /// Ordinals and bytes of the records of a batch.
    type Taken = Vec<(u64, Vec<u8>)>;

    /// Feeds `bytes` in pieces of `size` bytes; returns the records of each batch, or the error.
    fn feed(bytes: &[u8], size: usize) -> Result<Vec<Taken>> {
        let (mut link, mut batches) = (ChunkLinker::new(Limit::of_bytes(1 << 20)), Vec::new());
        let mut take = |linked: LinkedRecords| -> Result<()> {
            let mut batch = linked.batch.check(linked.number, i32::MAX)?;
            batch.stamp_templates(linked.first);
            batches.push(batch.records().map(|(s, r)| (s.ordinal(), r.raw().to_vec())).collect());
            linked.fault.map_or(Ok(()), Err)
        };
        for piece in bytes.chunks(size) {
            let mut opened = OpenedChunk::reuse(Batch::default());
            opened.bytes_mut().extend_from_slice(piece);
            opened.guess_first_record(0);
            take(link.link_chunk(opened))?;
        }
        take(link.finish_input(Batch::default()))?;
        Ok(batches)
    }

    #[test]
    fn records_come_whole_in_order_and_by_template_however_the_chunks_fall() {
        let names = ["a", "a", "b", "c", "c", "c", "d", "*", "*", "e", "e"];
        let records: Vec<_> = names.iter().enumerate().map(|(i, n)| record(n, i * 7 % 50)).collect();
        let bytes = records.concat();
        for size in 1..bytes.len() + 2 {
            let batches = feed(&bytes, size).unwrap();
            let flat: Vec<_> = batches.iter().flatten().cloned().collect();
            assert_eq!(flat.iter().map(|r| r.0).collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
            assert!(flat.iter().map(|r| &r.1).eq(&records), "chunks of {size}");
            for pair in batches.iter().filter(|b| !b.is_empty()).collect::<Vec<_>>().windows(2) {
                let name = |r: &(u64, Vec<u8>)| RecordRef::new(&r.1).qname().to_vec();
                let (end, start) = (name(pair[0].last().unwrap()), name(&pair[1][0]));
                assert!(end != start || end == b"*", "template split at {size}");
            }
        }
    }

    /// Guards against a former defect: offsets were truncated to 32 bits.
    #[test]
    fn a_record_beyond_four_gigabytes_of_a_chunk_is_a_fault() {
        let mut opened = OpenedChunk::reuse(Batch::default());
        opened.push_sized_record(0, 40);
        opened.push_sized_record(u32::MAX as usize - 10, 40);
        opened.push_sized_record(40, 40);
        assert_eq!(opened.record_count(), 1);
        let said = opened.fault.unwrap().what;
        assert!(said.contains("more than 4 GiB"), "{said}");
    }

    /// Returns random records of about `usual` bytes, on up to 1,000 contigs. Some have a field with an
    /// array of small numbers, whose bytes look like the start of a record.
    fn random_records(random: &mut Rng, usual: usize, total: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < total {
            let mut raw = record(&"n".repeat(1 + random.index(20)), 0);
            raw[4..8].copy_from_slice(&(random.index(1_001) as i32 - 1).to_le_bytes());
            raw[8..12].copy_from_slice(&(random.index(1 << 27) as i32).to_le_bytes());
            let numbers = random.index(usual / 2);
            raw.extend_from_slice(b"XAB\x49");
            raw.extend_from_slice(&(numbers as u32).to_le_bytes());
            for _ in 0..numbers {
                let max = [300, 40, 2][random.index(3)];
                raw.extend_from_slice(&(random.index(max) as u32).to_le_bytes());
            }
            edit::set_block_size(&mut raw, 0);
            bytes.extend_from_slice(&raw);
        }
        bytes
    }

    #[test]
    fn a_file_that_ends_inside_a_record_is_known_by_its_end() {
        let mut random = Rng::new(7);
        for usual in [20, 20, 200, 200, 2_000, 60_000, 1_000_000] {
            let bytes = random_records(&mut random, usual, 300_000);
            for _ in 0..60 {
                let at = random.index(bytes.len());
                check_last_record(&bytes[at..], None, 1_000).unwrap();
            }
            check_last_record(&bytes, Some(0), 1_000).unwrap();
            let mut found = 0;
            for _ in 0..60 {
                let cut = &bytes[..bytes.len() - 1 - random.index(30)];
                found += usize::from(check_last_record(cut, None, 1_000).is_err());
                let error = check_last_record(cut, Some(0), 1_000).unwrap_err();
                assert_eq!(error.what, TRUNCATED_RECORD);
            }
            assert!(found > 55 || usual > 2_000, "{found} of 60 in records of {usual} bytes");
        }
        for bytes in [&[][..], &[1, 2, 3], &[0; 5_000], &[40; 5_000]] {
            check_last_record(bytes, None, 1_000).unwrap();
        }
    }

    #[test]
    fn a_record_cut_short_or_of_absurd_length_is_named_by_its_number() {
        let good = [record("a", 1), record("b", 2)].concat();
        for size in [7, 40, 1000] {
            let cut = feed(&good[..good.len() - 3], size).unwrap_err();
            assert_eq!(cut.place.record, Some(2));
            let mut bad = good.clone();
            bad.extend_from_slice(&[3, 0, 0, 0, 9, 9]);
            assert_eq!(feed(&bad, size).unwrap_err().place.record, Some(3));
        }
    }
}

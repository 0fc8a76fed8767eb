//! Pairs among which single reads stand, from batches to records.

use std::sync::atomic::{AtomicU64, Ordering};

use readmill_record::ReadBatch;

use super::kernel::is_full_piece;
use super::queue::BatchSeeds;
use crate::process::console::Console;

/// Numbers the reads of a complete cohort where single reads stand among pairs, as bwa (0.7.17, `process` with -p) does,
/// which breaks ties by these numbers: all single reads of a cohort first, then its pairs. `before` are the reads of the
/// lane in the cohorts before, if any is known. Returns how many reads there are with these.
pub fn number_reads(
    batches: &mut [Option<(ReadBatch, BatchSeeds)>],
    before: Option<u64>,
) -> Option<u64> {
    let (first, _) = batches.first()?.as_ref()?;
    let segments = first.segments() as u64;
    // Up to here all were pairs, or the number is known.
    let before = before.unwrap_or(first.first() * segments);
    let (mut pairs, mut singles) = (0, 0);
    for (reads, _) in batches.iter().flatten() {
        pairs += reads.len() as u64;
        singles += reads.singles().map_or(0, |it| it.reads.len() as u64);
    }
    let all = before + pairs + singles;
    let (mut pair, mut single) = ((before + singles) / 2, before);
    let is_mixed = batches.iter().flatten().any(|(reads, _)| reads.is_mixed());
    for (reads, _) in batches.iter_mut().flatten().filter(|_| is_mixed) {
        reads.set_first(pair);
        pair += reads.templates() as u64;
        if let Some(mut of_batch) = reads.take_singles() {
            of_batch.reads.set_first(single);
            single += of_batch.reads.len() as u64;
            reads.put_singles(Some(of_batch));
        }
    }
    Some(all)
}

/// A piece of pairs and single reads that are given to an aligner together.
pub struct MixedPieces {
    piece: ReadBatch,
    first: u64,
    first_read: u64,
}

impl MixedPieces {
    /// Pieces of a batch with these numbers of its first template and its first read.
    pub fn new(first: u64, first_read: u64) -> Self {
        let mut pieces = MixedPieces { piece: ReadBatch::default(), first, first_read };
        pieces.take();
        pieces
    }

    /// Takes the piece, and starts the next one.
    pub fn take(&mut self) -> ReadBatch {
        let mut next = ReadBatch::new(2, self.first);
        next.expect_singles(self.first_read);
        std::mem::replace(&mut self.piece, next)
    }

    /// Adds a copy of a single read.
    pub fn push_single(&mut self, of: &ReadBatch, index: usize) {
        self.piece.push_copy_of_single(of, index);
    }

    /// Adds copies of mates.
    pub fn push_pair(&mut self, of: &ReadBatch, mates: [usize; 2]) {
        mates.into_iter().for_each(|mate| self.piece.push_copy(of, mate));
    }

    /// Whether the piece has as many bases as are given to an aligner at once.
    pub fn is_full(&self) -> bool {
        let of_singles = self.piece.singles().map_or(0, |singles| singles.reads.bases());
        is_full_piece(self.piece.bases() + of_singles, &self.piece)
    }
}

/// Records of single reads, which wait for those of the pairs around them.
#[derive(Default)]
pub struct SingleRecords {
    bytes: Vec<u8>,
    /// The read of each record, and where the record ends in the bytes.
    records: Vec<(usize, usize)>,
    /// The first record that waits, and where it starts.
    next: usize,
    start: usize,
}

impl SingleRecords {
    /// Adds a record of a read, given by its number in the batch of single reads.
    pub fn push(&mut self, read: usize, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.records.push((read, self.bytes.len()));
    }

    /// Returns the next record, if its read stands before this pair, given by its number in the batch.
    pub fn next_before(&mut self, reads: &ReadBatch, pair: usize) -> Option<(usize, &[u8])> {
        let &(read, end) = self.records.get(self.next)?;
        if reads.pairs_before(read) > pair {
            return None;
        }
        let start = std::mem::replace(&mut self.start, end);
        self.next += 1;
        Some((read, &self.bytes[start..end]))
    }
}

/// Counts single reads among pairs.
pub struct LoneReads {
    count: AtomicU64,
    /// What becomes of them.
    how: &'static str,
}

impl LoneReads {
    /// None so far; `how` says what becomes of them.
    pub fn new(how: &'static str) -> Self {
        LoneReads { count: AtomicU64::new(0), how }
    }

    /// Counts more.
    pub fn add(&self, reads: usize) {
        self.count.fetch_add(reads as u64, Ordering::Relaxed);
    }

    /// Warns of them, if there are any.
    pub fn report(&self, console: &Console) {
        let count = self.count.load(Ordering::Relaxed);
        if count > 0 {
            console.warn(&format!(
                "{count} reads of files of pairs (-p) stand beside no read of their name, and are {} as single reads",
                self.how
            ));
        }
    }
}

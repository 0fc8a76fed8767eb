//! Single reads among pairs in FASTQ (`-p`), from batches to records, in the order of bwa.

use std::sync::atomic::{AtomicU64, Ordering};

use readmill_process::console::Console;
use readmill_record::ReadBatch;

use super::kernel::is_full_piece;
use super::queue::BatchSeeds;

/// Numbers the reads of a complete cohort with single reads among pairs. bwa (0.7.17, `process`
/// with -p) breaks ties by these numbers: first all single reads of a cohort, then its pairs.
///
/// `before` is the number of reads of the lane in earlier cohorts, if it is known. Returns this
/// number including the cohort.
pub fn number_reads(
    batches: &mut [Option<(ReadBatch, BatchSeeds)>],
    before: Option<u64>,
) -> Option<u64> {
    let (first, _) = batches.first()?.as_ref()?;
    let segments = first.segments() as u64;
    // If the number is unknown, all earlier reads were pairs.
    let before = before.unwrap_or(first.first_template() * segments);
    let (mut pairs, mut singles) = (0, 0);
    for (reads, _) in batches.iter().flatten() {
        pairs += reads.len() as u64;
        singles += reads.singles().map_or(0, |it| it.reads.len() as u64);
    }
    let all = before + pairs + singles;
    let (mut pair, mut single) = ((before + singles) / 2, before);
    let is_mixed = batches.iter().flatten().any(|(reads, _)| reads.is_mixed());
    for (reads, _) in batches.iter_mut().flatten().filter(|_| is_mixed) {
        reads.set_first_template(pair);
        pair += reads.template_count() as u64;
        if let Some(mut of_batch) = reads.take_singles() {
            of_batch.reads.set_first_template(single);
            single += of_batch.reads.len() as u64;
            reads.set_singles(Some(of_batch));
        }
    }
    Some(all)
}

/// Collects pairs and single reads into pieces that are passed to the aligner together.
pub struct MixedPieces {
    piece: ReadBatch,
    first: u64,
    first_read: u64,
}

impl MixedPieces {
    /// Creates an empty piece. `first` is the number of the batch's first template, and
    /// `first_read` the number of its first read.
    pub fn new(first: u64, first_read: u64) -> Self {
        let mut pieces = MixedPieces { piece: ReadBatch::default(), first, first_read };
        pieces.take_piece();
        pieces
    }

    pub fn take_piece(&mut self) -> ReadBatch {
        let mut next = ReadBatch::new(2, self.first);
        next.allow_singles(self.first_read);
        std::mem::replace(&mut self.piece, next)
    }

    pub fn push_single(&mut self, of: &ReadBatch, index: usize) {
        self.piece.push_single_copy(of, index);
    }

    pub fn push_pair(&mut self, of: &ReadBatch, mates: [usize; 2]) {
        mates.into_iter().for_each(|mate| self.piece.push_copy(of, mate));
    }

    pub fn is_full(&self) -> bool {
        let of_singles = self.piece.singles().map_or(0, |singles| singles.reads.base_count());
        is_full_piece(self.piece.base_count() + of_singles, &self.piece)
    }
}

/// Records of single reads that wait for the records of preceding pairs in the file.
#[derive(Default)]
pub struct SingleRecords {
    bytes: Vec<u8>,
    records: Vec<(usize, usize)>,
    next: usize,
    start: usize,
}

impl SingleRecords {
    pub fn push_record(&mut self, read: usize, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.records.push((read, self.bytes.len()));
    }

    /// Returns the next record if its read precedes pair number `pair` of the batch in the file,
    /// otherwise `None`.
    pub fn next_before_pair(&mut self, reads: &ReadBatch, pair: usize) -> Option<(usize, &[u8])> {
        let &(read, end) = self.records.get(self.next)?;
        if reads.pairs_before(read) > pair {
            return None;
        }
        let start = std::mem::replace(&mut self.start, end);
        self.next += 1;
        Some((read, &self.bytes[start..end]))
    }
}

pub struct SingleReadCounter {
    count: AtomicU64,
    outcome: &'static str,
}

impl SingleReadCounter {
    pub fn new(how: &'static str) -> Self {
        SingleReadCounter { count: AtomicU64::new(0), outcome: how }
    }

    pub fn add_count(&self, reads: usize) {
        self.count.fetch_add(reads as u64, Ordering::Relaxed);
    }

    pub fn warn_about_single_reads(&self, console: &Console) {
        let count = self.count.load(Ordering::Relaxed);
        if count > 0 {
            console.write_warning(&format!(
                "{count} reads in interleaved files (-p) are not next to a mate with the same name; they are {} as single reads",
                self.outcome
            ));
        }
    }
}

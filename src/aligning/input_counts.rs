//! Counts the unchanged reads of a lane's files, before trimming, for an [`InputCounter`].
//!
//! Threads count FASTQ batches in parallel, before it is known whether the batches were cut
//! correctly. So the counts wait in [`LaneCounts`] until the batches are linked in order. Counts of
//! a batch that was cut incorrectly are discarded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use readmill_record::{ReadBatch, Result};

use super::queue::RawRecords;
use crate::addons::{InputCounter, InputPiece};

/// The counts of a lane's files.
pub struct LaneCounts {
    counter: Arc<dyn InputCounter>,
    /// The files, each with its number in the counter.
    files: Vec<(PathBuf, usize)>,
    pending: Mutex<PendingCounts>,
}

#[derive(Default)]
struct PendingCounts {
    next: u64,
    pieces: HashMap<u64, Result<Vec<InputPiece>>>,
}

impl LaneCounts {
    /// Creates empty counts for a lane that reads `files`. Files that `counter` does not count are
    /// omitted.
    pub fn new(counter: &Arc<dyn InputCounter>, files: &[PathBuf]) -> Self {
        let numbers = files.iter().filter_map(|file| Some((file.clone(), counter.file_number(file)?)));
        let files = numbers.collect();
        LaneCounts { counter: Arc::clone(counter), files, pending: Mutex::default() }
    }

    /// Counts the reads of batch number `batch`, in parallel with others. The counts are kept until
    /// [`LaneCounts::add_linked_batch`] accepts or discards them.
    pub fn count_batch(&self, batch: u64, reads: &ReadBatch) {
        let pieces = self.count_per_file(reads);
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).pieces.insert(batch, pieces);
    }

    /// Adds the counts of the next batch to the reports, in input order. `is_taken` means that
    /// `reads` are the reads that were counted; otherwise, the batch was read again and is counted
    /// now.
    ///
    /// # Errors
    /// Returns the error of the first read that cannot be counted, in file order.
    pub fn add_linked_batch(&self, is_taken: bool, reads: &ReadBatch) -> Result<()> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let next = pending.next;
        pending.next += 1;
        let counted = pending.pieces.remove(&next);
        drop(pending);
        let pieces = match counted {
            Some(counted) if is_taken => counted?,
            counted => {
                self.discard_counts(counted);
                self.count_per_file(reads)?
            }
        };
        for (piece, (file, number)) in pieces.into_iter().zip(&self.files) {
            self.counter.add_piece(*number, piece).map_err(|error| error.file(file))?;
        }
        Ok(())
    }

    fn discard_counts(&self, counted: Option<Result<Vec<InputPiece>>>) {
        let pieces = counted.and_then(Result::ok).unwrap_or_default();
        for (piece, (_, number)) in pieces.into_iter().zip(&self.files) {
            self.counter.discard_piece(*number, piece);
        }
    }

    /// Counts a batch for each file. With two files, each gets one read of each template.
    fn count_per_file(&self, reads: &ReadBatch) -> Result<Vec<InputPiece>> {
        let is_pair = self.files.len() > 1;
        let piece = |(segment, (file, number)): (usize, &(PathBuf, usize))| {
            let piece = self.counter.count_reads(*number, reads, is_pair.then_some(segment));
            piece.map_err(|error| error.file(file))
        };
        self.files.iter().enumerate().map(piece).collect()
    }

    /// Counts unaligned records whose reads are to be aligned. `n_ref` is the number of contigs in
    /// the header of their file.
    ///
    /// # Errors
    /// Returns the error of the first record that cannot be counted, in file order.
    pub fn count_records(&self, raw: &RawRecords, n_ref: i32) -> Result<()> {
        let Some((file, number)) = self.files.first() else { return Ok(()) };
        let spans = raw.batch.spans()[raw.range.clone()].iter();
        // A damaged record does not become a read. Its error was reported before this call.
        let mut records = spans.filter_map(|&span| raw.batch.record(span).check(n_ref).ok());
        let counted = self.counter.count_records(*number, raw.number, &mut records);
        counted.map_err(|error| error.file(file))
    }
}

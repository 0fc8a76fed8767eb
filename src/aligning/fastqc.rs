//! Counts the reads of a lane for the modules of FastQC, as its files have them.
//!
//! Threads count batches of FASTQ before it is known whether these are where they should be, so what they count waits for the link.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use readmill_fastqc::{FastqcRun, FileCounter, Piece, RecordText};
use readmill_record::{Error, ReadBatch, Result};

use super::queue::RawRecords;
use crate::plan::FastqcRequest;

/// The counters of all inputs, and which reports are of which.
#[derive(Clone)]
pub struct AlignFastqc {
    /// The counters.
    pub run: Arc<FastqcRun>,
    /// The reports.
    pub request: FastqcRequest,
}

/// The counters of the files of a lane.
pub struct LaneFastqc {
    run: Arc<FastqcRun>,
    /// The files, and the number of the report of each.
    files: Vec<(PathBuf, usize)>,
    pending: Mutex<Pending>,
}

/// Counts of batches that are not linked yet.
#[derive(Default)]
struct Pending {
    /// The next batch.
    next: u64,
    pieces: HashMap<u64, Result<Vec<Piece>>>,
}

impl AlignFastqc {
    /// The counters of a lane of these files.
    pub fn lane(&self, files: &[PathBuf]) -> LaneFastqc {
        let numbers = files.iter().filter_map(|file| Some((file.clone(), self.request.number(file)?)));
        LaneFastqc { run: Arc::clone(&self.run), files: numbers.collect(), pending: Mutex::default() }
    }
}

impl LaneFastqc {
    fn counter(&self, number: usize) -> Result<&FileCounter> {
        self.run.file(number).ok_or_else(|| Error::bug("an input has no report"))
    }

    /// Counts a batch of this number that was taken.
    pub fn count(&self, batch: u64, reads: &ReadBatch) {
        let pieces = self.pieces(reads);
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).pieces.insert(batch, pieces);
    }

    /// Adds the next batch, which is what was taken, or was read again.
    ///
    /// # Errors
    /// The first read that cannot be counted.
    pub fn link(&self, is_taken: bool, reads: &ReadBatch) -> Result<()> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let next = pending.next;
        pending.next += 1;
        let counted = pending.pieces.remove(&next);
        drop(pending);
        let pieces = match counted {
            Some(counted) if is_taken => counted?,
            counted => {
                self.discard(counted);
                self.pieces(reads)?
            }
        };
        for (piece, (file, number)) in pieces.into_iter().zip(&self.files) {
            self.counter(*number)?.take(piece).map_err(|error| error.file(file))?;
        }
        Ok(())
    }

    /// Drops the pieces of a batch that is read again.
    fn discard(&self, counted: Option<Result<Vec<Piece>>>) {
        let pieces = counted.and_then(Result::ok).unwrap_or_default();
        for (piece, (_, number)) in pieces.into_iter().zip(&self.files) {
            if let Some(counter) = self.run.file(*number) {
                counter.discard(piece);
            }
        }
    }

    /// The pieces of all files of a batch.
    fn pieces(&self, reads: &ReadBatch) -> Result<Vec<Piece>> {
        let is_pair = self.files.len() > 1;
        let piece = |(segment, (file, number)): (usize, &(PathBuf, usize))| {
            let piece = self.counter(*number)?.piece_of(reads, is_pair.then_some(segment));
            piece.map_err(|error| error.file(file))
        };
        self.files.iter().enumerate().map(piece).collect()
    }

    /// Counts records that became reads of a file with `n_ref` contigs.
    ///
    /// # Errors
    /// The first record that cannot be counted.
    pub fn take_records(&self, raw: &RawRecords, n_ref: i32) -> Result<()> {
        let Some((file, number)) = self.files.first() else { return Ok(()) };
        let spans = raw.batch.spans()[raw.range.clone()].iter();
        // A damaged record becomes no read, which is reported before this.
        let records = spans.filter_map(|&span| raw.batch.record(span).check(n_ref).ok());
        let counted =
            self.counter(*number)?.take_records(raw.number, records, &mut RecordText::default());
        counted.map_err(|error| error.file(file))
    }
}

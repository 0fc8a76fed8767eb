//! The counter of one input, to which threads pass their pieces in any order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use readmill_record::{CountingRoom, Error, Result};

use crate::distinct::{self, DistinctSequences};
use crate::options::FastqcOptions;
use crate::piece::{FastqcPiece, SequencedRead};
use crate::report::FastqcFileReport;
use crate::totals::Totals;

/// Counts the reads of one input.
///
/// Any number of threads count concurrently. Each gets an empty [`FastqcPiece`] for a batch of
/// consecutive reads, counts the batch without a lock, and hands the piece back. Pieces that arrive
/// early wait in the counter:
///
/// ```
/// use readmill_fastqc::piece::SequencedRead;
/// use readmill_fastqc::{FastqcOptions, FastqcRun};
///
/// let run = FastqcRun::new(["lane1.fq".into()], FastqcOptions::default(), 0);
/// let file = run.file(0).unwrap();
/// let add = |number: u64, bases: &[u8]| {
///     let mut piece = file.start_piece(number);
///     file.count_read(&mut piece, &SequencedRead { number, name: b"@r", bases, quals: b"II" })?;
///     file.close_piece(&mut piece);
///     file.add_piece(piece)
/// };
///
/// add(1, b"CC")?; // waits for read 0
/// assert!(file.make_report().is_err());
/// add(0, b"AA")?;
/// assert!(file.make_report()?.format_data().contains("Total Sequences\t2\n"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct FileCounter {
    name: String,
    options: FastqcOptions,
    room: Arc<CountingRoom>,
    ordered: Mutex<Ordered>,
    /// The tracked sequences, set once their maximum number is reached. From then on, threads look
    /// up sequences themselves.
    known: OnceLock<DistinctSequences>,
}

struct Ordered {
    next_read: u64,
    /// Pieces that arrived before the reads that precede them, by the number of their first read.
    waiting: BTreeMap<u64, FastqcPiece>,
    totals: Totals,
    growing: DistinctSequences,
    spare_pieces: Vec<FastqcPiece>,
}

impl FileCounter {
    pub(crate) fn new(name: String, options: FastqcOptions, room: Arc<CountingRoom>) -> Self {
        let ordered = Ordered {
            next_read: 0,
            waiting: BTreeMap::new(),
            totals: Totals::new(),
            growing: DistinctSequences::default(),
            spare_pieces: Vec::new(),
        };
        FileCounter { name, options, room, ordered: Mutex::new(ordered), known: OnceLock::new() }
    }

    /// Returns an empty piece for a batch whose first read has number `first` (0-based) in the
    /// file. Reuses the memory of an added piece.
    pub fn start_piece(&self, first: u64) -> FastqcPiece {
        let mut piece = self.lock_ordered().spare_pieces.pop().unwrap_or_else(FastqcPiece::new);
        piece.restart_at(first);
        piece
    }

    /// Counts a read into `piece`. The reads of a piece must be counted in file order, without
    /// gaps.
    ///
    /// # Errors
    /// A quality is not a printable character from `!` to `~`, or the read is too long for the
    /// memory of the run.
    #[inline]
    pub fn count_read(&self, piece: &mut FastqcPiece, read: &SequencedRead<'_>) -> Result<()> {
        piece.add_read(read, &self.room)
    }

    /// Finishes a piece before it is passed to [`FileCounter::add_piece`]. If all tracked sequences
    /// are known, looks up its sequences on the calling thread.
    pub fn close_piece(&self, piece: &mut FastqcPiece) {
        piece.look_up_sequences(self.known.get());
    }

    /// Adds a piece to the totals as soon as all reads before it have been added.
    ///
    /// # Errors
    /// The memory of the run is too small for the length of the reads or the number of tiles.
    pub fn add_piece(&self, piece: FastqcPiece) -> Result<()> {
        if piece.length_and_gc.is_empty() {
            return Ok(());
        }
        let mut ordered = self.lock_ordered();
        let Ordered { next_read: next, waiting, totals, growing, spare_pieces: spare } = &mut *ordered;
        waiting.insert(piece.first, piece);
        while let Some(mut piece) = waiting.remove(next) {
            totals.add_piece(&mut piece, growing, self.known.get(), &self.room)?;
            *next = totals.reads;
            if growing.len() == distinct::MAX_SEQUENCES {
                let _ = self.known.set(std::mem::take(growing)); // it is set only once
            }
            spare.push(piece);
        }
        Ok(())
    }

    /// Drops a piece without adding it, and returns its memory to the run. Called if a FASTQ batch
    /// turns out to have been cut at the wrong position: its reads are counted again.
    pub fn discard_piece(&self, piece: FastqcPiece) {
        self.room.return_bytes(piece.far_bytes.capacity() as u64);
    }

    /// Creates the report of the file, when all reads have been counted.
    ///
    /// # Errors
    /// A piece is still waiting for the reads before it, which is a bug.
    pub fn make_report(&self) -> Result<FastqcFileReport> {
        let ordered = self.lock_ordered();
        if !ordered.waiting.is_empty() {
            return Err(Error::bug(format!("reads of {} were not counted", self.name)));
        }
        let known = self.known.get().unwrap_or(&ordered.growing);
        Ok(FastqcFileReport::new(&self.name, &ordered.totals, known, self.options))
    }

    fn lock_ordered(&self) -> MutexGuard<'_, Ordered> {
        self.ordered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

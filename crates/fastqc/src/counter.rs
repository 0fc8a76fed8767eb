//! The counter of one input, to which threads give their pieces in any order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use readmill_record::{Error, Result, Room};

use crate::distinct::{self, Distinct};
use crate::options::Options;
use crate::piece::{Piece, SequencedRead};
use crate::report::Report;
use crate::totals::Totals;

/// Counts the reads of one input.
///
/// Any number of threads count at once. Each gets an empty [`Piece`] for a batch of consecutive reads,
/// counts the batch without a lock, and hands the piece back. Pieces that arrive before their turn wait
/// in the counter:
///
/// ```
/// use readmill_fastqc::piece::SequencedRead;
/// use readmill_fastqc::{FastqcRun, Options};
///
/// let run = FastqcRun::new(["lane1.fq".into()], Options::default(), 0);
/// let file = run.file(0).unwrap();
/// let add = |number: u64, bases: &[u8]| {
///     let mut piece = file.piece(number);
///     file.count(&mut piece, &SequencedRead { number, name: b"@r", bases, quals: b"II" })?;
///     file.close(&mut piece);
///     file.take(piece)
/// };
///
/// add(1, b"CC")?; // waits for read 0
/// assert!(file.report().is_err());
/// add(0, b"AA")?;
/// assert!(file.report()?.data().contains("Total Sequences\t2\n"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct FileCounter {
    name: String,
    options: Options,
    room: Arc<Room>,
    ordered: Mutex<Ordered>,
    /// The tracked sequences, once there are as many as are ever tracked. From then on, threads look
    /// sequences up themselves.
    known: OnceLock<Distinct>,
}

struct Ordered {
    next: u64,
    /// Pieces that arrived before the reads in front of them, by the number of their first read.
    waiting: BTreeMap<u64, Piece>,
    totals: Totals,
    growing: Distinct,
    spare: Vec<Piece>,
}

impl FileCounter {
    pub(crate) fn new(name: String, options: Options, room: Arc<Room>) -> Self {
        let ordered = Ordered {
            next: 0,
            waiting: BTreeMap::new(),
            totals: Totals::new(),
            growing: Distinct::default(),
            spare: Vec::new(),
        };
        FileCounter { name, options, room, ordered: Mutex::new(ordered), known: OnceLock::new() }
    }

    /// Returns an empty piece for a batch whose first read has the 0-based number `first` in the file.
    /// Reuses the memory of a piece that was added.
    pub fn piece(&self, first: u64) -> Piece {
        let mut piece = self.ordered().spare.pop().unwrap_or_else(Piece::new);
        piece.restart(first);
        piece
    }

    /// Counts a read into `piece`. Reads of a piece are counted in the order of the file, without gaps.
    ///
    /// # Errors
    /// A quality is not a printable character from `!` to `~`, or the read is too long for the memory of
    /// the run.
    #[inline]
    pub fn count(&self, piece: &mut Piece, read: &SequencedRead<'_>) -> Result<()> {
        piece.add(read, &self.room)
    }

    /// Finishes a piece before it is given to [`FileCounter::take`]. Looks up its sequences here, on the
    /// calling thread, if all tracked sequences are known.
    pub fn close(&self, piece: &mut Piece) {
        piece.close(self.known.get());
    }

    /// Adds a piece to the totals as soon as all reads before it have been added.
    ///
    /// # Errors
    /// The memory of the run does not suffice for the length of the reads or the number of tiles.
    pub fn take(&self, piece: Piece) -> Result<()> {
        if piece.shapes.is_empty() {
            return Ok(());
        }
        let mut ordered = self.ordered();
        let Ordered { next, waiting, totals, growing, spare } = &mut *ordered;
        waiting.insert(piece.first, piece);
        while let Some(mut piece) = waiting.remove(next) {
            totals.add(&mut piece, growing, self.known.get(), &self.room)?;
            *next = totals.reads;
            if growing.len() == distinct::MOST {
                let _ = self.known.set(std::mem::take(growing)); // it is set only once
            }
            spare.push(piece);
        }
        Ok(())
    }

    /// Drops a piece without adding it, and returns its memory to the run. Called if a batch of FASTQ
    /// turns out to have been cut in the wrong place: its reads are counted again.
    pub fn discard(&self, piece: Piece) {
        self.room.give_back(piece.far.capacity() as u64);
    }

    /// Makes the report of the file. Called when all reads have been counted.
    ///
    /// # Errors
    /// A piece still waits for reads before it, which is a bug.
    pub fn report(&self) -> Result<Report> {
        let ordered = self.ordered();
        if !ordered.waiting.is_empty() {
            return Err(Error::bug(format!("reads of {} were not counted", self.name)));
        }
        let known = self.known.get().unwrap_or(&ordered.growing);
        Ok(Report::new(&self.name, &ordered.totals, known, self.options))
    }

    fn ordered(&self) -> MutexGuard<'_, Ordered> {
        self.ordered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

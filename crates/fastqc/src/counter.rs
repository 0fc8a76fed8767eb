//! The counter of one file, to which threads give pieces in any order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use readmill_record::{Error, Result, Room};

use crate::distinct::{self, Distinct};
use crate::options::Options;
use crate::piece::{Piece, SequencedRead};
use crate::report::Report;
use crate::totals::Totals;

/// The counts of a file.
pub struct FileCounter {
    name: String,
    options: Options,
    room: Arc<Room>,
    ordered: Mutex<Ordered>,
    /// All sequences that are followed, once they are known.
    known: OnceLock<Distinct>,
}

/// Counts to which pieces are added in the order of the file.
struct Ordered {
    /// The number of the next read.
    next: u64,
    /// Pieces that came before their turn, by their first reads.
    waiting: BTreeMap<u64, Piece>,
    totals: Totals,
    /// Sequences that are followed, until they are all known.
    growing: Distinct,
    /// Pieces to be used again.
    spare: Vec<Piece>,
}

impl FileCounter {
    /// Counts the reads of the file that is called so.
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

    /// The piece of a batch that begins with the read of this number, 0-based.
    pub fn piece(&self, first: u64) -> Piece {
        let mut piece = self.ordered().spare.pop().unwrap_or_else(Piece::new);
        piece.restart(first);
        piece
    }

    /// Counts the next read of a piece.
    ///
    /// # Errors
    /// Its qualities are no qualities, or it is too long for the memory.
    #[inline]
    pub fn count(&self, piece: &mut Piece, read: &SequencedRead<'_>) -> Result<()> {
        piece.add(read, &self.room)
    }

    /// Ends a piece, which can be added then.
    pub fn close(&self, piece: &mut Piece) {
        piece.close(self.known.get());
    }

    /// Adds a piece once all reads before it were added.
    ///
    /// # Errors
    /// The memory does not suffice.
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
                let _ = self.known.set(std::mem::take(growing)); // unknown until now
            }
            spare.push(piece);
        }
        Ok(())
    }

    /// Drops a piece whose reads are counted again, and gives its memory back.
    pub fn discard(&self, piece: Piece) {
        self.room.give_back(piece.far.capacity() as u64);
    }

    /// The report, once all reads have come.
    ///
    /// # Errors
    /// Some have not.
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

//! What waiting needs: how reads are sorted, and the room they have.

use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::source;
use readmill_format::spill::Spill;
use readmill_record::{Charge, Error, Ledger, Result};
use readmill_sort as sort;
use readmill_sort::{Framing, RunSort};

use crate::pipeline::inputs::InputTask;

/// Bytes of the smallest possible record (one without a name), for bounds on their number.
const SMALLEST_RECORD: u64 = 37;

/// How often a long read is in memory while it is merged: in its frame, in a batch, and encoded.
const LARGE_FORMS: u64 = 3;

/// What waiting needs.
pub struct SortContext {
    /// The threads.
    pub crew: Crew,
    /// How reads are sorted.
    pub sort: RunSort,
    /// What memory is charged to.
    pub ledger: Ledger,
    /// Bytes of it that were free before the first read came.
    pub room: u64,
    /// Room on disk.
    pub spill: Arc<Spill>,
    /// Most bytes a record takes beside itself.
    pub record_overhead: u64,
    /// Entries of a list.
    pub list: usize,
    /// How frames on disk are made.
    pub framing: Framing,
}

impl SortContext {
    /// Room that records of `bytes` bytes need, at most.
    pub fn room_for_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(SMALLEST_RECORD) * self.record_overhead
    }

    /// Room that a piece of the input needs, at most, until its records wait.
    pub fn room_for(&self, piece: &InputTask) -> u64 {
        let records = piece.most_records().unwrap_or_else(|| piece.bound().div_ceil(SMALLEST_RECORD));
        piece.bound() + records * self.record_overhead + piece.working()
    }

    /// The threads that merge reads of which the largest has `largest` bytes, and what those that are larger than a
    /// partition take beyond the share of a ticket: their frame, their batch, and what comes of it. Fewer tickets are under
    /// way where not all of them could have such a read.
    ///
    /// # Errors
    /// There is too little memory for one.
    pub fn crew_for(&self, largest: u64) -> Result<(Crew, Charge)> {
        let each = long_read_bytes(largest);
        let fitting = self.ledger.free().checked_div(each).unwrap_or(u64::MAX);
        let in_flight = self.crew.in_flight.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
        let charge = self.ledger.charge(LONG_READS, each * in_flight as u64)?;
        Ok((Crew { in_flight, ..self.crew }, charge))
    }

    /// Room in use by reads at which they become a run: what is left must do for reading on meanwhile.
    pub fn flush_threshold(&self) -> u64 {
        let pieces = self.crew.in_flight as u64 * self.room_for_bytes(source::MAX_CLAIM as u64);
        self.room - pieces.max(self.room / 8).min(self.room / 2)
    }
}

/// Reads that wait.
pub const READS: &str = "reads that wait";

/// What is noted of them for duplicates.
pub const ENDS: &str = "ends of reads, for duplicates";

/// Indexes of runs on disk.
pub const INDEXES: &str = "indexes of runs on disk";

/// What long reads take beyond the share of a ticket.
pub const LONG_READS: &str = "long reads under way";

/// What a ticket takes beyond its share that merges a read of `largest` bytes.
pub fn long_read_bytes(largest: u64) -> u64 {
    LARGE_FORMS * largest.saturating_sub(sort::PARTITION)
}

/// A ticket held the arena beyond the pass it belonged to.
pub fn arena_in_use() -> Error {
    Error::bug("the memory of the reads is still in use")
}

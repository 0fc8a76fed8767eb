//! The sort order of a run, and the memory and disk it may use.

use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::spill::Spill;
use readmill_input::MAX_CLAIM;
use readmill_record::{Charge, Error, Ledger, Result};
use readmill_sort as sort;
use readmill_sort::{Framing, RunSort};

use crate::pipeline::inputs::InputTask;

/// Bytes of the smallest possible record (one without a name), to bound the number of records.
const SMALLEST_RECORD: u64 = 37;

/// How many copies of a long read are in memory while it is merged: in its frame, in a batch, and encoded.
const LARGE_FORMS: u64 = 3;

/// How reads are sorted, and the memory and disk for it.
pub struct SortContext {
    /// The threads.
    pub crew: Crew,
    /// How reads are sorted.
    pub sort: RunSort,
    /// The ledger for all memory.
    pub ledger: Ledger,
    /// Bytes of memory that were free before the first read.
    pub room: u64,
    /// The spill on disk.
    pub spill: Arc<Spill>,
    /// The most bytes that a record takes in addition to itself.
    pub record_overhead: u64,
    /// Entries of one sorted list.
    pub list: usize,
    /// Size and codec of frames on disk.
    pub framing: Framing,
}

impl SortContext {
    /// Returns the most memory that records of `bytes` bytes need.
    pub fn room_for_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(SMALLEST_RECORD) * self.record_overhead
    }

    /// Returns the most memory that an input task needs until its records are in the sort buffer.
    pub fn room_for(&self, piece: &InputTask) -> u64 {
        let records = piece.most_records().unwrap_or_else(|| piece.bound().div_ceil(SMALLEST_RECORD));
        piece.bound() + records * self.record_overhead + piece.working()
    }

    /// Returns the threads for a merge of reads of up to `largest` bytes, and the charge of what reads larger than a
    /// partition take beyond the share of a ticket: their frame, their batch, and its encoded form. Fewer tickets are
    /// in flight where not all of them could hold such a read.
    ///
    /// # Errors
    /// There is too little memory for one.
    pub fn crew_for(&self, largest: u64) -> Result<(Crew, Charge)> {
        crew_for(self.crew, &self.ledger, largest)
    }

    /// Returns the memory use at which reads are flushed: the rest must suffice for reading meanwhile, or for the `large`
    /// bytes that a ticket of the flush takes beyond its share, if that is more; it is half of the memory at most.
    pub fn flush_threshold(&self, large: u64) -> u64 {
        let pieces = self.crew.in_flight as u64 * self.room_for_bytes(MAX_CLAIM as u64);
        self.room - pieces.max(large).max(self.room / 8).min(self.room / 2)
    }
}

/// Returns the threads of `crew` for a merge of reads of up to `largest` bytes ([`SortContext::crew_for`]).
pub fn crew_for(crew: Crew, ledger: &Ledger, largest: u64) -> Result<(Crew, Charge)> {
    let each = long_read_bytes(largest);
    let fitting = ledger.free().checked_div(each).unwrap_or(u64::MAX);
    let in_flight = crew.in_flight.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
    let charge = ledger.charge(LONG_READS, each * in_flight as u64)?;
    Ok((Crew { in_flight, ..crew }, charge))
}

/// Ledger name of reads in the sort buffer.
pub const READS: &str = "reads that wait";

/// Ledger name of template ends.
pub const ENDS: &str = "ends of reads, for duplicates";

/// Ledger name of indexes of runs on disk.
pub const INDEXES: &str = "indexes of runs on disk";

/// Ledger name of what long reads take beyond the share of a ticket.
pub const LONG_READS: &str = "long reads under way";

/// Returns what a ticket takes beyond its share to merge a read of `largest` bytes.
pub fn long_read_bytes(largest: u64) -> u64 {
    LARGE_FORMS * largest.saturating_sub(sort::PARTITION)
}

/// The error of a ticket that kept the arena after its pass.
pub fn arena_in_use() -> Error {
    Error::bug("the memory of the reads is still in use")
}

//! The sort order of a run, and the threads, memory and disk that it may use.

use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::spill::Spill;
use readmill_input::MAX_CLAIM_BYTES;
use readmill_record::{Charge, Error, Ledger, Result};
use readmill_sort as sort;
use readmill_sort::{Framing, RunSort};

use crate::pipeline::inputs::InputTask;

/// Bytes of the smallest possible record (one without a name), which bounds the number of records
/// in given bytes.
const SMALLEST_RECORD: u64 = 37;

/// Copies of a long read in memory while it is merged: in its frame, in a batch, and encoded.
const LARGE_READ_COPIES: u64 = 3;

/// What all passes of a sorting run need: how reads are sorted, and the threads, memory and disk
/// for it.
pub struct SortContext {
    pub crew: Crew,
    pub sort: RunSort,
    pub ledger: Ledger,
    /// Bytes of memory that were free before the first read. Reads, ends and merging share them.
    pub room: u64,
    pub spill: Arc<Spill>,
    /// Maximum bytes that a record needs in addition to itself: its entry and its template end.
    pub record_overhead: u64,
    pub entries_per_list: usize,
    pub framing: Framing,
}

impl SortContext {
    /// Returns the maximum memory that records of `bytes` bytes need in the sort buffer.
    pub fn room_for_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(SMALLEST_RECORD) * self.record_overhead
    }

    /// Returns the maximum memory that an input task needs until its records are in the sort
    /// buffer.
    pub fn room_for_task(&self, piece: &InputTask) -> u64 {
        let records =
            piece.max_records().unwrap_or_else(|| piece.max_record_bytes().div_ceil(SMALLEST_RECORD));
        piece.max_record_bytes() + records * self.record_overhead + piece.extra_open_bytes()
    }

    /// Returns the crew for a merge of reads of up to `largest` bytes, and a charge. Reads larger
    /// than a partition need memory beyond the share of a ticket: for their frame, their batch and
    /// its encoded form. Fewer tickets are in flight if not all of them could hold such a read.
    ///
    /// # Errors
    /// There is too little memory for one such read.
    pub fn crew_for(&self, largest: u64) -> Result<(Crew, Charge)> {
        crew_for(self.crew, &self.ledger, largest)
    }

    /// Returns the bytes of reads at which memory is flushed. The rest of the memory must suffice
    /// for the chunks read meanwhile, or for the `large` bytes that a flush ticket needs beyond its
    /// share, if these are more. The rest is at most half of the memory.
    pub fn flush_threshold(&self, large: u64) -> u64 {
        let pieces = self.crew.in_flight as u64 * self.room_for_bytes(MAX_CLAIM_BYTES as u64);
        self.room - pieces.max(large).max(self.room / 8).min(self.room / 2)
    }
}

/// Returns the crew for a merge of reads of up to `largest` bytes, like [`SortContext::crew_for`],
/// for a caller without a sort context.
pub fn crew_for(crew: Crew, ledger: &Ledger, largest: u64) -> Result<(Crew, Charge)> {
    let each = long_read_bytes(largest);
    let fitting = ledger.free().checked_div(each).unwrap_or(u64::MAX);
    let in_flight = crew.in_flight.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
    let charge = ledger.charge(LONG_READS, each * in_flight as u64)?;
    Ok((Crew { in_flight, ..crew }, charge))
}

pub const READS: &str = "waiting reads";

pub const ENDS: &str = "read ends for duplicate marking";

pub const INDEXES: &str = "indexes of runs on disk";

pub const LONG_READS: &str = "long reads in progress";

/// Returns the bytes that a ticket needs beyond its share to merge a read of `largest` bytes; 0 if
/// the read fits into a partition.
pub fn long_read_bytes(largest: u64) -> u64 {
    LARGE_READ_COPIES * largest.saturating_sub(sort::PARTITION)
}

pub fn arena_in_use_error() -> Error {
    Error::bug("the memory of the reads is still in use")
}

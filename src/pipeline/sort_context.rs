//! The sort order of a run, and the threads, memory and disk that it may use.

use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::spill::Spill;
use readmill_input::MAX_CLAIM_BYTES;
use readmill_record::{Charge, Error, Ledger, Result};
use readmill_sort as sort;
use readmill_sort::{Framing, RunSort};

use crate::pipeline::inputs::InputTask;

/// Size of the smallest possible record (without a name) in bytes, which bounds the number of
/// records in a given number of bytes.
const SMALLEST_RECORD: u64 = 37;

/// Copies of a long read in memory while it is merged: in its frame, in a batch, and encoded.
const LARGE_READ_COPIES: u64 = 3;

/// Everything that the passes of a sorting run need: the sort order, threads, memory and disk.
pub struct SortContext {
    pub crew: Crew,
    pub sort: RunSort,
    pub ledger: Ledger,
    /// Memory that was free before the first read, in bytes. Reads, ends and merging share it.
    pub room: u64,
    pub spill: Arc<Spill>,
    /// Maximum memory of a record in addition to the record itself, in bytes: its entry and its
    /// template end.
    pub record_overhead: u64,
    pub entries_per_list: usize,
    pub framing: Framing,
}

impl SortContext {
    /// Returns the maximum memory that `bytes` bytes of records need in the sort buffer.
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

    /// Returns the crew and a charge for a merge of reads of up to `largest` bytes. Reads larger
    /// than a partition need memory in addition to the share of a ticket: for their frame, their
    /// batch and its encoded form. The crew has fewer tickets in flight if not all of them could
    /// hold such a read.
    ///
    /// # Errors
    /// Fails if there is too little memory for one such read.
    pub fn crew_for(&self, largest: u64) -> Result<(Crew, Charge)> {
        crew_for(self.crew, &self.ledger, largest)
    }

    /// Returns the number of bytes of reads at which memory is flushed. The remaining memory must
    /// suffice for the chunks that are read meanwhile, or for the `large` bytes that a flush ticket
    /// needs in addition to its share, whichever is more. At most half of the memory remains.
    pub fn flush_threshold(&self, large: u64) -> u64 {
        let pieces = self.crew.in_flight as u64 * self.room_for_bytes(MAX_CLAIM_BYTES as u64);
        self.room - pieces.max(large).max(self.room / 8).min(self.room / 2)
    }
}

/// Returns the crew and a charge for a merge of reads of up to `largest` bytes, like
/// [`SortContext::crew_for`], for callers without a sort context.
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

/// Returns the memory that a ticket needs in addition to its share to merge a read of `largest`
/// bytes, or 0 if the read fits into a partition.
pub fn long_read_bytes(largest: u64) -> u64 {
    LARGE_READ_COPIES * largest.saturating_sub(sort::PARTITION)
}

pub fn arena_in_use_error() -> Error {
    Error::bug("the memory of the reads is still in use")
}

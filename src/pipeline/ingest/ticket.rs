//! The types of an ingest ticket, by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{LinkedBatch, OpenedTask};
use crate::pipeline::flush::{FlushPhase, FlushTask, LinkedFlush, OpenedFlush};
use crate::pipeline::inputs::InputTask;
use crate::pipeline::presorted::EncodedPartitions;

/// A ticket in one of its phases. `R` is the state of a reading ticket, `F` that of a flushing
/// ticket.
pub enum IngestTicket<R, F> {
    Read(R),
    Flush(Flushing<F>),
    /// No work: claimed while the claimer waits for memory.
    Idle,
}

pub type ClaimedTicket = IngestTicket<Reading<InputTask>, FlushTask>;
pub type OpenedTicket = IngestTicket<Reading<OpenedTask>, OpenedFlush>;
pub type LinkedTicket = IngestTicket<Reading<LinkedBatch>, LinkedFlush>;
pub type FinishedTicket = IngestTicket<Box<IngestedBatch>, FlushResult>;

/// Reads that are about to be copied into the arena. `task` holds them in the type of the current
/// phase.
pub struct Reading<T> {
    pub task: T,
    pub room: TicketRoom,
    pub arena: Arc<Arena>,
}

/// A flush task, in the type of the current phase.
pub struct Flushing<T> {
    pub task: T,
    pub large: Charge,
}

pub type FlushResult = FlushPhase<List, FlushedPart, Option<Frames>>;

pub enum FlushedPart {
    Frames(Frames),
    Encoded(EncodedPartitions),
}

pub struct TicketRoom {
    /// Upper bound for the memory of its records and their ends in the sort buffer.
    pub reserved: Charge,
    /// Bytes of the records that the linker still holds back after this ticket.
    pub held_back: u64,
}

pub struct IngestedBatch {
    pub entries: Vec<Entry>,
    pub ends: EndsPart,
    pub record_bytes: u64,
    pub largest_record_bytes: u64,
    pub any_placed: bool,
    /// Whether any record has the optional field that is the sort key. `None` if reads are not
    /// sorted by a field, or if the batch is empty.
    pub has_sort_field: Option<bool>,
    pub room: TicketRoom,
}

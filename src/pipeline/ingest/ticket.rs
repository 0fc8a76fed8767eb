//! The types of a ticket of ingest, phase by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{LinkedBatch, OpenedTask};
use crate::pipeline::flush::{FlushPhase, FlushTask, LinkedFlush, OpenedFlush};
use crate::pipeline::inputs::InputTask;
use crate::pipeline::presorted::EncodedPartitions;

/// A ticket in one of its phases. `R` is the state of a ticket that reads, `F` that of a ticket
/// that flushes.
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

/// Reads on their way into the arena. `task` holds them in the form of the phase.
pub struct Reading<T> {
    pub task: T,
    pub room: TicketRoom,
    pub arena: Arc<Arena>,
}

/// A task of the flush, in the form of the phase.
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
    /// Upper bound of what its records and their ends may take in the sort buffer.
    pub reserved: Charge,
    /// Bytes of the records that the linker still held back after this ticket.
    pub held_back: u64,
}

pub struct IngestedBatch {
    pub entries: Vec<Entry>,
    pub ends: EndsPart,
    pub record_bytes: u64,
    pub largest_record_bytes: u64,
    pub any_placed: bool,
    /// Whether any record has the optional field that reads are sorted by. `None` if the order uses
    /// no field, or the batch is empty.
    pub has_sort_field: Option<bool>,
    pub room: TicketRoom,
}

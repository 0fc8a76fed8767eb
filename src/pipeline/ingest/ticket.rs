//! The types of a ticket, phase by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{LinkedBatch, OpenedTask};
use crate::pipeline::flush::{FlushPhase, FlushTask, LinkedFlush, OpenedFlush};
use crate::pipeline::inputs::InputTask;
use crate::pipeline::presorted::EncodedPartitions;

/// A ticket in one of its phases: `R` is its state if it reads, `F` its state if it flushes.
pub enum IngestTicket<R, F> {
    /// Takes reads from an input.
    Read(R),
    /// Carries out a task of the flush.
    Flush(Flushing<F>),
    /// No work.
    Idle,
}

/// A ticket after the claim.
pub type ClaimedTicket = IngestTicket<Reading<InputTask>, FlushTask>;
/// A ticket after the first parallel phase.
pub type OpenedTicket = IngestTicket<Reading<OpenedTask>, OpenedFlush>;
/// A ticket after the link.
pub type LinkedTicket = IngestTicket<Reading<LinkedBatch>, LinkedFlush>;
/// A finished ticket.
pub type FinishedTicket = IngestTicket<Box<IngestedBatch>, FlushResult>;

/// Reads on their way into the arena.
pub struct Reading<T> {
    /// The reads, in the form of the phase.
    pub task: T,
    pub room: TicketRoom,
    /// Where the records go.
    pub arena: Arc<Arena>,
}

/// A task of the flush.
pub struct Flushing<T> {
    /// The task, in the form of the phase.
    pub task: T,
    /// Memory beyond the share of a ticket, where reads are long.
    pub large: Charge,
}

/// The result of a task of the flush.
pub type FlushResult = FlushPhase<List, FlushedPart, Option<Frames>>;

/// A range that was written.
pub enum FlushedPart {
    /// Frames of the run.
    Frames(Frames),
    /// Parts of the output.
    Encoded(EncodedPartitions),
}

/// Memory of a ticket.
pub struct TicketRoom {
    /// The most that it may take.
    pub reserved: Charge,
    /// Bytes of the records that the link holds back.
    pub held_back: u64,
}

/// The result of one batch of records.
pub struct IngestedBatch {
    pub entries: Vec<Entry>,
    pub ends: EndsPart,
    /// Bytes that the records take.
    pub reads: u64,
    /// Bytes of the largest of them.
    pub largest: u64,
    /// Whether one of them has a reference sequence.
    pub placed: bool,
    /// Whether one of them has the optional field that reads are sorted by; `None` without reads or such a field.
    pub tagged: Option<bool>,
    pub room: TicketRoom,
}

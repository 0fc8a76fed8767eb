//! The types of a ticket, phase by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{LinkedBatch, OpenedTask};
use crate::pipeline::flush::{self, FlushTask};
use crate::pipeline::inputs::InputTask;
use crate::pipeline::presorted::EncodedPartitions;

/// A ticket after the claim.
pub enum ClaimedTicket {
    /// A piece of an input, its reserved memory, and the arena for its records.
    Piece(InputTask, Charge, Arc<Arena>),
    /// A task of the flush, and its memory beyond the share of a ticket.
    Flush(FlushTask, Charge),
    /// No work.
    Idle,
}

/// A ticket after the first parallel phase.
pub enum OpenedTicket {
    Piece(OpenedTask, Charge, Arc<Arena>),
    Flush(flush::OpenedFlush, Charge),
    Idle,
}

/// A ticket after the link.
pub enum LinkedTicket {
    Batch(LinkedBatch, TicketRoom, Arc<Arena>),
    Flush(flush::LinkedFlush, Charge),
    Idle,
}

/// Memory of a ticket.
pub struct TicketRoom {
    /// The most that it may take.
    pub reserved: Charge,
    /// Bytes of the records that the link holds back.
    pub held_back: u64,
}

/// A finished ticket.
pub enum FinishedTicket {
    Batch(Box<IngestedBatch>),
    Flush(FlushResult, Charge),
    Idle,
}

/// The result of a task of the flush.
pub enum FlushResult {
    /// The old memory may be sealed.
    Seal,
    /// A sorted list.
    Sorted(List),
    /// Frames of the run.
    Frames(Frames),
    /// Parts of the output.
    Encoded(EncodedPartitions),
    /// The flush has ended. The frames have the last records, which do not fill a partition of the output.
    Close(Option<Frames>),
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

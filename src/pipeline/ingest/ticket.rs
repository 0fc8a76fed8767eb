//! What a ticket is, phase by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{LinkedBatch, OpenedTask};
use crate::pipeline::flush::{self, FlushTask};
use crate::pipeline::inputs::InputTask;
use crate::pipeline::presorted::EncodedPartitions;

/// What a ticket claims.
pub enum ClaimedTicket {
    /// A piece of an input, the room it may take, and where its records go.
    Piece(InputTask, Charge, Arc<Arena>),
    /// Something for the run that goes to disk, and what it takes beyond the share of a ticket.
    Flush(FlushTask, Charge),
    /// Nothing.
    Idle,
}

/// After the first parallel phase.
pub enum OpenedTicket {
    Piece(OpenedTask, Charge, Arc<Arena>),
    Flush(flush::OpenedFlush, Charge),
    Idle,
}

/// After the link.
pub enum LinkedTicket {
    Batch(LinkedBatch, TicketRoom, Arc<Arena>),
    Flush(flush::LinkedFlush, Charge),
    Idle,
}

/// Room in memory that belongs to a ticket.
pub struct TicketRoom {
    /// What it may take at most.
    pub reserved: Charge,
    /// What the records take that its link holds back.
    pub held_back: u64,
}

/// What a ticket leaves behind.
pub enum FinishedTicket {
    Batch(Box<IngestedBatch>),
    Flush(FlushResult, Charge),
    Idle,
}

/// What a task of the turnover leaves behind.
pub enum FlushResult {
    /// The old memory may be sealed.
    Seal,
    /// A sorted list.
    Sorted(List),
    /// Frames of the run.
    Frames(Frames),
    /// Parts of the output.
    Encoded(EncodedPartitions),
    /// The end, and frames of what does not fill a partition of the output.
    Close(Option<Frames>),
}

/// What records leave behind.
pub struct IngestedBatch {
    pub entries: Vec<Entry>,
    pub ends: EndsPart,
    /// Room the records take.
    pub reads: u64,
    /// Bytes of the largest of them.
    pub largest: u64,
    /// Whether one of them has a reference sequence.
    pub placed: bool,
    /// Whether one of them has the optional field that reads are sorted by; nothing without reads or such a field.
    pub tagged: Option<bool>,
    pub room: TicketRoom,
}

//! What a ticket is, phase by phase.

use std::sync::Arc;

use readmill_markdup::EndsPart;
use readmill_record::{Arena, Charge};
use readmill_sort::{Entry, Frames, List};

use crate::pipeline::feed::{Piece, Stretch};
use crate::pipeline::flush::{self, Task};
use crate::pipeline::inputs::Next;
use crate::pipeline::presorted::Encoded;

/// What a ticket claims.
pub enum Claimed {
    /// A piece of an input, the room it may take, and where its records go.
    Piece(Next, Charge, Arc<Arena>),
    /// Something for the run that goes to disk, and what it takes beyond the share of a ticket.
    Turnover(Task, Charge),
    /// Nothing.
    Idle,
}

/// After the first parallel phase.
pub enum Open {
    Piece(Piece, Charge, Arc<Arena>),
    Turnover(flush::Opened, Charge),
    Idle,
}

/// After the link.
pub enum Ready {
    Stretch(Stretch, Room, Arc<Arena>),
    Turnover(flush::Linked, Charge),
    Idle,
}

/// Room in memory that belongs to a ticket.
pub struct Room {
    /// What it may take at most.
    pub reserved: Charge,
    /// What the records take that its link holds back.
    pub held_back: u64,
}

/// What a ticket leaves behind.
pub enum Done {
    Stretch(Box<Left>),
    Turnover(TurnoverDone, Charge),
    Idle,
}

/// What a task of the turnover leaves behind.
pub enum TurnoverDone {
    /// The old memory may be sealed.
    Turn,
    /// A sorted list.
    Sorted(List),
    /// Frames of the run.
    Frames(Frames),
    /// Parts of the output.
    Encoded(Encoded),
    /// The end, and frames of what does not fill a partition of the output.
    Close(Option<Frames>),
}

/// What records leave behind.
pub struct Left {
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
    pub room: Room,
}

//! The model of a read: records, batches, headers, errors, and the ledger of memory.
//!
//! A record is its bytes as BAM stores them (SAM specification, section 4.2), `block_size` included. [`RecordRef`]
//! is a view over those bytes; [`Batch`] is a batch of records that goes through the pipeline together; [`Arena`]
//! is one block of memory that holds records while they wait to be sorted; [`Header`] is the header as lines, whose
//! order and unknown parts are kept.
//!
//! Positions are 0-based inside (`pos`), and 1-based only where text is read or written. This crate starts no threads;
//! it opens files by [`input_file::open`] alone, which remembers them.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod arena;
pub mod bases;
pub mod batch;
pub mod cigar;
mod detail;
pub mod edit;
pub mod error;
pub mod exact;
pub mod flags;
pub mod header;
pub mod input_file;
pub mod java;
pub mod ledger;
mod limit;
mod ordered_tally;
pub mod read_batch;
pub mod realign;
mod room;
mod shared_room;
mod step;
pub mod tag;
mod tally;
mod unchecked;
pub mod view;

pub use arena::{Arena, Sealed};
pub use batch::{Batch, Span, Stamp};
pub use cigar::Cigar;
pub use detail::Detail;
pub use error::{Error, ErrorContext, ErrorKind, Result};
pub use flags::Flags;
pub use header::Header;
pub use ledger::{Charge, Ledger, ShareUse};
pub use limit::Limit;
pub use ordered_tally::{
    BatchCounter, DynOrderedTally, LongestSpan, OrderedPiece, OrderedTally, PieceMaker,
    SharedOrderedTally,
};
pub use read_batch::{Read, ReadBatch, ReadSpan};
pub use room::{Prepaid, SharedPrepaid, make_room, slots_to_grow, table_slots};
pub use shared_room::{Room, RoomUser};
pub use step::{Changes, Step, Tags};
pub use tally::{DynTally, ReportText, SharedTally, Tally, TallyWorker};
pub use unchecked::{UncheckedBatch, UncheckedRecord};
pub use view::RecordRef;

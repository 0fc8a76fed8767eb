//! The model of a read: records, batches, the header, errors, and the ledger that counts memory.
//!
//! A record is kept as the bytes that BAM stores (SAM specification, section 4.2), `block_size`
//! included. Nothing is decoded into fields; views read the bytes in place:
//!
//! ```text
//! raw bytes ──► UncheckedRecord ──check──► RecordRef ──► Cigar, Flags, tag::Fields
//!               (from a file)              (a view)
//! Batch   records that pass the steps of the pipeline together (Step changes them, Tally counts them)
//! Arena   one block of memory in which records wait to be sorted
//! Header  the SAM header as its lines; unknown lines and their order are kept
//! Ledger  the memory limit (-m): what grows with the input is charged before it is allocated
//! ```
//!
//! Positions are 0-based in memory and 1-based only in text that is read or written. This crate starts
//! no threads. It opens files only through [`input_file::open_input`], which registers them so that no output
//! replaces an input.
//!
//! # Example
//!
//! A batch of records is changed in place, filtered and read:
//!
//! ```
//! use readmill_record::{Batch, Header, RecordRef, Stamp, edit};
//!
//! let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! let mut raw = vec![0; 38]; // 36 bytes of fixed fields, and the name "r" with its NUL
//! (raw[12], raw[36]) = (2, b'r');
//! edit::set_block_size(&mut raw, 0);
//! RecordRef::check(&raw, header.n_ref()).expect("the record is consistent");
//!
//! let mut batch = Batch::default();
//! for ordinal in 0..3 {
//!     batch.push(&raw, Stamp::new(ordinal, 0))?;
//! }
//! batch.edit_in_place(|stamp, raw| edit::set_pos(raw, 100 + stamp.ordinal() as i32));
//! batch.retain(|_, record| record.pos() != 101);
//! let positions = Vec::from_iter(batch.records().map(|(_, record)| record.pos()));
//! assert_eq!(positions, [100, 102]); // 0-based
//! # Ok::<(), readmill_record::Error>(())
//! ```
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

pub use arena::{Arena, SealedArena};
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
pub use room::{Prepaid, SharedPrepaid, extra_slots_to_grow, make_room, table_slots};
pub use shared_room::{CountingRoom, CountingRoomUser};
pub use step::{ChangedTags, Changes, Step};
pub use tally::{DynTally, SharedTally, Tally, TallyWorker};
pub use unchecked::{UncheckedBatch, UncheckedRecord};
pub use view::RecordRef;

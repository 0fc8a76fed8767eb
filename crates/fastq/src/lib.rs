//! Reads FASTQ with many threads concurrently.
//!
//! A *batch* is a fixed number `K` of templates: batch `t` has the templates from `t * K` up to,
//! but not including, `(t + 1) * K`. The number of lines before a batch determines its position in
//! the files, and lines can be counted in any part of a file and in any order. So the text is
//! divided into blocks. A thread that needs a block claims it, fills it and counts its lines
//! (`ring.rs`, `text.rs`). The sums of these counts determine the start and end of each batch.
//!
//! ```text
//! R1.fastq  [ block 0 ][ block 1 ][ block 2 ] ...   filled and counted by the threads that need them
//! R2.fastq  [ block 0 ][ block 1 ][ block 2 ] ...
//!            └─ batch 0 ─┘└─ batch 1 ─┘└─ ...       Claims::take: any thread, any order
//!                                                   BatchLinker::link: one thread, in order
//! ```
//!
//! No thread reads for others, no lock is held while text is read, counted or parsed, and mates are
//! paired without scanning the files from their start.
//!
//! This is right as long as every record has four lines and no batch exceeds its size limit.
//! [`Claims::take`] checks this for the records of its own batch. [`BatchLinker::link`] is called
//! in batch order, so it knows whether it holds for all earlier batches; anything unusual is read
//! again by a parser that goes from record to record. The batches are the same either way.
//!
//! ```
//! use readmill_fastq::{BatchLinker, Claims, FastqInput, FastqLayout, BatchOptions};
//! use readmill_record::ReadBatch;
//! use std::sync::Arc;
//!
//! let file = |text: &'static [u8]| FastqInput::Stream("reads.fastq".into(), Box::new(text));
//! let layout = FastqLayout::Paired(file(b"@r/1\nACG\n+\nIII\n"), file(b"@r/2\nCCT\n+\nHHH\n"));
//! let claims = Arc::new(Claims::open(layout, BatchOptions::default())?);
//! let mut reads = ReadBatch::default();
//! let taken = claims.take(0, &mut reads); // by any thread
//! let mut linker = BatchLinker::new(&claims);
//! linker.link(taken, &mut reads)?; // one batch after the other
//! assert_eq!((reads.template_count(), reads.read(1).bases), (1, &b"CCT"[..]));
//! assert!(claims.has_ended());
//! # Ok::<(), readmill_record::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod batch_linker;
mod claims;
mod general;
mod gzip;
mod layout;
mod line;
mod qualities;
mod restart;
mod ring;
mod source;
mod strict;
mod structure;
mod sync;
mod text;

pub use batch_linker::BatchLinker;
pub use claims::{BatchOptions, Claims, FastqLayout, TakenBatch};
pub use layout::LayoutDoubt;
pub use line::template_name;
pub use qualities::QualityEncoding;
pub use restart::{RestartPoint, TextPlace};
pub use source::{ByteReader, FastqInput, holds_fastq, holds_records};
pub use structure::{Purpose, ReadStructure};

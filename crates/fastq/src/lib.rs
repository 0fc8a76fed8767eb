//! Parallel reading of FASTQ: many threads claim batches of reads.
//!
//! A *batch* is a fixed number of templates: batch `t` holds templates `tK` to `(t + 1)K`. Its place in the files
//! follows from the number of lines before it, and lines can be counted anywhere in any order: the text is cut into
//! blocks, a thread that needs a block claims, fills and counts it (`ring.rs`, `text.rs`), and sums of counts give
//! the start and end of each batch. So no thread reads for others, no lock is held while text is read, counted or
//! parsed, and mates are paired although their files are never scanned from the front.
//!
//! That holds as long as every record has four lines, and a batch does not exceed its bytes of text.
//! [`Claims::take`] checks it for the records of its batch; [`BatchLinker::link`], called in the order of batches,
//! knows whether it held for all earlier ones, and reads anything unusual again with a parser that goes from record
//! to record. The batches are the same either way.
//!
//! ```
//! use readmill_fastq::{BatchLinker, Claims, FastqInput, Layout, Options};
//! use readmill_record::ReadBatch;
//! use std::sync::Arc;
//!
//! let file = |text: &'static [u8]| FastqInput::Stream("reads.fastq".into(), Box::new(text));
//! let layout = Layout::Paired(file(b"@r/1\nACG\n+\nIII\n"), file(b"@r/2\nCCT\n+\nHHH\n"));
//! let claims = Arc::new(Claims::open(layout, Options::default())?);
//! let mut reads = ReadBatch::default();
//! let taken = claims.take(0, &mut reads); // by any thread
//! let mut linker = BatchLinker::new(&claims);
//! linker.link(taken, &mut reads)?; // one batch after the other
//! assert_eq!((reads.templates(), reads.read(1).bases), (1, &b"CCT"[..]));
//! assert!(claims.ended());
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
pub use claims::{Claims, Layout, Options, TakenBatch};
pub use layout::Doubt;
pub use line::template_name;
pub use qualities::Encoding;
pub use restart::{RestartPoint, TextPlace};
pub use source::{Bytes, FastqInput, holds_fastq, holds_records};
pub use structure::{Purpose, ReadStructure};

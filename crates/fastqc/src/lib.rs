//! Quality of reads as they were sequenced: the modules of FastQC (0.11.9), in its files.
//!
//! Threads count batches as [`Piece`]s; a [`FileCounter`] adds them in the order of the file, on which some modules depend.
//!
//! | subject | module |
//! |---|---|
//! | the files of a run, and their memory | [`run`], [`options`] |
//! | a batch of reads, and what is counted of it by any thread | [`piece`], [`records`], `take`, `near`, `adapters` |
//! | the sums of a file, in its order | [`counter`], `totals`, `pages` |
//! | different sequences | `distinct` |
//! | qualities by tile | `tiles` |
//! | the share of G and C | `gc` |
//! | the report: modules with their verdicts | [`report`], `module`, `positions`, `sequences`, `groups` |
//! | known contaminants | `contaminants` |
//!
//! Counts are integers. The sums of fractions that FastQC adds up read by read are added in the same order, so that the last digits are
//! the same, too.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod adapters;
mod contaminants;
pub mod counter;
mod distinct;
mod gc;
mod groups;
mod module;
mod near;
pub mod options;
mod pages;
pub mod piece;
mod positions;
pub mod records;
pub mod report;
pub mod run;
mod sequences;
mod take;
mod tiles;
mod totals;

pub use counter::FileCounter;
pub use options::Options;
pub use piece::Piece;
pub use records::RecordText;
pub use report::Report;
pub use run::FastqcRun;

/// The lowest character of a quality.
pub(crate) const LOWEST: u8 = b'!';

/// The number of different characters of qualities.
pub(crate) const QUALS: usize = 94;

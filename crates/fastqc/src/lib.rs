//! Read quality as reported by FastQC 0.11.9: the same modules, verdicts and files.
//!
//! [`FastqcRun`] has one [`FileCounter`] per input. Threads count batches of reads into
//! [`FastqcPiece`]s, in any order. The counter adds the pieces in file order, because some modules
//! depend on it (for example, only the first 100,000 distinct sequences are tracked):
//!
//! ```text
//!  batch of reads ─► FileCounter::count_read ─► FastqcPiece ─┐   any thread, any order
//!  batch of reads ─► FileCounter::count_read ─► FastqcPiece ─┤
//!                                                            ▼   one thread at a time, in file order
//!                                      FileCounter::add_piece ─► FileCounter::make_report ─► FastqcFileReport
//! ```
//!
//! | subject | module |
//! |---|---|
//! | the files of a run and their memory | [`run`], [`options`] |
//! | counting a batch of reads on any thread | [`piece`], [`records`], `take`, `near`, `adapters` |
//! | the totals of a file, added in file order | [`counter`], `totals`, `pages` |
//! | distinct sequences | `distinct` |
//! | quality per tile | `tiles` |
//! | GC content per read | `gc` |
//! | the report: modules and their verdicts | [`report`], `module`, `positions`, `sequences`, `groups` |
//! | known adapters and primers | `contaminants` |
//!
//! Counts are integers. FastQC adds some fractions read by read; this crate adds them in the same
//! order, so that even the last digits of the report agree.
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
pub use options::FastqcOptions;
pub use piece::FastqcPiece;
pub use records::RecordText;
pub use report::FastqcFileReport;
pub use run::FastqcRun;

/// The lowest quality character, `!`: Phred 0 in Phred+33.
pub(crate) const MIN_QUAL_CHAR: u8 = b'!';

pub(crate) const QUAL_COUNT: usize = 94;

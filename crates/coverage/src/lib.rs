//! Depth of coverage of sorted reads, written as the files of mosdepth 0.3.3.
//!
//! Threads turn batches of reads into pieces. A [`readmill_record::OrderedTally`] of the program
//! joins the pieces in output order. Any thread compresses the lines of the reports:
//!
//! ```text
//!  batch ─► CoveragePieceMaker ─► CoveragePiece ─┐ any thread
//!                                                ▼ one thread at a time, in order
//!                                  CoverageJoin ─► CoverageReport ─► BedPages ─┐
//!                                                                              ▼ any thread
//!                                                        PageEncoder ─► file and index
//! ```
//!
//! | subject | module |
//! |---|---|
//! | which reads count, and which files are written | [`options`] |
//! | the piece of a batch of reads | [`piece`], [`changes`] |
//! | overlapping mates | `mates` |
//! | joining pieces into runs of equal depth | [`join`] |
//! | the files: regions, thresholds, segments, summary | [`report`] |
//! | the deepest windows | [`piles`] |
//! | regions of a BED file | [`regions`] |
//! | cumulative depth distribution | `distribution` |
//! | pages of lines, and their compression | [`page`], `line` |
//!
//! The depths do not depend on where one batch ends and the next begins. [`depth`] computes the depths
//! of `samtools depth`, `coverage` and `bedcov`, which follow other rules.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod changes;
mod coverage_file;
pub mod depth;
mod distribution;
pub mod join;
mod line;
mod mates;
pub mod options;
pub mod page;
pub mod piece;
pub mod piles;
pub mod regions;
pub mod report;

pub use coverage_file::CoverageFile;
pub use join::{CoverageJoin, DepthReceiver, DepthRun};
pub use options::{Quantize, ReadOptions, RegionChoice, ReportOptions};
pub use page::{BedContigs, BedPage, BedPages, EncodedPage, PageEncoder, PageTarget};
pub use piece::{CoveragePiece, CoveragePieceMaker};
pub use piles::{BothReceivers, DepthPeak, Piles};
pub use regions::CoverageRegions;
pub use report::{CoverageReport, FinishedCoverage, LineReceiver};

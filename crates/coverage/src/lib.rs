//! How many reads cover each base of sorted reads, in the files of mosdepth (0.3.3).
//!
//! | subject | module |
//! |---|---|
//! | which reads count, what is written | [`options`] |
//! | what a batch of reads adds: any thread makes it | [`piece`] |
//! | where mates overlap | `mates` |
//! | pieces, in their order, become runs of one depth | [`join`] |
//! | the files: regions, thresholds, segments, summary | [`report`] |
//! | the deepest windows | [`piles`] |
//! | regions of a BED file | [`regions`] |
//! | shares of bases by depth | `distribution` |
//! | lines in pages that any thread compresses | [`page`], `line` |
//!
//! ```text
//!  batch ─► CoveragePieceMaker ─► CoveragePiece ─┐ any thread
//!                                ▼ in order
//!                              Join ─► Report ─► Pages ─┐
//!                                                       ▼ any thread
//!                                                   PageEncoder ─► file, index
//! ```
//!
//! The depths do not depend on where pieces begin. [`depth`] has those of `samtools depth` and `samtools coverage`, which follow
//! other rules.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod changes;
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

pub use join::{Depths, Join, Run};
pub use options::{By, Quantize, ReadOptions, ReportOptions};
pub use page::{BedContigs, EncodedPage, Page, PageEncoder, PageTarget, Pages};
pub use piece::{CoveragePiece, CoveragePieceMaker};
pub use piles::{Both, Pile, Piles};
pub use regions::Regions;
pub use report::{CoverageFile, Lines, Report};

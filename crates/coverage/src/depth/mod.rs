//! The depths of `samtools depth`, `samtools coverage` and `samtools bedcov` 1.24, for one or several
//! sorted files.
//!
//! ```text
//!  batch ─► Gate (in order, if needed) ─► DepthPieceMaker ─► DepthPiece ─┐ any thread
//!                                                                        ▼ in order
//!                     text ◄─ DepthLines, CoverageTable or BedCoverage ◄─ DepthMerge
//! ```
//!
//! | subject | module |
//! |---|---|
//! | which reads and bases count | [`rules`] |
//! | rules that depend on earlier reads: overlapping mates, maximum depth | [`gate`] |
//! | the piece of a batch, made by any thread | [`piece`] |
//! | merging the pieces of all files into runs of equal depth | [`merge`] |
//! | the lines of `samtools depth` | [`lines`] |
//! | the table of `samtools coverage` | [`table`] |
//! | the histogram of `samtools coverage` | [`histogram`] |
//! | the lines of `samtools bedcov` | [`bed`] |
//! | the sums of one contig | `contig_coverage` |
//! | numbers as C's printf formats them | `number` |

pub mod bed;
mod contig_coverage;
pub mod gate;
pub mod histogram;
pub mod lines;
pub mod merge;
mod number;
pub mod piece;
pub mod rules;
pub mod table;

pub use bed::{BedCoverage, BedLines, BedOptions};
pub use gate::{Gate, GateKind};
pub use histogram::Histogram;
pub use lines::{DepthLines, LineOptions, PositionChoice};
pub use merge::{DepthMerge, DepthSink, TallySink};
pub use piece::{DepthPiece, DepthPieceMaker};
pub use rules::{CountWindow, DepthRules, ReadLength};
pub use table::{CoverageTable, TableOptions};

//! The depths of `samtools depth`, `samtools coverage` and `samtools bedcov` (1.24), of one sorted file or several.
//!
//! | subject | module |
//! |---|---|
//! | which reads and bases count | [`rules`] |
//! | where mates overlap, where there are too many reads: what only the reads before tell | [`gate`] |
//! | what a batch of reads adds: any thread makes it | [`piece`] |
//! | pieces of all files, in the order of positions, become runs of one depth | [`merge`] |
//! | the lines of `samtools depth` | [`lines`] |
//! | the table of `samtools coverage` | [`table`] |
//! | the lines of `samtools bedcov` | [`bed`] |
//! | its histogram | [`histogram`] |
//! | the coverage of a contig | `contig_coverage` |
//! | numbers as C prints them | `number` |
//!
//! ```text
//!  batch ─► Gate (serial, where it is needed) ─► DepthPieceMaker ─► DepthPiece ─┐ any thread
//!                                                                               ▼ in order
//!                                          text ◄─ DepthLines, CoverageTable, BedCoverage ◄─ DepthMerge
//! ```

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
pub use lines::{DepthLines, LineOptions, Positions};
pub use merge::{DepthMerge, DepthSink, TallySink};
pub use piece::{DepthPiece, DepthPieceMaker};
pub use rules::{DepthRules, ReadLength, Window};
pub use table::{CoverageTable, TableOptions};

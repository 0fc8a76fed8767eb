//! Quality metrics of reads in the files of Picard (3.4.0), counted in one walk over each record.
//!
//! | subject | module |
//! |---|---|
//! | the programs and their options | [`options`] |
//! | all counts of a run, and its files | [`tally`] |
//! | a record as all collectors see it | `read` |
//! | all reads, samples, libraries, read groups | [`levels`] |
//! | CollectAlignmentSummaryMetrics | `alignment`, `adapters`, `reference` |
//! | CollectInsertSizeMetrics | `insert_size` |
//! | MeanQualityByCycle, CollectBaseDistributionByCycle | `cycles` |
//! | QualityScoreDistribution, CollectQualityYieldMetrics | `qualities`, `quality_yield` |
//! | CollectGcBiasMetrics | [`gc_bias`] |
//! | CollectSequencingArtifactMetrics | `artifacts` |
//! | CollectWgsMetrics, CollectRawWgsMetrics, CollectWgsMetricsWithNonZeroCoverage | [`wgs`] |
//! | CollectOxoGMetrics | `oxog` |
//! | CollectHsMetrics, CollectTargetedPcrMetrics | [`targets`] |
//! | CollectRnaSeqMetrics | [`rna`] |
//! | what depths of several programs share | `depth` |
//! | all of these, of reads in their order | [`ordered`] |
//! | numbers by key, and the memory of all counts | `counts`, `room` |
//!
//! Of secondary and supplementary records, CollectGcBiasMetrics counts both and CollectSequencingArtifactMetrics the latter,
//! as in Picard; the programs of depths and of targets, and CollectOxoGMetrics count the latter, too; the others count neither. Depths and sites are counted of reads in
//! their order, beside the tally of the others, whose reads may come in any order. Counts are integers; means and shares are
//! computed once, of their sums.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod adapters;
mod alignment;
mod artifacts;
mod counts;
mod cycles;
mod depth;
pub mod gc_bias;
mod insert_size;
pub mod levels;
pub mod options;
pub mod ordered;
mod oxog;
mod qualities;
mod quality_yield;
mod read;
mod reference;
pub mod rna;
mod room;
pub mod tally;
pub mod targets;
mod unsorted;
pub mod wgs;

pub use levels::Level;
pub use options::{Options, Program, StrandSpecificity};
pub use ordered::{MEMORY as ORDERED_MEMORY, Regions, usual_piece_bytes};
pub use read::Orientation;
pub use tally::{QcTally, QcTotal, ReferenceCounts};

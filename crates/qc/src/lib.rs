//! Quality metrics of reads in the files of Picard (3.4.0), counted in one walk over each record.
//!
//! | subject | module |
//! |---|---|
//! | what a program is: the trait to implement | [`program`] |
//! | the table of programs, and what follows from it | [`programs`] |
//! | the programs that a run wants, and all options | [`selection`], [`options`], `flags` |
//! | all programs of a run | [`tally`] |
//! | a record as all programs see it | [`read`] |
//! | programs that count reads in any order | [`read_metric`], [`collector`] |
//! | what a run offers at its end | [`run_end`] |
//! | all reads, samples, libraries, read groups | [`levels`] |
//! | CollectAlignmentSummaryMetrics | `alignment`, `adapters` |
//! | CollectInsertSizeMetrics | `insert_size` |
//! | MeanQualityByCycle, CollectBaseDistributionByCycle | `cycles` |
//! | QualityScoreDistribution, CollectQualityYieldMetrics | `qualities`, `quality_yield` |
//! | CollectGcBiasMetrics | `gc_bias` |
//! | CollectSequencingArtifactMetrics | `artifacts` |
//! | CollectWgsMetrics, CollectRawWgsMetrics, CollectWgsMetricsWithNonZeroCoverage | `wgs` |
//! | CollectOxoGMetrics | `oxog` |
//! | CollectHsMetrics, CollectTargetedPcrMetrics | `targets` |
//! | CollectRnaSeqMetrics | `rna` |
//! | what programs of substitutions share; what programs of depths share | `substitutions`, `depth` |
//! | aligned blocks and mismatches; the reference as codes of bases | `blocks`, `reference` |
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
mod blocks;
pub mod collector;
mod counts;
mod cycles;
mod depth;
mod flags;
mod gc_bias;
mod insert_size;
pub mod levels;
pub mod options;
mod oxog;
pub mod program;
pub mod programs;
mod qualities;
mod quality_yield;
pub mod read;
pub mod read_metric;
mod reference;
mod rna;
mod room;
pub mod run_end;
pub mod selection;
mod substitutions;
pub mod tally;
mod targets;
mod unsorted;
mod wgs;

pub use alignment::options::AlignmentOptions;
pub use collector::{ReadCollector, ReadContext};
pub use depth::ORDERED_MEMORY;
pub use gc_bias::options::GcBiasOptions;
pub use insert_size::options::InsertSizeOptions;
pub use levels::Level;
pub use options::QcOptions;
pub use program::{MetricProgram, MetricSetup, Needs, RunningProgram};
pub use programs::{DEFAULT_PROGRAMS, PROGRAMS};
pub use read::{Orientation, PreparedRead};
pub use read_metric::{ReadMetric, in_any_order};
pub use rna::options::{RnaOptions, StrandSpecificity};
pub use run_end::{ReferenceSpan, RunEnd, SpanThreads, SpanWork};
pub use selection::{MetricSelection, PicardProgram};
pub use substitutions::SubstitutionOptions;
pub use tally::QcTally;
pub use targets::options::TargetOptions;
pub use wgs::options::WgsOptions;

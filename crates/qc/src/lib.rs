//! Computes Picard's quality metrics of reads and writes them in the same files as Picard 3.4.0.
//!
//! A run can ask for any number of Picard's programs. Each record is decoded once, and all programs
//! count from the decoded form. [`QcTally`] is the entry point: a run makes one, lets its threads
//! count batches, and writes the files at the end.
//!
//! | task | module |
//! |---|---|
//! | implement a program (the trait and an example) | [`program`] |
//! | the list of all programs | [`programs`] |
//! | the programs and options that the user asked for | [`selection`], [`options`], `flags` |
//! | run all programs together | [`tally`] |
//! | decode a record once for all programs | [`read`] |
//! | programs that count reads in any order | [`read_metric`], [`collector`] |
//! | what programs get when they write their files | [`run_end`] |
//! | group reads by sample, library or read group | [`levels`] |
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
//! | CollectJumpingLibraryMetrics | `jumping` |
//! | code shared by programs that count substitutions, and by programs that count depths | `substitutions`, `depth` |
//! | aligned blocks and mismatches; the reference as base codes | `blocks`, `reference` |
//! | histograms and their statistics; memory of all counts | `counts`, `room` |
//!
//! Programs differ in the records that they count, as in Picard. CollectGcBiasMetrics and
//! CollectJumpingLibraryMetrics count secondary and supplementary records.
//! CollectSequencingArtifactMetrics, CollectOxoGMetrics and the programs for depths, targets and
//! RNA count supplementary records, but not secondary ones. The other programs count neither.
//!
//! Programs for depths, sites and jumping pairs need reads in coordinate order and are ordered
//! tallies; the others take reads in any order. All counts are integers. Means and fractions are
//! computed once, from the final sums, so the files do not depend on the number of threads.
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
mod jumping;
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
pub use jumping::options::JumpingOptions;
pub use levels::Level;
pub use options::QcOptions;
pub use program::{MetricProgram, MetricSetup, ProgramNeeds, RunningProgram};
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

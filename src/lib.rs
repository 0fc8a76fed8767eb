//! readmill: sequencing reads in, analysis-ready reads out, in one pass and a fixed amount of memory.
//!
//! A [`Plan`] describes a run; [`run()`] carries it out. The command line (`src/cli`) only makes plans.
//! Other programs can make plans, too, and add their own steps and tallies with [`run_with`]: see
//! `examples/`.
//!
//! | folder | contents |
//! |---|---|
//! | `cli` | parses command lines and makes a plan from the flags |
//! | `plan` | describes a run, and checks the description |
//! | `formats` | encodes reads in each output format |
//! | `run` | carries out a plan: divides the memory, makes the steps, calls the passes |
//! | `pipeline` | passes over the reads, on all threads |
//! | `aligning` | aligns FASTQ reads as an input of a run |
//! | `merging` | merges alignments into unaligned reads as an input of a run |
//! | `outputs` | writes the main output, extra outputs and report files |
//! | `addons` | counts and reports: metrics, coverage, tallies, the HTML page; one file or folder each |
//! | `depth` | `readmill depth`, `readmill coverage` |
//! | `shard` | jobs in stages: the commands, and the files that stages exchange |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod addons;
mod aligning;
pub mod depth;
pub mod formats;
mod merging;
mod outputs;
mod pipeline;
pub mod plan;
mod run;
pub mod shard;

pub use merging::is_order_error;
pub use plan::Plan;
pub use readmill_process::console;
pub use readmill_record::{DynTally, SharedTally, TallyWorker};
pub use run::additions::Additions;
#[cfg(debug_assertions)]
pub use run::audit;
pub use run::summary::RunSummary;
pub use run::{memory, run, run_with, sample, tables};

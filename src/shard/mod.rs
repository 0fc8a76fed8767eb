//! Jobs in stages: one command, executed by several separate runs of the program on one or more
//! machines. The runs exchange files in a shared directory. The output is byte for byte that of a
//! single run.
//!
//! ```text
//! plan ─► [scan l ─►] map k ─► cut ─► judge ─► [compare j ─► sites] ─► [count j ─► table] ─► write j ─► join
//! ```
//!
//! | stage | what it does | file |
//! |---|---|---|
//! | plan | divides the inputs into slices, and makes the decisions that depend on the first reads | [`job`], `slice`, `driver` |
//! | scan | reads a lane of reads to be aligned, and finds where its slices start | `scan` |
//! | map | sorts the reads of a slice, and the template ends for duplicate marking | `stages` |
//! | cut | numbers the records of all slices, and divides the output order into ranges | `stages` |
//! | judge | decides which reads are duplicates | `stages` |
//! | compare, sites | find sites at which the sample differs from the reference, if there are no known sites | `recalibration` |
//! | count, table | count bases for quality recalibration | `recalibration` |
//! | write | merges one range of the output order from all slices | `stages` |
//! | join | concatenates the written ranges, and adds the index and the reports | `stages` |
//!
//! `l` is a lane, `k` a slice and `j` a range. Stages without a letter exist once. Stages in
//! brackets are needed only for reads to be aligned and for base quality recalibration.
//! `src/run/stages` processes the reads; this module contains the files, the order of the stages,
//! and the workflows for Snakemake, Nextflow and SLURM (`graph`).
//!
//! Each finished stage has one file (`stage_file`), which is either complete or absent. So a stage
//! can be run again at any time: if its file exists, it exits; otherwise, it writes the same bytes
//! again. `stage` has a table of all kinds of stages. `refusals` lists the commands that cannot run
//! in stages.

mod driver;
mod graph;
pub mod job;
mod names;
mod range;
mod recalibration;
mod refusals;
mod scan;
mod slice;
mod stage;
mod stage_file;
mod stages;
mod work;

pub use driver::Division;
pub use graph::WorkflowEngine;
pub use job::MAX_PARTS;
pub use stage::{JobStage, StageKind, StageOutcome, StageState};
pub use stages::mark_retryable;
pub use work::PlannedJob;

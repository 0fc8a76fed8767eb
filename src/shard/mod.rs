//! A job in stages: separate runs of the program that exchange files, on one machine or many. The output is, byte for
//! byte, that of one run without stages.
//!
//! ```text
//! plan ─► [scan l ─►] map k ─► cut ─► judge ─► [compare j ─► sites] ─► [count j ─► table] ─► write j ─► join
//! ```
//!
//! | stage | what it does | file |
//! |---|---|---|
//! | plan | divides the inputs into slices, and decides what the first reads decide | [`job`], `slice`, `driver` |
//! | scan | reads a lane, and finds where its slices start, where reads are aligned | `scan` |
//! | map | sorts the reads of a slice, and their template ends | `stages` |
//! | cut | numbers records over all slices, and divides the output order into ranges | `stages` |
//! | judge | resolves duplicates, where they are marked | `stages` |
//! | compare, sites | find sites at which the sample differs, where none are known | `recalibration` |
//! | count, table | count bases, where qualities are recalibrated by them | `recalibration` |
//! | write | merges a range of all slices into parts of the output | `stages` |
//! | join | puts the parts together, with index and reports | `stages` |
//!
//! What the stages do with reads is in `src/run/stages`.
//!
//! A finished stage is one file (`stage_file`), complete under its name or not there at all, so a stage can be run again
//! at any time: it finds its file, or makes the same one. `refusals` lists what cannot be done in stages.

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
pub use graph::Engine;
pub use job::MOST;
pub use stage::{JobStage, Outcome, StageState};
pub use stages::may_heal;
pub use work::Work;

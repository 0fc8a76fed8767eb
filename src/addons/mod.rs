//! The add-ons: what a run counts and reports beside its output.
//!
//! The core reads, changes, sorts and writes reads. It knows add-ons only by the trait [`AddOn`] and by the table
//! [`ADD_ONS`]; `src/run`, `src/outputs` and `src/plan` name none of them, and `./dev lint` checks this. An add-on can
//! therefore be read, tested and changed alone.
//!
//! | file | contents |
//! |---|---|
//! | `add_on` | the traits: what an add-on states to the plan, and what it does in a run |
//! | `table` | the table of add-ons, and the list of those that a plan asks for |
//! | `planned_file` | a report file that a plan asks for, and its form in JSON |
//! | `reported_tally` | a tally whose result is text: all that a simple add-on does in a run |
//! | `input_counter` | counting the input files before any step |
//! | `tallies` | tallies of reads: flagstat, idxstats, stats, checksums, adapters |
//! | `qc` | the metrics of Picard |
//! | `coverage` | coverage, as mosdepth writes it |
//! | `fastqc` | the modules of FastQC |
//! | `fingerprint` | alleles at common sites |
//! | `page` | the HTML page of the run |

mod add_on;
mod coverage;
mod fastqc;
mod fingerprint;
mod input_counter;
mod page;
mod planned_file;
mod qc;
mod reported_tally;
mod table;
mod tallies;

pub use add_on::{
    AddOn, AddOnNeeds, AddOnSetup, CompleteFiles, FileSetup, MemoryShare, OrderedCount, RoomShare,
    RunFacts, RunningAddOn,
};
pub use coverage::CoverageRequest;
pub use fastqc::FastqcRequest;
pub use fingerprint::FingerprintRequest;
pub use input_counter::{InputCounter, InputPiece};
pub use page::PageRequest;
pub use planned_file::{FileTime, PlannedFile, ReportJson, WriteText};
pub use qc::QcRequest;
pub use reported_tally::ReportedTally;
pub use table::{ADD_ONS, AddOnRow, AddOns};
pub use tallies::ReadTally;

pub use crate::pipeline::tap::Tap;

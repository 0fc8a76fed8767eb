//! Add-ons, which count reads during a run and report the results.
//!
//! The core reads, changes, sorts and writes reads. It knows add-ons only by the trait [`AddOn`]
//! and the table [`ADD_ONS`]. `src/run`, `src/outputs` and `src/plan` must not name an add-on,
//! which `./dev lint` checks. So an add-on can be read, tested and changed independently.
//!
//! | file | contents |
//! |---|---|
//! | `add_on` | the traits: what an add-on declares to the plan, and what it does in a run |
//! | `table` | the table of add-ons, and the list of those that a plan requests |
//! | `planned_file` | a report file that a plan requests, and when it is written |
//! | `reported_tally` | a tally whose result is report files: everything that a simple add-on needs in a run |
//! | `input_counter` | counts the input files before any step |
//! | `tallies` | tallies of reads: flagstat, idxstats, stats, checksums, adapters |
//! | `qc` | Picard's quality metrics |
//! | `coverage` | coverage, in mosdepth's formats |
//! | `fastqc` | FastQC's modules |
//! | `fingerprint` | alleles at common sites |
//! | `call` | variants, with the records of GATK HaplotypeCaller |
//! | `page` | the HTML page of the run |

mod add_on;
mod call;
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
pub use call::{CallIntervals, CallRequest};
pub use coverage::CoverageRequest;
pub use fastqc::FastqcRequest;
pub use fingerprint::FingerprintRequest;
pub use input_counter::{InputCounter, InputPiece};
pub use page::PageRequest;
pub use planned_file::{FileTime, PlannedFile, WriteReport};
pub use qc::QcRequest;
pub use reported_tally::ReportedTally;
pub use table::{ADD_ONS, AddOnRow, AddOns};
pub use tallies::ReadTally;

pub use crate::pipeline::tap::Tap;

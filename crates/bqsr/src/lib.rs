//! Base quality score recalibration, equal to that of GATK 4.6.2.0.
//!
//! | step | file |
//! |---|---|
//! | read groups as reports name them | [`groups`] |
//! | which reads GATK takes for well formed | [`well_formed`] |
//! | the part of a read that trains, and how it lies on the reference | [`alignment`] |
//! | which bases are counted, and which of them are errors | [`training`] |
//! | what stands in for known sites where there are none | [`suspects`] |
//! | what a base's error rate is told from: context and cycle | [`covariates`], [`qualities`] |
//! | counts of a thread, and of all | [`counters`], [`tables`] |
//! | the report: written, read, added up, drawn | [`report`], [`gather()`], [`plot_data`] |
//! | how good bases really are, by what was seen of them: the arithmetic of GATK and of Java, to the last bit | `empirical`, `evidence`, `exact`, `logarithm`, `java` |
//! | how a report is applied | [`applying`] |
//! | what the counts make of each quality | [`recalibration`], of one read group `group`, at last `results`, `quantize` |
//! | new qualities on records | [`apply`] |
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod alignment;
pub mod apply;
pub mod applying;
pub mod counters;
pub mod covariates;
mod empirical;
mod evidence;
mod exact;
pub mod gather;
mod group;
pub mod groups;
mod java;
mod logarithm;
pub mod plot_data;
pub mod qualities;
mod quantize;
pub mod recalibration;
pub mod report;
mod results;
pub mod suspects;
pub mod tables;
pub mod training;
pub mod well_formed;

pub use apply::{ApplyRecalibration, Writing};
pub use applying::Applying;
pub use counters::{Counters, Totals};
pub use gather::gather;
pub use group::GroupRecalibration;
pub use groups::ReadGroups;
pub use recalibration::Recalibration;
pub use report::{Arguments, Report};
pub use tables::{Datum, Event, EventTable, GroupTable, QualityTable, Tables};
pub use training::{Counting, Learner, Training};
pub use well_formed::WellFormed;

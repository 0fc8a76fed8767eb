//! Base quality score recalibration, equal to that of GATK 4.6.2.0.
//!
//! | step | file |
//! |---|---|
//! | read groups as reports name them | [`groups`] |
//! | the reads that GATK considers well formed | [`well_formed`] |
//! | the counted part of a read and its alignment | [`alignment`] |
//! | the counted bases, and the errors among them | [`covariate_worker`] |
//! | sites that replace known sites where there are none | [`suspects`] |
//! | the covariates of a base: context and cycle | [`covariates`], [`qualities`] |
//! | counts of one thread, and of all | [`counters`], [`tables`] |
//! | the report: written, read, added up, plotted | [`report`], [`gather()`], [`plot_data`] |
//! | empirical qualities, in the arithmetic of GATK and of Java, to the last bit | `empirical`, `recal_datum`, `exact`, `logarithm`, `java` |
//! | options of applying a report | [`apply_options`] |
//! | the map from old to new qualities | [`recalibration`], of one read group `group`, then `results`, `quantize` |
//! | new qualities on records | [`apply`] |
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod alignment;
pub mod apply;
pub mod apply_options;
pub mod counters;
pub mod covariate_worker;
pub mod covariates;
mod empirical;
pub mod gather;
mod group;
pub mod groups;
mod java;
mod logarithm;
pub mod plot_data;
pub mod qualities;
mod quantize;
mod recal_datum;
pub mod recalibration;
pub mod report;
mod results;
pub mod suspects;
pub mod tables;
pub mod well_formed;

pub use apply::{ApplyRecalibration, Writing};
pub use apply_options::ApplyOptions;
pub use counters::{Counters, Totals};
pub use covariate_worker::{CountOptions, CovariateWorker, RecalReference};
pub use gather::gather;
pub use group::GroupRecalibration;
pub use groups::ReadGroups;
pub use recalibration::Recalibration;
pub use report::{Arguments, Report};
pub use tables::{Datum, Event, EventTable, GroupTable, QualityTable, Tables};
pub use well_formed::WellFormed;

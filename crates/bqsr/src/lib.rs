//! Base quality score recalibration, equal to that of GATK 4.6.2.0.
//!
//! | step | file |
//! |---|---|
//! | well-formed reads; the counted part of a read and its alignment | [`alignment`] |
//! | the counted bases, and the errors among them | [`covariate_worker`] |
//! | sites that replace known sites where there are none | [`suspects`] |
//! | the covariates of a base: read group, quality, context and cycle | [`covariates`] |
//! | counts of one thread, and of all | [`counters`] |
//! | the report: written, read, added up, plotted | [`report`], [`gather()`], [`plot_data`] |
//! | empirical qualities, in the arithmetic of GATK and of Java, to the last bit | `recal_datum`, `java`; [`readmill_record::exact`] |
//! | the map from old to new qualities | [`recalibration`], then `results`, `quantize` |
//! | new qualities on records | [`apply`] |
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod alignment;
pub mod apply;
pub mod counters;
pub mod covariate_worker;
pub mod covariates;
pub mod gather;
mod java;
pub mod plot_data;
mod quantize;
mod recal_datum;
pub mod recalibration;
pub mod report;
mod results;
pub mod suspects;

pub use alignment::WellFormed;
pub use apply::{ApplyRecalibration, Writing};
pub use counters::{Counters, Datum, Event, EventTable, GroupTable, QualityTable, Tables, Totals};
pub use covariate_worker::{CountOptions, CovariateWorker, RecalReference};
pub use covariates::ReadGroups;
pub use gather::gather;
pub use recalibration::{GroupRecalibration, Recalibration};
pub use report::{Arguments, Report};
pub use results::ApplyOptions;

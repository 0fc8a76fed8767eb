//! Base quality score recalibration, with the same results as GATK 4.6.2.0 (BaseRecalibrator and
//! ApplyBQSR), bit for bit.
//!
//! Recalibration takes two passes over the reads. The first counts mismatches with the reference,
//! the second replaces the base qualities:
//!
//! ```text
//! reads + reference + known sites                                            reads
//!      │                                                                       │
//!      ▼                                                                       ▼
//! CovariateWorker ─► Counters ─► Totals ─► RecalReport ─► Recalibration ─► ApplyRecalibration
//!   one per thread    its counts   all       file            map             new qualities
//! ```
//!
//! | task | module |
//! |---|---|
//! | choose the counted part of a well-formed read, and its alignment | [`alignment`] |
//! | find the counted bases and the errors among them | [`covariate_worker`] |
//! | find probable variants, if there are no known sites | [`suspects`] |
//! | compute the covariates of a base: read group, quality, context, cycle | [`covariates`] |
//! | count per thread, and add up the counts | [`counters`] |
//! | write, read, add and plot reports | [`report`], [`gather_reports`], [`plot_data`] |
//! | compute empirical qualities, with the rounding of GATK and Java | `recal_datum`, `java`, [`readmill_record::exact`] |
//! | map old qualities to new ones | [`recalibration`], `results`, `quantize` |
//! | change the qualities of records | [`apply`] |
//!
//! # Example
//!
//! Of a million bases with quality 30, one percent are errors, so their new quality is 20:
//!
//! ```
//! use readmill_bqsr::covariates::NO_CONTEXT;
//! use readmill_bqsr::{ApplyOptions, Arguments, Datum, EventTable, GroupTable, QualityTable};
//! use readmill_bqsr::{RecalReport, Recalibration, Tables};
//! use readmill_record::Ledger;
//!
//! let total = Datum { observations: 1_000_000, errors: 10_000.0 };
//! let mut qualities = vec![None; 31];
//! qualities[30] = Some(Box::new(QualityTable { total, ..QualityTable::default() }));
//! let mismatches = EventTable { qualities };
//! let events = [mismatches, EventTable::default(), EventTable::default()];
//! let tables = Tables { groups: vec![GroupTable { name: b"lane1".to_vec(), events }] };
//!
//! let report = RecalReport::new(&tables, Arguments::default())?;
//! assert!(report.to_text().starts_with(b"#:GATKReport"));
//! let ledger = Ledger::unlimited();
//! let recalibration = Recalibration::new(&report, &ApplyOptions::default(), &ledger)?;
//! let group = recalibration.group(b"lane1").expect("a read group of the report");
//! assert_eq!(group.quality(30, NO_CONTEXT, 2), 20);
//! # Ok::<(), readmill_record::Error>(())
//! ```
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
pub use apply::{ApplyRecalibration, RecalWriteOptions};
pub use counters::{Counters, Datum, ErrorEvent, EventTable, GroupTable, QualityTable, Tables, Totals};
pub use covariate_worker::{CountOptions, CovariateWorker, RecalReference};
pub use covariates::ReadGroups;
pub use gather::gather_reports;
pub use recalibration::{GroupRecalibration, Recalibration};
pub use report::{Arguments, RecalReport};
pub use results::ApplyOptions;

//! readmill: sequencing reads in, analysis-ready reads out, in one pass and a fixed amount of memory.
//!
//! A [`Plan`] says what is wanted; [`run`] does it. The command line (`src/cli`) only makes plans.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod allocator;
pub mod compare;
mod forecast;
mod inputs;
pub mod memory;
pub mod output;
mod pass;
pub mod plan;
mod recalibration;
pub mod report;
mod run;
pub mod sample;
mod side_files;
pub mod signal;
mod summary;
pub mod tables;
mod target;

pub use plan::Plan;
pub use run::run;
pub use summary::Summary;

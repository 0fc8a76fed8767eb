//! readmill: sequencing reads in, analysis-ready reads out, in one pass and a fixed amount of memory.
//!
//! A [`Plan`] says what is wanted; [`run`] does it. The command line (`src/cli`) only makes plans.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod allocator;
pub mod compare;
mod forecast;
mod inputs;
pub mod memory;
mod metrics;
pub mod output;
mod pass;
pub mod plan;
pub mod report;
mod run;
pub mod sample;
pub mod signal;
mod target;

pub use plan::Plan;
pub use run::{Summary, run};

//! readmill: sequencing reads in, analysis-ready reads out, in one pass and a fixed amount of memory.
//!
//! A [`Plan`] says what is wanted; [`run`] does it. The command line (`src/cli`) only makes plans. A program of others
//! makes plans, too, and adds steps and tallies of its own by [`run_with`]: see `examples/`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod additions;
mod aligning;
pub mod allocator;
mod aside;
#[cfg(debug_assertions)]
pub mod audit;
pub mod compare;
mod elsewhere;
mod exclusive;
mod filters;
mod forecast;
mod inputs;
pub mod limit;
pub mod memory;
mod opening;
pub mod output;
mod pass;
pub mod pause;
pub mod plan;
mod recalibrated;
mod recalibration;
pub mod report;
mod run;
pub mod sample;
mod side_files;
mod sides;
pub mod signal;
mod summary;
pub mod tables;
mod tallies;
mod target;
mod watch;

pub use additions::Additions;
pub use plan::Plan;
pub use run::{run, run_with};
pub use summary::Summary;
pub use watch::{Watch, Watched, Watcher};

//! Measures and simulates the cost of locks, and of ways to read FASTQ, when many threads share
//! them.
//!
//! Langmead et al. (2018) found that programs which process reads independently stop scaling where
//! threads meet: at the lock of the input and at the lock of the output. This crate repeats their
//! experiment as far as one machine allows, and simulates larger machines.
//!
//! - [`parsing`] has the ways of reading that they compare, [`ours`] has readmill's; [`files`]
//!   measures their critical sections.
//! - [`locks`] has the kinds of locks, and [`throughput`] runs threads that read, work and write.
//! - [`simulate`] is a discrete-event simulator of threads that work and enter critical sections.
//!   [`validate`] fits it to one of their programs, predicts the others and compares with the
//!   published results; [`project`] applies what was measured here to machines with more cores.
//! - [`experiment`] runs everything and writes the report, with plots by [`plot`].
//!
//! Times are in microseconds unless a name or a comment says otherwise.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod clock;
pub mod experiment;
pub mod files;
pub mod locks;
pub mod ours;
pub mod parsing;
pub mod plot;
pub mod project;
pub mod simulate;
pub mod throughput;
pub mod validate;

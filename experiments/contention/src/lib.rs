//! The cost of locks and of ways to read FASTQ when many threads share them.
//!
//! Langmead et al. (2018) found that programs which work on each read by itself stop scaling where threads meet: at the lock
//! of the input, and at that of the output. This crate repeats their experiment as far as a machine at hand allows, and
//! simulates the rest.
//!
//! - [`parsing`] has the ways of reading that they compare, [`ours`] has readmill's; [`files`] measures what is serial.
//! - [`simulate`] is a discrete-event simulator of threads that work, write and read in turns. [`validate`] fits it to one of
//!   their programs and predicts the others, beside what they published; [`project`] carries what was measured here to more cores.
//! - [`experiment`] runs everything and writes it down, with [`plot`].
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

//! The program with damaged input, impossible requests, full disks and signals: it says what is
//! wrong, where, and what to do, and it leaves no files. Each test runs the binary in folders of
//! its own.
#![allow(clippy::unwrap_used)]

pub mod command_lines;
pub mod fixtures;
mod inputs;
mod memory_sizes;
mod outputs;
mod own_inputs;
mod parts;
#[cfg(debug_assertions)] // of which alone the program waits for a test
pub mod paused;
mod recalibration;
#[cfg(debug_assertions)]
mod signals;
pub mod space;
mod streams;
mod unusual_inputs;

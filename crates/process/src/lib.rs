//! This process: its memory, its messages, the signals that end it, and its output files.
//!
//! | part | what it does | modules |
//! |---|---|---|
//! | memory | configures the allocator, compares bytes, reads limits, and parses sizes | [`allocator`], [`limit`], [`memory_size`], [`used`], [`samples`] |
//! | messages | writes lines and progress to standard error | [`console`], [`drawing`] |
//! | streams and files | finds closed standard streams, raises the limit of open files | [`streams`], [`open_files`] |
//! | outputs | writes each file under a temporary name until it is complete | [`atomic_file`], [`exclusive`], [`made_directories`] |
//! | names of outputs | keeps inputs from being overwritten, removes indexes of older files | [`same_file`], [`older_indexes`] |
//! | end | removes unfinished files on a signal, ends with another process | [`signal`], [`end_with`] |
//! | tests | stops the program at a named moment | [`pause`] |
//!
//! The crate knows nothing about what a command does with reads. It starts two threads, which do no
//! work: one waits for signals, and one for the end of another process.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod allocator;
pub mod atomic_file;
#[cfg(any(target_env = "musl", test))]
mod byte_compare;
pub mod console;
pub mod drawing;
pub mod end_with;
pub mod exclusive;
pub mod limit;
pub mod made_directories;
pub mod memory_size;
pub mod older_indexes;
pub mod open_files;
pub mod pause;
pub mod same_file;
pub mod samples;
pub mod signal;
pub mod streams;
pub mod used;

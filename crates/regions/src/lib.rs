//! Regions where reads suggest variants, and the clipped reads of each, as GATK HaplotypeCaller selects them.
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

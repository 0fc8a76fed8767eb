//! Genotypes, annotations and VCF records, computed from likelihoods as GATK HaplotypeCaller does.
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

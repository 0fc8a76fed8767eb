//! Likelihoods of reads given haplotypes, with the bits of GATK HaplotypeCaller and of its Intel kernels.
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

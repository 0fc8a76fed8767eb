//! Genotypes, annotations and VCF records, computed from likelihoods as GATK HaplotypeCaller does.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | alleles | alleles, events of haplotypes, and the called variant | [`Allele`], [`HaplotypeEvent`], [`CalledVariant`] |
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod alleles;

pub use alleles::{Allele, CalledVariant, HaplotypeEvent, Phase, PhaseSide, SampleGenotype};

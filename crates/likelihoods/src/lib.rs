//! Likelihoods of reads given haplotypes, with the bits of GATK HaplotypeCaller and of its Intel kernels.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | qualities | caps of qualities, and the PCR model of indels | [`QualityModel`], [`HmmReads`] |
//! | pair HMM | the likelihood of each read given each haplotype | [`PairHmm`] |
//! | matrix | caps of differences, removal of poor reads, and the best haplotype of a read | [`LikelihoodMatrix`] |
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod glibc;
mod matrix;
mod pair_hmm;
mod qualities;
mod repeats;
mod tables;

pub use matrix::{
    BestHaplotype, DEFAULT_EXPECTED_ERROR_RATE, DEFAULT_MISMAPPING_RATE, INFORMATIVE_THRESHOLD,
    LikelihoodMatrix, alignment_priority,
};
pub use pair_hmm::{EmptySequence, Flavour, Instructions, PairHmm, Precision};
pub use qualities::{
    DEFAULT_INDEL_QUALITY, HmmRead, HmmReads, PcrIndelModel, QualityModel, SequencedRead, UnequalLengths,
};

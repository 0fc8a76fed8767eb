//! File formats: BAM, SAM and CRAM, and the files of references, variants and intervals.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod bam;
pub mod bgzf;
pub mod chain;
pub mod cram;
pub mod ending;
pub mod fastq;
pub mod features;
pub mod intervals;
mod mistaken;
pub mod reference;
pub mod sam;
pub mod sites;
pub mod source;
pub mod spill;
pub mod spill_codec;
pub mod text;

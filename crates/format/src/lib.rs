//! File formats: BGZF, BAM and SAM, and the files of references, variants and intervals.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod bam;
pub mod bgzf;
pub mod chain;
pub mod fastq;
pub mod fastq_trim;
pub mod features;
pub mod file_slice;
pub mod gzip;
pub mod intervals;
pub mod library_size;
pub mod metrics;
pub mod ref_flat;
pub mod reference;
pub mod region;
pub mod sam;
pub mod sites;
pub mod spill;
pub mod spill_codec;
pub mod summed;
pub mod tabix;
pub mod text;
pub mod unknown_contigs;
mod write_back;

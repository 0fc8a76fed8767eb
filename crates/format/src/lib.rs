//! File formats: everything that readmill knows about the bytes of a file, and nothing about what
//! the reads mean.
//!
//! - Reads: [`bgzf`], [`bam`], [`sam`], FASTQ output ([`fastq`]), and [`chain`], which cuts
//!   inflated bytes into records.
//! - Indexes: BAI and CSI ([`bam::index`]), tabix and BCF ([`tabix`]), FASTA ([`mod@reference`]).
//! - Genomic positions: samtools regions ([`region`]), GATK intervals ([`intervals`]), VCF, BCF and
//!   BED ([`features`]), known sites ([`sites`]), genes ([`ref_flat`]).
//! - Temporary data: the spill file ([`spill`]) and its codecs ([`spill_codec`]).
//! - Reports: text with values for `--json` ([`report`]), htsjdk metrics files ([`metrics`]).
//!
//! The crate starts no threads. Where work can run in parallel, a type says which of its methods
//! may run on any thread and which must run serially, in file order.
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
pub mod report;
pub mod sam;
pub mod sites;
pub mod spill;
pub mod spill_codec;
pub mod summed;
pub mod tabix;
pub mod text;
pub mod unknown_contigs;
mod write_back;

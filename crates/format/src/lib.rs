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
//!
//! # Example
//!
//! A line of SAM becomes a BAM file, which is then inflated:
//!
//! ```
//! use std::io::{Cursor, Read};
//!
//! use readmill_format::bam::{BamEncoder, header};
//! use readmill_format::bgzf::{BlockReader, Codec, EOF_BLOCK, InflateReader};
//! use readmill_format::sam::LineParser;
//! use readmill_record::{Batch, Header, Stamp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! let (mut raw, mut batch) = (Vec::new(), Batch::default());
//! LineParser::new(&header).parse(b"r1\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw)?;
//! batch.push(&raw, Stamp::default())?;
//!
//! let (mut text, mut file) = (Vec::new(), Vec::new());
//! let mut encoder = BamEncoder::new(Codec::Libdeflate, 6, None);
//! header::write_header(&header, &mut text)?;
//! encoder.append_bytes(&text, &mut file);
//! encoder.encode_partition(&batch, &mut file); // on any thread
//! file.extend_from_slice(&EOF_BLOCK);
//!
//! let mut inflated = Vec::new();
//! InflateReader::new(BlockReader::new(Cursor::new(file), false)).read_to_end(&mut inflated)?;
//! assert!(inflated.starts_with(b"BAM\x01") && inflated.ends_with(&raw));
//! # Ok(())
//! # }
//! ```
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

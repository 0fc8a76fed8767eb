//! A fast, seeded generator of sequencing data for the demonstration, tests and benchmarks.
//!
//! A [`Profile`] describes a sample, a [`Sample`] holds its genome and variants, and
//! [`SampleRecords`] yields its reads as raw BAM records: one template per call, in aligner order
//! and constant memory.
//!
//! ```text
//! Profile ──► Sample: genome, variants, quality strings
//!               │ records()       ──► raw BAM records
//!               │ write_fastq()   ──► FASTQ of the same reads
//!               ▼ write_fasta(), write_fai(), write_known_sites(), header_text()
//! ```
//!
//! The same profile gives the same bytes on every platform, because all decisions use integer
//! arithmetic on a small pseudo-random number generator.
//!
//! ```
//! use readmill_simulate::{Profile, Sample};
//! let sample = Sample::new(Profile::small().with_pairs(100));
//! let (mut records, mut bytes) = (sample.records(), Vec::new());
//! while records.append_next(&mut bytes) {}
//! assert!(bytes.len() > 200 * 300);
//! ```
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod draw;
mod genome;
mod names;
mod place;
mod profile;
mod quality;
mod raw;
mod read;
mod records;
mod rng;
mod sample;
mod template;
mod text;
mod variants;

pub use profile::{Fault, Flowcell, Profile, Qualities};
pub use records::SampleRecords;
pub use rng::Rng;
pub use sample::Sample;

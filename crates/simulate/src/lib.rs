//! A seeded, fast generator of sequencing data.
//!
//! A [`Profile`] describes a sample, a [`Sample`] holds its genome and variants, and
//! [`SampleRecords`] streams its reads as raw BAM records, one template a call, in aligner order and in
//! constant memory. The same profile gives the same bytes on every platform: all decisions are
//! integer arithmetic on a small generator of pseudo-random numbers.
//!
//! ```
//! use readmill_simulate::{Profile, Sample};
//! let sample = Sample::new(Profile::small().with_pairs(100));
//! let (mut records, mut bytes) = (sample.records(), Vec::new());
//! while records.next(&mut bytes) {}
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

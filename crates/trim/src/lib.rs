//! Trims and filters unaligned reads as fastp 0.23.2 does, before they are aligned (`--trim`).
//!
//! A [`Trimmer`] takes a batch of reads, cuts them according to [`TrimOptions`], removes the
//! templates that fail a filter, and counts everything in a [`TrimTally`]. [`build_report`] returns
//! these counts with fastp's JSON keys.
//!
//! # Order of steps
//! The order is fastp's, and later steps see the result of earlier ones:
//!
//! 1. Fixed numbers of bases at both ends ([`options::EndCuts`]), then sliding quality windows
//!    ([`windows`]): from the front, then either to the right or from the tail.
//! 2. Poly-G tails ([`poly::length_without_poly_g`]).
//! 3. For pairs, the overlap of the mates ([`overlap`]). It corrects bases ([`correction`]) if this
//!    is enabled and, if the template is shorter than the reads, shows where the adapters start.
//!    Otherwise, and for single reads, adapters are searched by sequence ([`adapter`]).
//! 4. Poly-X tails, of any repeated base ([`poly::find_poly_x_tail`]).
//! 5. The maximum length ([`options::EndCuts`]).
//! 6. The filters: qualities, N bases, length, complexity ([`filter`]). If one read of a pair
//!    fails, both are dropped.
//!
//! If step 1 drops one read ([`windows::find_kept_range`]), its pair skips steps 2 to 5 and is dropped.
//!
//! # Reproducibility
//! All computations use integers, except the mismatch limit of an overlap: fastp computes it in
//! floating point, so this crate does too. Counts are merged by sums and maxima, so they do not
//! depend on which thread trims which read.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod adapter;
pub mod bases;
pub mod correction;
pub mod counts;
pub mod filter;
pub mod options;
pub mod overlap;
pub mod poly;
mod report;
mod shifts;
mod tally;
mod trimmer;
pub mod windows;

pub use options::TrimOptions;
pub use report::build_report;
pub use tally::TrimTally;
pub use trimmer::Trimmer;

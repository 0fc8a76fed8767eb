//! Numbers with exactly the results of a Java 17 virtual machine on x86-64.
//!
//! GATK's likelihoods depend on the last bit of `Math.log10`, on the order of random draws, and on
//! how Java rounds decimals. No C library gives these results, so they are computed here.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | functions | `log10`, `log`, `exp`, `pow` of HotSpot; `log1p` and `StrictMath.log` | [`JavaMath`], [`log1p`], [`strict_log`] |
//! | rounding | `Math.round`, casts, GATK's `fastRound` | [`rounding`] |
//! | sums | sums of probabilities that are given as log10, exact and approximate | [`log10_sums`] |
//! | binomials | errors of Stirling's formula, deviances | [`loader`] |
//! | Phred | error probabilities by quality, PLs and GQs | [`phred`] |
//! | random | `java.util.Random` | [`JavaRandom`] |
//! | order | `java.util.PriorityQueue`, which decides ties | [`JavaPriorityQueue`] |
//! | text | `%.Nf` and `%.Ne` of `String.format`, and `Double.toString` | [`text`] |
//!
//! Java's `List.sort` and `Collections.sort` are stable, like [`slice::sort_by`]. `Arrays.sort` of
//! doubles orders -0.0 before 0.0 and NaN last, like [`f64::total_cmp`] if no NaN is negative.
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod libm;
pub mod loader;
pub mod log10_sums;
pub mod phred;
mod priority_queue;
mod random;
pub mod rounding;
pub mod text;

pub use libm::{CpuMaker, JavaMath, MissingTable, log1p, strict_log};
pub use log10_sums::Log10Sums;
pub use priority_queue::JavaPriorityQueue;
pub use random::JavaRandom;

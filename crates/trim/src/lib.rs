//! Trims and filters reads as fastp 0.23.2 does.
//!
//! # Order
//! 1. The first and last bases of each read that are always cut ([`options::Ends`]), then windows of qualities
//!    ([`windows`]): from the front, then to the right or else from the tail.
//! 2. Tails of G ([`poly::g_tail`]).
//! 3. Pairs: their overlap is found ([`overlap`]). It corrects bases ([`correction`]) if that is asked for, and tells where
//!    adapters start; only where it does not tell, adapters are looked for by their sequence ([`adapter`]).
//! 4. Tails of any one base ([`poly::x_tail`]).
//! 5. The longest length ([`options::Ends`]).
//! 6. The filters: qualities, N, length, complexity ([`filter`]). A pair goes if either of its reads fails.
//!
//! A pair of which step 1 leaves nothing of one read skips steps 2 to 5, and fails.
//!
//! All is integer arithmetic but for one number that fastp rounds as a double: how many bases of an overlap may differ.
//! Counts are sums ([`TrimTally`]), so they are the same however reads are divided among threads.

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
pub use report::report;
pub use tally::TrimTally;
pub use trimmer::Trimmer;

//! CollectHsMetrics and CollectTargetedPcrMetrics: how well reads hit the targets of a capture or of amplicons, and how deep
//! these are covered.
//!
//! | subject | module |
//! |---|---|
//! | which reads and bases count, by program | `rules` |
//! | bases that the mate has, too | `clip` |
//! | what a batch of sorted reads adds: any thread makes it | `maker`, `piece` |
//! | pieces, in their order, become depths by target | `counting`, `join` |
//! | how much more must be sequenced | `penalty` |
//! | the files | `table`, `coverage_files` |
//!
//! Positions are numbered through the targets, one after the other, so that depths beside the targets take no memory. All
//! numbers but one are sums, whatever the order of the reads: at positions deeper than COVERAGE_CAP, HET_SNP_SENSITIVITY is of
//! the qualities of the first bases.

mod clip;
mod counting;
mod coverage_files;
mod join;
mod maker;
mod penalty;
mod piece;
mod rules;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use counting::TargetCounting;
pub use coverage_files::PerBaseText;
pub(crate) use coverage_files::{per_base_text, put_per_target};
pub(crate) use join::TargetTotals;
pub use rules::TargetFiles;
pub(crate) use rules::TargetRules;
pub use table::TargetGc;
pub(crate) use table::put;

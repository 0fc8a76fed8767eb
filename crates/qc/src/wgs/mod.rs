//! CollectWgsMetrics, CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage: how deep the positions of the
//! reference are covered, and which bases do not count.
//!
//! | subject | module |
//! |---|---|
//! | which reads and bases count, by program | `rules` |
//! | what a batch of sorted reads adds: any thread makes it | `maker`, `piece` |
//! | pieces, in their order, become numbers of positions by depth | `counting`, `join` |
//! | reads beyond LOCUS_ACCUMULATION_CAP | `locus_cap` |
//! | positions of the reference that count | `territory` |
//! | the files | `table` |
//!
//! ```text
//!  batch ─► WgsMaker ─► WgsPiece ─┐ any thread
//!                                 ▼ in order
//!                              WgsJoin ─► WgsTotals ─► files
//! ```
//!
//! A piece has its reads beside their depths: which bases count where a position is deeper than COVERAGE_CAP depends on the
//! reads before it. The results do not depend on where pieces begin.

mod counting;
mod join;
mod locus_cap;
mod maker;
mod piece;
mod rules;
mod table;
mod territory;

#[cfg(test)]
mod tests;

pub(crate) use counting::WgsCounting;
pub(crate) use join::WgsTotals;
pub(crate) use rules::WgsRules;
pub(crate) use table::put;
pub use territory::{TerritoryPiece, TerritoryScan};

//! CollectRnaSeqMetrics: how many bases are of exons, introns and ribosomal RNA, of which strand reads are, and how evenly
//! transcripts are covered.
//!
//! | subject | module |
//! |---|---|
//! | genes, transcripts and exons of a refFlat file | `genes` |
//! | what a batch of sorted reads adds: any thread makes it | `maker`, `piece` |
//! | pieces, in their order, become depths of exons | `counting` |
//! | how evenly the best transcripts are covered | `evenness` |
//! | the file | `table` |
//!
//! Depths are counted at positions of exons, which are numbered one after the other: transcripts share them.

mod counting;
mod evenness;
mod genes;
mod maker;
mod piece;
mod table;

pub(crate) use counting::{RnaCounting, RnaTotals};
pub use genes::{Genes, RnaFiles};
pub(crate) use table::put;

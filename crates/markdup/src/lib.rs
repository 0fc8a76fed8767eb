//! Marks duplicates as Picard MarkDuplicates 3.4 does, with extensions, or as samtools markdup 1.24 does.
//!
//! | step | file |
//! |---|---|
//! | options | [`rules`] |
//! | whether the input is grouped by name | [`grouping`] |
//! | read groups and their libraries | [`libraries`] |
//! | tile, x and y from a read name; the optical distance | [`location`], [`instrument`] |
//! | the score of a read | [`score`] |
//! | barcodes, which keep templates of equal ends apart | [`barcodes`] |
//! | the keys of ends and pairs, packed to sort as numbers | [`item`] |
//! | the ends of a batch of reads | [`ends`] |
//! | items, in memory and on disk | [`end_store`], [`sorter`] |
//! | items and verdicts in the files of a job in stages | [`stored`], [`verdict`] |
//! | mates that were not adjacent, joined by name | [`join`] |
//! | which templates are duplicates, and which of them are optical | [`marks`], [`optical`] |
//! | the same with UMIs | [`molecules`], [`umi`] |
//! | from all ends to the verdict; the verdict | [`resolver`], [`verdict`] |
//! | the same by the rules of samtools | [`samtools`] |
//! | flags and tags on records | [`apply`] |
//! | counts and metrics; pairs by tile | [`metrics`], [`tiles`] |
//!
//! The unclipped 5′ positions of reads decide (rules numbered in `docs/parity.md`). Pairs with equal library,
//! ends and orientation are one set, whose best-scored pair stays. A single read is a duplicate if a pair has
//! the same end; else the best-scored single read stays.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod apply;
pub mod barcodes;
pub mod end_store;
pub mod ends;
pub mod grouping;
pub mod instrument;
pub mod item;
pub mod join;
pub mod libraries;
pub mod location;
pub mod marks;
pub mod metrics;
pub mod molecules;
pub mod optical;
pub mod resolver;
pub mod rules;
pub mod samtools;
pub mod score;
pub mod sorter;
pub mod stored;
pub mod tables;
pub mod tiles;
pub mod umi;
pub mod verdict;

use serde::{Deserialize, Serialize};

pub use apply::{ApplyMarks, DuplicateTypes, EarlierMarks, SamtoolsTags, Writing};
pub use end_store::EndStore;
pub use ends::{DuplicateEnds, EndsPart, EndsScratch, MatePairing};
pub use item::Item;
pub use libraries::Libraries;
pub use metrics::DuplicationMetrics;
pub use resolver::{DuplicateResolver, Resolved, verdict_bytes};
pub use rules::{Coding, Optical, Rules};
pub use samtools::{DuplicateDetails, OpticalReads, PairEnds, ReadCoords, SamtoolsRules};
pub use score::Strategy;
pub use sorter::Sorting;
pub use tiles::TileCounts;
pub use verdict::{DuplicateCounts, Verdict};

/// Which records of a duplicate template are flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Every record of the template.
    Template,
    /// The mapped primary records alone.
    Coordinate,
}

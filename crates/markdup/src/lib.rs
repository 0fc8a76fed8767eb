//! Duplicate marking as in Picard MarkDuplicates 3.4, with extensions, or as in samtools markdup
//! 1.24.
//!
//! Duplicates are templates of one library whose reads have equal unclipped 5′ positions and strands.
//! The rules are numbered in `docs/parity.md`:
//!
//! - Pairs with equal library, ends and orientation form one set. The pair with the best score is
//!   kept.
//! - A read without a mapped mate (a fragment) is a duplicate if a pair has the same end. Otherwise
//!   the fragment with the best score at that end is kept.
//!
//! Records are not kept in memory. While the input is read, each batch is reduced to small items
//! that sort as numbers. When the input ends, one scan over the sorted items decides everything:
//!
//! ```text
//!  batch ─► DuplicateEnds ─► EndsPart ─► EndStore ─► DuplicateResolver ─► Verdict ─► ApplyMarks
//!           any thread                   input order   join, sort, scan     1 bit      a Step that flags
//!                                        may spill                          a record   and tags records
//! ```
//!
//! | step | module |
//! |---|---|
//! | options | [`rules`] |
//! | is the input grouped by name? | [`grouping`] |
//! | read groups and their libraries | [`libraries`] |
//! | flow cell location from the read name; optical distance of an instrument | [`location`], [`instrument`] |
//! | the score that selects the read to keep | [`score`] |
//! | barcodes and UMIs, which separate templates with equal ends | [`barcodes`], [`umi`] |
//! | keys of ends and pairs, packed so that they sort as numbers | [`item`] |
//! | the items of one batch | [`ends`] |
//! | items of the whole input, in memory and on disk | [`end_store`], [`sorter`] |
//! | items and verdicts in the files of a job in stages | [`stored`], [`verdict`] |
//! | joining mates that are not adjacent | [`join`] |
//! | the scan that marks duplicates; optical duplicates | [`marks`], [`optical`] |
//! | the scan if UMIs separate molecules | [`molecules`] |
//! | from all items to the verdict | [`resolver`], [`verdict`] |
//! | the same by samtools' rules | [`samtools`] |
//! | flags and tags on records | [`apply`] |
//! | metrics; pairs by tile | [`metrics`], [`tiles`] |
//! | bits, rows and sparse values by record ordinal | [`tables`] |
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

pub use apply::{ApplyMarks, DuplicateTypes, EarlierMarks, MarkOptions, SamtoolsTags};
pub use end_store::EndStore;
pub use ends::{DuplicateEnds, EndsPart, EndsScratch, MatePairing};
pub use item::Item;
pub use libraries::Libraries;
pub use metrics::DuplicationMetrics;
pub use resolver::{DuplicateResolver, Resolved, verdict_bytes};
pub use rules::{Coding, Optical, Rules};
pub use samtools::{DuplicateDetails, OpticalReads, PairEnds, ReadCoords, SamtoolsRules};
pub use score::Strategy;
pub use sorter::ChunkSorter;
pub use tiles::TileCounts;
pub use verdict::{DuplicateCounts, Verdict};

/// Which records of a duplicate template are flagged, and how ties between equal templates are
/// broken.
///
/// Picard chooses the mode by the sort order of its input: queryname-grouped files are marked by
/// template, coordinate-sorted files record by record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Every record of the template, including secondary, supplementary and unmapped ones. Ties are
    /// broken by the position of the template in the input.
    Template,
    /// Only the mapped primary records. Ties are broken by the position in the coordinate-sorted
    /// file.
    Coordinate,
}

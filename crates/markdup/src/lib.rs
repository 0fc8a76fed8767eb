//! Marking duplicates as Picard MarkDuplicates 3.4 does, and what it does not do.
//!
//! | step | file |
//! |---|---|
//! | what is asked for | [`rules`] |
//! | which input is grouped by name | [`grouping`] |
//! | read groups and their libraries | [`libraries`] |
//! | tile, x and y from a read name; how near is near | [`location`], [`instrument`] |
//! | how good a read is | [`score`] |
//! | what tells templates of equal ends apart | [`barcodes`] |
//! | what one end of a template is compared by, packed to sort as numbers | [`item`] |
//! | ends from a batch of reads | [`ends`] |
//! | items of one kind, in memory and on disk; all of them | [`collect`], [`held`] |
//! | mates that were not neighbours, joined by name | [`join`] |
//! | which templates are duplicates, and which of them are optical | [`resolve`], [`optical`] |
//! | the same where UMIs tell molecules | [`molecules`], [`umi`] |
//! | from all ends to the verdict, and the verdict | [`judge`], [`verdict`], [`table`] |
//! | flags and tags on records | [`apply`] |
//! | what was counted | [`examined`], [`fields`], [`metrics`] |
//!
//! Read 5′ positions decide (rules numbered in `docs/parity.md`): pairs with equal library, ends and
//! orientation are one set, whose best-scored pair stays; a single read is a duplicate wherever a pair
//! has an end, else the best-scored single read stays.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod apply;
pub mod barcodes;
pub mod collect;
pub mod ends;
pub mod examined;
pub mod fields;
pub mod grouping;
pub mod held;
pub mod instrument;
pub mod item;
pub mod join;
pub mod judge;
pub mod libraries;
pub mod location;
pub mod metrics;
pub mod molecules;
pub mod optical;
pub mod resolve;
pub mod rules;
pub mod score;
pub mod table;
pub mod umi;
pub mod verdict;

pub use apply::{ApplyMarks, DuplicateTypes, Writing};
pub use ends::{DuplicateEnds, EndsPart, Noting, Scratch};
pub use held::{Ends, Sorting};
pub use item::Item;
pub use judge::{Court, verdict_bytes};
pub use libraries::Libraries;
pub use metrics::DuplicationMetrics;
pub use rules::{Coding, Optical, Rules};
pub use score::Strategy;
pub use verdict::{Tally, Verdict};

/// Which records of a duplicate template are flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every record of the template.
    Template,
    /// The mapped primary records alone.
    Coordinate,
}

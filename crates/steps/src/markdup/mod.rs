//! Marking duplicates as Picard MarkDuplicates 3.4 does.
//!
//! | step | file |
//! |---|---|
//! | which input is grouped by name | [`grouping`] |
//! | tile, x and y from a read name | [`location`] |
//! | how good a read is | [`score`] |
//! | what one end of a template is compared by, packed to sort as numbers | [`item`] |
//! | ends from a batch of reads | [`ends`] |
//! | all ends, in memory and on disk | [`collect`] |
//! | mates that were not neighbours, joined by name | [`join`] |
//! | which templates are duplicates | [`mod@resolve`] |
//! | flags on records | [`apply`] |
//!
//! Read 5′ positions decide (rules numbered in `docs/parity.md`): pairs with equal library, ends and
//! orientation are one set, whose best-scored pair stays; a single read is a duplicate wherever a pair
//! has an end, else the best-scored single read stays.

pub mod apply;
pub mod collect;
pub mod ends;
pub mod grouping;
pub mod item;
pub mod join;
pub mod location;
pub mod resolve;
pub mod score;

pub use apply::ApplyMarks;
pub use collect::{Ends, Sorter};
pub use ends::{DuplicateEnds, EndsPart, MOST_BYTES, Scratch};
pub use resolve::{Marks, resolve};

/// Which records of a duplicate template are flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every record of the template.
    Template,
    /// The mapped primary records alone.
    Coordinate,
}

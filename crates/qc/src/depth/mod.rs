//! Depths of sorted reads, shared by the programs for whole genomes, targets and RNA.
//!
//! | task | module |
//! |---|---|
//! | store the counted reads of a piece, with a byte for each aligned base | `reads` |
//! | count the depths of a piece, page by page | `depths` |
//! | keep pages that later reads may still change | `open_pages` |
//! | store final depths as runs of equal values | `runs` |
//! | estimate the sensitivity to heterozygous SNPs | `sensitivity` |
//!
//! Positions are counted in pages of 512. Each position has two depths: `called` counts bases with
//! a quality above noise, from which the sensitivity to SNPs is computed, and `good` counts bases
//! that meet all rules of the program.

pub(crate) mod depths;
pub(crate) mod open_pages;
pub(crate) mod reads;
pub(crate) mod runs;
pub(crate) mod sensitivity;

/// The name in the memory ledger for all programs that count in order.
pub const ORDERED_MEMORY: &str = "depths of quality metrics";

/// Usual memory in bytes of a piece of a program for RNA or jumping libraries, and of the reads that a
/// program for targets counts in one row of its table.
pub(crate) const USUAL_PIECE_BYTES: u64 = 1 << 20;

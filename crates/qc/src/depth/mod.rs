//! Depths of sorted reads, as several programs count them.
//!
//! | subject | module |
//! |---|---|
//! | the reads of a piece, and which of their bases count | `reads` |
//! | their depths, page by page | `depths` |
//! | pages to which later reads may add | `open_pages` |
//! | depths that are complete, as runs | `runs` |
//! | sensitivity to heterozygous SNPs | `sensitivity` |

pub(crate) mod depths;
pub(crate) mod open_pages;
pub(crate) mod reads;
pub(crate) mod runs;
pub(crate) mod sensitivity;

/// The name of the memory of all programs that count in order.
pub const ORDERED_MEMORY: &str = "depths of quality metrics";

/// Bytes of memory of a usual piece of one of them: most of the bytes of its reads, for each that keeps reads.
pub(crate) const USUAL_PIECE_BYTES: u64 = 1 << 20;

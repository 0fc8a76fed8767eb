//! SAM text (SAM specification, section 1.4).
//!
//! Parsing and writing give the same bytes and text as htslib 1.16 (`sam_parse1`, `sam_format1`), with these
//! differences:
//! - Malformed text that htslib guesses at is refused: an unknown RNAME or RNEXT is not `*`, `XX:i:abc` not 0, MAPQ
//!   300 not 255, and a field needs both of its colons.
//! - Negative elements of an unsigned array make it a signed one, as in later versions; 1.16 reads 0.
//! - A missing QNAME is written as `*`.

mod decode;
mod encode;
pub mod long_cigar;
#[cfg(test)]
mod tests;

pub use decode::{LineParser, parse_fields};
pub use encode::{write_field, write_record};

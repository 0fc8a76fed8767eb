//! SAM text (SAM specification, section 1.4).
//!
//! Records are read to the bytes, and written to the text, that htslib 1.16 makes of them
//! (`sam_parse1`, `sam_format1`), with these differences:
//! - Where htslib guesses at malformed text, the line is refused: an unknown RNAME or RNEXT is no
//!   `*`, `XX:i:abc` no 0, MAPQ 300 no 255, and a field needs both of its colons.
//! - Negative elements of an unsigned array make it a signed one, as in later versions; 1.16 reads 0.
//! - A missing QNAME is written as `*`.

mod decode;
mod encode;
pub(crate) mod long_cigar;
#[cfg(test)]
mod tests;

pub use decode::{LineParser, parse_fields};
pub use encode::{write_field, write_record};

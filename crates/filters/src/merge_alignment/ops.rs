//! The operators of CIGARs.

use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP, consumes_query, consumes_reference};
use readmill_record::{Cigar, realign};

/// The length of an operator, and its code.
pub type Op = (u32, u32);

/// The operators of a CIGAR.
pub fn ops(cigar: Cigar<'_>) -> impl Iterator<Item = Op> {
    cigar.ops().map(|(op, length)| (length, op))
}

/// Appends a CIGAR as text, `*` if it has no operator.
pub fn write_text(cigar: &[Op], out: &mut Vec<u8>) {
    realign::write(cigar.iter().map(|&(length, op)| (op, length)), out);
}

/// Bases of the reference that are covered.
pub fn reference_length(cigar: &[Op]) -> i64 {
    cigar.iter().filter(|op| consumes_reference(op.1)).map(|op| i64::from(op.0)).sum()
}

/// Bases of the read, soft-clipped ones included.
pub fn query_length(cigar: &[Op]) -> i64 {
    cigar.iter().filter(|op| consumes_query(op.1)).map(|op| i64::from(op.0)).sum()
}

/// Whether some base of the read is aligned to one of the reference.
pub fn maps_bases(cigar: impl IntoIterator<Item = Op>) -> bool {
    cigar.into_iter().any(|(_, op)| consumes_query(op) && consumes_reference(op))
}

/// The operators of an alignment, where a hard clip at an end is soft, as for bases that are there.
pub fn softened(cigar: Cigar<'_>, out: &mut Vec<Op>) {
    out.clear();
    out.extend(ops(cigar));
    let last = out.len().saturating_sub(1);
    for (_, op) in out.iter_mut().enumerate().filter(|(at, _)| *at == 0 || *at == last).map(|(_, op)| op)
    {
        if *op == HARD_CLIP {
            *op = SOFT_CLIP;
        }
    }
}

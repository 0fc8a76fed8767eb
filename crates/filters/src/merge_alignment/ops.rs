//! CIGAR operators as pairs of numbers, which are easier to change than the packed operators of
//! BAM.

use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP, consumes_query, consumes_reference};
use readmill_record::{Cigar, realign};

/// Length and code of a CIGAR operator, with the codes of BAM (SAM specification, section 4.2).
pub type Op = (u32, u32);

pub fn cigar_ops(cigar: Cigar<'_>) -> impl Iterator<Item = Op> {
    cigar.ops().map(|(op, length)| (length, op))
}

pub fn write_text(cigar: &[Op], out: &mut Vec<u8>) {
    realign::write_cigar(cigar.iter().map(|&(length, op)| (op, length)), out);
}

pub fn reference_length(cigar: &[Op]) -> i64 {
    cigar.iter().filter(|op| consumes_reference(op.1)).map(|op| i64::from(op.0)).sum()
}

pub fn query_length(cigar: &[Op]) -> i64 {
    cigar.iter().filter(|op| consumes_query(op.1)).map(|op| i64::from(op.0)).sum()
}

pub fn maps_bases(cigar: impl IntoIterator<Item = Op>) -> bool {
    cigar.into_iter().any(|(_, op)| consumes_query(op) && consumes_reference(op))
}

/// Writes the operators of an alignment to `out`, with hard clips at the ends replaced by soft
/// clips: the unaligned read still has the hard-clipped bases.
pub fn soften_hard_clips(cigar: Cigar<'_>, out: &mut Vec<Op>) {
    out.clear();
    out.extend(cigar_ops(cigar));
    let last = out.len().saturating_sub(1);
    for (_, op) in out.iter_mut().enumerate().filter(|(at, _)| *at == 0 || *at == last).map(|(_, op)| op)
    {
        if *op == HARD_CLIP {
            *op = SOFT_CLIP;
        }
    }
}

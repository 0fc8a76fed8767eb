//! CIGARs of more than 65,535 operators (SAM specification, section 4.2.2), treated as in htslib.
//!
//! BAM has 16 bits for the number of operators. A longer CIGAR is stored in the optional field
//! `CG`, and the CIGAR field has a placeholder that clips the whole read.

use std::ops::Range;

use readmill_record::cigar::{SKIPPED_REGION, SOFT_CLIP};
use readmill_record::{Cigar, Result, error::Error, tag};

/// Size of a `CG:B,I` field before its first operator, in bytes: tag, type, subtype and count.
pub const CG_HEAD_BYTES: usize = 8;

/// Maximum number of operators in the CIGAR field (`n_cigar_op`).
pub const MAX_STORED_OPERATORS: usize = u16::MAX as usize;

/// Returns the range in `fields` of the `CG` field that holds the actual CIGAR, if `stored` is a
/// placeholder. The conditions follow htslib's `bam_tag2cigar`, which requires less than the
/// specification. The record must be placed on a reference sequence.
pub fn find_long_cigar(stored: &[u8], l_seq: usize, fields: &[u8]) -> Option<Range<usize>> {
    if Cigar(stored).ops().next().map(|(op, n)| (op, n as usize)) != Some((SOFT_CLIP, l_seq)) {
        return None;
    }
    let found = tag::locate_field(fields, tag::CG)?;
    let is_cigar = matches!(&fields[found.clone()][2..4], b"BI" | b"Bi");
    let operators = found.len().saturating_sub(CG_HEAD_BYTES) / 4;
    (is_cigar && operators >= stored.len() / 4 && operators < 1 << 29).then_some(found)
}

/// Moves the CIGAR from a `CG` field to the CIGAR field, and removes `CG`. `cigar` is the range of
/// the placeholder in `out`, and is updated; the optional fields extend from `fields_at` to the
/// end. Returns whether there was such a field.
pub fn restore_long_cigar(
    out: &mut Vec<u8>,
    cigar: &mut Range<usize>,
    fields_at: usize,
    l_seq: usize,
) -> bool {
    let Some(found) = find_long_cigar(&out[cigar.clone()], l_seq, &out[fields_at..]) else {
        return false;
    };
    let field: Vec<u8> = out.drain(fields_at + found.start..fields_at + found.end).collect();
    out.splice(cigar.clone(), field[CG_HEAD_BYTES..].iter().copied());
    cigar.end = cigar.start + field.len() - CG_HEAD_BYTES;
    true
}

/// Moves a CIGAR that is too long for the CIGAR field to a `CG` field at the end of `out`, and
/// leaves a placeholder.
///
/// # Errors
/// Fails if the CIGAR or the read spans 2^28 bases or more, because the placeholder cannot hold its
/// length.
pub fn store_long_cigar(out: &mut Vec<u8>, cigar: &mut Range<usize>, l_seq: usize) -> Result<()> {
    let span = Cigar(&out[cigar.clone()]).reference_length();
    if span >= 1 << 28 || l_seq >= 1 << 28 {
        return Err(Error::input(
            "a CIGAR of more than 65,535 operators spans 2^28 bases or more, which BAM cannot store",
        ));
    }
    let placeholder = [(l_seq as u32) << 4 | SOFT_CLIP, (span as u32) << 4 | SKIPPED_REGION];
    let placeholder = placeholder.into_iter().flat_map(u32::to_le_bytes);
    let operators: Vec<u8> = out.splice(cigar.clone(), placeholder).collect();
    cigar.end = cigar.start + 8;
    out.extend_from_slice(b"CGBI");
    out.extend_from_slice(&((operators.len() / 4) as u32).to_le_bytes());
    out.extend_from_slice(&operators);
    Ok(())
}

//! Assembles the parts of a record as BAM.

use readmill_format::sam::long_cigar;
use readmill_record::cigar::{Cigar, consumes_query, consumes_reference};
use readmill_record::{Flags, Result, edit};

use super::parts::{Fixed, RecordBuffers};
use crate::num::damaged;

/// The codes of bases (SAM specification, section 4.2): 15, N, for all other bytes.
const CODES: [u8; 256] = {
    let mut codes = [15; 256];
    let (letters, mut i) = (b"=ACMGRSVTWYHKDBN", 0);
    while i < 16 {
        codes[letters[i] as usize] = i as u8;
        codes[letters[i].to_ascii_lowercase() as usize] = i as u8;
        i += 1;
    }
    codes
};

/// The bin of an alignment from `start` to `end` (0-based, half-open).
fn bin(start: i64, end: i64) -> u16 {
    let (first, last) = (start, end - 1);
    for (shift, offset) in [(14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)] {
        if first >> shift == last >> shift {
            return (offset + (first >> shift)) as u16;
        }
    }
    0
}

/// Appends the record, without data of its mate.
pub fn write(fixed: &Fixed, scratch: &RecordBuffers, out: &mut Vec<u8>) -> Result<()> {
    let RecordBuffers { name, tags, seq, qual, cigar, .. } = scratch;
    if name.len() > 254 {
        return Err(damaged("a read name has more than 254 bytes"));
    }
    let (mut span, mut covered) = (0i64, 0i64);
    for &operator in cigar {
        let (kind, length) = (operator & 15, i64::from(operator >> 4));
        span += if consumes_reference(kind) { length } else { 0 };
        covered += if consumes_query(kind) { length } else { 0 };
    }
    if fixed.length > 0 && !cigar.is_empty() && covered != fixed.length as i64 {
        return Err(damaged("CIGAR and SEQ are of different length"));
    }
    let start = out.len();
    let pos = fixed.pos - 1;
    let span = if fixed.flags & Flags::UNMAPPED != 0 { 1 } else { span.max(1) };
    out.extend_from_slice(&[0; 36]);
    out.extend_from_slice(name);
    out.push(0);
    let mut at = out.len()..out.len();
    cigar.iter().for_each(|operator| out.extend_from_slice(&operator.to_le_bytes()));
    at.end = out.len();
    let length = fixed.length;
    let pairs = seq[..length].chunks_exact(2);
    let rest = pairs.remainder();
    out.extend(pairs.map(|two| CODES[two[0] as usize] << 4 | CODES[two[1] as usize]));
    out.extend(rest.iter().map(|&one| CODES[one as usize] << 4));
    out.extend_from_slice(&qual[..length]);
    out.extend_from_slice(tags);
    if cigar.len() > long_cigar::MAX_STORED {
        long_cigar::hide(out, &mut at, length)?;
    }
    let operators = Cigar(&out[at]).ops().len() as u16;
    let raw = &mut out[start..];
    let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
    put(4, &fixed.contig.to_le_bytes());
    put(8, &(pos as i32).to_le_bytes());
    put(12, &[name.len() as u8 + 1, fixed.mapq]);
    put(14, &bin(pos, pos + span).to_le_bytes());
    put(16, &operators.to_le_bytes());
    put(18, &fixed.flags.to_le_bytes());
    put(20, &(length as u32).to_le_bytes());
    edit::close(out, start);
    Ok(())
}

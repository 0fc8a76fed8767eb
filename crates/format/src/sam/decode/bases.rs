//! CIGAR, SEQ and QUAL.

use std::ops::Range;

use readmill_record::cigar::{consumes_query, consumes_reference};
use readmill_record::{Cigar, Error, Result};

use super::refuse;

/// The bases that a CIGAR covers.
#[derive(Default)]
pub(super) struct Covered {
    /// Bases of the reference.
    pub(super) reference: i64,
    query: i64,
}

impl Covered {
    /// The bases that the operators of a `CG` field cover; their kinds may have no letter in SAM.
    pub(super) fn by(cigar: Cigar<'_>) -> Result<Self> {
        if cigar.ops().any(|(op, _)| op > 9) {
            return Err(Error::input("the CIGAR in CG has an operator that does not exist"));
        }
        Ok(Covered { reference: cigar.reference_length(), query: cigar.query_length() })
    }

    /// Checks that the CIGAR accounts for the bases of SEQ, if there are any.
    pub(super) fn check(&self, cigar: &Range<usize>, l_seq: Option<usize>) -> Result<()> {
        match l_seq {
            Some(n) if !cigar.is_empty() && self.query != n as i64 => Err(Error::input(format!(
                "CIGAR covers {} bases of the read, but SEQ has {n}",
                self.query
            ))),
            _ => Ok(()),
        }
    }
}

/// BAM's number of an operator; `B` is no longer in the specification, but in htslib.
fn operator(letter: u8) -> Option<u32> {
    b"MIDNSHP=XB".iter().position(|&b| b == letter).map(|op| op as u32)
}

/// Appends the operators of CIGAR.
pub(super) fn append_cigar(text: &[u8], out: &mut Vec<u8>) -> Result<Covered> {
    let mut covered = Covered::default();
    if text == b"*" {
        return Ok(covered);
    }
    let bad = || refuse("CIGAR", text, "* or operators of MIDNSHP=X with lengths below 2^28");
    let (mut length, mut digits) = (0u32, false);
    for &b in text {
        if b.is_ascii_digit() {
            length = length * 10 + u32::from(b - b'0');
            digits = true;
            if length >= 1 << 28 {
                return Err(bad());
            }
            continue;
        }
        let op = operator(b).filter(|_| digits).ok_or_else(bad)?;
        out.extend_from_slice(&(length << 4 | op).to_le_bytes());
        covered.reference += if consumes_reference(op) { i64::from(length) } else { 0 };
        covered.query += if consumes_query(op) { i64::from(length) } else { 0 };
        (length, digits) = (0, false);
    }
    if digits || text.is_empty() { Err(bad()) } else { Ok(covered) }
}

/// htslib's `seq_nt16_table`: letters in either case, digits 0 to 3 for ACGT, anything else N.
static NIBBLES: [u8; 256] = {
    let mut table = [15; 256];
    let letters = b"=ACMGRSVTWYHKDBN";
    let mut i = 0;
    while i < 16 {
        table[letters[i] as usize] = i as u8;
        table[letters[i].to_ascii_lowercase() as usize] = i as u8;
        i += 1;
    }
    (table[b'0' as usize], table[b'1' as usize]) = (1, 2);
    (table[b'2' as usize], table[b'3' as usize]) = (4, 8);
    table
};

/// Appends SEQ, two bases in each byte; returns the number of bases.
pub(super) fn append_seq(text: &[u8], out: &mut Vec<u8>) -> Result<usize> {
    if text == b"*" {
        return Ok(0);
    }
    let at = out.len();
    out.resize(at + text.len().div_ceil(2), 0);
    let pairs = text.chunks_exact(2);
    if let (Some(last), &[odd]) = (out.last_mut(), pairs.remainder()) {
        *last = NIBBLES[usize::from(odd)] << 4;
    }
    for (byte, pair) in out[at..].iter_mut().zip(pairs) {
        *byte = NIBBLES[usize::from(pair[0])] << 4 | NIBBLES[usize::from(pair[1])];
    }
    Ok(text.len())
}

/// Appends QUAL, 255 for each base if there is none.
pub(super) fn append_qual(text: &[u8], l_seq: usize, out: &mut Vec<u8>) -> Result<()> {
    if text == b"*" {
        out.resize(out.len() + l_seq, 0xff);
        return Ok(());
    }
    if text.len() != l_seq {
        return Err(Error::input(format!("SEQ has {l_seq} bases, but QUAL has {}", text.len())));
    }
    let at = out.len();
    out.extend(text.iter().map(|b| b.wrapping_sub(33)));
    // As in htslib, values from 94 to 127 are accepted, though no printable character encodes them.
    if out[at..].iter().fold(0, |all, b| all | b) > 127 {
        return Err(Error::input("QUAL contains a character that is no quality"));
    }
    Ok(())
}

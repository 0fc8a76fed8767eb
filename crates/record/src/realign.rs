//! Changes the CIGAR of a record, and parses and writes CIGARs as text, as in `MC` and `SA`.

use crate::cigar::{OPERATORS, SKIPPED_REGION, SOFT_CLIP, consumes_reference};
use crate::edit;
use crate::tag;
use crate::view::RecordRef;

/// One operator as BAM stores it: length << 4 | operator.
pub type PackedOperator = u32;

/// Maximum number of operators in the CIGAR field of a record (SAM specification, section 4.2.2).
const MAX_STORED_OPERATORS: usize = u16::MAX as usize;

/// Parses a CIGAR into `ops`, which is cleared first. Returns false if the text is not a CIGAR.
///
/// ```
/// use readmill_record::realign::{parse_cigar, write_cigar};
///
/// let (mut ops, mut text) = (Vec::new(), Vec::new());
/// assert!(parse_cigar(b"5S10M", &mut ops));
/// assert_eq!(ops, [5 << 4 | 4, 10 << 4]);
/// write_cigar(ops.iter().map(|op| (op & 15, op >> 4)), &mut text);
/// assert_eq!(text, b"5S10M");
/// assert!(!parse_cigar(b"10", &mut ops) && parse_cigar(b"*", &mut ops) && ops.is_empty());
/// ```
pub fn parse_cigar(text: &[u8], ops: &mut Vec<PackedOperator>) -> bool {
    ops.clear();
    if text == b"*" {
        return true;
    }
    let (mut length, mut digits) = (0u32, false);
    for &byte in text {
        if byte.is_ascii_digit() {
            length = length * 10 + u32::from(byte - b'0');
            digits = true;
            if length >= 1 << 28 {
                return false;
            }
            continue;
        }
        let op = OPERATORS.iter().position(|&letter| letter == byte);
        let Some(op) = op.filter(|_| digits) else { return false };
        ops.push(length << 4 | op as u32);
        (length, digits) = (0, false);
    }
    !digits && !text.is_empty()
}

pub fn write_cigar(ops: impl Iterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
    let start = out.len();
    for (op, length) in ops {
        write_number(length, out);
        out.push(OPERATORS.get(op as usize).copied().unwrap_or(b'?'));
    }
    if out.len() == start {
        out.push(b'*');
    }
}

pub fn write_number(mut n: u32, out: &mut Vec<u8>) {
    let (mut digits, mut at) = ([0u8; 10], 10);
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a copy of `record` to `out` with the CIGAR `ops`, and returns the offset of the copy.
///
/// Updates `block_size` and the bin. More than 65,535 operators are stored in `CG`; with fewer, a `CG`
/// field that held the old CIGAR is removed.
pub fn copy_with_cigar(record: RecordRef<'_>, ops: &[PackedOperator], out: &mut Vec<u8>) -> usize {
    let (raw, start) = (record.raw(), out.len());
    let name_end = crate::view::FIXED_BYTES + usize::from(raw[12]);
    let cigar_end = name_end + record.stored_cigar().0.len();
    let span: u32 = ops.iter().filter(|&&op| consumes_reference(op & 15)).map(|op| op >> 4).sum();
    let placeholder = [(record.l_seq() as u32) << 4 | SOFT_CLIP, span << 4 | SKIPPED_REGION];
    let hidden = ops.len() > MAX_STORED_OPERATORS;
    let stored = if hidden { &placeholder[..] } else { ops };
    out.extend_from_slice(&raw[..name_end]);
    out.extend(stored.iter().flat_map(|op| op.to_le_bytes()));
    out.extend_from_slice(&raw[cigar_end..]);
    let n = (stored.len() as u16).to_le_bytes();
    out[start + 16..start + 18].copy_from_slice(&n);
    if record.long_cigar().is_some() {
        edit::remove_fields(out, start, tag::CG);
    }
    if hidden {
        out.extend_from_slice(b"CGBI");
        out.extend_from_slice(&(ops.len() as u32).to_le_bytes());
        out.extend(ops.iter().flat_map(|op| op.to_le_bytes()));
    }
    edit::set_block_size(out, start);
    edit::set_bin(&mut out[start..]);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<PackedOperator>> {
        let mut ops = vec![7];
        parse_cigar(text.as_bytes(), &mut ops).then_some(ops)
    }

    #[test]
    fn text_and_operators_are_the_same() {
        for text in ["1S20M300I4000D5N6H7P8=9X", "*", "268435455M"] {
            let ops = read(text).unwrap();
            let mut out = b"x".to_vec();
            write_cigar(ops.iter().map(|op| (op & 15, op >> 4)), &mut out);
            assert_eq!(out, [b"x", text.as_bytes()].concat());
        }
        for bad in ["", "M", "10", "10M5", "10Q", "268435456M", "-1M", "*1M"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_cigar_changes_and_the_rest_stays() {
        let mut raw = vec![0u8; 36];
        (raw[12], raw[16], raw[20]) = (2, 1, 3);
        raw.extend_from_slice(b"r\0");
        raw.extend((3u32 << 4).to_le_bytes());
        raw.extend_from_slice(b"\x12\x40\x1e\x1e\x1eNMc\x01");
        edit::set_block_size(&mut raw, 0);
        let record = RecordRef::new(&raw);
        let mut out = vec![9];
        let at = copy_with_cigar(record, &read("1M2000000N2S").unwrap(), &mut out);
        let after = RecordRef::new(&out[at..]);
        assert_eq!(RecordRef::check(&out[at..], 1), Ok(()));
        assert_eq!(
            (after.qname(), after.qual(), after.field_bytes()),
            (&b"r"[..], &[30u8; 3][..], &b"NMc\x01"[..])
        );
        assert_eq!((after.cigar().reference_length(), after.bin()), (2_000_001, 9));

        let many = vec![1u32 << 4; 70_000];
        let mut long = Vec::new();
        copy_with_cigar(record, &many, &mut long);
        let long = RecordRef::new(&long);
        assert_eq!((long.cigar().ops().len(), long.stored_cigar().ops().len()), (70_000, 2));
        let mut short = Vec::new();
        copy_with_cigar(long, &read("3M").unwrap(), &mut short);
        assert_eq!(short, raw_with_bin(&raw));
    }

    fn raw_with_bin(raw: &[u8]) -> Vec<u8> {
        let mut raw = raw.to_vec();
        edit::set_bin(&mut raw);
        raw
    }
}

//! Edits raw records: fixed fields in place, and optional fields, which change the record's length.
//!
//! Functions that take `out` and `start` edit the last record of the buffer `out`, which begins at
//! offset `start`, and keep its `block_size` up to date.
//!
//! ```
//! use readmill_record::{RecordRef, edit, tag};
//!
//! let mut raw = vec![0; 38]; // 36 bytes of fixed fields, and the name "r" with its NUL
//! (raw[12], raw[36]) = (2, b'r');
//! edit::append_text(&mut raw, 0, tag::RG, b"lane1");
//! edit::set_flags(&mut raw, 0x400);
//! assert_eq!(RecordRef::new(&raw).read_group(), Some(&b"lane1"[..]));
//!
//! let mut renamed = Vec::new();
//! edit::copy_with_text(RecordRef::new(&raw), tag::RG, b"lane2", &mut renamed);
//! assert_eq!(RecordRef::new(&renamed).read_group(), Some(&b"lane2"[..]));
//! ```

use crate::tag::{self, Tag};
use crate::view::RecordRef;

fn put_bytes(raw: &mut [u8], at: usize, bytes: &[u8]) {
    raw[at..at + bytes.len()].copy_from_slice(bytes);
}

pub fn set_flags(raw: &mut [u8], flags: u16) {
    put_bytes(raw, 18, &flags.to_le_bytes());
}

pub fn set_ref_id(raw: &mut [u8], ref_id: i32) {
    put_bytes(raw, 4, &ref_id.to_le_bytes());
}

pub fn set_pos(raw: &mut [u8], pos: i32) {
    put_bytes(raw, 8, &pos.to_le_bytes());
}

pub fn set_mapq(raw: &mut [u8], mapq: u8) {
    raw[13] = mapq;
}

/// Sets the BAI bin from POS, CIGAR and FLAG, as htslib and htsjdk do when they change one of these.
pub fn set_bin(raw: &mut [u8]) {
    let record = RecordRef::new(raw);
    let bin = bai_bin(record.pos().into(), record.end());
    put_bytes(raw, 14, &bin.to_le_bytes());
}

/// Returns the BAI bin (SAM specification, section 5.3) of the alignment `start..end`, 0-based.
/// Positions beyond the range of BAI wrap around, as in htslib.
pub fn bai_bin(start: i64, end: i64) -> u16 {
    let (first, last) = (start, end - 1);
    for (shift, offset) in [(14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)] {
        if first >> shift == last >> shift {
            return (offset + (first >> shift)) as u16;
        }
    }
    0
}

pub fn set_next_ref_id(raw: &mut [u8], ref_id: i32) {
    put_bytes(raw, 24, &ref_id.to_le_bytes());
}

pub fn set_next_pos(raw: &mut [u8], pos: i32) {
    put_bytes(raw, 28, &pos.to_le_bytes());
}

pub fn set_tlen(raw: &mut [u8], tlen: i32) {
    put_bytes(raw, 32, &tlen.to_le_bytes());
}

/// Appends a copy of `record` to `out`, without its optional fields `tag`. Returns the offset of the
/// copy.
pub fn copy_without_field(record: RecordRef<'_>, tag: Tag, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let fields = record.fields_start();
    out.extend_from_slice(&record.raw()[..fields]);
    let mut rest = record.field_bytes();
    while let Some(found) = tag::locate_field(rest, tag) {
        out.extend_from_slice(&rest[..found.start]);
        rest = &rest[found.end..];
    }
    out.extend_from_slice(rest);
    set_block_size(out, start);
    start
}

pub fn append_text(out: &mut Vec<u8>, start: usize, tag: Tag, value: &[u8]) {
    out.extend_from_slice(&tag);
    out.push(b'Z');
    out.extend_from_slice(value);
    out.push(0);
    set_block_size(out, start);
}

/// Appends an integer field to the record at `start`, in the smallest unsigned type that holds the
/// value.
pub fn append_integer(out: &mut Vec<u8>, start: usize, tag: Tag, value: u32) {
    out.extend_from_slice(&tag);
    if let Ok(value) = u8::try_from(value) {
        out.extend([b'C', value]);
    } else if let Ok(value) = u16::try_from(value) {
        out.push(b'S');
        out.extend(value.to_le_bytes());
    } else {
        out.push(b'I');
        out.extend(value.to_le_bytes());
    }
    set_block_size(out, start);
}

/// Appends a copy of `record` to `out` with the text field `tag` set to `value`. The first such field
/// gets the value and later ones are removed; if there is none, the field is appended.
pub fn copy_with_text(record: RecordRef<'_>, tag: Tag, value: &[u8], out: &mut Vec<u8>) {
    let fields = record.field_bytes();
    let Some(found) = tag::locate_field(fields, tag) else {
        let start = out.len();
        out.extend_from_slice(record.raw());
        return append_text(out, start, tag, value);
    };
    let start = out.len();
    out.extend_from_slice(&record.raw()[..record.fields_start() + found.start]);
    append_text(out, start, tag, value);
    let mut rest = &fields[found.end..];
    while let Some(again) = tag::locate_field(rest, tag) {
        out.extend_from_slice(&rest[..again.start]);
        rest = &rest[again.end..];
    }
    out.extend_from_slice(rest);
    set_block_size(out, start);
}

/// Sets the first field `tag` of the record at `start`, or appends it. `typed` is the type letter
/// followed by the value as BAM stores it.
pub fn set_field(out: &mut Vec<u8>, start: usize, tag: Tag, typed: &[u8]) {
    let fields = start + RecordRef::new(&out[start..]).fields_start();
    if let Some(found) = tag::locate_field(&out[fields..], tag) {
        out.splice(fields + found.start + 2..fields + found.end, typed.iter().copied());
    } else {
        out.extend_from_slice(&tag);
        out.extend_from_slice(typed);
    }
    set_block_size(out, start);
}

pub fn remove_fields(out: &mut Vec<u8>, start: usize, tag: Tag) {
    let fields = start + RecordRef::new(&out[start..]).fields_start();
    while let Some(found) = tag::locate_field(&out[fields..], tag) {
        out.drain(fields + found.start..fields + found.end);
    }
    set_block_size(out, start);
}

/// Sets `block_size` of the record at `start` which extends to the end of `out`.
pub fn set_block_size(out: &mut [u8], start: usize) {
    let size = (out.len() - start - 4) as u32;
    put_bytes(&mut out[start..], 0, &size.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an unplaced record called `r` without bases, with these optional fields.
    fn with_fields(fields: &[u8]) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[4..12].fill(0xff);
        raw[24..32].fill(0xff);
        raw[12] = 2;
        raw.extend_from_slice(b"r\0");
        raw.extend_from_slice(fields);
        set_block_size(&mut raw, 0);
        raw
    }

    #[test]
    fn a_text_field_is_replaced_where_it_stands_and_appended_where_it_is_missing() {
        for (before, after) in [
            (&b"NMc\x01RGZold\0ASc\x02"[..], &b"NMc\x01RGZg\0ASc\x02"[..]),
            (b"NMc\x01", b"NMc\x01RGZg\0"),
            (b"RGc\x07RGZb\0", b"RGZg\0"),
            (b"", b"RGZg\0"),
        ] {
            let raw = with_fields(before);
            let mut out = vec![9, 9];
            copy_with_text(RecordRef::new(&raw), tag::RG, b"g", &mut out);
            assert_eq!(RecordRef::check(&out[2..], 0), Ok(()));
            assert_eq!(RecordRef::new(&out[2..]).field_bytes(), after);
        }
    }

    #[test]
    fn every_field_of_that_tag_is_removed() {
        let raw = with_fields(b"MCZ1M\0NMc\x01MCZ2M\0");
        let mut out = Vec::new();
        copy_without_field(RecordRef::new(&raw), tag::MC, &mut out);
        assert_eq!(RecordRef::check(&out, 0), Ok(()));
        assert_eq!(RecordRef::new(&out).field_bytes(), b"NMc\x01");
    }
}

//! An unpacked record, which is easier to change than the bytes of BAM.

use readmill_record::bases::{CODES, COMPLEMENTS, LETTERS};
use readmill_record::tag::{self, Field, Fields, Tag};
use readmill_record::view::FIXED_BYTES;
use readmill_record::{Error, Flags, RecordRef, Result, edit};

use super::ops::{Op, cigar_ops, reference_length};
use crate::turn::reverse_field_value;

const MAX_OPERATORS: usize = u16::MAX as usize;

/// A record that is unpacked, changed, and written again.
///
/// Its buffers are reused: [`DraftRecord::load_record`] replaces the contents by another record.
/// Bases are 4-bit codes, one per byte. Positions are 0-based, and -1 if missing.
#[derive(Clone, Default)]
pub struct DraftRecord {
    pub flags: u16,
    pub ref_id: i32,
    pub pos: i32,
    pub mapq: u8,
    pub cigar: Vec<Op>,
    pub next_ref_id: i32,
    pub next_pos: i32,
    pub tlen: i32,
    pub bases: Vec<u8>,
    pub qualities: Vec<u8>,
    pub fields: Vec<u8>,
}

impl DraftRecord {
    pub fn load_record(&mut self, record: RecordRef<'_>) {
        (self.flags, self.ref_id, self.pos) = (record.flags().0, record.ref_id(), record.pos());
        (self.mapq, self.tlen) = (record.mapq(), record.tlen());
        (self.next_ref_id, self.next_pos) = (record.next_ref_id(), record.next_pos());
        self.cigar.clear();
        self.cigar.extend(cigar_ops(record.cigar()));
        let (packed, length) = (record.seq(), record.l_seq());
        self.bases.clear();
        self.bases.extend(packed.iter().flat_map(|pair| [pair >> 4, pair & 15]).take(length));
        self.qualities.clear();
        self.qualities.extend_from_slice(record.qual());
        self.fields.clear();
        self.fields.extend_from_slice(record.field_bytes());
    }

    /// Appends the record with the read name `name` to `out`.
    ///
    /// # Errors
    /// The CIGAR has more operators than BAM can store (65,535).
    pub fn write_record(&self, name: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.cigar.len() > MAX_OPERATORS {
            let what =
                format!("the CIGAR has {} operators, more than {MAX_OPERATORS}", self.cigar.len());
            return Err(Error::input(what).hint("remove this alignment from ALIGNED"));
        }
        let start = out.len();
        out.resize(start + FIXED_BYTES, 0);
        out.extend_from_slice(name);
        out.push(0);
        let operators = self.cigar.iter().map(|&(length, op)| length << 4 | op);
        out.extend(operators.flat_map(u32::to_le_bytes));
        out.extend(self.bases.chunks(2).map(|two| two[0] << 4 | two.get(1).copied().unwrap_or(0)));
        out.extend_from_slice(&self.qualities);
        out.extend_from_slice(&self.fields);
        let raw = &mut out[start..];
        raw[12] = (name.len() + 1) as u8;
        raw[16..18].copy_from_slice(&(self.cigar.len() as u16).to_le_bytes());
        raw[20..24].copy_from_slice(&(self.bases.len() as u32).to_le_bytes());
        edit::set_flags(raw, self.flags);
        edit::set_ref_id(raw, self.ref_id);
        edit::set_pos(raw, self.pos);
        edit::set_mapq(raw, self.mapq);
        edit::set_next_ref_id(raw, self.next_ref_id);
        edit::set_next_pos(raw, self.next_pos);
        edit::set_tlen(raw, self.tlen);
        edit::set_block_size(out, start);
        edit::set_bin(&mut out[start..]);
        Ok(())
    }

    pub fn has_flags(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }

    pub fn set_flag(&mut self, flag: u16, is_set: bool) {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
    }

    pub fn is_unmapped(&self) -> bool {
        self.has_flags(Flags::UNMAPPED)
    }

    pub fn is_reverse(&self) -> bool {
        self.has_flags(Flags::REVERSE)
    }

    /// Returns the position of the first aligned base (1-based), or 0 without a position.
    pub fn start(&self) -> i64 {
        i64::from(self.pos) + 1
    }

    /// Returns the position of the last aligned base (1-based), or 0 if the read is unmapped.
    pub fn end(&self) -> i64 {
        if self.is_unmapped() { 0 } else { i64::from(self.pos) + reference_length(&self.cigar) }
    }

    pub fn field(&self, tag: Tag) -> Option<Field<'_>> {
        tag::find_field(&self.fields, tag)
    }

    /// Sets the first field with this tag to `typed`, which is a type letter followed by a value.
    /// Appends the field if it is missing.
    pub fn set_field(&mut self, tag: Tag, typed: &[u8]) {
        if let Some(found) = tag::locate_field(&self.fields, tag) {
            self.fields.splice(found.start + 2..found.end, typed.iter().copied());
        } else {
            self.fields.extend_from_slice(&tag);
            self.fields.extend_from_slice(typed);
        }
    }

    pub fn set_text(&mut self, tag: Tag, text: &[u8]) {
        self.set_field(tag, &[b"Z", text, b"\0"].concat());
    }

    pub fn set_byte(&mut self, tag: Tag, value: u8) {
        self.set_field(tag, &[b'C', value]);
    }

    pub fn set_number(&mut self, tag: Tag, value: u32) {
        let mut bytes = [b'I', 0, 0, 0, 0];
        bytes[1..].copy_from_slice(&value.to_le_bytes());
        match u8::try_from(value) {
            Ok(byte) => self.set_byte(tag, byte),
            Err(_) => self.set_field(tag, &bytes),
        }
    }

    pub fn remove_field(&mut self, tag: Tag) {
        while let Some(found) = tag::locate_field(&self.fields, tag) {
            self.fields.drain(found);
        }
    }

    /// Turns the read to the other strand: reverse-complements its bases, reverses its qualities,
    /// and turns the optional fields with these tags.
    pub fn reverse_strand(&mut self, complemented: &[Tag], reversed: &[Tag]) {
        self.bases.reverse();
        self.bases.iter_mut().for_each(|code| *code = complement_code(*code));
        self.qualities.reverse();
        let (mut places, mut at) = (Vec::new(), 0);
        let mut fields = Fields::new(&self.fields);
        while let Some(field) = fields.next() {
            let end = self.fields.len() - fields.rest().len();
            let is_bases = complemented.contains(&field.tag);
            if is_bases || reversed.contains(&field.tag) {
                places.push((field.kind, at + 3..end, is_bases));
            }
            at = end;
        }
        for (kind, place, is_bases) in places {
            reverse_field_value(kind, &mut self.fields[place], is_bases);
        }
    }

    pub fn base_letters(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        self.bases[range].iter().map(|&code| LETTERS[usize::from(code & 15)]).collect()
    }
}

pub fn complement_code(code: u8) -> u8 {
    CODES[usize::from(COMPLEMENTS[usize::from(code & 15)])]
}

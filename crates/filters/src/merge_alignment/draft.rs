//! A record while it changes.

use readmill_record::bases::{CODES, COMPLEMENTS, LETTERS};
use readmill_record::tag::{self, Field, Fields, Tag};
use readmill_record::view::FIXED;
use readmill_record::{Error, Flags, RecordRef, Result, edit};

use super::ops::{Op, ops, reference_length};
use crate::turn::turn;

/// Most operators of a CIGAR that BAM stores in its own place.
const MOST_OPERATORS: usize = u16::MAX as usize;

/// A record in parts, which keeps its memory from one record to the next.
#[derive(Clone, Default)]
pub struct Draft {
    /// FLAG.
    pub flags: u16,
    /// The reference sequence, or -1.
    pub ref_id: i32,
    /// POS, 0-based, or -1.
    pub pos: i32,
    /// MAPQ.
    pub mapq: u8,
    /// The operators of CIGAR.
    pub cigar: Vec<Op>,
    /// RNEXT.
    pub next_ref_id: i32,
    /// PNEXT, 0-based, or -1.
    pub next_pos: i32,
    /// TLEN.
    pub tlen: i32,
    /// Bases, by their codes.
    pub bases: Vec<u8>,
    /// Qualities.
    pub qualities: Vec<u8>,
    /// Optional fields, as BAM stores them.
    pub fields: Vec<u8>,
}

impl Draft {
    /// Becomes a copy of a record.
    pub fn load(&mut self, record: RecordRef<'_>) {
        (self.flags, self.ref_id, self.pos) = (record.flags().0, record.ref_id(), record.pos());
        (self.mapq, self.tlen) = (record.mapq(), record.tlen());
        (self.next_ref_id, self.next_pos) = (record.next_ref_id(), record.next_pos());
        self.cigar.clear();
        self.cigar.extend(ops(record.cigar()));
        let (packed, length) = (record.seq(), record.l_seq());
        self.bases.clear();
        self.bases.extend(packed.iter().flat_map(|pair| [pair >> 4, pair & 15]).take(length));
        self.qualities.clear();
        self.qualities.extend_from_slice(record.qual());
        self.fields.clear();
        self.fields.extend_from_slice(record.field_bytes());
    }

    /// Appends the record, called `name`.
    ///
    /// # Errors
    /// Its CIGAR has more operators than BAM stores.
    pub fn write(&self, name: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.cigar.len() > MOST_OPERATORS {
            let what =
                format!("its CIGAR has {} operators, more than {MOST_OPERATORS}", self.cigar.len());
            return Err(Error::input(what).hint("leave its alignment out of ALIGNED"));
        }
        let start = out.len();
        out.resize(start + FIXED, 0);
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
        edit::close(out, start);
        edit::set_bin(&mut out[start..]);
        Ok(())
    }

    /// Whether all of these flags are set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }

    /// Sets or clears a flag.
    pub fn set_flag(&mut self, flag: u16, is_set: bool) {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
    }

    /// Whether it is unmapped.
    pub fn is_unmapped(&self) -> bool {
        self.has(Flags::UNMAPPED)
    }

    /// Whether it is on the reverse strand.
    pub fn is_reverse(&self) -> bool {
        self.has(Flags::REVERSE)
    }

    /// The position of the first aligned base, 1-based; 0 if there is none.
    pub fn start(&self) -> i64 {
        i64::from(self.pos) + 1
    }

    /// The position of the last aligned base, 1-based; 0 if it is unmapped.
    pub fn end(&self) -> i64 {
        if self.is_unmapped() { 0 } else { i64::from(self.pos) + reference_length(&self.cigar) }
    }

    /// The first optional field of this name.
    pub fn field(&self, tag: Tag) -> Option<Field<'_>> {
        tag::find(&self.fields, tag)
    }

    /// Sets the first field of this name to a type letter and a value, or appends the field.
    pub fn set_field(&mut self, tag: Tag, typed: &[u8]) {
        if let Some(found) = tag::locate(&self.fields, tag) {
            self.fields.splice(found.start + 2..found.end, typed.iter().copied());
        } else {
            self.fields.extend_from_slice(&tag);
            self.fields.extend_from_slice(typed);
        }
    }

    /// Sets a text field.
    pub fn set_text(&mut self, tag: Tag, text: &[u8]) {
        self.set_field(tag, &[b"Z", text, b"\0"].concat());
    }

    /// Sets a field to a small number.
    pub fn set_byte(&mut self, tag: Tag, value: u8) {
        self.set_field(tag, &[b'C', value]);
    }

    /// Sets a field to a number.
    pub fn set_number(&mut self, tag: Tag, value: u32) {
        let mut bytes = [b'I', 0, 0, 0, 0];
        bytes[1..].copy_from_slice(&value.to_le_bytes());
        match u8::try_from(value) {
            Ok(byte) => self.set_byte(tag, byte),
            Err(_) => self.set_field(tag, &bytes),
        }
    }

    /// Removes all fields of this name.
    pub fn remove_field(&mut self, tag: Tag) {
        while let Some(found) = tag::locate(&self.fields, tag) {
            self.fields.drain(found);
        }
    }

    /// Turns bases and qualities to the other strand, and these fields with them.
    pub fn turn(&mut self, complemented: &[Tag], reversed: &[Tag]) {
        self.bases.reverse();
        self.bases.iter_mut().for_each(|code| *code = complement(*code));
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
            turn(kind, &mut self.fields[place], is_bases);
        }
    }

    /// The letters of its bases.
    pub fn letters(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        self.bases[range].iter().map(|&code| LETTERS[usize::from(code & 15)]).collect()
    }
}

/// The code of the complementary base.
pub fn complement(code: u8) -> u8 {
    CODES[usize::from(COMPLEMENTS[usize::from(code & 15)])]
}

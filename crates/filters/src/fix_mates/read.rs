//! The planned changes of a read. All reads of a template are planned before they are written,
//! because mates need each other's new values.

use std::ops::Range;

use readmill_record::realign::PackedOperator;
use readmill_record::tag::{self, Tag};
use readmill_record::{Flags, RecordRef, edit, realign};

const MQ: Tag = *b"MQ";
/// Sum of the mate's base qualities, which samtools markdup uses.
const MS: Tag = *b"ms";

const CT: Tag = *b"ct";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SamtoolsExtras {
    pub(super) template_cigar: bool,
    /// Drop unmapped reads and secondary alignments once mates are fixed (`--drop-once-fixed`,
    /// `-r`).
    pub(super) drops: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateOutcome {
    Single,
    Fixed,
    Lone,
    /// The template has two primary records for read 1 or read 2, so Picard's rules do not change
    /// it. (Picard stops with an error.)
    Doubled,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum FieldChange<T> {
    #[default]
    Same,
    Gone,
    Set(T),
}

/// New CIGARs as operators, and the CIGARs of mates as text. Planned reads refer to ranges of these
/// two buffers, so that they need no buffers of their own.
#[derive(Default)]
pub(super) struct CigarTexts {
    pub(super) ops: Vec<PackedOperator>,
    pub(super) text: Vec<u8>,
}

impl CigarTexts {
    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.text.clear();
    }

    pub(super) fn append_cigar(&mut self, read: &PlannedRead, record: RecordRef<'_>) -> Range<usize> {
        let start = self.text.len();
        match &read.cigar {
            None => realign::write_cigar(record.cigar().ops(), &mut self.text),
            Some(ops) => {
                let ops = self.ops[ops.clone()].iter().map(|op| (op & 15, op >> 4));
                realign::write_cigar(ops, &mut self.text);
            }
        }
        start..self.text.len()
    }
}

/// The fields of a read with their planned changes. Positions are 0-based, and -1 if missing.
pub(super) struct PlannedRead {
    pub(super) flags: u16,
    pub(super) ref_id: i32,
    pub(super) pos: i32,
    pub(super) mapq: u8,
    pub(super) next_ref_id: i32,
    pub(super) next_pos: i32,
    pub(super) tlen: i32,
    pub(super) span: i64,
    /// Range of the new CIGAR in [`CigarTexts::ops`]; `None` if the CIGAR does not change.
    pub(super) cigar: Option<Range<usize>>,
    /// Whether NM, MD, CG and SM are removed, because the read became unmapped.
    pub(super) strips: bool,
    pub(super) mq: FieldChange<u8>,
    pub(super) mc: FieldChange<Range<usize>>,
    pub(super) ms: FieldChange<u32>,
    pub(super) ct: FieldChange<Range<usize>>,
}

impl PlannedRead {
    pub(super) fn from_record(record: RecordRef<'_>) -> Self {
        PlannedRead {
            flags: record.flags().0,
            ref_id: record.ref_id(),
            pos: record.pos(),
            mapq: record.mapq(),
            next_ref_id: record.next_ref_id(),
            next_pos: record.next_pos(),
            tlen: record.tlen(),
            span: record.cigar().reference_length(),
            cigar: None,
            strips: false,
            mq: FieldChange::Same,
            mc: FieldChange::Same,
            ms: FieldChange::Same,
            ct: FieldChange::Same,
        }
    }

    pub(super) fn has_flag(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn set_flag(&mut self, flag: u16, value: bool) {
        self.flags = if value { self.flags | flag } else { self.flags & !flag };
    }

    pub(super) fn is_mapped(&self) -> bool {
        !self.has_flag(Flags::UNMAPPED)
    }

    pub(super) fn is_primary(&self) -> bool {
        !self.has_flag(Flags::SECONDARY | Flags::SUPPLEMENTARY)
    }

    pub(super) fn set_mate_place(&mut self, mate: (i32, i32, bool)) {
        (self.next_ref_id, self.next_pos) = (mate.0, mate.1);
        self.set_flag(Flags::MATE_REVERSE, mate.2);
    }

    /// Returns reference sequence, position, and whether the read is on the reverse strand. The
    /// mate copies these values ([`PlannedRead::set_mate_place`]).
    pub(super) fn place(&self) -> (i32, i32, bool) {
        (self.ref_id, self.pos, self.has_flag(Flags::REVERSE))
    }

    /// Appends the record with its planned changes to `out`.
    ///
    /// If `appends` is set, changed fields are moved to the end and integers have 32 bits, as in
    /// samtools. Otherwise, fields keep their positions.
    pub(super) fn write_record(
        &self,
        record: RecordRef<'_>,
        texts: &CigarTexts,
        appends: bool,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        match &self.cigar {
            None => out.extend_from_slice(record.raw()),
            Some(ops) => drop(realign::copy_with_cigar(record, &texts.ops[ops.clone()], out)),
        }
        if self.strips {
            for tag in [*b"NM", *b"MD", tag::CG, *b"SM"] {
                edit::remove_fields(out, start, tag);
            }
        }
        let raw = &mut out[start..];
        edit::set_flags(raw, self.flags);
        edit::set_ref_id(raw, self.ref_id);
        edit::set_pos(raw, self.pos);
        edit::set_mapq(raw, self.mapq);
        edit::set_next_ref_id(raw, self.next_ref_id);
        edit::set_next_pos(raw, self.next_pos);
        edit::set_tlen(raw, self.tlen);
        let moved = record.pos() != self.pos || record.ref_id() != self.ref_id;
        if moved || self.cigar.is_some() || record.flags().is_unmapped() == self.is_mapped() {
            edit::set_bin(raw);
        }
        let integer = |n: u32| if appends { wide_integer_field(n) } else { narrow_integer_field(n) };
        self.mq.write_field(out, start, MQ, appends, |&mq| integer(u32::from(mq)));
        let string = |text: &Range<usize>| [b"Z", &texts.text[text.clone()], b"\0"].concat();
        self.mc.write_field(out, start, tag::MC, appends, string);
        self.ct.write_field(out, start, CT, appends, string);
        self.ms.write_field(out, start, MS, appends, |&score| integer(score));
    }
}

fn wide_integer_field(n: u32) -> Vec<u8> {
    let mut value = vec![b'i'];
    value.extend(n.to_le_bytes());
    value
}

fn narrow_integer_field(n: u32) -> Vec<u8> {
    u8::try_from(n).map_or_else(|_| wide_integer_field(n), |n| vec![b'C', n])
}

impl<T> FieldChange<T> {
    /// Applies the change to the field `tag` of the record in `out[start..]`.
    fn write_field(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        tag: Tag,
        appends: bool,
        value: impl FnOnce(&T) -> Vec<u8>,
    ) {
        let value = match self {
            FieldChange::Same => return,
            FieldChange::Gone => return edit::remove_fields(out, start, tag),
            FieldChange::Set(it) => value(it),
        };
        let fields = start + RecordRef::new(&out[start..]).fields_start();
        if let Some(found) = tag::locate_field(&out[fields..], tag) {
            // If the field occurs twice, the second one would keep its old value, so it is removed.
            let first = if appends { fields + found.start } else { fields + found.end };
            while let Some(again) = tag::locate_field(&out[first..], tag) {
                out.drain(first + again.start..first + again.end);
            }
        }
        edit::set_field(out, start, tag, &value);
    }
}

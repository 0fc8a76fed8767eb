//! The planned changes of a read, which are made for a whole template, then written.

use std::ops::Range;

use readmill_record::realign::Packed;
use readmill_record::tag::{self, Tag};
use readmill_record::{Flags, RecordRef, edit, realign};

/// Mapping quality of the mate.
const MQ: Tag = *b"MQ";
/// Score of the mate, for samtools markdup.
const MS: Tag = *b"ms";

/// CIGAR of the template.
const CT: Tag = *b"ct";

/// What samtools does in addition, if it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extras {
    /// Write ct.
    pub(super) template_cigar: bool,
    /// Drop unmapped reads and secondary alignments.
    pub(super) drops: bool,
}

/// The result for a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateOutcome {
    /// It has no mates.
    Single,
    /// The mate fields were set.
    Fixed,
    /// A mate is missing.
    Lone,
    /// It has two primary reads of one end, and was not changed.
    Doubled,
}

/// The change of an optional field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum FieldChange<T> {
    /// It does not change.
    #[default]
    Same,
    /// It is removed.
    Gone,
    /// It gets this value.
    Set(T),
}

/// CIGARs that are written: new ones as operators, those of mates as text.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) ops: Vec<Packed>,
    pub(super) text: Vec<u8>,
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.text.clear();
    }

    /// Appends the CIGAR of a read as text.
    pub(super) fn cigar(&mut self, read: &PlannedRead, record: RecordRef<'_>) -> Range<usize> {
        let start = self.text.len();
        match &read.cigar {
            None => realign::write(record.cigar().ops(), &mut self.text),
            Some(ops) => {
                let ops = self.ops[ops.clone()].iter().map(|op| (op & 15, op >> 4));
                realign::write(ops, &mut self.text);
            }
        }
        start..self.text.len()
    }
}

/// A read with its planned changes. Positions are 0-based, -1 is none.
pub(super) struct PlannedRead {
    pub(super) flags: u16,
    pub(super) ref_id: i32,
    pub(super) pos: i32,
    pub(super) mapq: u8,
    pub(super) next_ref_id: i32,
    pub(super) next_pos: i32,
    pub(super) tlen: i32,
    /// Bases of the reference that its CIGAR covers.
    pub(super) span: i64,
    /// Its new CIGAR, among [`Texts::ops`].
    pub(super) cigar: Option<Range<usize>>,
    /// Whether NM, MD, CG and SM are removed.
    pub(super) strips: bool,
    pub(super) mq: FieldChange<u8>,
    /// The CIGAR of the mate, in [`Texts::text`].
    pub(super) mc: FieldChange<Range<usize>>,
    pub(super) ms: FieldChange<u32>,
    /// The CIGAR of the template, in [`Texts::text`].
    pub(super) ct: FieldChange<Range<usize>>,
}

impl PlannedRead {
    /// Takes a read without changes.
    pub(super) fn of(record: RecordRef<'_>) -> Self {
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

    pub(super) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn set(&mut self, flag: u16, value: bool) {
        self.flags = if value { self.flags | flag } else { self.flags & !flag };
    }

    pub(super) fn is_mapped(&self) -> bool {
        !self.is(Flags::UNMAPPED)
    }

    pub(super) fn is_primary(&self) -> bool {
        !self.is(Flags::SECONDARY | Flags::SUPPLEMENTARY)
    }

    /// Sets the position and strand of its mate.
    pub(super) fn point_at(&mut self, mate: (i32, i32, bool)) {
        (self.next_ref_id, self.next_pos) = (mate.0, mate.1);
        self.set(Flags::MATE_REVERSE, mate.2);
    }

    /// Returns reference sequence, position and whether it is reverse, for its mate.
    pub(super) fn place(&self) -> (i32, i32, bool) {
        (self.ref_id, self.pos, self.is(Flags::REVERSE))
    }

    /// Appends the changed record. If `appends`, as in samtools, fields are removed, and appended as wide
    /// integers; else they keep their places.
    pub(super) fn write(&self, record: RecordRef<'_>, texts: &Texts, appends: bool, out: &mut Vec<u8>) {
        let start = out.len();
        match &self.cigar {
            None => out.extend_from_slice(record.raw()),
            Some(ops) => drop(realign::copy_with_cigar(record, &texts.ops[ops.clone()], out)),
        }
        if self.strips {
            for tag in [*b"NM", *b"MD", tag::CG, *b"SM"] {
                edit::remove(out, start, tag);
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
        let integer = |n: u32| if appends { wide(n) } else { narrow(n) };
        self.mq.write(out, start, MQ, appends, |&mq| integer(u32::from(mq)));
        let string = |text: &Range<usize>| [b"Z", &texts.text[text.clone()], b"\0"].concat();
        self.mc.write(out, start, tag::MC, appends, string);
        self.ct.write(out, start, CT, appends, string);
        self.ms.write(out, start, MS, appends, |&score| integer(score));
    }
}

/// Returns the type and bytes of an integer as `i`.
fn wide(n: u32) -> Vec<u8> {
    let mut value = vec![b'i'];
    value.extend(n.to_le_bytes());
    value
}

/// Returns the type and bytes of a mapping quality, which is one byte.
fn narrow(n: u32) -> Vec<u8> {
    u8::try_from(n).map_or_else(|_| wide(n), |n| vec![b'C', n])
}

impl<T> FieldChange<T> {
    /// Applies the change to the field `tag` of the record that starts at `start` of `out` and reaches to its
    /// end.
    fn write(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        tag: Tag,
        appends: bool,
        value: impl FnOnce(&T) -> Vec<u8>,
    ) {
        let value = match self {
            FieldChange::Same => return,
            FieldChange::Gone => return edit::remove(out, start, tag),
            FieldChange::Set(it) => value(it),
        };
        let fields = start + RecordRef::new(&out[start..]).fields_start();
        if let Some(found) = tag::locate(&out[fields..], tag) {
            // A field that was there twice would still say what it said before.
            let first = if appends { fields + found.start } else { fields + found.end };
            while let Some(again) = tag::locate(&out[first..], tag) {
                out.drain(first + again.start..first + again.end);
            }
        }
        edit::set_field(out, start, tag, &value);
    }
}

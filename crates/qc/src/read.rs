//! A record as all collectors see it: bases as codes, qualities, and the optional fields that are counted, each looked at
//! once.

use std::cell::Cell;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use readmill_record::{Flags, RecordRef, tag};

/// The code of N.
pub(crate) const N: u8 = 15;

/// A record that is prepared once, for all programs: its bases are one code in each byte, and the optional fields that
/// programs use are found.
pub struct PreparedRead<'a> {
    /// The record itself.
    pub record: RecordRef<'a>,
    pub flags: Flags,
    /// The group of read groups that it is counted in, as [`Levels`](crate::levels) number them; 0 if it was not asked for.
    pub(crate) group: usize,
    /// The codes of its bases, one in each byte.
    pub bases: &'a [u8],
    /// Whether a base is N.
    pub has_n: bool,
    /// Its qualities; empty if absent.
    pub quals: &'a [u8],
    pub(crate) fields: ReadFields<'a>,
    /// How many of its bases differ from the reference, once that is known.
    mismatches: Cell<Option<u64>>,
}

/// The optional fields that collectors use.
#[derive(Default)]
pub(crate) struct ReadFields<'a> {
    pub read_group: Option<&'a [u8]>,
    pub mate_mapq: Option<i64>,
    pub has_supplementary: bool,
    /// Whether XN, Picard's mark of noise, is 1.
    pub is_noise: bool,
    /// OQ as text.
    pub original_quals: Option<&'a [u8]>,
}

impl<'a> ReadFields<'a> {
    fn of(record: RecordRef<'a>) -> Self {
        let mut fields = ReadFields::default();
        for field in record.fields() {
            match &field.tag {
                b"RG" if field.kind == b'Z' => fields.read_group = Some(field.value),
                b"MQ" => fields.mate_mapq = field.integer(),
                b"SA" => fields.has_supplementary = true,
                b"XN" => fields.is_noise = field.integer() == Some(1),
                tag if *tag == tag::OQ && field.kind == b'Z' && !field.value.is_empty() => {
                    fields.original_quals =
                        Some(field.value).filter(|text| text.iter().all(|c| (33..127).contains(c)));
                }
                _ => {}
            }
        }
        fields
    }
}

impl<'a> PreparedRead<'a> {
    /// Prepares a record; its bases become codes in `codes`.
    pub(crate) fn new(record: RecordRef<'a>, codes: &'a mut Vec<u8>) -> Self {
        let (packed, length) = (record.seq(), record.l_seq());
        codes.resize(2 * packed.len(), 0);
        for (pair, byte) in codes.chunks_exact_mut(2).zip(packed) {
            pair.copy_from_slice(&[byte >> 4, byte & 15]);
        }
        let quals = record.qual();
        let quals = if quals.first() == Some(&0xff) { &[] } else { quals };
        let (flags, fields) = (record.flags(), ReadFields::of(record));
        let bases = &codes[..length];
        let has_n = bases.iter().fold(false, |any, &base| any | (base == N));
        PreparedRead {
            record,
            flags,
            group: 0,
            bases,
            has_n,
            quals,
            fields,
            mismatches: Cell::new(None),
        }
    }

    /// Keeps the number of mismatches for other programs.
    pub(crate) fn note_mismatches(&self, mismatches: u64) {
        self.mismatches.set(Some(mismatches));
    }

    /// Returns the number of mismatches if a program has counted them.
    pub(crate) fn known_mismatches(&self) -> Option<u64> {
        self.mismatches.get()
    }

    /// Whether it is the second read of its pair.
    pub fn is_second(&self) -> bool {
        self.flags.is_paired() && self.flags.is_last()
    }

    /// Whether it and its mate are mapped.
    pub fn is_mapped_pair(&self) -> bool {
        self.flags.0 & (Flags::PAIRED | Flags::UNMAPPED | Flags::MATE_UNMAPPED) == Flags::PAIRED
    }

    /// The orientation of a mapped pair; `None` if the mates are on different contigs.
    pub(crate) fn orientation(&self) -> Option<Orientation> {
        orientation(self.record)
    }
}

/// The orientation of a mapped pair; `None` if the mates are on different contigs.
pub(crate) fn orientation(record: RecordRef<'_>) -> Option<Orientation> {
    if record.ref_id() != record.next_ref_id() {
        return None;
    }
    let flags = record.flags();
    let reverse = flags.is_reverse();
    if reverse == flags.is_mate_reverse() {
        return Some(Orientation::Tandem);
    }
    let (forward, backward) = if reverse {
        let end = i64::from(record.pos()) + record.cigar().reference_length();
        (i64::from(record.next_pos()) + 1, end)
    } else {
        // Java adds numbers of 32 bits here.
        let start = record.pos() + 1;
        (i64::from(start), i64::from(start.wrapping_add(record.tlen())))
    };
    Some(if forward < backward { Orientation::Fr } else { Orientation::Rf })
}

/// How the reads of a pair point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// At each other.
    Fr,
    /// Away from each other.
    Rf,
    /// In the same direction.
    Tandem,
}

impl Orientation {
    /// Each orientation with Picard's name of it.
    pub const NAMED: [(Orientation, &'static str); 3] =
        [(Orientation::Fr, "FR"), (Orientation::Rf, "RF"), (Orientation::Tandem, "TANDEM")];
}

impl ValueEnum for Orientation {
    fn value_variants<'a>() -> &'a [Self] {
        &[Orientation::Fr, Orientation::Rf, Orientation::Tandem]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let named = Self::NAMED.into_iter().find(|(orientation, _)| orientation == self);
        named.map(|(_, name)| PossibleValue::new(name))
    }
}

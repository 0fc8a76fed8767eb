//! A record decoded once for all programs: base codes, qualities, and the optional fields that
//! programs use.

use std::cell::Cell;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use readmill_record::{Flags, RecordRef, tag};

/// The BAM code of the base N. Codes have 4 bits: A, C, G and T are 1, 2, 4 and 8.
pub(crate) const N: u8 = 15;

/// A record decoded once for all programs: its bases as one code per byte, its qualities, and the
/// optional fields that programs use.
///
/// Each thread of [`QcTally`](crate::QcTally) makes one for each record and passes it to all
/// collectors, so that no program parses the record again.
pub struct PreparedRead<'a> {
    pub record: RecordRef<'a>,
    pub flags: Flags,
    /// The index of the group of read groups in which the read is counted, see
    /// [`Levels`](crate::levels). The tally sets it; 0 before that.
    pub(crate) group: usize,
    /// The bases as BAM codes, one per byte, in the order of the record (the reverse complement of
    /// the sequenced bases if the record is on the reverse strand).
    pub bases: &'a [u8],
    pub has_n: bool,
    /// The base qualities (Phred, without offset). Empty if the record has none.
    pub quals: &'a [u8],
    pub(crate) fields: ReadFields<'a>,
    /// The number of bases that differ from the reference. `None` until the first program has
    /// counted them.
    mismatches: Cell<Option<u64>>,
}

/// The optional fields that programs use, found in one walk over all fields of the record.
#[derive(Default)]
pub(crate) struct ReadFields<'a> {
    pub read_group: Option<&'a [u8]>,
    pub mate_mapq: Option<i64>,
    pub has_supplementary: bool,
    /// Whether XN is 1, Picard's mark for noise reads.
    pub is_noise: bool,
    /// The text of OQ (Phred+33). `None` if it is missing, empty, or has characters outside 33 to
    /// 126.
    pub original_quals: Option<&'a [u8]>,
}

impl<'a> ReadFields<'a> {
    fn find_in(record: RecordRef<'a>) -> Self {
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
    /// Decodes a record. The base codes are written to `codes`, whose memory is reused.
    pub(crate) fn new(record: RecordRef<'a>, codes: &'a mut Vec<u8>) -> Self {
        codes.resize(Self::code_bytes(record), 0);
        Self::decode(record, codes)
    }

    /// Returns the number of bytes that [`PreparedRead::decode`] needs for the base codes of a
    /// record: one for each base, rounded up to an even number.
    pub(crate) fn code_bytes(record: RecordRef<'_>) -> usize {
        2 * record.seq().len()
    }

    /// Decodes a record as [`PreparedRead::new`] does, into
    /// [`code_bytes`](PreparedRead::code_bytes) bytes.
    pub(crate) fn decode(record: RecordRef<'a>, codes: &'a mut [u8]) -> Self {
        let (packed, length) = (record.seq(), record.l_seq());
        for (pair, byte) in codes.chunks_exact_mut(2).zip(packed) {
            pair.copy_from_slice(&[byte >> 4, byte & 15]);
        }
        let quals = record.qual();
        let quals = if quals.first() == Some(&0xff) { &[] } else { quals };
        let (flags, fields) = (record.flags(), ReadFields::find_in(record));
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

    /// Stores the number of mismatches, so that the next program does not compare the read with the
    /// reference again.
    pub(crate) fn note_mismatches(&self, mismatches: u64) {
        self.mismatches.set(Some(mismatches));
    }

    /// Returns the number of mismatches, or `None` if no program has counted them yet.
    pub(crate) fn known_mismatches(&self) -> Option<u64> {
        self.mismatches.get()
    }

    /// Returns whether this is the second read of a pair (flags 0x1 and 0x80).
    pub fn is_second_of_pair(&self) -> bool {
        self.flags.is_paired() && self.flags.is_last()
    }

    /// Returns whether the read is paired, and it and its mate are mapped.
    pub fn is_mapped_pair(&self) -> bool {
        self.flags.0 & (Flags::PAIRED | Flags::UNMAPPED | Flags::MATE_UNMAPPED) == Flags::PAIRED
    }

    pub(crate) fn orientation(&self) -> Option<Orientation> {
        pair_orientation(self.record)
    }
}

/// Returns the orientation of a mapped pair as htsjdk's `SamPairUtil` computes it. `None` if the
/// mates are on different contigs.
#[inline]
pub(crate) fn pair_orientation(record: RecordRef<'_>) -> Option<Orientation> {
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
        let start = record.pos() + 1;
        (i64::from(start), i64::from(start.wrapping_add(record.tlen())))
    };
    Some(if forward < backward { Orientation::Fr } else { Orientation::Rf })
}

/// The orientation of the two reads of a mapped pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// The reads point towards each other.
    Fr,
    /// The reads point away from each other.
    Rf,
    /// Both reads are on the same strand.
    Tandem,
}

impl Orientation {
    /// Each orientation with Picard's name, in the order of Picard's tables.
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

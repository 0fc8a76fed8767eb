//! Encodes records as the data series of a container, omitting tags that the decoder restores.

use std::collections::HashMap;

use readmill_record::bases::PAIRS;
use readmill_record::tag::{self, CG, Field, Fields};
use readmill_record::{Flags, RecordRef, Result};

use super::features::{Features, MdNm};
use super::mates::{self, NameTable, RecordEnd};
use super::series::{Columns, cannot_hold};
use crate::bases::Bases;
use crate::scheme::{DETACHED, DOWNSTREAM, MATE_REVERSE, MATE_UNMAPPED, NO_BASES, QUALITIES, Series};

/// The range of a contig that records cover (1-based, inclusive), for an index entry.
#[derive(Clone, Copy, Debug)]
pub struct ContigRange {
    pub contig: i32,
    pub start: i64,
    pub end: i64,
}

pub struct EncodedSummary {
    pub ranges: Vec<ContigRange>,
    pub bases: i64,
}

#[derive(Default)]
pub struct RecordEncoder {
    names: NameTable,
    seen: Vec<RecordEnd>,
    made: MdNm,
    seq: Vec<u8>,
}

const FLAG_BITS: u16 = 0xfff;

/// The last reference position that a slice header can express.
const LAST_BASE: i64 = i32::MAX as i64;

impl RecordEncoder {
    /// Encodes the records of a container into `columns`. `contig` is the contig of the container.
    /// With `delta`, positions are stored as differences.
    ///
    /// # Errors
    /// CRAM cannot store a record, or reference bases are missing.
    pub fn encode_records<'a>(
        &mut self,
        all: impl Iterator<Item = RecordRef<'a>> + Clone,
        contig: i32,
        delta: bool,
        groups: &HashMap<Vec<u8>, i32>,
        mut bases: Option<&mut Bases>,
        columns: &mut Columns,
    ) -> Result<EncodedSummary> {
        let list: Vec<RecordRef<'a>> = all.collect();
        let mut found = EncodedSummary { ranges: Vec::new(), bases: 0 };
        self.find_mates(&list);
        let mut last = first_position(&list);
        let mut stored = StoredTags::default();
        for (number, &record) in list.iter().enumerate() {
            let cram = self.cram_flags(record, number);
            let length = bases.as_ref().map(|bases| bases.references().contig_length(record.ref_id()));
            let end = self.seen[number].end.min(length.unwrap_or(i64::MAX));
            if end > LAST_BASE {
                return Err(cannot_hold("a read that ends beyond base 2,147,483,647", record));
            }
            found.add_record(record, end);
            columns.series_mut(Series::Bf).add_number(i32::from(record.flags().0 & FLAG_BITS));
            columns.series_mut(Series::Cf).add_number(cram);
            if contig == -2 {
                columns.series_mut(Series::Ri).add_number(record.ref_id());
            }
            columns.series_mut(Series::Rl).add_number(self.read_length(record) as i32);
            let pos = record.pos() + 1;
            columns.series_mut(Series::Ap).add_number(if delta { pos - last } else { pos });
            last = pos;
            let expected = self.encode_bases(record, cram, bases.as_deref_mut(), columns)?;
            stored.collect_tags(record, groups, expected.then_some(&self.made))?;
            columns.series_mut(Series::Rg).add_number(stored.group);
            if memchr::memchr(0, record.qname()).is_some() {
                return Err(cannot_hold("a name with a NUL", record));
            }
            // Readers of CRAM invent a name for a read without one; BAM and SAM then have `*`.
            let name = if record.qname().is_empty() { b"*" } else { record.qname() };
            columns.add_stopped(Series::Rn, name);
            self.encode_mate(record, number, cram, columns);
            columns.add_tags(&stored.keys, &stored.values);
        }
        columns.finish_tags();
        Ok(found)
    }

    fn find_mates(&mut self, list: &[RecordRef<'_>]) {
        self.names.clear(list.len());
        self.seen.clear();
        for (number, &record) in list.iter().enumerate() {
            let end = match record.flags().is_unmapped() {
                true => i64::from(record.pos()) + 1,
                false => (i64::from(record.pos()) + record.cigar().reference_length())
                    .max(i64::from(record.pos()) + 1),
            };
            self.seen.push(RecordEnd { end, mate: None });
            if !mates::may_pair(record) {
                continue;
            }
            let Some(other) = self.names.replace_record(record.qname(), number, |i| list[i].qname())
            else {
                continue;
            };
            let earlier = (list[other], self.seen[other].end);
            if self.seen[other].mate.is_none() && mates::has_restorable_mates(earlier, (record, end)) {
                self.seen[other].mate = Some(number);
                self.seen[number].mate = Some(other);
            }
        }
    }

    fn cram_flags(&self, record: RecordRef<'_>, number: usize) -> i32 {
        let mut flags = 0;
        if record.l_seq() == 0 {
            flags |= NO_BASES;
        } else if record.qual().iter().any(|&quality| quality != 255) {
            flags |= QUALITIES;
        }
        match self.seen[number].mate {
            Some(mate) if mate > number => flags |= DOWNSTREAM,
            Some(_) => {}
            None => {
                let alone = record.next_ref_id() < 0 && record.next_pos() < 0 && record.tlen() == 0;
                if !alone || record.flags().is_paired() {
                    flags |= DETACHED;
                }
            }
        }
        flags
    }

    /// Returns the number of bases of a record. For a mapped record without SEQ, it is the number
    /// that its CIGAR consumes.
    fn read_length(&self, record: RecordRef<'_>) -> usize {
        if record.l_seq() > 0 || record.flags().is_unmapped() {
            return record.l_seq();
        }
        usize::try_from(record.cigar().query_length()).unwrap_or(0)
    }

    /// Encodes bases, features and qualities. Returns whether the decoder can compute MD and NM.
    fn encode_bases(
        &mut self,
        record: RecordRef<'_>,
        cram: i32,
        bases: Option<&mut Bases>,
        columns: &mut Columns,
    ) -> Result<bool> {
        self.seq.clear();
        self.seq.extend(record.seq().iter().flat_map(|&two| PAIRS[two as usize]));
        self.seq.truncate(record.l_seq());
        let mut expected = false;
        if record.flags().is_unmapped() {
            columns.series_mut(Series::Ba).add_bytes(&self.seq);
        } else {
            let cigar = record.cigar();
            if record.ref_id() < 0 || record.pos() < 0 {
                return Err(cannot_hold("a mapped read without a position", record));
            }
            if !self.seq.is_empty() && cigar.query_length() != self.seq.len() as i64 {
                return Err(cannot_hold(
                    "a mapped read whose CIGAR and SEQ are of different length",
                    record,
                ));
            }
            let has_reference = bases.is_some();
            Features::new(columns, bases, &mut self.made, &self.seq).encode_read(record)?;
            columns.series_mut(Series::Mq).add_number(i32::from(record.mapq()));
            expected = has_reference && !self.seq.is_empty();
        }
        if cram & QUALITIES != 0 {
            columns.add_qualities(record.qual(), record.flags().is_reverse());
        }
        Ok(expected)
    }

    fn encode_mate(&self, record: RecordRef<'_>, number: usize, cram: i32, columns: &mut Columns) {
        if let Some(mate) = self.seen[number].mate.filter(|_| cram & DOWNSTREAM != 0) {
            columns.series_mut(Series::Nf).add_number((mate - number - 1) as i32);
        }
        if cram & DETACHED == 0 {
            return;
        }
        let flags = record.flags();
        let mut stored = 0;
        if flags.is_paired() && flags.is_mate_reverse() {
            stored |= MATE_REVERSE;
        }
        if flags.0 & Flags::MATE_UNMAPPED != 0 {
            stored |= MATE_UNMAPPED;
        }
        columns.series_mut(Series::Mf).add_number(stored);
        columns.series_mut(Series::Ns).add_number(record.next_ref_id());
        columns.series_mut(Series::Np).add_number(record.next_pos() + 1);
        columns.series_mut(Series::Ts).add_number(record.tlen());
    }
}

fn first_position(list: &[RecordRef<'_>]) -> i32 {
    list.first().map_or(0, |record| record.pos() + 1)
}

impl EncodedSummary {
    fn add_record(&mut self, record: RecordRef<'_>, end: i64) {
        self.bases += record.l_seq() as i64;
        let (contig, start) = (record.ref_id(), i64::from(record.pos()) + 1);
        let known = self.ranges.iter().rposition(|range| range.contig == contig);
        let at = known.unwrap_or(self.ranges.len());
        if at == self.ranges.len() {
            self.ranges.push(ContigRange { contig, start, end });
        }
        let range = &mut self.ranges[at];
        range.start = range.start.min(start);
        range.end = range.end.max(end);
    }
}

#[derive(Default)]
pub struct StoredTags<'a> {
    /// Tag and type of each value, three bytes.
    pub keys: Vec<u8>,
    /// Values as CRAM stores them: strings with their final zero, arrays with type and count.
    pub values: Vec<&'a [u8]>,
    /// Index of the read group in the header; -1 if there is none.
    pub group: i32,
}

pub type Expected<'a> = Option<&'a MdNm>;

/// Values of htslib's tag cF, which says that MD (bit 0) or NM (bit 1) must not be computed.
static CF_VALUES: [[u8; 1]; 4] = [[0], [1], [2], [3]];

impl<'a> StoredTags<'a> {
    /// Collects the tags of `record`, except those that the decoder restores with the same value.
    ///
    /// # Errors
    /// CRAM cannot store a tag.
    pub fn collect_tags(
        &mut self,
        record: RecordRef<'a>,
        groups: &HashMap<Vec<u8>, i32>,
        expected: Expected<'_>,
    ) -> Result<()> {
        self.keys.clear();
        self.values.clear();
        self.group = -1;
        let hides_cigar = record.long_cigar().is_some();
        let bytes = record.field_bytes();
        let (mut at, mut missing, mut has_one_group) = (0, 3, None);
        let mut fields = record.fields();
        while let Some(field) = fields.next() {
            let end = bytes.len() - fields.rest().len();
            let value = &bytes[at + 3..end];
            at = end;
            match field.tag {
                tag::RG => {
                    // A decoder appends the read group after all tags. If there is a second RG
                    // field, that would then become the first one.
                    let once = *has_one_group
                        .get_or_insert_with(|| Fields::new(fields.rest()).all(|it| it.tag != tag::RG));
                    let group = groups.get(field.value).filter(|_| once && field.kind == b'Z');
                    if let Some(&group) = group {
                        self.group = group;
                        continue;
                    }
                }
                CG if hides_cigar => continue,
                [b'M', b'D'] if field.kind == b'Z' => {
                    missing &= !1;
                    if expected.is_some_and(|made| made.is_sure && made.md == field.value) {
                        continue;
                    }
                }
                [b'N', b'M'] => {
                    missing &= !2;
                    if expected.is_some_and(|made| made.is_sure && is_same_nm(field, made.nm)) {
                        continue;
                    }
                }
                _ => {}
            }
            if !b"AcCsSiIfdZHB".contains(&field.kind) {
                return Err(cannot_hold("an optional field of this type", record));
            }
            if field.tag.contains(&0) {
                return Err(cannot_hold("an optional field whose name has a NUL", record));
            }
            self.keys.extend_from_slice(&[field.tag[0], field.tag[1], field.kind]);
            self.values.push(value);
        }
        if expected.is_some() && missing > 0 {
            self.keys.extend_from_slice(b"cFC");
            self.values.push(&CF_VALUES[missing]);
        }
        Ok(())
    }
}

/// Returns whether a decoder can recompute this NM field: its value is `nm`, and an unsigned field
/// has the smallest type that holds it, which is the type that decoders write. Signed types match
/// in any width, because SAM does not distinguish them.
fn is_same_nm(field: Field<'_>, nm: u32) -> bool {
    match (field.kind, field.value) {
        (b'C', &[n]) => nm == u32::from(n),
        (b'S', &[a, b]) => nm > 0xff && nm == u32::from(u16::from_le_bytes([a, b])),
        (b'I', &[a, b, c, d]) => nm > 0xffff && nm == u32::from_le_bytes([a, b, c, d]),
        (b'c', &[n]) => i64::from(nm) == i64::from(n.cast_signed()),
        (b's', &[a, b]) => i64::from(nm) == i64::from(i16::from_le_bytes([a, b])),
        (b'i', &[a, b, c, d]) => i64::from(nm) == i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => false,
    }
}

//! Checksums of reads that do not depend on their order.
//!
//! Each column is the sum, modulo 2^128, of a hash of each record. It is the same for reads in any
//! order, and different if a read is lost, doubled or altered. (An exclusive or would not notice
//! doubled reads.) `--verify` compares the columns before and after the steps of a run, and
//! `readmill checksum` prints them.

use std::fmt::Write as _;

use readmill_record::tag::Field;
use readmill_record::{Batch, ChangedTags, Changes, Flags, Header, RecordRef, Result, Tally};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Computes the checksums of reads under one header.
///
/// ```
/// use readmill_filters::checksum::Checksum;
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Stamp, ChangedTags, Tally};
///
/// # fn main() -> readmill_record::Result<()> {
/// let header = Header::parse(b"@SQ\tSN:1\tLN:100\n")?;
/// let sums_of = |names: &[&str]| -> readmill_record::Result<_> {
///     let (mut parser, mut batch) = (LineParser::new(&header), Batch::default());
///     for name in names {
///         let mut raw = Vec::new();
///         parser.parse(format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII").as_bytes(), &mut raw)?;
///         batch.push(&raw, Stamp::default())?;
///     }
///     let (tally, mut sums) = (Checksum::new(&header, ChangedTags::default()), Default::default());
///     tally.observe(&mut sums, &batch)?;
///     Ok(sums)
/// };
/// assert_eq!(sums_of(&["a", "b"])?, sums_of(&["b", "a"])?);
/// assert_ne!(sums_of(&["a", "b"])?, sums_of(&["a", "a"])?);
/// # Ok(())
/// # }
/// ```
pub struct Checksum {
    /// A hash of the name of each reference sequence. It is used instead of the index, which may
    /// differ between files.
    references: Vec<u64>,
    ignored: ChangedTags,
}

impl Checksum {
    /// Creates the tally for reads under `header`. Optional fields with the tags `ignored` do not
    /// count.
    pub fn new(header: &Header, ignored: ChangedTags) -> Self {
        let names = header.references().iter();
        let references = names.map(|reference| xxh3_64_with_seed(&reference.name, 0)).collect();
        Checksum { references, ignored }
    }

    fn reference_hash(&self, ref_id: i32) -> u64 {
        usize::try_from(ref_id).ok().and_then(|id| self.references.get(id).copied()).unwrap_or(0)
    }

    fn add_record(&self, columns: &mut ChecksumColumns, record: RecordRef<'_>) {
        let flags = record.flags().0;
        let segment = u64::from(flags & (Flags::PAIRED | Flags::FIRST | Flags::LAST));
        let name = xxh3_128_with_seed(record.qname(), segment);
        // As a seed, the hash of the name ties all other hashes to this read.
        let own = name as u64;
        let kept = u64::from(flags & !Flags::DUPLICATE);
        columns.records += 1;
        columns.add_hash(RecordPart::Names, name);
        columns.add_hash(RecordPart::Flags, xxh3_128_with_seed(&kept.to_le_bytes(), own));
        columns.add_hash(RecordPart::Alignment, self.hash_alignment(record, own));
        columns.add_hash(RecordPart::Bases, hash_bases(record, own));
        columns.add_hash(RecordPart::Qualities, xxh3_128_with_seed(record.qual(), own));
        columns.add_hash(RecordPart::Tags, self.hash_tags(record, own));
    }

    fn hash_alignment(&self, record: RecordRef<'_>, seed: u64) -> u128 {
        let mut fixed = [0; 29];
        let (own, next) =
            (self.reference_hash(record.ref_id()), self.reference_hash(record.next_ref_id()));
        fixed[..8].copy_from_slice(&own.to_le_bytes());
        fixed[8..16].copy_from_slice(&next.to_le_bytes());
        fixed[16..20].copy_from_slice(&record.pos().to_le_bytes());
        fixed[20..24].copy_from_slice(&record.next_pos().to_le_bytes());
        fixed[24..28].copy_from_slice(&record.tlen().to_le_bytes());
        fixed[28] = record.mapq();
        xxh3_128_with_seed(record.cigar().0, xxh3_64_with_seed(&fixed, seed))
    }

    fn hash_tags(&self, record: RecordRef<'_>, seed: u64) -> u128 {
        // Some formats do not keep the order of optional fields, so their hashes are added.
        let fields = record.fields().filter(|field| !self.ignores_field(record, field));
        let sum = fields.map(|field| hash_field(&field, seed)).fold(0, u128::wrapping_add);
        xxh3_128_with_seed(&sum.to_le_bytes(), seed)
    }

    fn ignores_field(&self, record: RecordRef<'_>, field: &Field<'_>) -> bool {
        let ignored = match &self.ignored {
            ChangedTags::All => true,
            ChangedTags::Some(tags) => tags.contains(&field.tag),
        };
        ignored || field.tag == *b"CG" && record.long_cigar().is_some()
    }
}

fn hash_bases(record: RecordRef<'_>, seed: u64) -> u128 {
    let (seq, l_seq) = (record.seq(), record.l_seq());
    let Some((last, whole)) = seq.split_last().filter(|_| l_seq % 2 == 1) else {
        return xxh3_128_with_seed(seq, seed);
    };
    let last = u64::from(last >> 4); // the padding is not a base
    xxh3_128_with_seed(whole, seed ^ (last + 1))
}

/// Returns the hash of an optional field. Integers are hashed by value, because formats may store
/// the same integer with different types.
fn hash_field(field: &Field<'_>, seed: u64) -> u128 {
    let kind = if field.integer().is_some() { b'i' } else { field.kind };
    let seed = seed ^ u64::from_le_bytes([field.tag[0], field.tag[1], kind, 0, 0, 0, 0, 0]);
    match field.integer() {
        Some(value) => xxh3_128_with_seed(&value.to_le_bytes(), seed),
        None => xxh3_128_with_seed(field.value, seed),
    }
}

/// A part of each record with a checksum of its own: a column of [`ChecksumColumns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPart {
    /// QNAME, and whether the read is a single, first or last one.
    Names,
    /// FLAG without 0x400, which may change in any run.
    Flags,
    Alignment,
    Bases,
    Qualities,
    /// Optional fields, whose order does not count.
    Tags,
}

impl RecordPart {
    pub const ALL: [RecordPart; 6] = [
        RecordPart::Names,
        RecordPart::Flags,
        RecordPart::Alignment,
        RecordPart::Bases,
        RecordPart::Qualities,
        RecordPart::Tags,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RecordPart::Names => "names",
            RecordPart::Flags => "flags",
            RecordPart::Alignment => "alignment",
            RecordPart::Bases => "bases",
            RecordPart::Qualities => "qualities",
            RecordPart::Tags => "tags",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksumColumns {
    pub records: u64,
    sums: [u128; RecordPart::ALL.len()],
}

impl ChecksumColumns {
    fn add_hash(&mut self, column: RecordPart, hash: u128) {
        let sum = &mut self.sums[column as usize];
        *sum = sum.wrapping_add(hash);
    }

    pub fn sum(&self, column: RecordPart) -> u128 {
        self.sums[column as usize]
    }

    /// Returns the names of the columns in which these reads differ from `other`, except those that
    /// `changes` allow to differ. Returns nothing if the steps may drop or add reads, since then
    /// every column may change.
    pub fn forbidden_differences(
        &self,
        other: &ChecksumColumns,
        changes: &Changes,
    ) -> Vec<&'static str> {
        if changes.reads {
            return Vec::new();
        }
        let may_change = |column| match column {
            RecordPart::Names => false,
            RecordPart::Flags => changes.flags,
            RecordPart::Alignment => changes.alignment,
            RecordPart::Bases => changes.bases,
            RecordPart::Qualities => changes.qualities,
            RecordPart::Tags => changes.tags == ChangedTags::All,
        };
        let records = (self.records != other.records).then_some("records");
        let columns = RecordPart::ALL
            .into_iter()
            .filter(|&column| !may_change(column) && self.sum(column) != other.sum(column));
        records.into_iter().chain(columns.map(RecordPart::name)).collect()
    }

    pub fn to_text(&self) -> String {
        let mut text = format!("records\t{}\n", self.records);
        for column in RecordPart::ALL {
            let _ = writeln!(text, "{}\t{:032x}", column.name(), self.sum(column));
        }
        text
    }
}

impl Tally for Checksum {
    type Partial = ChecksumColumns;
    type Total = ChecksumColumns;

    fn observe(&self, partial: &mut ChecksumColumns, batch: &Batch) -> Result<()> {
        batch.records().for_each(|(_, record)| self.add_record(partial, record));
        Ok(())
    }

    fn merge(&self, into: &mut ChecksumColumns, from: ChecksumColumns) {
        into.records += from.records;
        for (into, from) in into.sums.iter_mut().zip(from.sums) {
            *into = into.wrapping_add(from);
        }
    }

    fn finish(&self, total: ChecksumColumns) -> Result<ChecksumColumns> {
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Stamp, edit};

    const HEADER: &[u8] = b"@SQ\tSN:a\tLN:100\n@SQ\tSN:b\tLN:100\n";

    fn read(name: &str, bases: &[u8], fields: &[u8]) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[12] = name.len() as u8 + 1;
        raw[20..24].copy_from_slice(&(2 * bases.len() as u32 - 1).to_le_bytes());
        raw.extend_from_slice(name.as_bytes());
        raw.push(0);
        raw.extend_from_slice(bases);
        raw.extend(std::iter::repeat_n(30, 2 * bases.len() - 1));
        raw.extend_from_slice(fields);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    fn sums_under(header: &[u8], ignored: ChangedTags, reads: &[Vec<u8>]) -> ChecksumColumns {
        let tally = Checksum::new(&Header::parse(header).unwrap(), ignored);
        let mut batch = Batch::default();
        reads.iter().for_each(|raw| batch.push(raw, Stamp::default()).unwrap());
        let mut columns = ChecksumColumns::default();
        tally.observe(&mut columns, &batch).unwrap();
        columns
    }

    fn sums(reads: &[Vec<u8>]) -> ChecksumColumns {
        sums_under(HEADER, ChangedTags::default(), reads)
    }

    fn three() -> [Vec<u8>; 3] {
        [
            read("x", &[0x12, 0x40], b"NMC\x01RGZg\0"),
            read("y", &[0x22, 0x40], b""),
            read("z", &[0x88], b""),
        ]
    }

    #[test]
    fn order_and_parts_do_not_matter() {
        let [a, b, c] = three();
        let all = sums(&[a.clone(), b.clone(), c.clone()]);
        assert_eq!(all, sums(&[c.clone(), a.clone(), b.clone()]));
        let tally = Checksum::new(&Header::default(), ChangedTags::default());
        let mut parts = sums(&[b]);
        tally.merge(&mut parts, sums(&[c, a]));
        assert_eq!(parts, all);
        assert_eq!(all.records, 3);
    }

    #[test]
    fn a_lost_doubled_or_exchanged_read_is_seen_in_every_column() {
        let [a, b, c] = three();
        let all = sums(&[a.clone(), b.clone(), c.clone()]);
        for other in [
            &[a.clone(), b.clone()][..],
            &[a.clone(), a.clone(), a.clone(), b.clone(), c.clone()],
            &[a.clone(), a.clone(), c.clone()],
        ] {
            let other = sums(other);
            for column in RecordPart::ALL {
                assert_ne!(all.sum(column), other.sum(column), "{column:?}");
            }
        }
    }

    #[test]
    fn each_change_is_seen_in_its_own_column() {
        let [a, ..] = three();
        let before = sums(std::slice::from_ref(&a));
        let nothing = Changes::nothing();
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut raw = a.clone();
            change(&mut raw);
            sums(&[raw]).forbidden_differences(&before, &nothing)
        };
        assert_eq!(changed(&|raw| edit::set_flags(raw, 0x400)), Vec::<&str>::new());
        assert_eq!(changed(&|raw| edit::set_flags(raw, 0x10)), ["flags"]);
        assert_eq!(changed(&|raw| raw[13] = 7), ["alignment"]);
        assert_eq!(changed(&|raw| edit::set_ref_id(raw, 1)), ["alignment"]);
        assert_eq!(changed(&|raw| edit::set_tlen(raw, 1)), ["alignment"]);
        assert_eq!(changed(&|raw| raw[38] = 0x22), ["bases"]);
        assert_eq!(changed(&|raw| raw[39] = 0x80), ["bases"]);
        assert_eq!(changed(&|raw| raw[39] = 0x41), Vec::<&str>::new(), "no base");
        assert_eq!(changed(&|raw| raw[40] = 31), ["qualities"]);
        assert_eq!(changed(&|raw| raw[46] = 2), ["tags"]);
        assert_eq!(
            changed(&|raw| raw[36] = b'q'),
            ["names", "flags", "alignment", "bases", "qualities", "tags"]
        );
        let tags = Changes::of_tags(&[*b"NM"]);
        let mut raw = a.clone();
        raw[46] = 2;
        assert_eq!(
            sums(&[raw.clone()]).forbidden_differences(&before, &tags),
            ["tags"],
            "a column of them all"
        );
        let ignoring = |raw: &Vec<u8>| sums_under(HEADER, tags.tags.clone(), std::slice::from_ref(raw));
        assert_eq!(ignoring(&raw), ignoring(&a), "what is ignored may change");
    }

    #[test]
    fn formats_may_choose_types_order_and_indexes() {
        let given = read("x", &[0x12, 0x40], b"NMC\x01RGZg\0");
        let moved = read("x", &[0x12, 0x40], b"RGZg\0NMi\x01\0\0\0");
        assert_eq!(sums(std::slice::from_ref(&given)), sums(&[moved]));
        let mut second = given.clone();
        edit::set_ref_id(&mut second, 1);
        let swapped =
            sums_under(b"@SQ\tSN:b\tLN:100\n@SQ\tSN:a\tLN:100\n", ChangedTags::default(), &[second]);
        let mut mate = given;
        edit::set_next_ref_id(&mut mate, 1);
        assert_eq!(swapped, sums(&[mate]));
    }
}

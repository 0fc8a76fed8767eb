//! Reduces a batch of reads to samtools' comparison keys.

use readmill_record::tag::{self, Field, Tag};
use readmill_record::{Batch, Error, RecordRef, Result, Stamp};

use super::key::{SamtoolsCode, SamtoolsEnd, UnclippedSpan, hash_barcode, make_pair_key};
use super::report::ReadCounts;
use super::{SamtoolsRules, item, names};
use crate::rules::FieldCounts;
use crate::score;

const MS: Tag = *b"ms";
const SA: Tag = *b"SA";
const XA: Tag = *b"XA";

#[derive(Default)]
pub struct SamtoolsPart {
    pub(super) pairs: Vec<u64>,
    pub(super) paired_ends: Vec<u64>,
    pub(super) located_ends: Vec<u64>,
    pub(super) singles: Vec<u64>,
    pub(crate) names: Vec<u64>,
    pub(super) reads: ReadCounts,
    pub(crate) fields: FieldCounts,
}

impl SamtoolsPart {
    pub fn bytes(&self) -> u64 {
        let all = [&self.pairs, &self.paired_ends, &self.located_ends, &self.singles, &self.names];
        all.iter().map(|words| size_of_val(&words[..]) as u64).sum()
    }

    /// Appends the keys of a batch. `read_group` returns the number of a record's read group, from
    /// 1, or 0 if the read group is not in the header.
    ///
    /// # Errors
    /// A paired read lacks MC or ms. Mates must be fixed first.
    pub fn collect_keys(
        &mut self,
        rules: &SamtoolsRules,
        batch: &Batch,
        mut read_group: impl FnMut(RecordRef<'_>) -> u16,
    ) -> Result<()> {
        for (stamp, record) in batch.records() {
            self.reads.all += 1;
            let flags = record.flags();
            let is_other = flags.is_unmapped() || !flags.is_primary();
            if rules.other_records {
                self.note_name(record, stamp, is_other);
            }
            if !is_other && (rules.failed_reads || !flags.is_qc_fail()) {
                let read_group = if rules.by_read_group { read_group(record) } else { 0 };
                let barcode = rules.barcode.and_then(|tag| record.field(tag));
                let barcode = barcode.filter(|field| matches!(field.kind, b'Z' | b'H'));
                if rules.barcode.is_some() {
                    self.fields.count_barcode(record, barcode.is_some());
                }
                let barcode = barcode.map_or(0, |field| hash_barcode(field.value));
                let code = SamtoolsCode { read_group, barcode };
                let collected = self.collect_read(rules, code, record, stamp);
                collected.map_err(|error| error.record(stamp.ordinal()).qname(record.qname()))?;
            }
        }
        Ok(())
    }

    fn collect_read(
        &mut self,
        rules: &SamtoolsRules,
        code: SamtoolsCode,
        record: RecordRef<'_>,
        stamp: Stamp,
    ) -> Result<()> {
        let (own, reverse, ordinal) =
            (UnclippedSpan::of_read(record), record.flags().is_reverse(), stamp.ordinal());
        let end = SamtoolsEnd { ref_id: record.ref_id(), coordinate: own.five_prime(reverse), reverse };
        let score = score::sum_of_all_qualities(record.qual()) as i64;
        if !has_mate(record) {
            self.reads.single += 1;
            let single = item::pack_single(code, &end, score, record.pos(), ordinal);
            self.singles.extend(single);
            return Ok(());
        }
        self.reads.paired += 1;
        let [cigar, mate_score] = mate_fields(record)?;
        let key = make_pair_key(
            rules.ends,
            record,
            own,
            UnclippedSpan::of_mate(record.next_pos(), cigar.value),
        );
        // samtools stores the score of the mate in 32 bits.
        let of_mate = i64::from(mate_score.integer().unwrap_or(0) as i32);
        let failed = record.flags().is_qc_fail();
        self.pairs.extend(item::pack_pair(code, &key, failed, score + of_mate, ordinal));
        if rules.details.is_wanted() {
            self.located_ends.extend(item::pack_located_end(code, &end, record.pos(), ordinal));
        } else if key.five_prime.is_none() {
            self.paired_ends.extend(item::pack_end(code, &end));
        }
        Ok(())
    }

    /// Stores the name of a secondary, supplementary or unmapped record, or of a read that may give
    /// its mark to such records.
    fn note_name(&mut self, record: RecordRef<'_>, stamp: Stamp, is_other: bool) {
        let gives = || {
            let has = |tag| record.field(tag).is_some();
            record.flags().is_mate_unmapped() || has(SA) || has(XA)
        };
        if is_other || gives() {
            self.names.extend(names::make_name_entry(record.qname(), stamp.ordinal(), is_other));
        }
    }
}

pub(super) fn has_mate(record: RecordRef<'_>) -> bool {
    let flags = record.flags();
    let is_nowhere = record.next_ref_id() == -1 && record.next_pos() == -1;
    flags.is_paired() && !flags.is_mate_unmapped() && !is_nowhere
}

/// Returns the mate's score from ms, truncated to 32 bits as in samtools.
pub(super) fn mate_score(record: RecordRef<'_>) -> Result<i64> {
    let [_, score] = mate_fields(record)?;
    Ok(i64::from(score.integer().unwrap_or(0) as i32))
}

/// Returns the fields MC and ms: the mate's CIGAR and score.
///
/// # Errors
/// One of them is missing or invalid. The hint names the command that adds them.
pub(super) fn mate_fields<'a>(record: RecordRef<'a>) -> Result<[Field<'a>; 2]> {
    let (mut cigar, mut score) = (None, None);
    for field in record.fields() {
        match field.tag {
            tag::MC => cigar = cigar.or(Some(field)),
            MS => score = score.or(Some(field)),
            _ => {}
        }
    }
    let lacks = |what: &str| {
        Err(Error::input(format!("the read has no {what}, which samtools' rules need"))
            .hint("group reads by name, and fix mates in the same run (readmill prep --fix-mates samtools --mark-duplicates) or before it (readmill prep --fix-mates samtools)"))
    };
    match (cigar, score) {
        (None, _) => lacks("MC, the CIGAR of its mate"),
        (Some(cigar), _) if !matches!(cigar.kind, b'Z' | b'H') => {
            lacks("MC of type Z, the CIGAR of its mate")
        }
        (_, None) => lacks("ms, the score of its mate"),
        (_, Some(score)) if score.integer() == Some(-1) => {
            lacks("ms of zero or more, the score of its mate")
        }
        (Some(cigar), Some(score)) => Ok([cigar, score]),
    }
}

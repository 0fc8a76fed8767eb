//! Adapts the reads of one input to a header that was merged from several inputs.

use std::ops::Range;
use std::sync::Arc;

use readmill_record::header::{IdChange, IdRenames, Renames};
use readmill_record::tag::{self, Tag};
use readmill_record::{Batch, Changes, RecordRef, Result, Step, edit};

const PG: Tag = *b"PG";

/// Changes reference indexes, read groups and programs of reads to those of a merged header (see
/// `Header::merge`).
///
/// There is one such step for each input. The step sees only reads of its input, which were checked
/// against the input's own header. If two inputs have different read groups with the same ID, the
/// merged header renames one of them, and this step renames it in the reads.
///
/// Fields keep their order. Names of reference sequences, as in `SA:Z`, are the same in all inputs.
/// Positions do not change, so BAI bins do not change either.
#[derive(Clone)]
pub struct Reconcile {
    ref_ids: Option<Arc<[i32]>>,
    names: Arc<[(Tag, IdRenames)]>,
    /// ID in the merged header of the read group for all reads (see [`Reconcile::into_group`]).
    group: Option<Arc<[u8]>>,
    removed: u64,
}

impl Reconcile {
    pub fn new(renames: Renames) -> Self {
        let names = [(tag::RG, renames.read_groups), (PG, renames.programs)];
        Reconcile {
            ref_ids: renames.ref_ids.map(Arc::from),
            names: names.into_iter().filter(|(_, names)| !names.is_identity()).collect(),
            group: None,
            removed: 0,
        }
    }

    /// Makes the step assign all reads to one read group. `id` is its ID in the header of the
    /// input, which `renames` maps to its ID in the merged header. Used if each input file becomes
    /// a read group.
    pub fn into_group(self, renames: &IdRenames, id: &[u8]) -> Self {
        let id = match renames.change_for(id) {
            IdChange::Become(new) => new,
            IdChange::Keep | IdChange::Remove => id,
        };
        let names = self.names.iter().filter(|(tag, _)| *tag != tag::RG).cloned().collect();
        Reconcile { group: Some(id.into()), names, ..self }
    }

    /// Returns whether the step never changes a read. The pipeline can then do without it.
    pub fn is_identity(&self) -> bool {
        self.ref_ids.is_none() && self.names.is_empty() && self.group.is_none()
    }
}

/// Calls `show` for each ID in the fields `names` of a record, with the index of the tag, the ID,
/// and the byte range of the field among the optional fields. If a tag occurs twice, which is
/// invalid, only its first field is shown.
fn for_each_id<'a>(
    names: &[(Tag, IdRenames)],
    record: RecordRef<'a>,
    mut show: impl FnMut(usize, &'a [u8], Range<usize>),
) {
    let bytes = record.field_bytes();
    let (mut fields, mut start, mut missing) = (record.fields(), 0, (1u8 << names.len()) - 1);
    while missing != 0
        && let Some(field) = fields.next()
    {
        let end = bytes.len() - fields.rest().len();
        let which = names.iter().position(|(tag, _)| *tag == field.tag);
        if let Some(which) = which.filter(|which| missing >> which & 1 == 1) {
            missing &= !(1 << which);
            if field.kind == b'Z' {
                show(which, field.value, start..end);
            }
        }
        start = end;
    }
}

fn renumber_references(batch: &mut Batch, new_ids: &[i32]) {
    let new_id = |old: i32| usize::try_from(old).ok().and_then(|old| new_ids.get(old).copied());
    batch.edit_in_place(|_, raw| {
        let record = RecordRef::new(raw);
        let (own, next) = (new_id(record.ref_id()), new_id(record.next_ref_id()));
        edit::set_ref_id(raw, own.unwrap_or(-1));
        edit::set_next_ref_id(raw, next.unwrap_or(-1));
    });
}

fn has_only_kept_ids(batch: &Batch, names: &[(Tag, IdRenames)]) -> bool {
    let mut last: [&[u8]; 2] = [b"", b""]; // adjacent reads usually have the same IDs
    batch.records().all(|(_, record)| {
        let mut stays = true;
        for_each_id(names, record, |which, id, _| {
            if id != last[which] {
                last[which] = id;
                stays &= names[which].1.change_for(id) == IdChange::Keep;
            }
        });
        stays
    })
}

/// Appends the record with its new IDs to `out`. Returns the number of removed fields: a field is
/// removed if only another input defines its ID, so that the ID cannot be mistaken for a renamed
/// one.
fn write_renamed(record: RecordRef<'_>, names: &[(Tag, IdRenames)], out: &mut Vec<u8>) -> u64 {
    let (raw, fields, start) = (record.raw(), record.fields_start(), out.len());
    let (mut copied, mut removed) = (0, 0);
    for_each_id(names, record, |which, id, place| {
        let (tag, names) = &names[which];
        let fate = names.change_for(id);
        if fate == IdChange::Keep {
            return;
        }
        out.extend_from_slice(&raw[copied..fields + place.start]);
        copied = fields + place.end;
        if let IdChange::Become(id) = fate {
            edit::append_text(out, start, *tag, id);
        } else {
            removed += 1;
        }
    });
    out.extend_from_slice(&raw[copied..]);
    edit::set_block_size(out, start);
    removed
}

impl Step for Reconcile {
    fn name(&self) -> &'static str {
        "reconcile"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn max_growth_bytes(&self) -> usize {
        let group = self.group.as_ref().map_or(0, |id| id.len() + 4);
        self.names.iter().map(|(_, names)| names.max_growth_bytes()).sum::<usize>() + group
    }

    fn changes(&self) -> Changes {
        Changes::of_tags(&[tag::RG, PG]) // reference sequences keep their names
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        if let Some(new_ids) = &self.ref_ids {
            renumber_references(batch, new_ids);
        }
        if let Some(id) = &self.group {
            batch.rewrite_records(|_, record, out| {
                edit::copy_with_text(record, tag::RG, id, out);
                Ok(())
            })?;
        }
        if self.names.is_empty() || has_only_kept_ids(batch, &self.names) {
            return Ok(());
        }
        let (names, removed) = (&self.names, &mut self.removed);
        batch.rewrite_records(|_, record, out| {
            *removed += write_renamed(record, names, out);
            Ok(())
        })
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let what = "RG and PG fields removed whose @RG or @PG line exists only in another input";
        if self.removed > 0 { vec![(what, self.removed)] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::header::MergedHeader;
    use readmill_record::{Header, Stamp};

    /// Returns a record named `r` with these reference indexes and optional fields.
    fn record(ref_id: i32, next_ref_id: i32, fields: &[u8]) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[12] = 2;
        raw[14..16].copy_from_slice(&4681u16.to_le_bytes());
        edit::set_ref_id(&mut raw, ref_id);
        edit::set_next_ref_id(&mut raw, next_ref_id);
        raw.extend_from_slice(b"r\0");
        raw.extend_from_slice(fields);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    fn batch(records: &[Vec<u8>]) -> Batch {
        let mut batch = Batch::default();
        for (i, raw) in records.iter().enumerate() {
            batch.push(raw, Stamp::new(i as u64, 0)).unwrap();
        }
        batch
    }

    fn merge(texts: &[&str]) -> MergedHeader {
        let headers: Vec<Header> = texts.iter().map(|t| Header::parse(t.as_bytes()).unwrap()).collect();
        Header::merge(&headers).unwrap()
    }

    /// Returns the records after the step. Checks that they are well-formed, and not longer than
    /// `Step::max_growth_bytes` allows.
    fn applied(step: &mut Reconcile, before: &[Vec<u8>], n_ref: i32) -> Vec<Vec<u8>> {
        let mut batch = batch(before);
        step.apply(&mut batch).unwrap();
        let after: Vec<Vec<u8>> = batch.records().map(|(_, record)| record.raw().to_vec()).collect();
        for (i, (before, after)) in before.iter().zip(&after).enumerate() {
            assert_eq!(RecordRef::check(after, n_ref), Ok(()));
            assert!(after.len() <= before.len() + step.max_growth_bytes());
            assert_eq!(batch.spans[i].stamp.ordinal(), i as u64);
        }
        after
    }

    #[test]
    fn reads_of_each_input_take_the_merged_names() {
        let merged = merge(&[
            "@SQ\tSN:1\tLN:9\n@SQ\tSN:3\tLN:9\n@RG\tID:g\tSM:a\n@PG\tID:p\tCL:1\n",
            "@SQ\tSN:1\tLN:9\n@SQ\tSN:2\tLN:9\n@SQ\tSN:3\tLN:9\n@RG\tID:g\tSM:b\n@PG\tID:p\tCL:2\n",
        ]);
        let [mut first, mut second] = [0, 1].map(|input| Reconcile::new(merged.renames[input].clone()));
        let given = [
            record(0, 1, b"NMc\x01RGZg\0ASc\x02PGZp\0SAZ3,1,+,1M,0,0;\0"),
            record(-1, -1, b""),
            record(1, -1, b"RGZnobody's\0PGZp\0"),
            record(1, 0, b"RGAgPGZq\0PGZp\0"),
        ];
        assert_eq!(first.max_growth_bytes(), 0);
        assert_eq!(
            applied(&mut first, &given, 3),
            [
                record(0, 2, b"NMc\x01RGZg\0ASc\x02PGZp\0SAZ3,1,+,1M,0,0;\0"),
                record(-1, -1, b""),
                record(2, -1, b"RGZnobody's\0PGZp\0"),
                record(2, 0, b"RGAgPGZq\0PGZp\0"),
            ]
        );
        assert_eq!(second.max_growth_bytes(), 4);
        assert_eq!(
            applied(&mut second, &given, 3),
            [
                record(0, 1, b"NMc\x01RGZg.1\0ASc\x02PGZp.1\0SAZ3,1,+,1M,0,0;\0"),
                record(-1, -1, b""),
                record(1, -1, b"RGZnobody's\0PGZp.1\0"),
                record(1, 0, b"RGAgPGZq\0PGZp\0"),
            ]
        );
        assert_eq!((first.removed, second.removed), (0, 0));
    }

    #[test]
    fn a_group_that_only_another_input_defines_is_not_taken_for_its_own() {
        let merged = merge(&["@RG\tID:g\n@PG\tID:p\n", "@RG\tID:h\n", ""]);
        let given =
            [record(-1, -1, b"RGZg\0"), record(-1, -1, b"RGZh\0PGZp\0"), record(-1, -1, b"RGZi\0")];
        for (input, fields, removed) in [
            (0, [&b"RGZg\0"[..], b"PGZp\0", b"RGZi\0"], 1),
            (1, [b"", b"RGZh\0", b"RGZi\0"], 2),
            (2, [b"", b"", b"RGZi\0"], 3),
        ] {
            let mut step = Reconcile::new(merged.renames[input].clone());
            let answer = fields.map(|fields| record(-1, -1, fields));
            assert_eq!(applied(&mut step, &given, 0), answer);
            assert_eq!(step.counts()[0].1, removed);
        }
    }

    #[test]
    fn equal_headers_need_no_step() {
        let given = "@HD\tVN:1.6\n@SQ\tSN:1\tLN:9\n@RG\tID:g\n@PG\tID:p\n";
        for texts in [&[given][..], &[given, given], &["", ""]] {
            let renames = merge(texts).renames;
            assert!(renames.into_iter().map(Reconcile::new).all(|step| step.is_identity()));
        }
        let fewer = merge(&[given, "@SQ\tSN:1\tLN:9\n"]).renames;
        assert_eq!(
            fewer.into_iter().map(Reconcile::new).map(|s| s.is_identity()).collect::<Vec<_>>(),
            [true, false]
        );
    }

    #[test]
    fn all_reads_of_an_input_go_into_one_group() {
        let merged =
            merge(&["@RG\tID:g\tSM:a\n@PG\tID:p\tCL:1\n", "@RG\tID:g\tSM:b\n@PG\tID:p\tCL:2\n"]);
        let renames = merged.renames[1].clone();
        let groups = renames.read_groups.clone();
        let mut step = Reconcile::new(renames).into_group(&groups, b"g");
        assert!(!step.is_identity());
        let given = [record(-1, -1, b"RGZx\0NMc\x01"), record(-1, -1, b"PGZp\0")];
        assert_eq!(
            applied(&mut step, &given, 0),
            [record(-1, -1, b"RGZg.1\0NMc\x01"), record(-1, -1, b"PGZp.1\0RGZg.1\0")]
        );
    }
}

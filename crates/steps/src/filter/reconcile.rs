//! Makes the reads of one input fit a header that was merged from several.

use std::sync::Arc;

use readmill_record::header::{Fate, Names, Renames};
use readmill_record::tag::{self, Tag};
use readmill_record::{Batch, RecordRef, Result, edit};

use crate::Step;

/// The program that wrote a record.
const PG: Tag = *b"PG";

/// Gives reads the indexes and IDs of a merged header (see `Header::merge`). It is made for one input,
/// and every batch it sees must hold reads of that input alone, checked against that input's header.
///
/// Fields keep their places. Names of reference sequences, as in `SA:Z`, are the same in all inputs;
/// positions do not change, so bins do not, either.
#[derive(Clone)]
pub struct Reconcile {
    renames: Arc<Renames>,
    removed: u64,
}

impl Reconcile {
    /// The step for the input that these renames belong to.
    pub fn new(renames: Renames) -> Self {
        Reconcile { renames: Arc::new(renames), removed: 0 }
    }

    /// Whether it never changes a read, so that it can be left out.
    pub fn is_identity(&self) -> bool {
        self.renames.is_identity()
    }
}

/// The ID that a record gives in `tag`.
fn id_in(record: RecordRef<'_>, tag: Tag) -> Option<&[u8]> {
    record.field(tag).filter(|field| field.kind == b'Z').map(|field| field.value)
}

/// Writes reference indexes anew; none stays none.
fn renumber(batch: &mut Batch, new_ids: &[i32]) {
    let new_id = |old: i32| usize::try_from(old).ok().and_then(|old| new_ids.get(old).copied());
    batch.edit(|_, raw| {
        let record = RecordRef::new(raw);
        let (own, next) = (new_id(record.ref_id()), new_id(record.next_ref_id()));
        edit::set_ref_id(raw, own.unwrap_or(-1));
        edit::set_next_ref_id(raw, next.unwrap_or(-1));
    });
}

/// Gives `tag` the new IDs. Returns how many records lost it.
fn rename(batch: &mut Batch, tag: Tag, names: &Names) -> Result<u64> {
    let mut kept: &[u8] = b""; // neighbours mostly name the same group
    let stays = |(_, record)| match id_in(record, tag) {
        Some(id) if id != kept => {
            let stays = names.fate(id) == Fate::Keep;
            kept = if stays { id } else { kept };
            stays
        }
        _ => true,
    };
    let mut removed = 0;
    if batch.records().all(stays) {
        return Ok(removed);
    }
    batch.rewrite(|record, out| {
        match id_in(record, tag).map(|id| names.fate(id)) {
            Some(Fate::Become(id)) => edit::copy_with_text(record, tag, id, out),
            Some(Fate::Remove) => {
                edit::copy_without(record, tag, out);
                removed += 1;
            }
            Some(Fate::Keep) | None => out.extend_from_slice(record.raw()),
        }
        Ok(())
    })?;
    Ok(removed)
}

impl Step for Reconcile {
    fn name(&self) -> &'static str {
        "reconcile"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn growth(&self) -> usize {
        self.renames.read_groups.growth() + self.renames.programs.growth()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        if let Some(new_ids) = &self.renames.ref_ids {
            renumber(batch, new_ids);
        }
        for (tag, names) in [(tag::RG, &self.renames.read_groups), (PG, &self.renames.programs)] {
            if !names.is_identity() {
                self.removed += rename(batch, tag, names)?;
            }
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let what = "RG and PG fields removed that named what only another input defines";
        if self.removed > 0 { vec![(what, self.removed)] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::header::Merged;
    use readmill_record::{Header, Stamp};

    /// A record called `r` with these reference indexes and optional fields.
    fn record(ref_id: i32, next_ref_id: i32, fields: &[u8]) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[12] = 2;
        raw[14..16].copy_from_slice(&4681u16.to_le_bytes());
        edit::set_ref_id(&mut raw, ref_id);
        edit::set_next_ref_id(&mut raw, next_ref_id);
        raw.extend_from_slice(b"r\0");
        raw.extend_from_slice(fields);
        edit::close(&mut raw, 0);
        raw
    }

    fn batch(records: &[Vec<u8>]) -> Batch {
        let mut batch = Batch::default();
        for (i, raw) in records.iter().enumerate() {
            batch.push(raw, Stamp::new(i as u64, 0));
        }
        batch
    }

    fn merge(texts: &[&str]) -> Merged {
        let headers: Vec<Header> = texts.iter().map(|t| Header::parse(t.as_bytes()).unwrap()).collect();
        Header::merge(&headers).unwrap()
    }

    /// The records of the batch after the step, which must be well-formed and keep to `growth`.
    fn applied(step: &mut Reconcile, before: &[Vec<u8>], n_ref: i32) -> Vec<Vec<u8>> {
        let mut batch = batch(before);
        step.apply(&mut batch).unwrap();
        let after: Vec<Vec<u8>> = batch.records().map(|(_, record)| record.raw().to_vec()).collect();
        for (i, (before, after)) in before.iter().zip(&after).enumerate() {
            assert_eq!(RecordRef::check(after, n_ref), Ok(()));
            assert!(after.len() <= before.len() + step.growth());
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
            record(1, 0, b"RGAgPGZq\0"),
        ];
        assert_eq!(first.growth(), 0);
        assert_eq!(
            applied(&mut first, &given, 3),
            [
                record(0, 2, b"NMc\x01RGZg\0ASc\x02PGZp\0SAZ3,1,+,1M,0,0;\0"),
                record(-1, -1, b""),
                record(2, -1, b"RGZnobody's\0PGZp\0"),
                record(2, 0, b"RGAgPGZq\0"),
            ]
        );
        assert_eq!(second.growth(), 4);
        assert_eq!(
            applied(&mut second, &given, 3),
            [
                record(0, 1, b"NMc\x01RGZg.1\0ASc\x02PGZp.1\0SAZ3,1,+,1M,0,0;\0"),
                record(-1, -1, b""),
                record(1, -1, b"RGZnobody's\0PGZp.1\0"),
                record(1, 0, b"RGAgPGZq\0"),
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
}

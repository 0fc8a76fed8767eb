//! The flag `--sequence-dictionary`: replace, reorder and remove reference sequences.

use std::path::PathBuf;
use std::sync::Arc;

use readmill_record::header::HeaderLine;
use readmill_record::{Batch, Changes, Error, Flags, Header, RecordRef, Result, Step, edit, tag};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "sequence-dictionary",
        FlagValue::File,
        "FILE",
        "Replace, reorder and remove reference sequences to match this SAM, BAM or .dict file. Reads on removed sequences are dropped",
    )
    .with_aliases(&["replace-reference-sequences"])],
    parse: |given, filters| {
        filters.extend(given.path_value("sequence-dictionary").map(|path| ReplaceDictionaryRequest { path }));
        Ok(())
    },
};

#[derive(Debug)]
struct ReplaceDictionaryRequest {
    path: PathBuf,
}

impl Filter for ReplaceDictionaryRequest {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--sequence-dictionary", self.path.display())
    }

    fn input_files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { other_header: true, ..FilterFacts::default() }
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let dictionary = context.host.read_header(&self.path)?;
        let step = ReplaceDictionary::new(&dictionary, context.header);
        Ok(Box::new(step.map_err(|e| e.file(&self.path))?))
    }
}

/// Replaces the sequence dictionary (elPrep's `--replace-reference-sequences`).
///
/// Reads on sequences that are not in the new dictionary are dropped and counted. If only the mate
/// is on such a sequence, the mate is marked unmapped: RNEXT `*`, PNEXT 0, TLEN 0, 0x8 set, MC
/// removed. (elPrep keeps these fields, which then refer to a missing sequence.)
#[derive(Clone)]
pub struct ReplaceDictionary {
    new_ids: Arc<[Option<i32>]>,
    removed: u64,
    unmated: u64,
}

impl ReplaceDictionary {
    /// Replaces the `@SQ` lines of `header` by the lines of `dictionary`. If this changes the order
    /// of sequences, the header no longer declares coordinate order.
    ///
    /// # Errors
    /// A sequence has a different length or MD5 in the dictionary.
    pub fn new(dictionary: &Header, header: &mut Header) -> Result<Self> {
        let mut new_ids = Vec::new();
        let old_lines: Vec<HeaderLine> = header.lines_of_kind(b"SQ").cloned().collect();
        let new_lines: Vec<HeaderLine> = dictionary.lines_of_kind(b"SQ").cloned().collect();
        for (old, line) in header.references().iter().zip(&old_lines) {
            let id = dictionary.reference_id(&old.name);
            if let Some(id) = id {
                let other = &dictionary.references()[id as usize];
                let md5 = (line.get(b"M5"), new_lines[id as usize].get(b"M5"));
                let same_md5 = md5.0.is_none() || md5.1.is_none() || md5.0 == md5.1;
                if other.length != old.length || !same_md5 {
                    let name = String::from_utf8_lossy(&old.name);
                    return Err(Error::usage(format!(
                        "reference sequence {name} has {} bases in the input and {} in the dictionary{}",
                        old.length,
                        other.length,
                        if same_md5 { "" } else { ", and different MD5 sums" },
                    ))
                    .hint("give the dictionary of the reference that the reads were aligned to"));
                }
            }
            new_ids.push(id);
        }
        if !new_ids.iter().flatten().is_sorted() && header.declares_coordinate_order() {
            header.set_order(b"unknown", None, None);
        }
        header.replace_lines(b"SQ", new_lines, &[b"RG", b"PG", b"CO"])?;
        Ok(ReplaceDictionary { new_ids: new_ids.into(), removed: 0, unmated: 0 })
    }

    /// Returns the new index of a reference sequence, or `None` if it is dropped. -1 (no sequence)
    /// stays -1.
    fn new_id(&self, ref_id: i32) -> Option<i32> {
        usize::try_from(ref_id).map_or(Some(-1), |id| self.new_ids.get(id).copied().flatten())
    }
}

impl Step for ReplaceDictionary {
    fn name(&self) -> &'static str {
        "sequence-dictionary"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        let changes = Changes { reads: true, flags: true, alignment: true, ..Changes::default() };
        changes.union(&Changes::of_tags(&[tag::MC]))
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let before = batch.len();
        batch.retain(|_, record| self.new_id(record.ref_id()).is_some());
        self.removed += (before - batch.len()) as u64;
        let (mut at, mut unmated) = (0, Vec::new());
        batch.edit_in_place(|_, raw| {
            let record = RecordRef::new(raw);
            let flags = record.flags().0;
            let (own, next) = (self.new_id(record.ref_id()), self.new_id(record.next_ref_id()));
            edit::set_ref_id(raw, own.unwrap_or(-1));
            edit::set_next_ref_id(raw, next.unwrap_or(-1));
            if next.is_none() {
                edit::set_next_pos(raw, -1);
                edit::set_tlen(raw, 0);
                edit::set_flags(raw, flags | Flags::MATE_UNMAPPED);
                unmated.push(at);
            }
            at += 1;
        });
        self.unmated += unmated.len() as u64;
        batch.amend_records(&unmated, |_, record, out| {
            edit::copy_without_field(record, tag::MC, out);
            Ok(())
        })
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("reads on dropped reference sequences removed", self.removed),
            ("reads whose mate's reference sequence was dropped", self.unmated),
        ]
    }
}

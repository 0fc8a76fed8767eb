//! Selects the alignments of a template that take part in the merge.

use readmill_record::cigar::{consumes_query, consumes_reference};
use readmill_record::tag::Tag;
use readmill_record::{Error, Flags, RecordRef, Result};

use super::choice::Candidate;
use super::ops::{Op, cigar_ops, maps_bases, reference_length, soften_hard_clips};
use super::rules::MergeRules;

/// The hit index: the number of an alignment among all alignments of its read.
pub const HI: Tag = *b"HI";

#[derive(Clone, Copy)]
pub struct AlignmentHit<'a> {
    pub record: RecordRef<'a>,
    /// FLAG of the alignment, corrected if the user states whether a file contains read 1 or read
    /// 2.
    pub flags: Flags,
}

#[derive(Default)]
pub struct TemplateHits<'a> {
    pub first: Vec<AlignmentHit<'a>>,
    pub last: Vec<AlignmentHit<'a>>,
    pub supplementary: [Vec<AlignmentHit<'a>>; 2],
}

impl<'a> TemplateHits<'a> {
    /// Returns whether read 1 or read 2 has several alignments, so that
    /// [`arrange_hits`](super::arrange_hits) must choose the primary one.
    pub fn has_several(&self) -> bool {
        self.first.len().max(self.last.len()) > 1
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.last.is_empty()
    }

    pub fn are_paired(&self) -> bool {
        self.first.iter().chain(&self.last).any(|hit| hit.flags.is_paired())
    }

    /// Adds an alignment, unless it is unmapped, aligns no base, or has more gaps than the rules
    /// allow.
    ///
    /// # Errors
    /// The FLAG of a paired alignment marks neither read 1 nor read 2, or it contradicts the other
    /// alignments of the template on whether reads are paired.
    pub fn add_hit(&mut self, rules: &MergeRules, hit: AlignmentHit<'a>) -> Result<()> {
        let operators = || cigar_ops(hit.record.cigar());
        let gaps = || operators().filter(|op| matches!(op.1, 1 | 2)).count();
        let is_ignored = hit.flags.is_unmapped()
            || !maps_bases(operators())
            || rules.max_gaps.is_some_and(|max_gaps| gaps() > max_gaps);
        if is_ignored {
            return Ok(());
        }
        let others = self.first.iter().chain(&self.last).chain(self.supplementary.iter().flatten());
        if others.take(1).any(|other| other.flags.is_paired() != hit.flags.is_paired()) {
            return Err(Error::input("the template is aligned both as a pair and as single reads")
                .hint("align all reads of a template as a pair, or all as single reads"));
        }
        let is_first = !hit.flags.is_paired() || hit.flags.is_first();
        if !is_first && !hit.flags.is_last() {
            return Err(Error::input(
                "the alignment is paired, but its FLAG does not mark the first or the last read",
            ));
        }
        match (hit.flags.is_supplementary(), is_first) {
            (true, _) => self.supplementary[usize::from(!is_first)].push(hit),
            (false, true) => self.first.push(hit),
            (false, false) => self.last.push(hit),
        }
        Ok(())
    }
}

/// Returns the alignments in the form that [`arrange_hits`](super::arrange_hits) compares.
pub fn to_candidates(hits: &[AlignmentHit<'_>]) -> Vec<Candidate> {
    let mut ops = Vec::new();
    hits.iter()
        .map(|hit| {
            let record = hit.record;
            soften_hard_clips(record.cigar(), &mut ops);
            let aligned = |op: &Op| consumes_query(op.1) && consumes_reference(op.1);
            let before = |ops: &mut dyn Iterator<Item = &Op>| -> i64 {
                let skipped = ops.take_while(|op| !aligned(op)).filter(|op| consumes_query(op.1));
                skipped.map(|op| i64::from(op.0)).sum()
            };
            let skipped = if hit.flags.is_reverse() {
                before(&mut ops.iter().rev())
            } else {
                before(&mut ops.iter())
            };
            let start = i64::from(record.pos()) + 1;
            Candidate {
                ref_id: record.ref_id(),
                range: (start, start - 1 + reference_length(&ops)),
                mapq: record.mapq(),
                hit_index: record.field(HI).and_then(|field| field.integer()),
                is_primary: !hit.flags.is_secondary() && !hit.flags.is_supplementary(),
                first_base: skipped + 1,
            }
        })
        .collect()
}

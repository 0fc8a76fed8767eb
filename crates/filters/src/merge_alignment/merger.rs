//! Writes the merged records of a template: unaligned reads with the data of their alignments.

use std::sync::Arc;

use readmill_record::cigar::{SOFT_CLIP, consumes_query};
use readmill_record::tag::{self, Fields, Tag};
use readmill_record::{Error, Flags, Header, RecordRef, Result};

use super::candidates::{AlignmentHit, HI, TemplateHits};
use super::choice::Arrangement;
use super::clip::{self, clip_overlap, clip_three_prime};
use super::draft::DraftRecord;
use super::ops::{Op, maps_bases, query_length, soften_hard_clips, write_text};
use super::rules::{ContaminantAlignments, MergeRules, OverlapClip, PairOrientation};

const NM: Tag = *b"NM";
const MQ: Tag = *b"MQ";
const OA: Tag = *b"OA";
const CO: Tag = *b"CO";
const PG: Tag = *b"PG";

const CONTAMINATION: &[u8] = b"Cross-species contamination";

#[derive(Clone, Copy)]
struct TransferredAlignment<'a> {
    hit: AlignmentHit<'a>,
    is_secondary: bool,
    hit_index: HitIndex,
    is_contaminant: bool,
}

#[derive(Clone, Copy)]
enum HitIndex {
    Stays,
    Goes,
    Becomes(u32),
}

/// Merges alignments into unaligned reads. Each thread has one merger, whose buffers are reused
/// across templates.
///
/// For each row of the [`Arrangement`]:
///
/// 1. The reads are loaded, and the alignments of the row are transferred to them: position, CIGAR,
///    flags, and the aligner's fields.
/// 2. Bases beyond the end of the reference, bases that are missing from the alignment, and
///    adapters are clipped.
/// 3. Overlapping mates are clipped, and get the fields that describe each other.
/// 4. The records are written. Supplementary alignments follow after the last row.
pub struct Merger {
    rules: Arc<MergeRules>,
    contigs: Arc<[(Vec<u8>, i64)]>,
    row: [DraftRecord; 2],
    primary: [DraftRecord; 2],
    supplementary: DraftRecord,
    ops: Vec<Op>,
}

impl Merger {
    pub fn new(rules: &Arc<MergeRules>, header: &Header) -> Self {
        let contigs = header.references().iter();
        Merger {
            rules: Arc::clone(rules),
            contigs: contigs.map(|it| (it.name.clone(), i64::from(it.length))).collect(),
            row: Default::default(),
            primary: Default::default(),
            supplementary: DraftRecord::default(),
            ops: Vec::new(),
        }
    }

    fn load_read(&self, draft: &mut DraftRecord, read: RecordRef<'_>) {
        draft.load_record(read);
        if let Some(program) = &self.rules.program {
            draft.set_text(PG, program);
        }
    }

    /// Appends the records of a template to `out`, and calls `push` with `out` and the start of
    /// each record.
    ///
    /// `reads` are the one or two unaligned reads of the template. Without an `arrangement`, each
    /// read has at most one alignment.
    ///
    /// # Errors
    /// An alignment does not fit its read, or a pair is aligned as single reads or vice versa.
    pub fn write_template(
        &mut self,
        reads: &[RecordRef<'_>],
        hits: &TemplateHits<'_>,
        arrangement: Option<&Arrangement>,
        out: &mut Vec<u8>,
        mut push: impl FnMut(&[u8], usize),
    ) -> Result<()> {
        let Some(name) = reads.first().map(|read| read.qname()) else { return Ok(()) };
        let mut write = |draft: &DraftRecord| {
            let start = out.len();
            draft.write_record(name, out)?;
            push(out, start);
            Ok::<(), Error>(())
        };
        if hits.is_empty() {
            for read in reads.iter().filter(|_| !self.rules.aligned_only) {
                let mut draft = std::mem::take(&mut self.supplementary);
                self.load_read(&mut draft, *read);
                let written = write(&draft);
                self.supplementary = draft;
                written?;
            }
            return Ok(());
        }
        let is_paired = reads.len() > 1;
        if is_paired != hits.are_paired() {
            let (read, alignment) = match is_paired {
                true => ("a pair", "a single read"),
                false => ("single", "one of a pair"),
            };
            return Err(Error::input(format!("the read is {read}, but aligned as {alignment}"))
                .hint("align pairs as pairs, and single reads as single reads"));
        }
        let simple = Arrangement::of_single_hits(!hits.first.is_empty(), !hits.last.is_empty());
        let rows = arrangement.unwrap_or(&simple);
        let is_contaminant = self.is_contaminant(hits, rows);
        let mut has_primary = false;
        for row in 0..rows.row_count() {
            let [one, other] = [(&rows.first, &hits.first), (&rows.last, &hits.last)]
                .map(|(row_of, hits)| row_of.get(row).copied().flatten().map(|at| hits[at]));
            let both = one.is_some() && other.is_some();
            let hit_index = match (rows.renumbers, both, rows.row_count()) {
                (false, _, 1) => HitIndex::Goes,
                (false, ..) => HitIndex::Stays,
                (true, true, _) => HitIndex::Becomes(row as u32),
                (true, false, _) => HitIndex::Goes,
            };
            let alignment = |hit: AlignmentHit<'_>| {
                let aligners = hit.flags.is_secondary();
                rows.primary.map_or(aligners, |primary| primary != row)
            };
            let ends = [one, other].map(|hit| {
                hit.map(|hit| TransferredAlignment {
                    hit,
                    is_secondary: alignment(hit),
                    hit_index,
                    is_contaminant,
                })
            });
            let is_primary = ends.iter().flatten().any(|end| !end.is_secondary);
            let mut drafts = std::mem::take(&mut self.row);
            let [first, last] = &mut drafts;
            self.load_read(first, reads[0]);
            if let Some(end) = ends[0] {
                self.transfer_alignment(first, end)?;
            }
            if let Some(&read) = reads.get(1) {
                self.load_read(last, read);
                if let Some(end) = ends[1] {
                    self.transfer_alignment(last, end)?;
                }
                self.pair_mates(first, last)?;
            }
            for draft in &drafts[..reads.len()] {
                let is_wanted = self.rules.secondary || !draft.has_flags(Flags::SECONDARY);
                if is_wanted && (is_primary || !draft.is_unmapped()) {
                    write(draft)?;
                }
            }
            if is_primary {
                std::mem::swap(&mut self.primary, &mut drafts);
                has_primary = true;
            }
            self.row = drafts;
        }
        for (end, supplementary) in hits.supplementary.iter().enumerate() {
            for &hit in supplementary {
                let Some(&read) = reads.get(end) else { continue };
                let mut draft = std::mem::take(&mut self.supplementary);
                self.load_read(&mut draft, read);
                let is_secondary = hit.flags.is_secondary();
                let hit_index = HitIndex::Stays;
                self.transfer_alignment(
                    &mut draft,
                    TransferredAlignment { hit, is_secondary, hit_index, is_contaminant },
                )?;
                if is_paired && has_primary {
                    self.set_primary_mate_fields(&mut draft, &self.primary[1 - end]);
                }
                let is_wanted = self.rules.secondary || !draft.has_flags(Flags::SECONDARY);
                if is_wanted && !draft.is_unmapped() {
                    write(&draft)?;
                }
                self.supplementary = draft;
            }
        }
        Ok(())
    }

    /// Returns whether a primary alignment looks like contamination: clips on both sides, and fewer
    /// aligned bases than the rules require.
    fn is_contaminant(&mut self, hits: &TemplateHits<'_>, rows: &Arrangement) -> bool {
        let Some(min_unclipped) = self.rules.min_unclipped else { return false };
        let row = rows.primary.or_else(|| {
            let is_primary = |row: &[Option<usize>], hits: &[AlignmentHit<'_>], at: usize| {
                let hit = row.get(at).copied().flatten().map(|at| hits[at].flags);
                hit.is_some_and(|flags| !flags.is_secondary())
            };
            (0..rows.row_count()).find(|&at| {
                is_primary(&rows.first, &hits.first, at) || is_primary(&rows.last, &hits.last, at)
            })
        });
        let Some(row) = row else { return false };
        [(&rows.first, &hits.first), (&rows.last, &hits.last)].into_iter().any(|(row_of, hits)| {
            let Some(at) = row_of.get(row).copied().flatten() else { return false };
            soften_hard_clips(hits[at].record.cigar(), &mut self.ops);
            let clips =
                self.ops.chunk_by(|one, next| one.1 == next.1).filter(|run| run[0].1 == SOFT_CLIP);
            let unclipped = self.ops.iter().filter(|op| consumes_query(op.1) && op.1 != SOFT_CLIP);
            unclipped.map(|op| u64::from(op.0)).sum::<u64>() < u64::from(min_unclipped)
                && clips.count() >= 2
        })
    }

    /// Transfers an alignment to a read: flags, position, CIGAR and fields. Unmaps the read if no
    /// base is aligned or if it is a contaminant.
    ///
    /// # Errors
    /// The alignment does not fit the read.
    fn transfer_alignment(
        &mut self,
        draft: &mut DraftRecord,
        alignment: TransferredAlignment<'_>,
    ) -> Result<()> {
        let TransferredAlignment { hit: AlignmentHit { record, flags }, .. } = alignment;
        self.carry_fields(draft, &alignment);
        draft.set_flag(Flags::UNMAPPED, false);
        draft.set_flag(Flags::SECONDARY, alignment.is_secondary);
        draft.set_flag(Flags::SUPPLEMENTARY, flags.is_supplementary());
        draft.set_flag(Flags::REVERSE, flags.is_reverse());
        if draft.has_flags(Flags::PAIRED) {
            draft.set_flag(Flags::PROPER, flags.is_proper());
        }
        (draft.ref_id, draft.pos, draft.mapq) = (record.ref_id(), record.pos(), record.mapq());
        soften_hard_clips(record.cigar(), &mut draft.cigar);
        if flags.is_reverse() {
            draft.reverse_strand(&self.rules.complemented_tags, &self.rules.reversed_tags);
        }
        self.fit_cigar(draft, record, flags)?;
        let length = self.contigs.get(record.ref_id() as usize).map_or(i64::MAX, |it| it.1);
        if !maps_bases(draft.cigar.iter().copied()) || i64::from(record.pos()) >= length {
            unmap_draft(draft);
        } else if alignment.is_contaminant {
            self.unmap_contaminant(draft, &alignment);
        }
        Ok(())
    }

    fn carry_fields(&self, draft: &mut DraftRecord, alignment: &TransferredAlignment<'_>) {
        let all = alignment.hit.record.field_bytes();
        let (mut fields, mut at) = (Fields::new(all), 0);
        while let Some(field) = fields.next() {
            let end = all.len() - fields.rest().len();
            let typed = &all[at + 2..end];
            at = end;
            if !self.rules.carries_field(field.tag) || field.tag == tag::CG {
                continue;
            }
            match (field.tag, alignment.hit_index) {
                (HI, HitIndex::Goes) => {}
                (HI, HitIndex::Becomes(row)) => draft.set_number(HI, row),
                _ => draft.set_field(field.tag, typed),
            }
        }
        if let HitIndex::Becomes(row) = alignment.hit_index
            && self.rules.carries_field(HI)
        {
            draft.set_number(HI, row);
        }
    }

    /// Makes the CIGAR fit the read: soft-clips bases beyond the end of the reference, bases that
    /// are missing from the alignment, and adapters.
    ///
    /// # Errors
    /// The alignment has more bases than the read, or XT is not a position.
    fn fit_cigar(&self, draft: &mut DraftRecord, record: RecordRef<'_>, flags: Flags) -> Result<()> {
        let trimmed = self.rules.trimmed_bases[usize::from(flags.is_paired() && !flags.is_first())];
        let aligned = query_length(&draft.cigar);
        let length = draft.bases.len() as i64;
        let not_seen = length - aligned - i64::from(trimmed);
        if not_seen < 0 {
            let what = if trimmed == 0 {
                format!("the alignment has {aligned} bases, but the read has {length}")
            } else {
                format!(
                    "the alignment has {aligned} bases after {trimmed} were trimmed, but the read has {length}"
                )
            };
            return Err(Error::input(what).hint("check that ALIGNED has the alignments of these reads"));
        }
        if let Some((_, reference)) = self.contigs.get(record.ref_id() as usize) {
            clip::clip_beyond_reference(draft, *reference);
        }
        let is_reverse = draft.is_reverse();
        clip::add_soft_clips(&mut draft.cigar, is_reverse, not_seen as u32, trimmed);
        if !self.rules.clip_adapters {
            return Ok(());
        }
        let Some(field) = draft.field(tag::XT) else { return Ok(()) };
        match field.integer() {
            Some(from) if from >= 1 => clip_three_prime(draft, from, SOFT_CLIP),
            _ => Err(Error::input("XT is not a valid adapter position")
                .hint("do not clip adapters: --no-clip-adapters")),
        }
    }

    fn unmap_contaminant(&mut self, draft: &mut DraftRecord, alignment: &TransferredAlignment<'_>) {
        let how = self.rules.contaminants;
        if matches!(how, ContaminantAlignments::Copy | ContaminantAlignments::Move) {
            let text = self.format_oa(alignment.hit.record);
            draft.set_text(OA, &text);
        }
        if how == ContaminantAlignments::Move {
            (draft.ref_id, draft.pos) = (-1, -1);
            draft.remove_field(NM);
        }
        draft.set_flag(Flags::UNMAPPED, true);
        if how != ContaminantAlignments::LeaveAll {
            draft.mapq = 0;
            draft.cigar.clear();
        }
        let comment = match draft.field(CO).filter(|field| field.kind == b'Z') {
            Some(field) => [field.value, b" | ", CONTAMINATION].concat(),
            None => CONTAMINATION.to_vec(),
        };
        draft.set_text(CO, &comment);
    }

    /// Returns an alignment in the format of OA, but without the strand, as Picard writes it.
    fn format_oa(&mut self, record: RecordRef<'_>) -> Vec<u8> {
        soften_hard_clips(record.cigar(), &mut self.ops);
        let contig = self.contigs.get(record.ref_id() as usize).map_or(&b"*"[..], |it| &it.0);
        let mut text = contig.to_vec();
        text.extend(format!(",{},", i64::from(record.pos()) + 1).bytes());
        write_text(&self.ops, &mut text);
        text.extend(format!(",{},", record.mapq()).bytes());
        if let Some(nm) = record.field(NM).and_then(|field| field.integer()) {
            text.extend(nm.to_string().bytes());
        }
        text.push(b';');
        text
    }

    /// Clips overlapping mates, then sets position, mate fields, TLEN and 0x2 of both reads.
    fn pair_mates(&self, first: &mut DraftRecord, last: &mut DraftRecord) -> Result<()> {
        if self.rules.overlap != OverlapClip::None {
            clip_overlap(first, last, self.rules.overlap == OverlapClip::Hard)?;
        }
        match (first.is_unmapped(), last.is_unmapped()) {
            (false, false) => {}
            (true, true) => {
                for draft in [&mut *first, &mut *last] {
                    (draft.ref_id, draft.pos) = (-1, -1);
                }
            }
            (true, false) => (first.ref_id, first.pos) = (last.ref_id, last.pos),
            (false, true) => (last.ref_id, last.pos) = (first.ref_id, first.pos),
        }
        self.set_mate_fields(first, last);
        self.set_mate_fields(last, first);
        let tlen = template_length(last, first);
        (last.tlen, first.tlen) = (tlen, -tlen);
        if let Some(expected) = &self.rules.orientations {
            let is_proper = pair_orientation(last, first).is_some_and(|it| expected.contains(&it));
            [first, last].into_iter().for_each(|draft| draft.set_flag(Flags::PROPER, is_proper));
        }
        Ok(())
    }

    /// Sets the fields of a read that describe its mate: RNEXT, PNEXT, 0x8, 0x20, MQ and MC.
    fn set_mate_fields(&self, draft: &mut DraftRecord, mate: &DraftRecord) {
        (draft.next_ref_id, draft.next_pos) = (mate.ref_id, mate.pos);
        draft.set_flag(Flags::MATE_REVERSE, mate.is_reverse());
        draft.set_flag(Flags::MATE_UNMAPPED, mate.is_unmapped());
        if mate.is_unmapped() {
            draft.remove_field(MQ);
            draft.remove_field(tag::MC);
            return;
        }
        draft.set_byte(MQ, mate.mapq);
        self.set_mate_cigar(draft, mate);
    }

    fn set_mate_cigar(&self, draft: &mut DraftRecord, mate: &DraftRecord) {
        if !self.rules.mate_cigar || mate.is_unmapped() {
            return draft.remove_field(tag::MC);
        }
        let mut typed = vec![b'Z'];
        write_text(&mate.cigar, &mut typed);
        typed.push(0);
        draft.set_field(tag::MC, &typed);
    }

    /// Sets the fields of a supplementary alignment that describe the primary alignment of its
    /// mate.
    fn set_primary_mate_fields(&self, draft: &mut DraftRecord, mate: &DraftRecord) {
        (draft.next_ref_id, draft.next_pos) = (mate.ref_id, mate.pos);
        draft.set_flag(Flags::MATE_REVERSE, mate.is_reverse());
        draft.set_flag(Flags::MATE_UNMAPPED, mate.is_unmapped());
        draft.tlen = -mate.tlen;
        self.set_mate_cigar(draft, mate);
        draft.set_byte(MQ, mate.mapq);
    }
}

/// Unmaps a read, and turns it back to its sequencing direction.
///
/// Reverses only the fields that htsjdk reverses by default, regardless of the rules: Picard uses
/// htsjdk's default lists here.
fn unmap_draft(draft: &mut DraftRecord) {
    if draft.is_reverse() {
        draft.reverse_strand(&MergeRules::COMPLEMENTED, &MergeRules::REVERSED);
    }
    let gone =
        Flags::REVERSE | Flags::DUPLICATE | Flags::SECONDARY | Flags::SUPPLEMENTARY | Flags::PROPER;
    draft.set_flag(gone, false);
    draft.set_flag(Flags::UNMAPPED, true);
    (draft.ref_id, draft.pos, draft.mapq, draft.tlen) = (-1, -1, 0, 0);
    draft.cigar.clear();
}

fn five_prime(draft: &DraftRecord) -> i64 {
    if draft.is_reverse() { draft.end() } else { draft.start() }
}

/// Returns TLEN of `one`, whose mate is `other`; 0 unless both are mapped to the same sequence.
fn template_length(one: &DraftRecord, other: &DraftRecord) -> i32 {
    if one.is_unmapped() || other.is_unmapped() || one.ref_id != other.ref_id {
        return 0;
    }
    let (start, end) = (five_prime(one), five_prime(other));
    (end - start + if end >= start { 1 } else { -1 }) as i32
}

/// Returns the orientation of a pair, or `None` unless both mates are mapped to the same sequence.
/// `one` must already have its TLEN.
fn pair_orientation(one: &DraftRecord, other: &DraftRecord) -> Option<PairOrientation> {
    if one.is_unmapped() || other.is_unmapped() || one.ref_id != other.ref_id || one.ref_id < 0 {
        return None;
    }
    if one.is_reverse() == other.is_reverse() {
        return Some(PairOrientation::Tandem);
    }
    let (forward, reverse) = match one.is_reverse() {
        true => (other.start(), one.end()),
        false => (one.start(), one.start() + i64::from(one.tlen)),
    };
    Some(if forward < reverse { PairOrientation::Inward } else { PairOrientation::Outward })
}

//! The rules of samtools 1.24 `fixmate -m`, taken from `bam_mate.c` and from runs.

use readmill_record::header::ReferenceSequence;
use readmill_record::realign::PackedOperator;
use readmill_record::{Batch, Flags, RecordRef, Span};

use super::read::{CigarTexts, FieldChange, PlannedRead, SamtoolsExtras, TemplateOutcome};
use crate::clean_sam;

const MIN_QUALITY: u8 = 15;

/// Sanitises the reads of a template, then sets their mate fields.
///
/// The first two primary reads are linked; each further one replaces the second. Supplementary
/// alignments get their mate fields from the primary alignment of their mate. A single primary read
/// loses its mate fields.
pub(super) fn fix_by_samtools(
    reads: &mut [PlannedRead],
    batch: &Batch,
    spans: &[Span],
    texts: &mut CigarTexts,
    references: &[ReferenceSequence],
    extras: SamtoolsExtras,
) -> TemplateOutcome {
    for (read, &span) in reads.iter_mut().zip(spans) {
        sanitise_read(read, batch.record(span), texts, references);
    }
    let mut pair = TemplateReads { reads, batch, spans, texts };
    let (mut previous, mut ends, mut outcome) = (None, [None, None], TemplateOutcome::Single);
    for i in 0..spans.len() {
        if !pair.reads[i].is_primary() {
            continue;
        }
        ends[usize::from(pair.reads[i].has_flag(Flags::LAST))] = Some(i);
        match previous {
            None => previous = Some(i),
            Some(previous) => {
                pair.link_mates(previous, i);
                if extras.template_cigar {
                    pair.set_template_cigar(previous, i);
                }
                if extras.drops {
                    pair.clear_dropped_mate_flags(previous, i);
                }
                outcome = TemplateOutcome::Fixed;
            }
        }
    }
    if let Some(read) =
        previous.filter(|_| outcome == TemplateOutcome::Single).map(|i| &mut pair.reads[i])
    {
        (read.next_ref_id, read.next_pos, read.tlen) = (-1, -1, 0);
        read.set_flag(Flags::MATE_REVERSE | Flags::PROPER, false);
    }
    for i in 0..spans.len() {
        let read = &pair.reads[i];
        if !(read.has_flag(Flags::PAIRED) && read.has_flag(Flags::SUPPLEMENTARY)) {
            continue;
        }
        if let Some(mate) = ends[usize::from(!read.has_flag(Flags::LAST))] {
            pair.set_mate_fields(mate, i);
        }
    }
    let paired = pair.reads.iter().any(|read| read.has_flag(Flags::PAIRED));
    if outcome == TemplateOutcome::Single && paired { TemplateOutcome::Lone } else { outcome }
}

struct TemplateReads<'a> {
    reads: &'a mut [PlannedRead],
    batch: &'a Batch,
    spans: &'a [Span],
    texts: &'a mut CigarTexts,
}

impl TemplateReads<'_> {
    fn record(&self, i: usize) -> RecordRef<'_> {
        self.batch.record(self.spans[i])
    }

    /// Links two primary reads: sets the position of an unmapped read, and the mate fields, TLEN,
    /// 0x2 and ms of both.
    fn link_mates(&mut self, a: usize, b: usize) {
        [a, b].into_iter().for_each(|i| self.reads[i].set_flag(Flags::PAIRED, true));
        for (i, mate) in [(b, a), (a, b)] {
            if !self.reads[i].is_mapped() && self.reads[mate].is_mapped() {
                (self.reads[i].ref_id, self.reads[i].pos) =
                    (self.reads[mate].ref_id, self.reads[mate].pos);
            }
        }
        self.set_mate_fields(a, b);
        self.set_mate_fields(b, a);
        let tlen = self.template_length(a, b);
        (self.reads[a].tlen, self.reads[b].tlen) = (tlen, tlen.wrapping_neg());
        if !self.may_be_proper(a, b) {
            [a, b].into_iter().for_each(|i| self.reads[i].set_flag(Flags::PROPER, false));
        }
        let scores = [a, b].map(|i| mate_score(self.record(i)));
        self.reads[a].ms = FieldChange::Set(scores[1]);
        self.reads[b].ms = FieldChange::Set(scores[0]);
    }

    /// Sets the mate fields of read `i` from read `mate`. If the mate is unmapped, sets 0x8 and
    /// keeps MQ. Never clears 0x8.
    fn set_mate_fields(&mut self, mate: usize, i: usize) {
        let (place, mapped, mapq) =
            (self.reads[mate].place(), self.reads[mate].is_mapped(), self.reads[mate].mapq);
        let record = self.batch.record(self.spans[mate]);
        let any_mapped = mapped || self.reads[i].is_mapped();
        let cigar = any_mapped.then(|| self.texts.append_cigar(&self.reads[mate], record));
        let read = &mut self.reads[i];
        read.set_mate_place(place);
        if mapped {
            read.mq = FieldChange::Set(mapq);
        } else {
            read.set_flag(Flags::MATE_UNMAPPED, true);
        }
        if let Some(cigar) = cigar {
            read.mc = FieldChange::Set(cigar);
        }
    }

    /// Clears the flags that describe an unmapped mate, because this mate will be dropped (`fixmate
    /// -r`).
    fn clear_dropped_mate_flags(&mut self, a: usize, b: usize) {
        for (one, other) in [(a, b), (b, a)] {
            if !self.reads[one].is_mapped() {
                self.reads[other].set_flag(Flags::MATE_REVERSE | Flags::PROPER, false);
            }
        }
    }

    /// Writes ct to the left one of two primary reads on the same sequence, and removes it from the
    /// other.
    ///
    /// ct consists of number, strand and CIGAR of each read. Between them is the distance from the
    /// end of the left read to the start of the right read, as in `1F10M-10T2F2S8M`.
    fn set_template_cigar(&mut self, a: usize, b: usize) {
        let (left, right) = if self.reads[a].pos > self.reads[b].pos { (b, a) } else { (a, b) };
        let [one, other] = [&self.reads[left], &self.reads[right]];
        if one.ref_id != other.ref_id || one.ref_id < 0 || !one.is_mapped() || !other.is_mapped() {
            return;
        }
        let distance = i64::from(other.pos) - (i64::from(one.pos) + one.span.max(1));
        let start = self.texts.text.len();
        for (i, between) in [(left, Some(distance)), (right, None)] {
            let (read, record) = (&self.reads[i], self.batch.record(self.spans[i]));
            let is_first = read.has_flag(Flags::FIRST);
            self.texts.text.push(if is_first { b'1' } else { b'2' });
            self.texts.text.push(if read.has_flag(Flags::REVERSE) { b'R' } else { b'F' });
            self.texts.append_cigar(read, record);
            let between = between.map(|distance| format!("{distance}T")).unwrap_or_default();
            self.texts.text.extend_from_slice(between.as_bytes());
        }
        self.reads[left].ct = FieldChange::Set(start..self.texts.text.len());
        self.reads[right].ct = FieldChange::Gone;
    }

    /// Returns TLEN from the 5′ end of one read to the 5′ end of the other. 5′ ends are positions
    /// between bases, so TLEN is 0 if they are equal.
    fn template_length(&self, a: usize, b: usize) -> i32 {
        let (a, b) = (&self.reads[a], &self.reads[b]);
        let unmapped = Flags::UNMAPPED | Flags::MATE_UNMAPPED;
        if a.ref_id != b.ref_id || a.has_flag(unmapped) || b.has_flag(unmapped) {
            return 0;
        }
        (five_prime(b) - five_prime(a)) as i32
    }

    /// Returns whether the leftmost 5′ end is on the forward strand and the other on the reverse
    /// strand.
    fn may_be_proper(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.reads[a], &self.reads[b]);
        if !a.is_mapped() || !b.is_mapped() || a.ref_id != b.ref_id {
            return false;
        }
        let (left, right) = if five_prime(a) > five_prime(b) { (b, a) } else { (a, b) };
        !left.has_flag(Flags::REVERSE) && right.has_flag(Flags::REVERSE)
    }
}

/// Returns the 5′ end of a read: the start of a forward read, or the end of a reverse read, which
/// counts as at least one base long.
fn five_prime(read: &PlannedRead) -> i64 {
    let pos = i64::from(read.pos);
    if read.has_flag(Flags::REVERSE) { pos + read.span.max(1) } else { pos }
}

/// Returns the sum of all base qualities of at least 15. Without qualities, each base counts 255,
/// as in samtools.
fn mate_score(record: RecordRef<'_>) -> u32 {
    let good = record.qual().iter().filter(|&&quality| quality >= MIN_QUALITY);
    good.fold(0, |sum: u32, &quality| sum.wrapping_add(u32::from(quality)))
}

/// Sanitises a read as samtools does by default:
///
/// - A read without a position, or beyond its sequence, becomes unmapped.
/// - An alignment is clipped at the end of its sequence.
/// - An unmapped read loses its CIGAR, MAPQ, NM, MD, CG and SM.
/// - Adjacent CIGAR operators of the same kind are merged, and operators of length 0 are removed.
///
/// samtools 1.24 clips incorrectly if operators other than matches are beyond the end. Here the
/// read is clipped as by `--clean-sam`.
fn sanitise_read(
    read: &mut PlannedRead,
    record: RecordRef<'_>,
    texts: &mut CigarTexts,
    references: &[ReferenceSequence],
) {
    if read.ref_id < 0 {
        read.pos = -1;
        read.set_flag(Flags::UNMAPPED, true);
    }
    let length = usize::try_from(read.ref_id).ok().and_then(|id| references.get(id));
    let length = length.map_or(0, |it| i64::from(it.length));
    if read.is_mapped() && read.pos < 0 {
        read.set_flag(Flags::UNMAPPED, true);
    } else if read.is_mapped() && i64::from(read.pos) >= length {
        read.set_flag(Flags::UNMAPPED, true);
        (read.ref_id, read.pos) = (-1, -1);
    } else if read.is_mapped() && i64::from(read.pos) + read.span > length {
        clip_read_overhang(read, record, texts, i64::from(read.pos) + read.span - length);
    }
    if !read.is_mapped() {
        (read.mapq, read.strips, read.span) = (0, true, 0);
        let is_empty = record.cigar().is_empty();
        read.cigar = (!is_empty).then_some(0..0);
    } else {
        merge_equal_operators(read, record, texts);
    }
}

/// Clips the overhang of a read, given in reference bases. If no aligned base remains, the read
/// becomes unmapped.
fn clip_read_overhang(
    read: &mut PlannedRead,
    record: RecordRef<'_>,
    texts: &mut CigarTexts,
    overhang: i64,
) {
    let ops: Vec<PackedOperator> = record.cigar().ops().map(|(op, n)| n << 4 | op).collect();
    let mut clipped = Vec::new();
    if clean_sam::clip_at_end(&ops, overhang, &mut clipped) {
        let start = texts.ops.len();
        texts.ops.extend_from_slice(&clipped);
        read.cigar = Some(start..texts.ops.len());
        read.span = clean_sam::reference_length(&clipped);
    } else {
        read.set_flag(Flags::UNMAPPED, true);
        read.set_flag(Flags::PROPER, false);
    }
}

/// Merges adjacent operators of the same kind, and removes operators of length 0. Does nothing if
/// the CIGAR has neither.
fn merge_equal_operators(read: &mut PlannedRead, record: RecordRef<'_>, texts: &mut CigarTexts) {
    let is_plain = |mut ops: &mut dyn Iterator<Item = (u32, u32)>| {
        let mut last = u32::MAX;
        Iterator::all(&mut ops, |(op, n)| n > 0 && std::mem::replace(&mut last, op) != op)
    };
    let plain = match &read.cigar {
        None => is_plain(&mut record.cigar().ops()),
        Some(ops) => is_plain(&mut texts.ops[ops.clone()].iter().map(|op| (op & 15, op >> 4))),
    };
    if plain {
        return;
    }
    let ops: Vec<PackedOperator> = match &read.cigar {
        None => record.cigar().ops().map(|(op, n)| n << 4 | op).collect(),
        Some(ops) => texts.ops[ops.clone()].to_vec(),
    };
    let start = texts.ops.len();
    for op in ops.into_iter().filter(|op| op >> 4 > 0) {
        let last = texts.ops[start..].last().copied().filter(|last| last & 15 == op & 15);
        match last {
            Some(last) if (last >> 4) + (op >> 4) < 1 << 28 => {
                texts.ops.pop();
                texts.ops.push(last + (op >> 4 << 4));
            }
            _ => texts.ops.push(op),
        }
    }
    read.cigar = Some(start..texts.ops.len());
}

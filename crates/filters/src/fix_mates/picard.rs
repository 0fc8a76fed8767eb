//! The rules of Picard 3.4.0 FixMateInformation (`SamPairUtil` of htsjdk 4.2), taken from its
//! source and from runs.

use readmill_record::{Batch, Flags, Span};

use super::read::{CigarTexts, FieldChange, PlannedRead, TemplateOutcome};

/// Sets the mate fields of the primary reads of a template. Supplementary alignments get theirs
/// from the primary alignment of their mate. Secondary alignments and 0x2 do not change.
pub(super) fn fix_by_picard(
    reads: &mut [PlannedRead],
    batch: &Batch,
    spans: &[Span],
    texts: &mut CigarTexts,
) -> TemplateOutcome {
    let mut ends = [None, None];
    let mut paired = false;
    for (i, read) in reads.iter().enumerate().filter(|(_, read)| read.has_flag(Flags::PAIRED)) {
        paired = true;
        let end = match (read.is_primary(), read.has_flag(Flags::FIRST), read.has_flag(Flags::LAST)) {
            (true, true, _) => 0,
            (true, _, true) => 1,
            _ => continue,
        };
        if ends[end].replace(i).is_some() {
            return TemplateOutcome::Doubled;
        }
    }
    let (Some(first), Some(last)) = (ends[0], ends[1]) else {
        return if paired { TemplateOutcome::Lone } else { TemplateOutcome::Single };
    };
    let mut cigar =
        |reads: &[PlannedRead], i: usize| texts.append_cigar(&reads[i], batch.record(spans[i]));
    let cigars = [first, last].map(|i| reads[i].is_mapped().then(|| cigar(reads, i)));
    link_mates(reads, [first, last], &cigars);
    for i in 0..reads.len() {
        if !(reads[i].has_flag(Flags::PAIRED) && reads[i].has_flag(Flags::SUPPLEMENTARY)) {
            continue;
        }
        let end = usize::from(reads[i].has_flag(Flags::FIRST));
        let (mate, cigar) = ([first, last][end], cigars[end].clone());
        let (place, mapped, mapq) = (reads[mate].place(), reads[mate].is_mapped(), reads[mate].mapq);
        let tlen = reads[mate].tlen.wrapping_neg();
        let read = &mut reads[i];
        read.set_mate_place(place);
        read.set_flag(Flags::MATE_UNMAPPED, !mapped);
        read.tlen = tlen;
        read.mq = FieldChange::Set(mapq);
        read.mc = cigar.map_or(FieldChange::Gone, FieldChange::Set);
    }
    TemplateOutcome::Fixed
}

/// Sets the mate fields of two primary reads. If only one is mapped, the other one gets its
/// position; if none is mapped, both lose their positions.
fn link_mates(
    reads: &mut [PlannedRead],
    [first, last]: [usize; 2],
    cigars: &[Option<std::ops::Range<usize>>; 2],
) {
    match [first, last].map(|i| reads[i].is_mapped()) {
        [true, false] => (reads[last].ref_id, reads[last].pos) = (reads[first].ref_id, reads[first].pos),
        [false, true] => (reads[first].ref_id, reads[first].pos) = (reads[last].ref_id, reads[last].pos),
        [false, false] => {
            for i in [first, last] {
                (reads[i].ref_id, reads[i].pos) = (-1, -1);
            }
        }
        [true, true] => {}
    }
    for (i, mate, cigar) in [(first, last, &cigars[1]), (last, first, &cigars[0])] {
        let (place, mapped, mapq) = (reads[mate].place(), reads[mate].is_mapped(), reads[mate].mapq);
        let read = &mut reads[i];
        read.set_mate_place(place);
        read.set_flag(Flags::MATE_UNMAPPED, !mapped);
        read.mq = if mapped { FieldChange::Set(mapq) } else { FieldChange::Gone };
        read.mc = cigar.clone().map_or(FieldChange::Gone, FieldChange::Set);
    }
    let tlen = template_length(&reads[first], &reads[last]);
    reads[first].tlen = tlen;
    reads[last].tlen = tlen.wrapping_neg();
}

/// Returns TLEN from the 5′ base of read 1 to the 5′ base of read 2, both included, without clips.
/// It is 0 if a read is unmapped or the reads are on different sequences.
fn template_length(first: &PlannedRead, last: &PlannedRead) -> i32 {
    if !(first.is_mapped() && last.is_mapped()) || first.ref_id != last.ref_id {
        return 0;
    }
    let five_prime = |read: &PlannedRead| {
        let pos = i64::from(read.pos);
        if read.has_flag(Flags::REVERSE) { pos + read.span - 1 } else { pos }
    };
    let (from, to) = (five_prime(first), five_prime(last));
    (to - from + if to >= from { 1 } else { -1 }) as i32
}

//! The order of reads in a region.

use std::cmp::Ordering;

use readmill_record::Flags;

use crate::CallerRead;

/// Compares reads of a region (GATK 4.6.2.0 `ReadCoordinateComparator`). Reads that differ in none of the
/// fields keep their order.
pub(super) fn compare_reads(a: &CallerRead, b: &CallerRead) -> Ordering {
    let fields = |read: &CallerRead| (read.contig, read.start, read.flags.is_reverse());
    let rest = |read: &CallerRead| (visible_flags(read), read.mapping_quality);
    fields(a)
        .cmp(&fields(b))
        .then_with(|| a.name.cmp(&b.name))
        .then_with(|| rest(a).cmp(&rest(b)))
        .then_with(|| compare_mates(a, b))
        .then_with(|| a.template_length.cmp(&b.template_length))
}

fn compare_mates(a: &CallerRead, b: &CallerRead) -> Ordering {
    if !a.flags.is_paired() || !b.flags.is_paired() {
        return Ordering::Equal;
    }
    let mate = |read: &CallerRead| match read.is_mate_unmapped() {
        true => (None, 0),
        false => (read.mate_contig, read.mate_start),
    };
    mate(a).cmp(&mate(b))
}

/// Returns the flags as GATK gives them: without those that have no meaning for an unpaired read, and
/// without the strand of an unmapped mate.
fn visible_flags(read: &CallerRead) -> u16 {
    const PAIRED_ONLY: u16 = Flags::PROPER | Flags::FIRST | Flags::LAST;
    const OF_MATE: u16 = Flags::MATE_UNMAPPED | Flags::MATE_REVERSE;
    let flags = read.flags;
    if !flags.is_paired() {
        return flags.0 & !(PAIRED_ONLY | OF_MATE);
    }
    match read.is_mate_unmapped() {
        true => flags.0 & !OF_MATE | Flags::MATE_UNMAPPED,
        false => flags.0,
    }
}

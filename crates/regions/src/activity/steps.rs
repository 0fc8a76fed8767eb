//! The loci of a read, and what is beside them in its alignment.

use std::ops::Range;

use readmill_pairwise::CigarOperator;

use crate::ContigSpan;
use crate::read::CallerRead;

/// What is next to a base, if it makes the base differ from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Neighbour {
    Indel,
    SoftClip,
}

/// Consecutive loci that a read aligns or deletes in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Positions of the contig, 1-based.
    pub loci: Range<i32>,
    /// Index in the read of the first base, or `None` if the loci are deleted.
    pub offset: Option<usize>,
    /// What is next to each of the bases.
    pub beside: Option<Neighbour>,
}

/// Passes the loci of `covered` that the read aligns or deletes, in order.
///
/// The neighbours of a base are those of GATK 4.6.2.0 `PileupElement`: an insertion or a soft clip
/// counts if its operator is adjacent, a deletion also behind insertions, clips and padding.
pub(super) fn for_each_stretch(read: &CallerRead, covered: ContigSpan, mut pass: impl FnMut(Stretch)) {
    let (mut locus, mut offset) = (read.start, 0);
    let end = covered.end.saturating_add(1);
    for (at, element) in read.cigar.iter().enumerate() {
        let (operator, length) = (element.operator(), element.length());
        let next = locus.saturating_add(element.reference_length() as i32);
        let loci = locus.max(covered.start)..next.min(end);
        if !loci.is_empty() && operator != CigarOperator::Skip {
            let first_base = operator.consumes_read().then_some(offset);
            let mut pass_part = |loci: Range<i32>, beside| {
                let offset = first_base.map(|base| base + (loci.start - locus) as usize);
                if !loci.is_empty() {
                    pass(Stretch { loci, offset, beside });
                }
            };
            let before = find_neighbour(read.cigar[..at].iter().rev().map(|element| element.operator()));
            let after = find_neighbour(read.cigar[at + 1..].iter().map(|element| element.operator()));
            let before = before.filter(|_| loci.start == locus);
            let after = after.filter(|_| loci.end == next);
            let inner_start = loci.start + i32::from(before.is_some());
            let inner_end = (loci.end - i32::from(after.is_some())).max(inner_start);
            pass_part(loci.start..inner_start, before.max(after.filter(|_| length == 1)));
            pass_part(inner_start..inner_end, None);
            pass_part(inner_end..loci.end, after);
        }
        locus = next;
        offset += element.read_length();
        if locus >= end {
            break;
        }
    }
}

/// `outward` are the operators from a base on, in one direction.
fn find_neighbour(mut outward: impl Iterator<Item = CigarOperator> + Clone) -> Option<Neighbour> {
    let is_on_genome =
        |operator: &CigarOperator| operator.is_alignment() || *operator == CigarOperator::Deletion;
    match outward.clone().next() {
        Some(CigarOperator::SoftClip) => Some(Neighbour::SoftClip),
        Some(CigarOperator::Insertion) => Some(Neighbour::Indel),
        _ => (outward.find(is_on_genome) == Some(CigarOperator::Deletion)).then_some(Neighbour::Indel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_beside_indels_and_clips_are_apart() {
        let read =
            CallerRead { start: 10, cigar: "3S1M2D4M1I2M".parse().unwrap(), ..CallerRead::default() };
        let mut stretches = Vec::new();
        for_each_stretch(&read, ContigSpan { start: 1, end: 17 }, |stretch| {
            stretches.push((stretch.loci, stretch.offset, stretch.beside));
        });
        let (clip, indel) = (Some(Neighbour::SoftClip), Some(Neighbour::Indel));
        assert_eq!(
            stretches,
            [
                (10..11, Some(3), clip),
                (11..13, None, None),
                (13..14, Some(4), indel),
                (14..16, Some(5), None),
                (16..17, Some(7), indel),
                (17..18, Some(9), indel),
            ]
        );
    }
}

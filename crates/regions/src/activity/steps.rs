//! The loci of a read, and how the read differs from the reference at each.

use readmill_pairwise::CigarOperator;

use crate::Span;
use crate::read::CallerRead;

/// How a read differs from the reference at a locus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deviation {
    /// It has the reference base, without an indel or a soft clip next to it.
    None,
    /// The base differs, or an insertion or deletion is next to it.
    Difference,
    /// The base is next to a soft clip.
    NextToSoftClip,
    /// The base is deleted.
    Deletion,
}

/// Passes each locus of `covered` that the read aligns or deletes, in order: its position, the quality of
/// the base, and the deviation. `reference` are the bases from `covered.start` on.
///
/// The neighbours of a base are those of GATK 4.6.2.0 `PileupElement`: an insertion or a soft clip
/// counts if its operator is adjacent, a deletion also behind insertions, clips and padding.
pub(super) fn for_each_deviation(
    read: &CallerRead,
    covered: Span,
    reference: &[u8],
    mut pass: impl FnMut(i32, u8, Deviation),
) {
    let (mut locus, mut offset) = (read.start, 0);
    for (at, element) in (&read.cigar).into_iter().enumerate() {
        let length = element.length() as i32;
        let consumes_read = element.operator().consumes_read();
        if element.operator().consumes_reference() {
            let end = locus.saturating_add(length);
            if end > covered.start && element.operator() != CigarOperator::Skip {
                let (before, after) = find_neighbours(read, at);
                for position in locus.max(covered.start)..end.min(covered.end.saturating_add(1)) {
                    let is_first = position == locus;
                    let is_last = position == end - 1;
                    let beside = before.filter(|_| is_first).max(after.filter(|_| is_last));
                    let expected = reference[(position - covered.start) as usize];
                    if !consumes_read {
                        pass(position, 0, Deviation::Deletion);
                        continue;
                    }
                    let index = offset + (position - locus) as usize;
                    let deviation = match beside {
                        Some(Neighbour::SoftClip) => Deviation::NextToSoftClip,
                        Some(Neighbour::Indel) => Deviation::Difference,
                        None if read.bases[index] != expected => Deviation::Difference,
                        None => Deviation::None,
                    };
                    pass(position, read.qualities[index], deviation);
                }
            }
            locus = end;
        }
        if consumes_read {
            offset += length as usize;
        }
        if locus > covered.end {
            break;
        }
    }
}

/// What is next to the first or last base of an operator, if it makes the base differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Neighbour {
    Indel,
    SoftClip,
}

/// Returns what is before the first and behind the last base of the operator with this index.
fn find_neighbours(read: &CallerRead, at: usize) -> (Option<Neighbour>, Option<Neighbour>) {
    let (before, after) = (&read.cigar[..at], &read.cigar[at + 1..]);
    let before = find_neighbour(before.iter().rev().map(|element| element.operator()));
    let after = find_neighbour(after.iter().map(|element| element.operator()));
    (before, after)
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

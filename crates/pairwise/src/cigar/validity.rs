//! CIGARs that GATK accepts in reads.

use super::{Cigar, CigarElement, CigarOperator};
use CigarOperator::{Deletion, HardClip, Padding, SoftClip};

/// Returns whether GATK's `GoodCigarReadFilter` keeps a read with this CIGAR (GATK 4.6.2.0
/// `CigarUtils.isGood`): it is valid for htsjdk 4.2.0 (`Cigar.isValid`), no two neighbours are I or D, and
/// neither the first nor the last element but clips is D. The empty CIGAR is good.
///
/// ```
/// use readmill_pairwise::{Cigar, is_good_cigar};
///
/// for (text, good) in [("5H3S10M", true), ("10M5I5D10M", false), ("5S2D10M", false), ("5S10M2S3M", false)] {
///     assert_eq!(is_good_cigar(&text.parse::<Cigar>()?), good, "{text}");
/// }
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
pub fn is_good_cigar(cigar: &Cigar) -> bool {
    is_valid(cigar)
        && !cigar.windows(2).any(|pair| pair.iter().all(|element| element.operator().is_indel()))
        && !starts_with_deletion(cigar.iter())
        && !starts_with_deletion(cigar.iter().rev())
}

fn starts_with_deletion<'a>(mut elements: impl Iterator<Item = &'a CigarElement>) -> bool {
    elements
        .find(|element| !element.operator().is_clip())
        .is_some_and(|element| element.operator() == Deletion)
}

/// Returns whether htsjdk finds no error.
fn is_valid(cigar: &Cigar) -> bool {
    if cigar.is_empty() {
        return true;
    }
    (0..cigar.len()).all(|index| is_valid_element(cigar, index))
        && cigar.iter().any(|element| is_real(element.operator()))
}

/// M, I, D, N, = or X.
fn is_real(operator: CigarOperator) -> bool {
    !operator.is_clip() && operator != Padding
}

fn is_valid_element(elements: &[CigarElement], index: usize) -> bool {
    let last = elements.len() - 1;
    let operator_at = |index: usize| elements[index].operator();
    let operator = operator_at(index);
    let is_in_place = match operator {
        HardClip => index == 0 || index == last,
        SoftClip => is_soft_clip_in_place(elements, index),
        Padding if index == 0 => true,
        Padding => index < last && is_real(operator_at(index - 1)) && is_real(operator_at(index + 1)),
        _ if operator.is_indel() => {
            // Between two insertions, or two deletions, there is an aligned or skipped base, or padding.
            let same = elements[index + 1..].iter().map(|element| element.operator());
            !same.take_while(|next| next.is_indel() || next.is_clip()).any(|next| next == operator)
        }
        _ => true,
    };
    is_in_place && elements[index].length() > 0
}

fn is_soft_clip_in_place(elements: &[CigarElement], index: usize) -> bool {
    let last = elements.len() - 1;
    let is_hard_clip = |index: usize| elements[index].operator() == HardClip;
    match index {
        _ if index == 0 || index == last => true,
        1 => is_hard_clip(0) || (last == 2 && is_hard_clip(2)),
        _ => index + 1 == last && is_hard_clip(last),
    }
}

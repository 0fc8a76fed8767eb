//! Alignments of alignments.

use super::{BuiltCigar, Cigar, CigarBuilder, CigarError, CigarOperator};
use CigarOperator::{Deletion, Equal, Insertion, Match, Mismatch, SoftClip};

/// Returns the CIGAR of a first sequence against a third one, from those of the first against the
/// second and the second against the third (GATK 4.6.2.0 `AlignmentUtils.applyCigarToCigar`). It ends
/// where the shorter of the two ends. Deletions at the ends are removed.
///
/// ```
/// use readmill_pairwise::{Cigar, compose_cigars};
///
/// let read_to_haplotype: Cigar = "1M2D3M".parse()?;
/// let haplotype_to_reference: Cigar = "2M1I3M".parse()?;
/// let composed = compose_cigars(&read_to_haplotype, &haplotype_to_reference)?;
/// assert_eq!(composed.to_string(), "1M1D3M");
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
///
/// # Errors
///
/// Returns [`CigarError::NoComposition`] if one of the CIGARs has N, H or P, or the errors of
/// [`CigarBuilder::make`].
pub fn compose_cigars(first: &Cigar, second: &Cigar) -> Result<Cigar, CigarError> {
    let mut builder = CigarBuilder::new();
    let (mut first_index, mut second_index, mut first_used, mut second_used) = (0, 0, 0, 0);
    while let (Some(a), Some(b)) = (first.get(first_index), second.get(second_index)) {
        let (operator, advances_first, advances_second) = compose(a.operator(), b.operator())?;
        // Until one element is used up, each base gives the same.
        let (first_left, second_left) = (a.length() - first_used, b.length() - second_used);
        let count = match (advances_first, advances_second) {
            (true, true) => first_left.min(second_left),
            (true, false) => first_left,
            _ => second_left,
        };
        if let Some(operator) = operator {
            builder.add(count, operator)?;
        }
        if advances_first {
            first_used += count;
        }
        if advances_second {
            second_used += count;
        }
        if first_used == a.length() {
            (first_index, first_used) = (first_index + 1, 0);
        }
        if second_used == b.length() {
            (second_index, second_used) = (second_index + 1, 0);
        }
    }
    builder.make().map(|BuiltCigar { cigar, .. }| cigar)
}

/// Returns the composed operator, if any, and whether the first and the second CIGAR advance.
fn compose(
    first: CigarOperator,
    second: CigarOperator,
) -> Result<(Option<CigarOperator>, bool, bool), CigarError> {
    let composed = match (class(first), class(second)) {
        (Some(Match), Some(Match)) => (Some(Match), true, true),
        (Some(Match), Some(Insertion)) => (Some(Insertion), true, true),
        (Some(Match | Deletion), Some(Deletion)) => (Some(Deletion), false, true),
        (Some(Deletion), Some(Match)) => (Some(Deletion), true, true),
        // The second sequence has a base that neither of the others has.
        (Some(Deletion), Some(Insertion)) => (None, true, true),
        (Some(Insertion), Some(_)) => (Some(Insertion), true, false),
        _ => return Err(CigarError::NoComposition(first, second)),
    };
    Ok(composed)
}

/// Returns M, I or D for an operator that acts as one of them.
fn class(operator: CigarOperator) -> Option<CigarOperator> {
    match operator {
        Match | Equal | Mismatch => Some(Match),
        Insertion | SoftClip => Some(Insertion),
        Deletion => Some(Deletion),
        _ => None,
    }
}

/// Returns how many reference bases the haplotype of this CIGAR has consumed before its base
/// `haplotype_index`, 0-based: where on the reference haplotype a read starts that is aligned to that base
/// (GATK 4.6.2.0 `AlignmentUtils.readStartOnReferenceHaplotype`).
///
/// # Errors
///
/// Returns [`CigarError::TooShort`] if the haplotype ends before that base.
pub fn find_reference_offset(cigar: &Cigar, haplotype_index: usize) -> Result<usize, CigarError> {
    if haplotype_index == 0 {
        return Ok(0);
    }
    let (mut reference_bases, mut haplotype_bases) = (0, 0);
    for element in cigar {
        reference_bases += element.reference_length();
        haplotype_bases += element.read_length();
        if haplotype_bases >= haplotype_index {
            let excess = match element.operator().consumes_reference() {
                true => haplotype_bases - haplotype_index,
                false => 0,
            };
            return Ok(reference_bases - excess);
        }
    }
    Err(CigarError::TooShort { position: haplotype_index })
}

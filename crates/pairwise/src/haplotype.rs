//! The CIGAR of a haplotype against the reference.

use std::fmt;

use crate::{
    AlignmentError, AlignmentScores, Cigar, CigarElement, CigarError, CigarOperator, Overhang,
    SmithWaterman, left_align_indels, trim_cigar_by_read,
};
use CigarOperator::{Deletion, Match, SoftClip};

/// Bases that are equal in both sequences, so that an alignment starts and ends with the sequences.
const PADDING: [u8; 10] = *b"NNNNNNNNNN";

/// Why a haplotype has no CIGAR. GATK throws in both cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HaplotypeError {
    /// The sequences cannot be aligned.
    Alignment(AlignmentError),
    /// The alignment cannot be brought into its normal form.
    Cigar(CigarError),
}

impl fmt::Display for HaplotypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HaplotypeError::Alignment(error) => error.fmt(f),
            HaplotypeError::Cigar(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HaplotypeError {}

impl From<AlignmentError> for HaplotypeError {
    fn from(error: AlignmentError) -> HaplotypeError {
        HaplotypeError::Alignment(error)
    }
}

impl From<CigarError> for HaplotypeError {
    fn from(error: CigarError) -> HaplotypeError {
        HaplotypeError::Cigar(error)
    }
}

/// Aligns a haplotype to the reference from the first to the last base of both, with indels as far left as
/// possible (GATK 4.6.2.0 `CigarUtils.calculateCigar`). Deletions at the ends are kept.
///
/// Returns `None` if bases at the ends of the haplotype are not aligned: GATK leaves such a haplotype out.
///
/// ```
/// use readmill_pairwise::{AlignmentScores, Overhang, SmithWaterman, align_haplotype};
///
/// let mut aligner = SmithWaterman::default();
/// let scores = AlignmentScores::HAPLOTYPE_TO_REFERENCE;
/// let (reference, haplotype) = (b"ACGTTTTTGCATTA", b"ACGTTTTGCAGTA");
/// let cigar = align_haplotype(&mut aligner, reference, haplotype, scores, Overhang::SoftClip)?;
/// assert_eq!(cigar.map(|cigar| cigar.to_string()), Some("3M1D10M".to_owned()));
/// # Ok::<(), readmill_pairwise::HaplotypeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the sequences are too long, or if nothing is left of the CIGAR.
pub fn align_haplotype(
    aligner: &mut SmithWaterman,
    reference: &[u8],
    haplotype: &[u8],
    scores: AlignmentScores,
    overhang: Overhang,
) -> Result<Option<Cigar>, HaplotypeError> {
    if haplotype.is_empty() {
        return Ok(Some(Cigar::new(vec![CigarElement::new(reference.len(), Deletion)])));
    }
    if haplotype == reference {
        return Ok(Some(Cigar::new(vec![CigarElement::new(reference.len(), Match)])));
    }
    let pad = |bases: &[u8]| [&PADDING[..], bases, &PADDING].concat();
    let alignment = aligner.align(&pad(reference), &pad(haplotype), scores, overhang)?;
    let is_clipped = alignment.cigar.iter().any(|element| element.operator() == SoftClip);
    if alignment.offset > 0 || is_clipped {
        return Ok(None);
    }
    let kept = PADDING.len()..=PADDING.len() + haplotype.len() - 1;
    let trimmed = trim_cigar_by_read(&alignment.cigar, kept)?;
    let mut elements = trimmed.cigar.into_elements();
    if trimmed.trailing_deletion > 0 {
        elements.push(CigarElement::new(trimmed.trailing_deletion, Deletion));
    }
    let start = trimmed.leading_deletion;
    let aligned = left_align_indels(&Cigar::new(elements), reference, haplotype, start)?;
    // A deletion that was removed at an end keeps the haplotype on its part of the reference.
    let mut elements = Vec::with_capacity(aligned.cigar.len() + 2);
    for (deletion, rest) in
        [(start + aligned.leading_deletion, &aligned.cigar[..]), (aligned.trailing_deletion, &[])]
    {
        if deletion > 0 {
            elements.push(CigarElement::new(deletion, Deletion));
        }
        elements.extend_from_slice(rest);
    }
    Ok(Some(Cigar::new(elements)))
}

//! Smith-Waterman alignment with affine gaps, with the results of Intel's GKL 0.8.11.

mod alignment;
mod fill;
mod kernel;
mod lane;
mod scores;
mod trace;

use crate::{Cigar, CigarElement, CigarOperator};
use alignment::MAX_MATCH_SCORE;
pub use alignment::{Alignment, AlignmentError, MAX_SEQUENCE_LENGTH};
use fill::Matrices;
pub use scores::{AlignmentScores, Overhang};

/// Aligns pairs of sequences, with buffers that are kept from one to the next.
///
/// If several alignments have the same score, the result is that of GKL's `IntelSmithWaterman` as GATK
/// 4.6.2.0 calls it. GATK's own Java aligner decides some ties differently. The buffers have at most one byte
/// for each pair of bases of the largest alignment so far.
///
/// ```
/// use readmill_pairwise::{AlignmentScores, Overhang, SmithWaterman};
///
/// let mut aligner = SmithWaterman::default();
/// let scores = AlignmentScores::READ_TO_HAPLOTYPE;
/// let alignment = aligner.align(b"TTGACCATGCAAT", b"GACCTGCA", scores, Overhang::SoftClip)?;
/// assert_eq!((alignment.offset, alignment.cigar.to_string()), (2, "4M1D4M".to_owned()));
/// # Ok::<(), readmill_pairwise::AlignmentError>(())
/// ```
#[derive(Debug, Default)]
pub struct SmithWaterman {
    matrices: Matrices,
}

impl SmithWaterman {
    /// Aligns `sequence` to `reference`.
    ///
    /// With [`Overhang::SoftClip`] and [`Overhang::Ignore`], a sequence that occurs in the reference is
    /// aligned to its last occurrence.
    ///
    /// # Errors
    ///
    /// Returns an error if a sequence is empty or too long, or if the score of a match is too high.
    pub fn align(
        &mut self,
        reference: &[u8],
        sequence: &[u8],
        scores: AlignmentScores,
        overhang: Overhang,
    ) -> Result<Alignment, AlignmentError> {
        if matches!(overhang, Overhang::SoftClip | Overhang::Ignore)
            && let Some(offset) = find_last(reference, sequence)
        {
            let cigar = Cigar::new(vec![CigarElement::new(sequence.len(), CigarOperator::Match)]);
            return Ok(Alignment { offset: offset as i32, cigar });
        }
        if reference.is_empty() || sequence.is_empty() {
            return Err(AlignmentError::EmptySequence);
        }
        let length = reference.len().max(sequence.len());
        if length > MAX_SEQUENCE_LENGTH {
            return Err(AlignmentError::TooLong { length });
        }
        if scores.match_score > MAX_MATCH_SCORE {
            return Err(AlignmentError::MatchScore(scores.match_score));
        }
        let end = self.matrices.fill(reference, sequence, scores, overhang);
        Ok(trace::trace_back(&self.matrices, end, overhang))
    }
}

/// Returns where `sequence` occurs last in `reference`.
fn find_last(reference: &[u8], sequence: &[u8]) -> Option<usize> {
    if sequence.is_empty() {
        return Some(reference.len());
    }
    match sequence.first_chunk::<8>() {
        Some(start) => reference
            .windows(sequence.len())
            .rposition(|window| window.first_chunk() == Some(start) && window == sequence),
        None => reference.windows(sequence.len()).rposition(|window| window == sequence),
    }
}

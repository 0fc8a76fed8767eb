//! Clips at the ends of a CIGAR.

use std::ops::Range;

use super::{BuiltCigar, Cigar, CigarBuilder, CigarElement, CigarError, CigarOperator};
use CigarOperator::{HardClip, Match, SoftClip};

/// Replaces the elements of the bases `clipped` of a read (0-based, at one end of the read) by a clip
/// (GATK 4.6.2.0 `CigarUtils.clipCigar`). Hard clips that the CIGAR has stay.
///
/// If `clipped` starts at 0, the start of the read is clipped, else its end. Deletions next to the clip
/// are removed. See [`count_clipped_start`] for the new start of the alignment.
///
/// ```
/// use readmill_pairwise::{Cigar, CigarOperator, clip_cigar};
///
/// let cigar: Cigar = "2S10M3D5M".parse()?;
/// assert_eq!(clip_cigar(&cigar, 0..4, CigarOperator::HardClip)?.to_string(), "4H8M3D5M");
/// assert_eq!(clip_cigar(&cigar, 12..17, CigarOperator::HardClip)?.to_string(), "2S10M5H");
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
///
/// # Errors
///
/// Returns an error if no element is left, or if all that is left is soft-clipped.
pub fn clip_cigar(
    cigar: &Cigar,
    clipped: Range<usize>,
    clip: CigarOperator,
) -> Result<Cigar, CigarError> {
    let clips_start = clipped.start == 0;
    let mut builder = CigarBuilder::new();
    let mut end = 0;
    for element in cigar {
        let (length, operator) = (element.length(), element.operator());
        if operator == HardClip {
            builder.add(length, operator)?;
            continue;
        }
        let start = end;
        end += element.read_length();
        if end <= clipped.start || start >= clipped.end {
            // A deletion next to the clip has no meaning.
            if operator.consumes_read() || (start != clipped.start && start != clipped.end) {
                builder.add(length, operator)?;
            }
            continue;
        }
        let kept = match clips_start {
            true => end.saturating_sub(clipped.end),
            false => clipped.start.saturating_sub(start),
        };
        if kept == 0 {
            if operator.consumes_read() {
                builder.add(length, clip)?;
            }
        } else if clips_start {
            builder.add(length - kept, clip)?;
            builder.add(kept, operator)?;
        } else {
            builder.add(kept, operator)?;
            builder.add(length - kept, clip)?;
        }
    }
    builder.make().map(|built| built.cigar)
}

/// Returns by how many reference bases the start of the alignment moves if the first `clipped` bases of
/// the read are clipped (GATK 4.6.2.0 `CigarUtils.alignmentStartShift`).
pub fn count_clipped_start(cigar: &Cigar, clipped: usize) -> usize {
    let (mut reference_bases, mut end) = (0, 0);
    for element in cigar.into_iter().filter(|element| element.operator() != HardClip) {
        let start = end;
        end += element.read_length();
        if end <= clipped {
            reference_bases += element.reference_length();
        } else if start < clipped {
            if element.operator().consumes_reference() {
                reference_bases += clipped - start;
            }
            break;
        }
    }
    reference_bases
}

/// Replaces soft clips by M (GATK 4.6.2.0 `CigarUtils.revertSoftClips`). The result is in the normal
/// form of [`CigarBuilder`].
///
/// # Errors
///
/// Returns an error if no element is left.
pub fn revert_soft_clips(cigar: &Cigar) -> Result<Cigar, CigarError> {
    let mut builder = CigarBuilder::new();
    for element in cigar {
        let operator = element.operator();
        builder.add(element.length(), if operator == SoftClip { Match } else { operator })?;
    }
    builder.make().map(|BuiltCigar { cigar, .. }| cigar)
}

/// Returns `cigar` between the clips at the start and the end of `original` (GATK 4.6.2.0
/// `AlignmentUtils.appendClippedElementsFromCigarToCigar`). If `original` has clips only, its last element
/// is taken as no clip.
pub fn append_clips(cigar: &Cigar, original: &Cigar) -> Cigar {
    let is_clip = |element: &&CigarElement| element.operator().is_clip();
    let last = original.len().saturating_sub(1);
    let leading = original[..last].iter().take_while(is_clip).count();
    let trailing = original[leading..].iter().skip(1).rev().take_while(is_clip).count();
    let mut elements = original[..leading].to_vec();
    elements.extend_from_slice(cigar);
    elements.extend_from_slice(&original[original.len() - trailing..]);
    Cigar::new(elements)
}

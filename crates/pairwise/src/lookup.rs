//! The base of a read at a reference position.

use crate::{Cigar, CigarOperator};

/// Returns the index of the base of a read at `position`, and the operator there (GATK 4.6.2.0
/// `ReadUtils.getReadIndexForReferenceCoordinate`).
///
/// `soft_start` is the reference position of the first base if soft clips were aligned, in the same
/// coordinates as `position`. In a deletion, the index of the first base after it is returned, which may
/// be the length of the read. `None` if the position is outside the read.
///
/// ```
/// use readmill_pairwise::{Cigar, CigarOperator, find_read_index};
///
/// let cigar: Cigar = "2S3M2D4M".parse()?;
/// // The first aligned base is at 100.
/// assert_eq!(find_read_index(98, &cigar, 98), Some((0, CigarOperator::SoftClip)));
/// assert_eq!(find_read_index(98, &cigar, 104), Some((5, CigarOperator::Deletion)));
/// assert_eq!(find_read_index(98, &cigar, 109), None);
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
pub fn find_read_index(soft_start: i32, cigar: &Cigar, position: i32) -> Option<(usize, CigarOperator)> {
    let offset = usize::try_from(i64::from(position) - i64::from(soft_start)).ok()?;
    let (mut read_end, mut reference_end) = (0, 0);
    for element in cigar {
        let operator = element.operator();
        let (read_start, reference_start) = (read_end, reference_end);
        read_end += element.read_length();
        if operator.consumes_reference() || operator == CigarOperator::SoftClip {
            reference_end += element.length();
        }
        if (reference_start..reference_end).contains(&offset) {
            let within = if operator.consumes_read() { offset - reference_start } else { 0 };
            return Some((read_start + within, operator));
        }
    }
    None
}

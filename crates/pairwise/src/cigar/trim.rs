//! Parts of a CIGAR.

use std::ops::RangeInclusive;

use super::{BuiltCigar, Cigar, CigarBuilder, CigarElement, CigarError};

/// Returns the elements of the reference bases `kept`, 0-based (GATK 4.6.2.0
/// `AlignmentUtils.trimCigarByReference`). Insertions at both borders are kept.
///
/// # Errors
///
/// Returns [`CigarError::TooShort`] if the CIGAR ends before the end of `kept`, or the errors of
/// [`CigarBuilder::make`].
pub fn trim_cigar_by_reference(
    cigar: &Cigar,
    kept: RangeInclusive<usize>,
) -> Result<BuiltCigar, CigarError> {
    trim(cigar, kept, CigarElement::reference_length)
}

/// Returns the elements of the bases `kept` of the read, 0-based (GATK 4.6.2.0
/// `AlignmentUtils.trimCigarByBases`). Deletions at both borders are removed and counted.
///
/// # Errors
///
/// As [`trim_cigar_by_reference`].
pub fn trim_cigar_by_read(cigar: &Cigar, kept: RangeInclusive<usize>) -> Result<BuiltCigar, CigarError> {
    trim(cigar, kept, CigarElement::read_length)
}

fn trim(
    cigar: &Cigar,
    kept: RangeInclusive<usize>,
    measure: fn(CigarElement) -> usize,
) -> Result<BuiltCigar, CigarError> {
    let (from, to) = (*kept.start(), *kept.end() + 1);
    let mut builder = CigarBuilder::new();
    let mut end = 0;
    for element in cigar {
        let start = end;
        end += measure(element);
        if end < from || (end == from && start < from) {
            continue;
        }
        if start >= to && end > to {
            break;
        }
        let length = match end == start {
            true => element.length(),
            false => to.min(end).saturating_sub(from.max(start)),
        };
        builder.add(length, element.operator())?;
    }
    if end < to {
        return Err(CigarError::TooShort { position: to - 1 });
    }
    builder.make()
}

//! CIGARs that own their elements.

mod builder;
mod clip;
mod compose;
mod error;
mod operator;
mod trim;
mod validity;

use std::fmt;
use std::str::FromStr;

pub use builder::{BuiltCigar, CigarBuilder};
pub use clip::{append_clips, clip_cigar, count_clipped_start, revert_soft_clips};
pub use compose::{compose_cigars, find_reference_offset};
pub use error::CigarError;
pub use operator::CigarOperator;
pub use trim::{trim_cigar_by_read, trim_cigar_by_reference};
pub use validity::is_good_cigar;

/// Maximum length of an element: BAM has 28 bits for it.
pub const MAX_ELEMENT_LENGTH: usize = (1 << 28) - 1;

/// One element of a CIGAR: a number of bases with one operator, packed as in BAM.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CigarElement(u32);

impl CigarElement {
    /// Returns an element of `length` bases.
    ///
    /// # Panics
    ///
    /// Panics if `length` is over [`MAX_ELEMENT_LENGTH`]. No sequence of a BAM file is so long.
    #[inline]
    pub fn new(length: usize, operator: CigarOperator) -> CigarElement {
        assert!(length <= MAX_ELEMENT_LENGTH, "a CIGAR element of {length} bases");
        CigarElement((length as u32) << 4 | operator as u32)
    }

    /// Returns the element that BAM stores as `packed`: length << 4 | operator.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of the operator is over 8.
    #[inline]
    pub fn from_bam(packed: u32) -> Result<CigarElement, CigarError> {
        match CigarOperator::from_number(packed & 15) {
            Some(_) => Ok(CigarElement(packed)),
            None => Err(CigarError::UnknownOperator((packed & 15) as u8)),
        }
    }

    /// Returns length << 4 | operator, as in BAM.
    #[inline]
    pub fn to_bam(self) -> u32 {
        self.0
    }

    /// Returns what the element does with its bases.
    #[inline]
    pub fn operator(self) -> CigarOperator {
        // No element has another number.
        CigarOperator::from_number(self.0 & 15).unwrap_or(CigarOperator::Padding)
    }

    /// Returns the number of bases.
    #[inline]
    pub fn length(self) -> usize {
        (self.0 >> 4) as usize
    }

    /// Returns how many bases of the read the element consumes.
    #[inline]
    pub fn read_length(self) -> usize {
        if self.operator().consumes_read() { self.length() } else { 0 }
    }

    /// Returns how many reference bases the element consumes.
    #[inline]
    pub fn reference_length(self) -> usize {
        if self.operator().consumes_reference() { self.length() } else { 0 }
    }
}

impl fmt::Display for CigarElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.length(), self.operator())
    }
}

impl fmt::Debug for CigarElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a read or a haplotype is aligned: elements from the first base to the last.
///
/// A CIGAR may have elements of no bases, or equal neighbours, as in a file. [`CigarBuilder`] makes
/// CIGARs without either.
///
/// ```
/// use readmill_pairwise::{Cigar, CigarOperator};
///
/// let cigar: Cigar = "2H3S10M2I4D5M".parse()?;
/// assert_eq!((cigar.read_length(), cigar.reference_length()), (20, 19));
/// assert_eq!(cigar[2].operator(), CigarOperator::Match);
/// assert_eq!(cigar.iter().map(|element| element.length()).sum::<usize>(), 26);
/// assert_eq!(cigar.to_string(), "2H3S10M2I4D5M");
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Cigar {
    elements: Vec<CigarElement>,
}

impl Cigar {
    /// Returns a CIGAR of `elements`, which are taken as they are.
    pub fn new(elements: Vec<CigarElement>) -> Cigar {
        Cigar { elements }
    }

    /// Returns the CIGAR of a BAM record, whose elements are little-endian `u32`.
    ///
    /// # Errors
    ///
    /// Returns an error if an operator is unknown. Bytes after the last whole element are ignored.
    pub fn from_bam_bytes(bytes: &[u8]) -> Result<Cigar, CigarError> {
        let packed =
            bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        Ok(Cigar { elements: packed.map(CigarElement::from_bam).collect::<Result<_, _>>()? })
    }

    /// Returns the number of bases of the read: those of M, I, S, = and X.
    pub fn read_length(&self) -> usize {
        self.iter().map(|element| element.read_length()).sum()
    }

    /// Returns the number of reference bases: those of M, D, N, = and X.
    pub fn reference_length(&self) -> usize {
        self.iter().map(|element| element.reference_length()).sum()
    }

    /// Returns the number of reference bases and of soft-clipped bases (GATK
    /// `countRefBasesAndSoftClips`).
    pub fn reference_and_soft_clip_length(&self) -> usize {
        let counts = |operator: CigarOperator| {
            operator.consumes_reference() || operator == CigarOperator::SoftClip
        };
        self.iter().filter(|element| counts(element.operator())).map(|element| element.length()).sum()
    }

    /// Returns how many bases elements with this operator have.
    pub fn count_bases(&self, operator: CigarOperator) -> usize {
        self.iter()
            .filter(|element| element.operator() == operator)
            .map(|element| element.length())
            .sum()
    }

    /// Returns the soft-clipped bases before the first element that is no clip.
    pub fn leading_soft_clip(&self) -> usize {
        sum_soft_clips(self.iter())
    }

    /// Returns the soft-clipped bases after the last element that is no clip.
    pub fn trailing_soft_clip(&self) -> usize {
        sum_soft_clips(self.iter().rev())
    }

    /// Returns the elements as a vector, without a copy.
    pub fn into_elements(self) -> Vec<CigarElement> {
        self.elements
    }
}

fn sum_soft_clips<'a>(elements: impl Iterator<Item = &'a CigarElement>) -> usize {
    elements
        .take_while(|element| element.operator().is_clip())
        .filter(|element| element.operator() == CigarOperator::SoftClip)
        .map(|element| element.length())
        .sum()
}

impl std::ops::Deref for Cigar {
    type Target = [CigarElement];

    fn deref(&self) -> &[CigarElement] {
        &self.elements
    }
}

impl<'a> IntoIterator for &'a Cigar {
    type Item = CigarElement;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, CigarElement>>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter().copied()
    }
}

impl FromStr for Cigar {
    type Err = CigarError;

    /// Reads text such as `5S10M`. `*` and the empty text have no element.
    fn from_str(text: &str) -> Result<Cigar, CigarError> {
        let mut elements = Vec::new();
        let mut length: Option<usize> = None;
        if text == "*" {
            return Ok(Cigar::default());
        }
        for letter in text.bytes() {
            if letter.is_ascii_digit() {
                let digit = usize::from(letter - b'0');
                let longer = length.unwrap_or(0) * 10 + digit;
                if longer > MAX_ELEMENT_LENGTH {
                    return Err(CigarError::Unreadable(text.to_owned()));
                }
                length = Some(longer);
            } else {
                let operator = CigarOperator::from_letter(letter);
                let (Some(length), Some(operator)) = (length.take(), operator) else {
                    return Err(CigarError::Unreadable(text.to_owned()));
                };
                elements.push(CigarElement::new(length, operator));
            }
        }
        if length.is_some() {
            return Err(CigarError::Unreadable(text.to_owned()));
        }
        Ok(Cigar { elements })
    }
}

impl fmt::Display for Cigar {
    /// Writes the text of SAM, `*` if there is no element.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("*");
        }
        self.iter().try_for_each(|element| write!(f, "{element}"))
    }
}

impl fmt::Debug for Cigar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

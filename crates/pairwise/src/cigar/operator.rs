//! The operators of a CIGAR.

use std::fmt;

/// An operator of a CIGAR. Its number is the one in BAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CigarOperator {
    /// M: a base that is aligned, equal or not.
    Match = 0,
    /// I: a base of the read that the reference lacks.
    Insertion = 1,
    /// D: a reference base that the read lacks.
    Deletion = 2,
    /// N: a skipped reference base.
    Skip = 3,
    /// S: a base of the read that is not aligned.
    SoftClip = 4,
    /// H: a base that was removed from the read.
    HardClip = 5,
    /// P: padding.
    Padding = 6,
    /// =: an aligned base that equals the reference.
    Equal = 7,
    /// X: an aligned base that differs from the reference.
    Mismatch = 8,
}

use CigarOperator::{Deletion, Equal, HardClip, Insertion, Match, Mismatch, Padding, Skip, SoftClip};

const OPERATORS: [CigarOperator; 9] =
    [Match, Insertion, Deletion, Skip, SoftClip, HardClip, Padding, Equal, Mismatch];

impl CigarOperator {
    /// Returns the operator with this number in BAM.
    pub fn from_number(number: u32) -> Option<CigarOperator> {
        OPERATORS.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the operator that has this letter in text.
    pub fn from_letter(letter: u8) -> Option<CigarOperator> {
        OPERATORS.into_iter().find(|operator| operator.letter() == letter)
    }

    /// Returns the letter in text.
    pub fn letter(self) -> u8 {
        b"MIDNSHP=X"[self as usize]
    }

    /// Returns whether the operator consumes bases of the read: M, I, S, = and X.
    #[inline]
    pub fn consumes_read(self) -> bool {
        0b1_1001_0011u32 >> self as u32 & 1 != 0
    }

    /// Returns whether the operator consumes reference bases: M, D, N, = and X.
    #[inline]
    pub fn consumes_reference(self) -> bool {
        0b1_1000_1101u32 >> self as u32 & 1 != 0
    }

    /// Returns whether the operator aligns bases: M, = and X.
    #[inline]
    pub fn is_alignment(self) -> bool {
        matches!(self, Match | Equal | Mismatch)
    }

    /// Returns whether the operator is I or D.
    #[inline]
    pub fn is_indel(self) -> bool {
        matches!(self, Insertion | Deletion)
    }

    /// Returns whether the operator is S or H.
    #[inline]
    pub fn is_clip(self) -> bool {
        matches!(self, SoftClip | HardClip)
    }
}

impl fmt::Display for CigarOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(self.letter()))
    }
}

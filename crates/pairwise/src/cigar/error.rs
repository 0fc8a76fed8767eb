//! What is wrong with a CIGAR.

use std::fmt;

use super::MAX_ELEMENT_LENGTH;

/// What is wrong with a CIGAR, or with what was asked of it. GATK throws in each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CigarError {
    /// The text is no CIGAR.
    Unreadable(String),
    /// BAM has no operator of this number.
    UnknownOperator(u8),
    /// An element follows the clips at the end, or S follows H there.
    ElementAfterClip,
    /// No base is left but soft-clipped ones.
    AllSoftClipped,
    /// No element is left after deletions at the ends were removed.
    Empty,
    /// A position is not covered: the CIGAR ends before it.
    TooShort {
        /// The position, 0-based.
        position: usize,
    },
    /// Two operators have no composition, such as N with anything.
    NoComposition(super::CigarOperator, super::CigarOperator),
    /// The alignment extends past the end of the reference bases.
    PastReference,
    /// The CIGAR does not have as many bases as the read.
    ReadLength,
    /// An element has more bases than BAM can store.
    ElementTooLong {
        /// Its number of bases.
        length: usize,
    },
}

impl fmt::Display for CigarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CigarError::Unreadable(text) => write!(f, "invalid CIGAR {text:?}"),
            CigarError::UnknownOperator(number) => write!(f, "invalid CIGAR operator number {number}"),
            CigarError::ElementAfterClip => f.write_str("a CIGAR element follows the clips at the end"),
            CigarError::AllSoftClipped => f.write_str("all bases of the CIGAR are soft-clipped"),
            CigarError::Empty => f.write_str("no CIGAR element is left without deletions at the ends"),
            CigarError::TooShort { position } => write!(f, "the CIGAR ends before position {position}"),
            CigarError::NoComposition(first, second) => {
                write!(f, "CIGAR operators {first} and {second} cannot be composed")
            }
            CigarError::PastReference => f.write_str("the read extends past the end of the reference"),
            CigarError::ElementTooLong { length } => {
                write!(f, "a CIGAR element has {length} bases: the maximum is {MAX_ELEMENT_LENGTH}")
            }
            CigarError::ReadLength => f.write_str("the CIGAR and the read differ in length"),
        }
    }
}

impl std::error::Error for CigarError {}

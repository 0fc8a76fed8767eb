//! The result of an alignment, and why there may be none.

use std::fmt;

use crate::Cigar;

/// Maximum length of both sequences (GKL `MAX_SW_SEQUENCE_LENGTH`).
pub const MAX_SEQUENCE_LENGTH: usize = 32 * 1024 - 1;

/// Maximum score of a match (GKL `MAXIMUM_SW_MATCH_VALUE`), so that no sum overflows.
pub(super) const MAX_MATCH_SCORE: i32 = 64 * 1024;

/// Where and how a sequence is aligned to a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Index in the reference of the first base of the CIGAR, 0-based. With [`Overhang::Ignore`](super::Overhang::Ignore) it is
    /// negative if the sequence starts before the reference.
    pub offset: i32,
    /// How the sequence is aligned.
    pub cigar: Cigar,
}

/// Why sequences cannot be aligned. GATK throws in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignmentError {
    /// One of the sequences has no base.
    EmptySequence,
    /// A sequence is longer than [`MAX_SEQUENCE_LENGTH`].
    TooLong {
        /// Number of bases of the longer sequence.
        length: usize,
    },
    /// The score of a match is over 65,536.
    MatchScore(i32),
}

impl fmt::Display for AlignmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlignmentError::EmptySequence => f.write_str("cannot align a sequence of no bases"),
            AlignmentError::TooLong { length } => {
                write!(
                    f,
                    "cannot align a sequence of {length} bases: the maximum is {MAX_SEQUENCE_LENGTH}"
                )
            }
            AlignmentError::MatchScore(score) => {
                write!(f, "the score of a match is {score}: the maximum is {MAX_MATCH_SCORE}")
            }
        }
    }
}

impl std::error::Error for AlignmentError {}

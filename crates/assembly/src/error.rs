//! Why a region cannot be assembled.

use std::fmt;

use readmill_pairwise::{AlignmentError, CigarError, HaplotypeError};

/// Why a region cannot be assembled. GATK throws an exception in each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssemblyError {
    /// A vertex of the reference is already in the graph.
    RepeatedReferenceKmer,
    /// The graph has no vertex at which the reference starts or ends.
    NoReferencePath,
    /// Several sources or sinks are left after paths that the reference does not have were removed.
    SeveralEnds,
    /// The reference in the graph differs from the reference of the region.
    ReferenceMismatch,
    /// A branch that starts in no vertex got an incoming edge.
    HeadHasSource,
    /// A path that is followed from a branch runs in a circle, or past its end.
    BranchOutOfRange,
    /// The graph still changes after 100 rounds of simplification.
    EndlessSimplification,
    /// No path without a cycle leads from the start of the reference to its end.
    NoAcyclicPath,
    /// A haplotype is not aligned to the whole reference of the region.
    HaplotypeLength {
        /// Reference bases of the alignment.
        aligned: usize,
        /// Reference bases of the region.
        expected: usize,
    },
    /// Events of one haplotype at one position cannot be combined.
    ConflictingEvents {
        /// 1-based position on the contig.
        position: u32,
    },
    /// The trimmed haplotypes lack the reference.
    ReferenceTrimmedAway,
    /// Two sequences cannot be aligned, for instance because one is too long.
    Alignment(AlignmentError),
    /// An alignment cannot be written as a CIGAR.
    Cigar(CigarError),
}

impl fmt::Display for AssemblyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssemblyError::RepeatedReferenceKmer => {
                f.write_str("a k-mer of the reference is in the assembly graph twice")
            }
            AssemblyError::NoReferencePath => {
                f.write_str("the assembly graph has no start or no end of the reference")
            }
            AssemblyError::SeveralEnds => {
                f.write_str("the assembly graph has several starts or ends after clean-up")
            }
            AssemblyError::ReferenceMismatch => {
                f.write_str("the reference path of the assembly graph differs from the reference")
            }
            AssemblyError::HeadHasSource => {
                f.write_str("a dangling head of the assembly graph has an incoming edge")
            }
            AssemblyError::BranchOutOfRange => {
                f.write_str("a dangling branch of the assembly graph has no matching reference path")
            }
            AssemblyError::EndlessSimplification => {
                f.write_str("the assembly graph still changes after 100 rounds of simplification")
            }
            AssemblyError::NoAcyclicPath => {
                f.write_str("the assembly graph has no path without cycles from its start to its end")
            }
            AssemblyError::HaplotypeLength { aligned, expected } => {
                write!(f, "a haplotype is aligned to {aligned} reference bases instead of {expected}")
            }
            AssemblyError::ConflictingEvents { position } => {
                write!(f, "events of a haplotype at position {position} cannot be combined")
            }
            AssemblyError::ReferenceTrimmedAway => {
                f.write_str("trimming removes the reference haplotype")
            }
            AssemblyError::Alignment(error) => error.fmt(f),
            AssemblyError::Cigar(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AssemblyError {}

impl From<CigarError> for AssemblyError {
    fn from(error: CigarError) -> Self {
        AssemblyError::Cigar(error)
    }
}

impl From<AlignmentError> for AssemblyError {
    fn from(error: AlignmentError) -> Self {
        AssemblyError::Alignment(error)
    }
}

impl From<HaplotypeError> for AssemblyError {
    fn from(error: HaplotypeError) -> Self {
        match error {
            HaplotypeError::Alignment(error) => AssemblyError::Alignment(error),
            HaplotypeError::Cigar(error) => AssemblyError::Cigar(error),
        }
    }
}

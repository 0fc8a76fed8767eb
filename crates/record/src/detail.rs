//! How much of a read a step or tally needs, so that a reader can skip the rest.

/// The parts of each read that a step or tally needs. Each value includes the values before it.
///
/// CRAM and SAM readers decode only the largest value that a step or tally of the run needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    Flags,
    /// Also the alignment: RNAME, POS, CIGAR, RNEXT and PNEXT.
    Places,
    /// All columns from QNAME to QUAL, but no optional fields and no template boundaries.
    WithoutFields,
    #[default]
    Whole,
}

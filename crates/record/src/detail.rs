//! The parts of a read that a step or a tally needs, so that a reader can skip the rest.

/// How much of each read a step or tally needs. Each value includes the values before it.
///
/// The readers of CRAM and SAM decode only this much; the maximum over all steps and tallies of a run
/// decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    Flags,
    /// Also the alignment: RNAME, POS, CIGAR, RNEXT and PNEXT.
    Places,
    /// All columns from the name to the qualities, but no optional fields and no template boundaries.
    WithoutFields,
    #[default]
    Whole,
}

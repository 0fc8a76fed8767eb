//! How much of each read a step or tally looks at, so that a reader can leave the rest out.

/// How much of each read something looks at. Each value includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// FLAG and MAPQ.
    Flags,
    /// Where it lies: RNAME, POS, CIGAR, RNEXT and PNEXT, too.
    Places,
    /// What every record has, from its name to its qualities: no optional fields, and not where templates begin.
    WithoutFields,
    /// All of it.
    #[default]
    Whole,
}

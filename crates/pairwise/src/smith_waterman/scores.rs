//! Scores of an alignment, and what happens to bases that overhang.

/// Scores of matches, mismatches and gaps. Penalties are negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignmentScores {
    /// Two equal bases.
    pub match_score: i32,
    /// Two different bases.
    pub mismatch: i32,
    /// The first base of a gap.
    pub gap_open: i32,
    /// Each further base of a gap.
    pub gap_extend: i32,
}

impl AlignmentScores {
    /// The scores for dangling ends of an assembly graph (GATK 4.6.2.0 `STANDARD_NGS`).
    pub const DANGLING_END: AlignmentScores = AlignmentScores::new(25, -50, -110, -6);
    /// The scores for a haplotype and the reference (GATK 4.6.2.0 `NEW_SW_PARAMETERS`).
    pub const HAPLOTYPE_TO_REFERENCE: AlignmentScores = AlignmentScores::new(200, -150, -260, -11);
    /// The scores for a read and its best haplotype (GATK 4.6.2.0
    /// `ALIGNMENT_TO_BEST_HAPLOTYPE_SW_PARAMETERS`).
    pub const READ_TO_HAPLOTYPE: AlignmentScores = AlignmentScores::new(10, -15, -30, -5);

    /// Returns scores in the order in which GATK's options name them.
    pub const fn new(
        match_score: i32,
        mismatch: i32,
        gap_open: i32,
        gap_extend: i32,
    ) -> AlignmentScores {
        AlignmentScores { match_score, mismatch, gap_open, gap_extend }
    }
}

/// What happens to bases of the sequence before and after those that are aligned (GATK
/// `SWOverhangStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overhang {
    /// They are soft-clipped.
    SoftClip,
    /// The sequence is aligned from its first to its last base, and from the first to the last base of the
    /// reference: what overhangs is an insertion or a deletion.
    Indel,
    /// As [`Overhang::Indel`] at the start. The reference may go on after the sequence.
    LeadingIndel,
    /// At the start they continue the first element, beyond the start of the reference. At the end they are
    /// soft-clipped, as GKL does.
    Ignore,
}

impl Overhang {
    /// Returns whether a gap at the start is penalized.
    pub(super) fn penalizes_start(self) -> bool {
        matches!(self, Overhang::Indel | Overhang::LeadingIndel)
    }
}

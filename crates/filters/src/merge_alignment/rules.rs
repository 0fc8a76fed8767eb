//! The options that a merge leaves to the user.

use readmill_record::tag::Tag;

use super::choice::PrimaryChoice;
use super::named::named;

/// The options of a merge of alignments, most of which are options of Picard MergeBamAlignment.
///
/// ```
/// use readmill_filters::merge_alignment::MergeRules;
///
/// let rules = MergeRules { kept: vec![*b"XS"], dropped: vec![*b"NM"], ..MergeRules::default() };
/// assert!(rules.carries_field(*b"AS"));
/// assert!(rules.carries_field(*b"XS")); // of the reserved tags, only the ones in `kept`
/// assert!(!rules.carries_field(*b"XA"));
/// assert!(!rules.carries_field(*b"NM"));
/// ```
#[derive(Clone, Debug)]
pub struct MergeRules {
    /// Fields of the aligner that are carried over although their tags are reserved for users (X,
    /// Y, Z or a lower-case letter at the start).
    pub kept: Vec<Tag>,
    pub dropped: Vec<Tag>,
    /// Fields whose values are reversed when the read is turned to the reverse strand.
    pub reversed: Vec<Tag>,
    /// Fields with bases, which are also complemented.
    pub complemented: Vec<Tag>,
    /// Orientations of proper pairs, by which 0x2 is set. `None` keeps the aligner's flag.
    pub orientations: Option<Vec<PairOrientation>>,
    /// Whether bases from the position in XT on are soft-clipped.
    pub clip_adapters: bool,
    pub overlap: OverlapClip,
    pub aligned_only: bool,
    /// Maximum number of insertions and deletions of an alignment that takes part; `None` for any
    /// number.
    pub max_gaps: Option<usize>,
    pub primary: PrimaryChoice,
    pub secondary: bool,
    pub mate_cigar: bool,
    /// Minimum number of aligned bases of an alignment with clips on both sides. With fewer, the
    /// read is unmapped as a contaminant. `None` disables the check.
    pub min_unclipped: Option<u32>,
    pub contaminants: ContaminantAlignments,
    /// Number of bases that were cut off the start of the first and of the last read before they
    /// were aligned.
    pub trimmed: [u32; 2],
    /// The ID of the program that all records name in PG, if any.
    pub program: Option<Vec<u8>>,
}

impl Default for MergeRules {
    fn default() -> Self {
        MergeRules {
            kept: Vec::new(),
            dropped: Vec::new(),
            reversed: Self::REVERSED.to_vec(),
            complemented: Self::COMPLEMENTED.to_vec(),
            orientations: Some(vec![PairOrientation::Inward]),
            clip_adapters: true,
            overlap: OverlapClip::Soft,
            aligned_only: false,
            max_gaps: None,
            primary: PrimaryChoice::BestMapq,
            secondary: true,
            mate_cigar: true,
            min_unclipped: None,
            contaminants: ContaminantAlignments::Leave,
            trimmed: [0; 2],
            program: None,
        }
    }
}

impl MergeRules {
    pub const REVERSED: [Tag; 2] = [*b"OQ", *b"U2"];
    pub const COMPLEMENTED: [Tag; 2] = [*b"E2", *b"SQ"];

    pub fn carries_field(&self, tag: Tag) -> bool {
        let is_reserved = tag[0].is_ascii_lowercase() || b"XYZ".contains(&tag[0]);
        (!is_reserved || self.kept.contains(&tag)) && !self.dropped.contains(&tag)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOrientation {
    /// The forward read starts before the reverse one (FR).
    Inward,
    /// The reverse read starts before the forward one (RF).
    Outward,
    Tandem,
}

named!(PairOrientation, "FR" => PairOrientation::Inward, "RF" => PairOrientation::Outward, "TANDEM" => PairOrientation::Tandem);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapClip {
    None,
    Soft,
    /// Softly up to the first aligned base of the mate, then hard up to the start of the mate;
    /// hard-clipped bases are kept in XB and XQ.
    Hard,
}

named!(OverlapClip, "none" => OverlapClip::None, "soft" => OverlapClip::Soft, "hard" => OverlapClip::Hard);

/// What happens to the alignment of a read that is unmapped as a contaminant (Picard's
/// `UNMAPPED_READ_STRATEGY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContaminantAlignments {
    /// Keep the position, remove CIGAR and MAPQ.
    Leave,
    /// Keep everything, even though the record then violates the SAM specification.
    LeaveAll,
    /// As `Leave`, and store the alignment in OA.
    Copy,
    /// Store the alignment in OA, and remove the position as well.
    Move,
}

named!(
    ContaminantAlignments,
    "leave" => ContaminantAlignments::Leave,
    "leave-all" => ContaminantAlignments::LeaveAll,
    "copy" => ContaminantAlignments::Copy,
    "move" => ContaminantAlignments::Move
);

//! Options for merging alignments.

use readmill_record::tag::Tag;

use super::choice::PrimaryChoice;
use super::named::named;

/// Options for merging alignments into unaligned reads, mostly those of Picard MergeBamAlignment.
///
/// ```
/// use readmill_filters::merge_alignment::MergeRules;
///
/// let rules = MergeRules { kept_tags: vec![*b"XS"], dropped_tags: vec![*b"NM"], ..MergeRules::default() };
/// assert!(rules.carries_field(*b"AS"));
/// assert!(rules.carries_field(*b"XS")); // reserved, but in `kept`
/// assert!(!rules.carries_field(*b"XA"));
/// assert!(!rules.carries_field(*b"NM"));
/// ```
#[derive(Clone, Debug)]
pub struct MergeRules {
    /// Aligner fields to transfer although their tags are reserved for users (with X, Y, Z or a
    /// lower-case letter at the start).
    pub kept_tags: Vec<Tag>,
    pub dropped_tags: Vec<Tag>,
    /// Fields whose values are reversed when the read is reverse-complemented.
    pub reversed_tags: Vec<Tag>,
    /// Fields with bases, which are also complemented.
    pub complemented_tags: Vec<Tag>,
    /// Orientations of proper pairs, which determine 0x2. `None` keeps the aligner's flag.
    pub orientations: Option<Vec<PairOrientation>>,
    /// Whether bases from the position in XT on are soft-clipped.
    pub clip_adapters: bool,
    pub overlap: OverlapClip,
    pub aligned_only: bool,
    /// Maximum number of insertions and deletions in an alignment that takes part. `None` means no
    /// maximum.
    pub max_gaps: Option<usize>,
    pub primary: PrimaryChoice,
    pub secondary: bool,
    pub mate_cigar: bool,
    /// Minimum number of aligned bases in an alignment with clips on both sides. With fewer, the
    /// read is unmapped as a contaminant. `None` disables the check.
    pub min_unclipped: Option<u32>,
    pub contaminants: ContaminantAlignments,
    /// Number of bases that were trimmed from the start of read 1 and of read 2 before alignment.
    pub trimmed_bases: [u32; 2],
    /// The program ID to write to PG of all records.
    pub program: Option<Vec<u8>>,
}

impl Default for MergeRules {
    fn default() -> Self {
        MergeRules {
            kept_tags: Vec::new(),
            dropped_tags: Vec::new(),
            reversed_tags: Self::REVERSED.to_vec(),
            complemented_tags: Self::COMPLEMENTED.to_vec(),
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
            trimmed_bases: [0; 2],
            program: None,
        }
    }
}

impl MergeRules {
    pub const REVERSED: [Tag; 2] = [*b"OQ", *b"U2"];
    pub const COMPLEMENTED: [Tag; 2] = [*b"E2", *b"SQ"];

    pub fn carries_field(&self, tag: Tag) -> bool {
        let is_reserved = tag[0].is_ascii_lowercase() || b"XYZ".contains(&tag[0]);
        (!is_reserved || self.kept_tags.contains(&tag)) && !self.dropped_tags.contains(&tag)
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
    /// Soft clips to the first aligned base of the mate, then hard clips to the start of the mate.
    /// Hard-clipped bases are stored in XB and XQ.
    Hard,
}

named!(OverlapClip, "none" => OverlapClip::None, "soft" => OverlapClip::Soft, "hard" => OverlapClip::Hard);

/// Treatment of the alignment if a read is unmapped as a contaminant (Picard's
/// `UNMAPPED_READ_STRATEGY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContaminantAlignments {
    /// Keep the position, remove the CIGAR, and set MAPQ to 0.
    Leave,
    /// Keep everything, although the record then violates the SAM specification.
    LeaveAll,
    /// Like `Leave`, and store the alignment in OA.
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

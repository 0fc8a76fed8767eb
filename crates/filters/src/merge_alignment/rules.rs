//! The choices that a merge leaves to the user.

use readmill_record::tag::Tag;

use super::choice::PrimaryChoice;
use super::named::named;

/// How a merge is done.
#[derive(Clone, Debug)]
pub struct MergeRules {
    /// Fields of the aligner that are kept although their names begin with X, Y, Z or a small letter.
    pub kept: Vec<Tag>,
    /// Fields of the aligner that are left out.
    pub dropped: Vec<Tag>,
    /// Fields that are turned with the read.
    pub reversed: Vec<Tag>,
    /// Fields that are turned and complemented.
    pub complemented: Vec<Tag>,
    /// Orientations of proper pairs; `None` leaves the flag as the aligner has it.
    pub orientations: Option<Vec<Orientation>>,
    /// Whether bases from XT on are clipped.
    pub clip_adapters: bool,
    /// How mates that overlap are clipped.
    pub overlap: OverlapClip,
    /// Whether templates without an alignment are left out.
    pub aligned_only: bool,
    /// Most insertions and deletions of an alignment; `None` for any number.
    pub most_gaps: Option<usize>,
    /// How the primary alignment is chosen.
    pub primary: PrimaryChoice,
    /// Whether secondary alignments are written.
    pub secondary: bool,
    /// Whether MC is written.
    pub mate_cigar: bool,
    /// Fewer aligned bases than this between two clips make a read a contaminant; `None` if none is looked for.
    pub least_unclipped: Option<u32>,
    /// How alignments of contaminants change.
    pub contaminants: ContaminantAlignments,
    /// Bases that were cut off the start of the first and the last read before they were aligned.
    pub trimmed: [u32; 2],
    /// The program that all records name in PG, if any.
    pub program: Option<Vec<u8>>,
}

impl Default for MergeRules {
    fn default() -> Self {
        MergeRules {
            kept: Vec::new(),
            dropped: Vec::new(),
            reversed: Self::REVERSED.to_vec(),
            complemented: Self::COMPLEMENTED.to_vec(),
            orientations: Some(vec![Orientation::Inward]),
            clip_adapters: true,
            overlap: OverlapClip::Soft,
            aligned_only: false,
            most_gaps: None,
            primary: PrimaryChoice::BestMapq,
            secondary: true,
            mate_cigar: true,
            least_unclipped: None,
            contaminants: ContaminantAlignments::Leave,
            trimmed: [0; 2],
            program: None,
        }
    }
}

impl MergeRules {
    /// Fields that are turned with a read, as htsjdk has them.
    pub const REVERSED: [Tag; 2] = [*b"OQ", *b"U2"];
    /// Fields that are turned and complemented.
    pub const COMPLEMENTED: [Tag; 2] = [*b"E2", *b"SQ"];

    /// Whether a field of the aligner is carried over.
    pub fn carries(&self, tag: Tag) -> bool {
        let is_reserved = tag[0].is_ascii_lowercase() || b"XYZ".contains(&tag[0]);
        (!is_reserved || self.kept.contains(&tag)) && !self.dropped.contains(&tag)
    }
}

/// How two reads lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// The forward read starts before the reverse one does.
    Inward,
    /// The reverse read starts first.
    Outward,
    /// Both are on one strand.
    Tandem,
}

named!(Orientation, "FR" => Orientation::Inward, "RF" => Orientation::Outward, "TANDEM" => Orientation::Tandem);

/// How mates that overlap are clipped where each goes beyond the start of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapClip {
    /// Not at all.
    None,
    /// Softly.
    Soft,
    /// Softly up to the aligned starts, and hard, with XB and XQ, up to those of the reads.
    Hard,
}

named!(OverlapClip, "none" => OverlapClip::None, "soft" => OverlapClip::Soft, "hard" => OverlapClip::Hard);

/// What becomes of the alignment of a read that is made unmapped as a contaminant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContaminantAlignments {
    /// The position stays; CIGAR and MAPQ go.
    Leave,
    /// All of it stays, though the record then breaks rules.
    LeaveAll,
    /// As `Leave`, and OA has it.
    Copy,
    /// OA has it, and the position goes, too.
    Move,
}

named!(
    ContaminantAlignments,
    "leave" => ContaminantAlignments::Leave,
    "leave-all" => ContaminantAlignments::LeaveAll,
    "copy" => ContaminantAlignments::Copy,
    "move" => ContaminantAlignments::Move
);

//! A template: one molecule, and where its ends are.

use crate::names::Cluster;

/// Where the 5' end of a read is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locus {
    /// Contig number.
    pub(crate) contig: u32,
    /// 0-based position of the first base sequenced, clipped or not.
    pub(crate) five: u32,
    /// Whether the read is on the reverse strand.
    pub(crate) reverse: bool,
}

/// The part of a split read that is aligned elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// Which read is split: 0 or 1.
    pub(crate) end: u8,
    /// Whether the part is at the read's 5' side.
    pub(crate) at_five: bool,
    /// Its length.
    pub(crate) length: u16,
    /// Its contig.
    pub(crate) contig: u32,
    /// Its 0-based leftmost position.
    pub(crate) start: u32,
    /// Whether it is on the reverse strand.
    pub(crate) reverse: bool,
}

/// Which reads there are and which of them are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    /// Both mapped.
    Pair,
    /// One mapped, the one with this number; the other gets its position.
    Half(u8),
    /// None mapped.
    Unmapped,
    /// One read only.
    Single,
}

/// One template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    /// Which reads are mapped.
    pub(crate) kind: TemplateKind,
    /// First and second read.
    pub(crate) ends: [Locus; 2],
    /// Fragment length if shorter than a read could need, that is, where indels are left out and
    /// adaptor may be read; `u16::MAX` otherwise.
    pub(crate) insert: u16,
    /// Whether the aligner calls it a proper pair.
    pub(crate) proper: bool,
    /// Haplotype, 0 or 1.
    pub(crate) haplotype: u8,
    /// Soft clips at the 5' ends.
    pub(crate) clips: [u8; 2],
    /// The split read, if any.
    pub(crate) split: Option<Split>,
    /// Quality strings of the last time this template was emitted.
    pub(crate) qualities: [u16; 2],
    /// UMI.
    pub(crate) umi: u32,
    /// Bits for decisions that copies share.
    pub(crate) salt: u32,
    /// Where it was on the flow cell.
    pub(crate) cluster: Cluster,
}

impl Template {
    /// Turns the first read into the second and the second into the first.
    pub(crate) fn swap(&mut self) {
        self.ends.swap(0, 1);
        self.clips.swap(0, 1);
        self.qualities.swap(0, 1);
        if let Some(split) = &mut self.split {
            split.end ^= 1;
        }
        if let TemplateKind::Half(end) = &mut self.kind {
            *end ^= 1;
        }
    }
}

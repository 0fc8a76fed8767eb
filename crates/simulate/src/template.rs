//! A template: one molecule, and where its ends are. Templates kept for copying: a bounded memory of what a library and
//! a tile have shown so far.

use crate::names::Cluster;
use crate::rng::Rng;

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

/// Templates in each of the two shelves.
const SHELF: usize = 4096;
/// One template in this many is kept for long.
const RARE: u64 = 16;
/// Clusters remembered for optical copies.
const RING: usize = 64;

/// The templates of one library that may be copied: one shelf forgets after some 4,000
/// templates, the other after some 65,000.
#[derive(Default)]
pub(crate) struct Library {
    recent: Vec<Template>,
    old: Vec<Template>,
    seen: u64,
}

impl Library {
    /// Remembers a template.
    pub(crate) fn keep(&mut self, rng: &mut Rng, template: &Template) {
        put(&mut self.recent, rng, template);
        if self.seen.is_multiple_of(RARE) {
            put(&mut self.old, rng, template);
        }
        self.seen += 1;
    }

    /// Some template seen before.
    pub(crate) fn pick(&self, rng: &mut Rng) -> Option<Template> {
        let shelf = if rng.coin() { &self.recent } else { &self.old };
        shelf.get(rng.below(shelf.len() as u32) as usize).copied()
    }
}

fn put(shelf: &mut Vec<Template>, rng: &mut Rng, template: &Template) {
    if shelf.len() < SHELF {
        shelf.push(*template);
    } else {
        shelf[rng.below(SHELF as u32) as usize] = *template;
    }
}

/// The last templates of one lane.
#[derive(Default)]
pub(crate) struct Ring {
    last: Vec<Template>,
    next: usize,
}

impl Ring {
    /// Remembers a template.
    pub(crate) fn keep(&mut self, template: &Template) {
        if self.last.len() < RING {
            self.last.push(*template);
        } else {
            self.last[self.next] = *template;
        }
        self.next = (self.next + 1) % RING;
    }

    /// Some template among the last ones.
    pub(crate) fn pick(&self, rng: &mut Rng) -> Option<Template> {
        self.last.get(rng.below(self.last.len() as u32) as usize).copied()
    }
}

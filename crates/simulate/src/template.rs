//! Templates: a molecule and the positions of its ends. Also the templates that are kept to be
//! copied.
//!
//! The number of kept templates is limited, so memory does not grow with the sample.

use crate::names::Cluster;
use crate::rng::Rng;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Locus {
    pub(crate) contig: u32,
    /// Position of the first sequenced base (0-based), even if it is clipped.
    pub(crate) five: u32,
    pub(crate) reverse: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitPart {
    pub(crate) end: u8,
    pub(crate) at_five: bool,
    pub(crate) length: u16,
    pub(crate) contig: u32,
    pub(crate) start: u32,
    pub(crate) reverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    Pair,
    /// Only the read with this index is mapped; the other one gets its position.
    Half(u8),
    Unmapped,
    Single,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    pub(crate) kind: TemplateKind,
    pub(crate) ends: [Locus; 2],
    /// Fragment length if it is so short that indels are omitted and reads may extend into the
    /// adapter; otherwise `u16::MAX`.
    pub(crate) insert: u16,
    pub(crate) proper: bool,
    pub(crate) haplotype: u8,
    pub(crate) clips: [u8; 2],
    pub(crate) split: Option<SplitPart>,
    /// Indexes of the quality strings last used for this template.
    pub(crate) qualities: [u16; 2],
    pub(crate) umi: u32,
    /// Random bits for decisions that copies share with their source.
    pub(crate) salt: u32,
    pub(crate) cluster: Cluster,
}

impl Template {
    pub(crate) fn swap_reads(&mut self) {
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

const MAX_SHELF_TEMPLATES: usize = 4096;
/// One in this many templates is kept in the list of old templates.
const KEEP_ONE_IN: u64 = 16;
const MAX_RING_TEMPLATES: usize = 64;

/// The templates of a library that may be copied. One list keeps a template for about 4,000 later
/// templates, the other for about 65,000, so that copies are both near and far in the output.
#[derive(Default)]
pub(crate) struct CopyLibrary {
    recent: Vec<Template>,
    old: Vec<Template>,
    seen: u64,
}

impl CopyLibrary {
    pub(crate) fn keep_template(&mut self, rng: &mut Rng, template: &Template) {
        put_on_shelf(&mut self.recent, rng, template);
        if self.seen.is_multiple_of(KEEP_ONE_IN) {
            put_on_shelf(&mut self.old, rng, template);
        }
        self.seen += 1;
    }

    pub(crate) fn pick_template(&self, rng: &mut Rng) -> Option<Template> {
        let shelf = if rng.flip_coin() { &self.recent } else { &self.old };
        shelf.get(rng.below(shelf.len() as u32) as usize).copied()
    }
}

fn put_on_shelf(shelf: &mut Vec<Template>, rng: &mut Rng, template: &Template) {
    if shelf.len() < MAX_SHELF_TEMPLATES {
        shelf.push(*template);
    } else {
        shelf[rng.below(MAX_SHELF_TEMPLATES as u32) as usize] = *template;
    }
}

/// The most recent templates of one lane, from which optical copies are made.
#[derive(Default)]
pub(crate) struct RecentTemplates {
    last: Vec<Template>,
    next: usize,
}

impl RecentTemplates {
    pub(crate) fn keep_template(&mut self, template: &Template) {
        if self.last.len() < MAX_RING_TEMPLATES {
            self.last.push(*template);
        } else {
            self.last[self.next] = *template;
        }
        self.next = (self.next + 1) % MAX_RING_TEMPLATES;
    }

    pub(crate) fn pick_template(&self, rng: &mut Rng) -> Option<Template> {
        self.last.get(rng.below(self.last.len() as u32) as usize).copied()
    }
}

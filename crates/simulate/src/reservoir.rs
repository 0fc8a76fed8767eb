//! Templates kept for copying: a bounded memory of what a library and a tile have shown so far.

use crate::rng::Rng;
use crate::template::Template;

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

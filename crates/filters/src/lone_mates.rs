//! Checks that mates are adjacent in the input, using the names of templates that lack a mate: if
//! such a name occurs twice, the reads of this template are not adjacent.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Number of hash bits that choose the slot: 65,536 slots of 8 bytes.
const SLOT_BITS: u32 = 16;

const SEEN_TWICE: u64 = 1;

/// Detects names that occur twice, in a fixed amount of memory (512 KiB).
///
/// Each slot keeps the smallest hash assigned to it, and whether this hash occurred more than once.
/// The result does not depend on the order of names, so any number of threads can add them, and
/// runs with the same input have the same result.
///
/// An input in which most templates are scattered is always detected, and so is any input with up
/// to about ten thousand templates that lack a mate. A few scattered templates among many with a
/// missing mate may go undetected; they are counted.
pub struct LoneMates {
    slots: Box<[AtomicU64]>,
    lone: AtomicU64,
    all: AtomicU64,
}

impl Default for LoneMates {
    fn default() -> Self {
        let slots = (0..1 << SLOT_BITS).map(|_| AtomicU64::new(u64::MAX)).collect();
        LoneMates { slots, lone: AtomicU64::new(0), all: AtomicU64::new(0) }
    }
}

impl LoneMates {
    /// Records the name of a template that lacks a mate. Unnamed reads are ignored, since `*` does
    /// not identify a template.
    pub(crate) fn note_name(&self, name: &[u8]) {
        if name == b"*" {
            return;
        }
        let hash = xxh3_64(name);
        let (slot, hash) = ((hash >> (64 - SLOT_BITS)) as usize, hash & !SEEN_TWICE & (u64::MAX >> 1));
        let keep = |kept: u64| match (kept & !SEEN_TWICE).cmp(&hash) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(kept | SEEN_TWICE),
            std::cmp::Ordering::Greater => Some(hash),
        };
        let _ = self.slots[slot].fetch_update(Relaxed, Relaxed, keep);
    }

    /// Checks that no name was recorded twice. The run calls this after the last read.
    ///
    /// # Errors
    /// Mates are not adjacent in the input.
    pub fn check_adjacent(&self) -> Result<()> {
        let kept = self.slots.iter().map(|slot| slot.load(Relaxed)).filter(|&kept| kept != u64::MAX);
        if kept.filter(|kept| kept & SEEN_TWICE != 0).count() == 0 {
            return Ok(());
        }
        Err(Self::scattered_error())
    }

    /// Returns the error for an input whose mates are not adjacent. Also used before the run, if
    /// the header or the first reads show this.
    pub fn scattered_error() -> Error {
        Error::input("mates are not adjacent, but the filters of this run need adjacent mates")
            .hint("first group the reads by name: readmill collate IN -o grouped.bam")
    }

    /// Adds to the counts: `lone` templates of paired reads that lack a mate, and `all` templates
    /// of paired reads.
    pub(crate) fn add_counts(&self, lone: u64, all: u64) {
        self.lone.fetch_add(lone, Relaxed);
        self.all.fetch_add(all, Relaxed);
    }

    /// Returns the number of templates that lack a mate, and the number of all templates of paired
    /// reads. The run warns if the first is more than half of the second.
    pub fn template_counts(&self) -> (u64, u64) {
        (self.lone.load(Relaxed), self.all.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_occur_twice_are_found_in_any_order() {
        let names: Vec<String> = (0..200_000).map(|i| format!("r{i}")).collect();
        let once = LoneMates::default();
        names.iter().for_each(|name| once.note_name(name.as_bytes()));
        (0..3).for_each(|_| once.note_name(b"*"));
        assert!(once.check_adjacent().is_ok());
        names.iter().for_each(|name| once.note_name(name.as_bytes()));
        assert!(once.check_adjacent().is_err());
        let few = LoneMates::default();
        ["a", "b", "c", "b"].into_iter().for_each(|name| few.note_name(name.as_bytes()));
        assert!(few.check_adjacent().is_err());
    }
}

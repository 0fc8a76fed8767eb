//! Templates that lack a mate, by their names: if one name occurs twice, its reads are not adjacent.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Bits of a hash that choose its slot.
const SLOT_BITS: u32 = 16;

/// A slot's lowest bit: the name came more than once.
const TWICE: u64 = 1;

/// Records names in a fixed amount of memory (512 KiB): each slot keeps the smallest hash that falls into it,
/// and whether it occurred more than once. The order of names does not matter, so any number of threads can
/// add them, and the result is a function of the input.
///
/// Input in which most templates are scattered is always detected, and so is any with up to about ten
/// thousand templates that lack a mate. A few scattered templates among many that lack a mate may be missed;
/// they are counted.
pub struct LoneMates {
    slots: Box<[AtomicU64]>,
    /// Templates of paired reads that lack a mate, and in all.
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
    /// Adds a template that lacks a mate. Unnamed reads are ignored.
    pub(crate) fn note(&self, name: &[u8]) {
        if name == b"*" {
            return;
        }
        let hash = xxh3_64(name);
        let (slot, hash) = ((hash >> (64 - SLOT_BITS)) as usize, hash & !TWICE & (u64::MAX >> 1));
        let keep = |kept: u64| match (kept & !TWICE).cmp(&hash) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(kept | TWICE),
            std::cmp::Ordering::Greater => Some(hash),
        };
        let _ = self.slots[slot].fetch_update(Relaxed, Relaxed, keep);
    }

    /// Returns an error if the reads of a template were not adjacent.
    pub fn check(&self) -> Result<()> {
        let kept = self.slots.iter().map(|slot| slot.load(Relaxed)).filter(|&kept| kept != u64::MAX);
        if kept.filter(|kept| kept & TWICE != 0).count() == 0 {
            return Ok(());
        }
        Err(Self::scattered())
    }

    /// Returns the error for an input whose mates are not adjacent.
    pub fn scattered() -> Error {
        Error::input("mates do not stand together, so they cannot be told of each other")
            .hint("bring mates together first: readmill collate IN -o together.bam, or readmill sort -n")
    }

    /// Adds counts of templates of paired reads: those that lack a mate, and all.
    pub(crate) fn count(&self, lone: u64, all: u64) {
        self.lone.fetch_add(lone, Relaxed);
        self.all.fetch_add(all, Relaxed);
    }

    /// Returns the number of templates of paired reads that lack a mate, and of all.
    pub fn share(&self) -> (u64, u64) {
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
        names.iter().for_each(|name| once.note(name.as_bytes()));
        (0..3).for_each(|_| once.note(b"*"));
        assert!(once.check().is_ok());
        names.iter().for_each(|name| once.note(name.as_bytes()));
        assert!(once.check().is_err());
        let few = LoneMates::default();
        ["a", "b", "c", "b"].into_iter().for_each(|name| few.note(name.as_bytes()));
        assert!(few.check().is_err());
    }
}

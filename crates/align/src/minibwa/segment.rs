//! A read with its hits.

use minibwa_sys as sys;
use readmill_record::Read;

use super::hits::Hit;
use crate::Contig;

/// A read, its hits, and all that its records say.
pub(super) struct Segment<'a> {
    pub(super) contigs: &'a [Contig],
    pub(super) settings: &'a sys::mb_opt_t,
    pub(super) group: Option<&'a [u8]>,
    pub(super) name: &'a [u8],
    pub(super) read: Read<'a>,
    pub(super) is_last: bool,
    pub(super) hits: &'a [Hit],
    /// Of a pair: the hits of the other read, and its bases.
    pub(super) mate: Option<(&'a [Hit], usize)>,
}

impl Segment<'_> {
    /// The hit that stands for the mate.
    pub(super) fn of_mate(&self) -> Option<&Hit> {
        self.mate.and_then(|(hits, _)| hits.iter().find(|hit| hit.is_representative()))
    }
}

/// Bases clipped before and behind a hit of a read of `length` bases, as the record has them.
pub(super) fn clips(hit: &Hit, length: usize) -> [u32; 2] {
    let (start, end) = hit.of_read();
    let (before, behind) = (start as u32, length.saturating_sub(end) as u32);
    if hit.is_reverse() { [behind, before] } else { [before, behind] }
}

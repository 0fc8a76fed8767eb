//! LOCUS_ACCUMULATION_CAP: a read is excluded if too many reads cover the first position that is
//! still open.
//!
//! htsjdk's `SamLocusIterator` defines which position this is. It opens all positions that a read
//! spans, including gaps. When the next read arrives, it closes the positions that are two or more
//! before the start of this read. If it closes a position without bases, in a gap, it also closes
//! the following positions without bases. So the first open position is the one before the start of
//! the read, or the start itself.

use std::collections::BTreeMap;

use readmill_format::intervals::Intervals;

use crate::depth::depths::{PAGE, end_of, page_of};
use crate::depth::reads::{ReadView, Reads};

/// The open positions of a contig, with the number of bases at each.
pub(super) struct LocusCap {
    cap: u32,
    contig: u32,
    /// Positions outside these intervals are skipped when positions are closed.
    intervals: Option<Intervals>,
    /// The number of bases at each position, in pages.
    pages: BTreeMap<u32, Vec<u32>>,
    /// The first open position, and the position after the last one.
    open: Option<(u32, u32)>,
}

impl LocusCap {
    /// Creates the positions that `reads` leave open. All these reads were kept before.
    pub fn new(cap: u32, contig: u32, intervals: Option<&Intervals>, reads: &Reads) -> Self {
        let (intervals, pages) = (intervals.cloned(), BTreeMap::new());
        let mut positions = LocusCap { cap, contig, intervals, pages, open: None };
        for view in reads.views() {
            positions.close_positions_before(view.read.start);
            positions.open_positions(view);
        }
        positions
    }

    /// Adds the next reads. Returns the reads that are kept, or `None` if all are kept.
    pub fn filter_reads(&mut self, reads: &Reads) -> Option<Reads> {
        let mut kept: Option<Reads> = None;
        for (number, view) in reads.views().enumerate() {
            self.close_positions_before(view.read.start);
            let is_full = self.open.is_some_and(|(first, _)| self.count_at(first) >= self.cap);
            if !is_full {
                self.open_positions(view);
                kept.iter_mut().for_each(|kept| kept.push_copy(view));
            } else if kept.is_none() {
                kept = Some(reads.copy_first(number));
            }
        }
        kept
    }

    pub fn heap_bytes(&self) -> usize {
        self.pages.len() * (4 * PAGE + 64)
    }

    /// Closes positions before a read that starts at `start`.
    fn close_positions_before(&mut self, start: u32) {
        while let Some((first, end)) = self.open.filter(|(first, _)| first + 1 < start) {
            let covered = (first..end.min(start)).find(|&at| self.count_at(at) > 0);
            let at = covered.unwrap_or(end.min(start));
            let open = |first: u32| (first < end).then_some((first, end));
            self.open = open(at);
            // htsjdk reports positions without bases one at a time, and looks at the next read
            // again after each.
            let is_told = at > first && self.is_reported(first, at);
            if at < start && !is_told {
                self.open = open(at.saturating_add(1));
            }
        }
        let first = self.open.map_or(start, |(first, _)| first);
        while let Some(entry) = self.pages.first_entry() {
            if end_of(*entry.key()) > first.into() {
                break;
            }
            entry.remove();
        }
    }

    fn open_positions(&mut self, view: ReadView<'_>) {
        let (first, end) = self.open.unwrap_or((view.read.start, view.read.end));
        self.open = Some((first, end.max(view.read.end)));
        for (start, values) in view.runs() {
            let (mut position, mut left) = (start, values.len());
            while left > 0 {
                let (page, at) = page_of(position);
                let bases = left.min(PAGE - at);
                let page = self.pages.entry(page).or_insert_with(|| vec![0; PAGE]);
                page[at..at + bases].iter_mut().for_each(|sum| *sum += 1);
                position = position.saturating_add(bases as u32);
                left -= bases;
            }
        }
    }

    fn count_at(&self, position: u32) -> u32 {
        let (page, at) = page_of(position);
        self.pages.get(&page).map_or(0, |page| page[at])
    }

    /// Returns whether htsjdk reports a position from `from` to `to` (exclusive): one is in an
    /// interval, or there are no intervals.
    fn is_reported(&self, from: u32, to: u32) -> bool {
        self.intervals.as_ref().is_none_or(|intervals| intervals.overlaps(self.contig, from, to))
    }
}

//! Counts the depths of a piece: for each position, the bases above noise, and the bases that
//! count. Reads with the same name count once at a position.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::reads::{IS_N, MAX_QUAL, ReadView, Reads, is_called, is_good};
use crate::qualities::ByQuality;

/// Number of positions in a page, as a power of two.
const PAGE_BITS: u32 = 9;

pub(crate) const PAGE: usize = 1 << PAGE_BITS;

/// Maximum number of reads of a piece, because its depths have 16 bits.
pub(crate) const MAX_READS: usize = 60_000;

/// Returns the number of the page of a position, and the offset of the position in this page.
#[inline(always)]
pub(crate) fn page_of(position: u32) -> (u32, usize) {
    (position >> PAGE_BITS, position as usize % PAGE)
}

/// Returns the position after the last one of a page.
pub(crate) fn end_of(page: u32) -> u64 {
    (u64::from(page) + 1) << PAGE_BITS
}

/// The depths of a piece. Positions are 0-based, on a contig or among the bases of all targets.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Depths {
    /// Pages in ascending order of their numbers. Pages without bases are missing.
    pub pages: Vec<DepthPage>,
    /// Number of aligned bases of the counted reads, at positions that count.
    pub counted: u64,
    /// Number of bases that are not counted only because a read of the same name has a counted base
    /// at the same position (Picard's PCT_EXC_OVERLAP).
    pub overlap: u64,
    /// Histogram of the qualities of bases above noise. At each position, only the first bases up
    /// to the cap are counted.
    pub quals: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DepthPage {
    pub number: u32,
    pub called: Vec<u16>,
    pub good: Vec<u16>,
}

impl Depths {
    /// Returns a page, and inserts an empty one if it is missing. Reads usually need one of the
    /// last two pages, so these are tried first.
    #[inline]
    fn page_mut(&mut self, number: u32) -> &mut DepthPage {
        let n = self.pages.len();
        let near = (n.saturating_sub(2)..n).rev().find(|&at| self.pages[at].number == number);
        let at = near.unwrap_or_else(|| self.find_or_insert_page(number));
        &mut self.pages[at]
    }

    #[cold]
    fn find_or_insert_page(&mut self, number: u32) -> usize {
        match self.pages.binary_search_by_key(&number, |page| page.number) {
            Ok(at) => at,
            Err(at) => {
                let (called, good) = (vec![0; PAGE], vec![0; PAGE]);
                self.pages.insert(at, DepthPage { number, called, good });
                at
            }
        }
    }

    /// Subtracts the marked bases, which another read of the same name also covers. Adds them to
    /// `overlap`.
    pub fn subtract_marked(&mut self, view: ReadView<'_>, marks: &[bool]) {
        let mut all = marks;
        for (start, values) in view.runs() {
            let (mut marks, more) = all.split_at(values.len());
            all = more;
            let mut position = start;
            while !marks.is_empty() {
                let (number, at) = page_of(position);
                let (of_page, rest) = marks.split_at(marks.len().min(PAGE - at));
                let good = &mut self.page_mut(number).good[at..at + of_page.len()];
                let mut sum = 0_u16;
                for (good, &is_marked) in good.iter_mut().zip(of_page) {
                    *good -= u16::from(is_marked);
                    sum += u16::from(is_marked);
                }
                self.overlap += u64::from(sum);
                position = position.wrapping_add(of_page.len() as u32);
                marks = rest;
            }
        }
    }

    /// Subtracts the depths of reads that are left out.
    pub fn subtract(&mut self, less: &Depths) {
        for page in &less.pages {
            let own = self.page_mut(page.number);
            own.called.iter_mut().zip(&page.called).for_each(|(own, less)| *own -= less);
            own.good.iter_mut().zip(&page.good).for_each(|(own, less)| *own -= less);
        }
        self.counted -= less.counted;
        self.overlap -= less.overlap;
        self.quals.iter_mut().zip(&less.quals).for_each(|(own, less)| *own -= less);
    }

    pub fn add(&mut self, more: &Depths) {
        for page in &more.pages {
            let own = self.page_mut(page.number);
            own.called.iter_mut().zip(&page.called).for_each(|(own, more)| *own += more);
            own.good.iter_mut().zip(&page.good).for_each(|(own, more)| *own += more);
        }
        self.counted += more.counted;
        self.overlap += more.overlap;
        self.quals.iter_mut().zip(&more.quals).for_each(|(own, more)| *own += more);
    }

    pub fn heap_bytes(&self) -> usize {
        self.pages.len() * (4 * PAGE + size_of::<DepthPage>()) + self.quals.capacity() * 8
    }

    /// Returns the maximum memory in bytes of the depths of this number of bases in this number of
    /// runs.
    pub fn max_bytes(bases: u64, runs: u64) -> u64 {
        // The list of pages doubles its capacity, and exists twice while it is copied.
        (bases / PAGE as u64 + 2 * runs) * (4 * PAGE + 3 * size_of::<DepthPage>() + 32) as u64
    }
}

/// The rule that decides which bases count for the depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBases {
    /// Minimum quality of bases that count. It is above [`NOISE`](super::reads::NOISE), and at most
    /// 128.
    pub min_qual: u8,
    /// Picard's COVERAGE_CAP: at each position, only the qualities of this number of first bases
    /// are counted.
    pub cap: u32,
}

/// A counter of the depths of pieces, one for each thread. It reuses its memory for the next piece.
///
/// Depths are first added to bytes in a few recent pages, with vector instructions, and then to the
/// 16-bit depths of the piece. Reads of the same name are found through a hash table.
#[derive(Default)]
pub(crate) struct DepthCounter {
    fresh: FreshPages,
    names: NameIndex,
    marks: Vec<bool>,
    quals: ByQuality,
}

impl DepthCounter {
    /// Returns the depths of these reads. Reads with the same name are counted independently.
    pub fn count_each(&mut self, reads: &Reads, counted: CountedBases) -> Depths {
        let mut depths = Depths::default();
        for (start, values) in reads.views().flat_map(ReadView::runs) {
            self.fresh.add_run(&mut depths, start, values, counted.min_qual);
        }
        self.fresh.flush_pages(&mut depths);
        depths.quals = self.count_capped_quals(reads, &depths, counted.cap);
        depths
    }

    /// Returns the depths of these reads. At each position, reads with the same name count only
    /// once.
    pub fn count_by_name(&mut self, reads: &Reads, counted: CountedBases) -> Depths {
        let mut depths = self.count_each(reads, counted);
        depths.counted = reads.without_quals;
        self.names.clear_for(reads.list.len());
        for (number, view) in reads.views().enumerate() {
            depths.counted += u64::from(view.read.counted);
            if let Some(before) = self.names.add_read(view.read.name, number)
                && self.mark_shared_positions(reads, number, before, counted.min_qual)
            {
                depths.subtract_marked(view, &self.marks);
            }
        }
        depths
    }

    /// Marks the counted bases of read `number` at which an earlier read of the same name also has
    /// a counted base. `before` is the last earlier read that may have the same name. Returns
    /// whether there is such a read.
    fn mark_shared_positions(
        &mut self,
        reads: &Reads,
        number: usize,
        before: usize,
        min_qual: u8,
    ) -> bool {
        let view = reads.view(number);
        let (mut mates, mut behind, mut before) = (0, number, Some(before));
        while let Some(other) = before {
            let other_view = reads.view(other);
            before = self.names.previous_read(other);
            if other_view.read.end <= view.read.start {
                // Reads are in order of their starts, so no later read overlaps `other` either.
                self.names.pass_over(behind, other);
                continue;
            }
            behind = other;
            if other_view.read.name != view.read.name {
                continue;
            }
            mates += 1;
            if mates == 1 {
                self.marks.clear();
                self.marks.resize(view.values.len(), false);
            } else {
                // There are usually two reads with a name. If there are many, the first few usually
                // cover all bases.
                let mut bases = view.values.iter().zip(&self.marks);
                if bases.all(|(&value, &is_marked)| is_marked || !is_good(value, min_qual)) {
                    break;
                }
            }
            view.mark_shared_positions(other_view, min_qual, &mut self.marks);
        }
        mates > 0
    }

    pub fn all_qualities(&mut self, reads: &Reads) -> Vec<u64> {
        let mut counts = vec![0; usize::from(MAX_QUAL) + 1];
        for (value, count) in self.quals.count_all(reads.values()) {
            if is_called(value) {
                counts[usize::from((value & !IS_N).min(MAX_QUAL))] += count;
            }
        }
        counts
    }

    /// Returns the histogram of the qualities of bases above noise. At each position, only the
    /// first `cap` bases are counted.
    fn count_capped_quals(&mut self, reads: &Reads, depths: &Depths, cap: u32) -> Vec<u64> {
        let is_deep = |page: &DepthPage| page.called.iter().any(|&depth| u32::from(depth) > cap);
        if !depths.pages.iter().any(is_deep) {
            return self.all_qualities(reads);
        }
        let mut counts = vec![0; usize::from(MAX_QUAL) + 1];
        each_numbered(
            reads,
            |number| {
                let page = depths.pages.binary_search_by_key(&number, |page| page.number);
                page.is_ok_and(|at| is_deep(&depths.pages[at])).then(|| vec![Some(0); PAGE])
            },
            |qual, seen: Option<&mut u32>| {
                counts[usize::from(qual)] += u64::from(seen.as_ref().is_none_or(|seen| **seen < cap));
                seen.into_iter().for_each(|seen| *seen += 1);
            },
        );
        counts
    }
}

/// Calls `each` for the quality of each base above noise, with the state of its position. `begin`
/// returns the initial states of a page, by its number. It returns `None`, for a page or a
/// position, if the caller needs no state there; such pages take no memory.
pub(crate) fn each_numbered<T>(
    reads: &Reads,
    begin: impl Fn(u32) -> Option<Vec<Option<T>>>,
    mut each: impl FnMut(u8, Option<&mut T>),
) {
    let mut pages: HashMap<u32, Option<Vec<Option<T>>>> = HashMap::new();
    for view in reads.views() {
        for (start, values) in view.runs() {
            let (mut position, mut rest) = (start, values);
            while !rest.is_empty() {
                let (number, at) = page_of(position);
                let (values, more) = rest.split_at(rest.len().min(PAGE - at));
                let page = pages.entry(number).or_insert_with(|| begin(number));
                let mut known = page.iter_mut().flat_map(|page| &mut page[at..]);
                for &value in values {
                    let known = known.next().and_then(Option::as_mut);
                    if is_called(value) {
                        each((value & !IS_N).min(MAX_QUAL), known);
                    }
                }
                position = position.wrapping_add(values.len() as u32);
                rest = more;
            }
        }
    }
}

/// The pages to which the most recent reads were added, with one byte for each depth. These depths
/// are not yet in [`Depths`].
struct FreshPages(Box<[FreshPage; FRESH]>);

/// Number of recent pages. A read usually covers one or two.
const FRESH: usize = 4;

/// Number of bases that are added at a time.
const LANES: usize = 16;

/// A recent page, with 8-bit depths.
struct FreshPage {
    number: u32,
    /// Number of runs of bases that were added since the last flush. At most 255, so that no depth
    /// overflows.
    runs: u8,
    /// Depths. Adding a full vector at the end of the page may write zeros beyond it, hence the
    /// extra elements.
    called: [u8; PAGE + LANES],
    good: [u8; PAGE + LANES],
}

impl Default for FreshPages {
    fn default() -> Self {
        let depths = [0; PAGE + LANES];
        let none = |_| FreshPage { number: 0, runs: 0, called: depths, good: depths };
        FreshPages(Box::new(std::array::from_fn(none)))
    }
}

impl FreshPages {
    /// Adds a run of aligned bases. `values` are as in [`Reads`], `min_qual` is the minimum quality of
    /// bases that count.
    #[inline]
    fn add_run(&mut self, depths: &mut Depths, start: u32, values: &[u8], min_qual: u8) {
        let (mut position, mut rest) = (start, values);
        while !rest.is_empty() {
            let (number, at) = page_of(position);
            let (values, more) = rest.split_at(rest.len().min(PAGE - at));
            let page = &mut self.0[number as usize % FRESH];
            if page.number != number || page.runs == u8::MAX {
                page.flush(depths);
                page.number = number;
            }
            page.runs += 1;
            page.add_values(at, values, min_qual);
            position = position.wrapping_add(values.len() as u32);
            rest = more;
        }
    }

    fn flush_pages(&mut self, depths: &mut Depths) {
        self.0.iter_mut().for_each(|page| page.flush(depths));
    }
}

impl FreshPage {
    #[inline]
    fn add_values(&mut self, at: usize, values: &[u8], min_qual: u8) {
        let mut add = |at: usize, values: &[u8; LANES]| {
            add_lanes(&mut self.called[at..], values, is_called);
            add_lanes(&mut self.good[at..], values, |value| is_good(value, min_qual));
        };
        let (chunks, last) = values.as_chunks::<LANES>();
        for (number, chunk) in chunks.iter().enumerate() {
            add(at + LANES * number, chunk);
        }
        if !last.is_empty() {
            // Padding has quality 0, which never counts.
            let mut filled = [0; LANES];
            filled[..last.len()].copy_from_slice(last);
            add(at + LANES * chunks.len(), &filled);
        }
    }

    #[inline]
    fn flush(&mut self, depths: &mut Depths) {
        if self.runs == 0 {
            return;
        }
        self.runs = 0;
        let page = depths.page_mut(self.number);
        for (sums, fresh) in [(&mut page.called, &mut self.called), (&mut page.good, &mut self.good)] {
            sums.iter_mut().zip(&*fresh).for_each(|(sum, &fresh)| *sum += u16::from(fresh));
            fresh.fill(0);
        }
    }
}

/// Adds 1 to each of the first depths whose value satisfies `counts`. It works on local arrays, so
/// that the compiler knows that they do not overlap.
#[inline(always)]
fn add_lanes(depths: &mut [u8], values: &[u8; LANES], counts: impl Fn(u8) -> bool) {
    if let Some(depths) = depths.first_chunk_mut::<LANES>() {
        let mut sums = *depths;
        sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += u8::from(counts(value)));
        *depths = sums;
    }
}

/// A hash table from names to reads. Names are 64-bit hashes; reads with the same slot form a list.
#[derive(Default)]
struct NameIndex {
    /// For each slot, the number of its last read plus 1, or 0.
    slots: Vec<u32>,
    /// For each read, the number of the previous read in its slot plus 1, or 0.
    before: Vec<u32>,
}

impl NameIndex {
    fn clear_for(&mut self, reads: usize) {
        self.slots.clear();
        self.slots.resize((2 * reads).next_power_of_two(), 0);
        self.before.clear();
    }

    /// Adds the next read. Returns the previous read that may have the same name.
    #[inline]
    fn add_read(&mut self, name: u64, number: usize) -> Option<usize> {
        let at = name as usize & (self.slots.len() - 1);
        let before = std::mem::replace(&mut self.slots[at], number as u32 + 1);
        self.before.push(before);
        before.checked_sub(1).map(|number| number as usize)
    }

    /// Removes read `other` from the list of read `number`, because no later read can overlap it.
    fn pass_over(&mut self, number: usize, other: usize) {
        self.before[number] = self.before[other];
    }

    /// Returns the read before read `number` that may have the same name.
    #[inline]
    fn previous_read(&self, number: usize) -> Option<usize> {
        self.before[number].checked_sub(1).map(|number| number as usize)
    }
}

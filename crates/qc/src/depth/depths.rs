//! The depths of a piece: at each position, the bases above noise, and those that count, of which a name has one.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::reads::{IS_N, MAX_QUAL, ReadView, Reads, is_called, is_good};
use crate::qualities::ByQuality;

/// Positions of a page, as a power of two.
const PAGE_BITS: u32 = 9;

/// Positions of a page.
pub(crate) const PAGE: usize = 1 << PAGE_BITS;

/// The most reads of a piece: depths have 16 bits.
pub(crate) const MAX_READS: usize = 60_000;

/// The page of a position, and where it is there.
#[inline(always)]
pub(crate) fn page_of(position: u32) -> (u32, usize) {
    (position >> PAGE_BITS, position as usize % PAGE)
}

/// The position after a page.
pub(crate) fn end_of(page: u32) -> u64 {
    (u64::from(page) + 1) << PAGE_BITS
}

/// The depths of a piece.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Depths {
    /// Pages in their order.
    pub pages: Vec<Page>,
    /// Aligned bases at positions that count.
    pub counted: u64,
    /// Bases that would count, if a read of the same name had none there.
    pub overlap: u64,
    /// Bases above noise by their quality, up to the cap at each position.
    pub quals: Vec<u64>,
}

/// The depths of some positions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Page {
    pub number: u32,
    /// Bases above noise.
    pub called: Vec<u16>,
    /// Bases that count.
    pub good: Vec<u16>,
}

impl Depths {
    /// The page of this number, which is made if it is not there.
    #[inline]
    fn page(&mut self, number: u32) -> &mut Page {
        let n = self.pages.len();
        let near = (n.saturating_sub(2)..n).rev().find(|&at| self.pages[at].number == number);
        let at = near.unwrap_or_else(|| self.find(number));
        &mut self.pages[at]
    }

    #[cold]
    fn find(&mut self, number: u32) -> usize {
        match self.pages.binary_search_by_key(&number, |page| page.number) {
            Ok(at) => at,
            Err(at) => {
                let (called, good) = (vec![0; PAGE], vec![0; PAGE]);
                self.pages.insert(at, Page { number, called, good });
                at
            }
        }
    }

    /// Takes back bases that are marked: reads of the same name have them, too.
    pub fn take_back(&mut self, view: ReadView<'_>, marks: &[bool]) {
        let mut all = marks;
        for (start, values) in view.runs() {
            let (mut marks, more) = all.split_at(values.len());
            all = more;
            let mut position = start;
            while !marks.is_empty() {
                let (number, at) = page_of(position);
                let (of_page, rest) = marks.split_at(marks.len().min(PAGE - at));
                let good = &mut self.page(number).good[at..at + of_page.len()];
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

    /// Takes back what some of the reads have.
    pub fn subtract(&mut self, less: &Depths) {
        for page in &less.pages {
            let own = self.page(page.number);
            own.called.iter_mut().zip(&page.called).for_each(|(own, less)| *own -= less);
            own.good.iter_mut().zip(&page.good).for_each(|(own, less)| *own -= less);
        }
        self.counted -= less.counted;
        self.overlap -= less.overlap;
        self.quals.iter_mut().zip(&less.quals).for_each(|(own, less)| *own -= less);
    }

    /// Adds what other reads have.
    pub fn add(&mut self, more: &Depths) {
        for page in &more.pages {
            let own = self.page(page.number);
            own.called.iter_mut().zip(&page.called).for_each(|(own, more)| *own += more);
            own.good.iter_mut().zip(&page.good).for_each(|(own, more)| *own += more);
        }
        self.counted += more.counted;
        self.overlap += more.overlap;
        self.quals.iter_mut().zip(&more.quals).for_each(|(own, more)| *own += more);
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.pages.len() * (4 * PAGE + size_of::<Page>()) + self.quals.capacity() * 8
    }

    /// The most bytes of memory of the depths of so many bases, which lie in so many runs.
    pub fn max_bytes(bases: u64, runs: u64) -> u64 {
        // The list of pages doubles, and is copied as it grows.
        (bases / PAGE as u64 + 2 * runs) * (4 * PAGE + 3 * size_of::<Page>() + 32) as u64
    }
}

/// Which bases count, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBases {
    /// Bases of a lower quality do not count. It is above [`NOISE`], and at most 128.
    pub min_qual: u8,
    /// The first bases above noise at a position, whose qualities count.
    pub cap: u32,
}

/// Counts depths, with memory that is used again.
#[derive(Default)]
pub(crate) struct DepthCounter {
    fresh: FreshPages,
    names: Names,
    marks: Vec<bool>,
    quals: ByQuality,
}

impl DepthCounter {
    /// The depths of these reads, whatever their names.
    pub fn count_each(&mut self, reads: &Reads, counted: CountedBases) -> Depths {
        let mut depths = Depths::default();
        for (start, values) in reads.views().flat_map(ReadView::runs) {
            self.fresh.add(&mut depths, start, values, counted.min_qual);
        }
        self.fresh.flush(&mut depths);
        depths.quals = self.qualities(reads, &depths, counted.cap);
        depths
    }

    /// The depths of these reads, of which those of one name count once at a position.
    pub fn count(&mut self, reads: &Reads, counted: CountedBases) -> Depths {
        let mut depths = self.count_each(reads, counted);
        depths.counted = reads.without_quals;
        self.names.begin(reads.list.len());
        for (number, view) in reads.views().enumerate() {
            depths.counted += u64::from(view.read.counted);
            if let Some(before) = self.names.add(view.read.name, number)
                && self.mark_shared(reads, number, before, counted.min_qual)
            {
                depths.take_back(view, &self.marks);
            }
        }
        depths
    }

    /// Marks the bases of read `number` that count, and that a read of its name before it has, too; `before` is the last one
    /// that may have its name. Returns whether there is such a read.
    fn mark_shared(&mut self, reads: &Reads, number: usize, before: usize, least: u8) -> bool {
        let view = reads.view(number);
        let (mut mates, mut behind, mut before) = (0, number, Some(before));
        while let Some(other) = before {
            let other_view = reads.view(other);
            before = self.names.before(other);
            if other_view.read.end <= view.read.start {
                // No later read overlaps it.
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
                // Reads of one name are usually two. Of many, a few have all bases.
                let mut bases = view.values.iter().zip(&self.marks);
                if bases.all(|(&value, &is_marked)| is_marked || !is_good(value, least)) {
                    break;
                }
            }
            view.mark_shared(other_view, least, &mut self.marks);
        }
        mates > 0
    }

    /// All bases above noise by their quality.
    pub fn all_qualities(&mut self, reads: &Reads) -> Vec<u64> {
        let mut counts = vec![0; usize::from(MAX_QUAL) + 1];
        for (value, count) in self.quals.count_all(reads.values()) {
            if is_called(value) {
                counts[usize::from((value & !IS_N).min(MAX_QUAL))] += count;
            }
        }
        counts
    }

    /// Bases above noise by their quality. At a position, the first ones count, up to `cap`.
    fn qualities(&mut self, reads: &Reads, depths: &Depths, cap: u32) -> Vec<u64> {
        let is_deep = |page: &Page| page.called.iter().any(|&depth| u32::from(depth) > cap);
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

/// Calls `each` for the quality of each base above noise, with what is known of its position, which is first what `begin`
/// says of each position of a page: none where nothing need be known. Only pages take memory of which something is known.
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

/// Pages to which the last reads added, with a byte for a depth. What is there is not in [`Depths`] yet.
struct FreshPages(Box<[FreshPage; FRESH]>);

/// A read usually lies on one or two pages.
const FRESH: usize = 4;

/// Bases that are added at a time.
const LANES: usize = 16;

/// A page of a few reads.
struct FreshPage {
    number: u32,
    /// How many runs of bases were added: a byte holds so many.
    runs: u8,
    /// Depths, with room for the bases behind the last one that are added with it.
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
    /// Adds a run of aligned bases.
    #[inline]
    fn add(&mut self, depths: &mut Depths, start: u32, values: &[u8], least: u8) {
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
            page.add(at, values, least);
            position = position.wrapping_add(values.len() as u32);
            rest = more;
        }
    }

    /// Adds what is there to `depths`.
    fn flush(&mut self, depths: &mut Depths) {
        self.0.iter_mut().for_each(|page| page.flush(depths));
    }
}

impl FreshPage {
    #[inline]
    fn add(&mut self, at: usize, values: &[u8], least: u8) {
        let mut add = |at: usize, values: &[u8; LANES]| {
            add_lanes(&mut self.called[at..], values, is_called);
            add_lanes(&mut self.good[at..], values, |value| is_good(value, least));
        };
        let (chunks, last) = values.as_chunks::<LANES>();
        for (number, chunk) in chunks.iter().enumerate() {
            add(at + LANES * number, chunk);
        }
        if !last.is_empty() {
            // A base of no quality counts nowhere.
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
        let page = depths.page(self.number);
        for (sums, fresh) in [(&mut page.called, &mut self.called), (&mut page.good, &mut self.good)] {
            sums.iter_mut().zip(&*fresh).for_each(|(sum, &fresh)| *sum += u16::from(fresh));
            fresh.fill(0);
        }
    }
}

/// Adds 1 to the first depths where a value counts. On arrays of their own, which the compiler knows to be apart.
#[inline(always)]
fn add_lanes(depths: &mut [u8], values: &[u8; LANES], counts: impl Fn(u8) -> bool) {
    if let Some(depths) = depths.first_chunk_mut::<LANES>() {
        let mut sums = *depths;
        sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += u8::from(counts(value)));
        *depths = sums;
    }
}

/// Finds reads by their names.
#[derive(Default)]
struct Names {
    /// The last read of a slot, and 1.
    slots: Vec<u32>,
    /// The read before each one in its slot, and 1.
    before: Vec<u32>,
}

impl Names {
    fn begin(&mut self, reads: usize) {
        self.slots.clear();
        self.slots.resize((2 * reads).next_power_of_two(), 0);
        self.before.clear();
    }

    /// Adds the next read; returns one before it that may have its name.
    #[inline]
    fn add(&mut self, name: u64, number: usize) -> Option<usize> {
        let at = name as usize & (self.slots.len() - 1);
        let before = std::mem::replace(&mut self.slots[at], number as u32 + 1);
        self.before.push(before);
        before.checked_sub(1).map(|number| number as usize)
    }

    /// Forgets read `other`, which was the one before read `number`.
    fn pass_over(&mut self, number: usize, other: usize) {
        self.before[number] = self.before[other];
    }

    /// The one before read `number` that may have its name.
    #[inline]
    fn before(&self, number: usize) -> Option<usize> {
        self.before[number].checked_sub(1).map(|number| number as usize)
    }
}

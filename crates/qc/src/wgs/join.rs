//! Joins pieces in order to the number of positions by depth.

use std::collections::HashMap;

use readmill_format::intervals::Intervals;
use readmill_record::{Result, extra_slots_to_grow};

use super::locus_cap::LocusCap;
use super::piece::{ContigPiece, Excluded, WgsPiece};
use super::rules::WgsRules;
use crate::depth::depths::{DepthCounter, Depths, end_of};
use crate::depth::open_pages::{OpenPage, OpenPages};
use crate::depth::reads::{MAX_QUAL, ReadView, Reads};
use crate::unsorted::unsorted_error;

/// The sum of the pieces so far, separately for the rules of each program. Pieces are added in the
/// order of the reads.
///
/// The join keeps the reads and pages of the current contig that later reads may still overlap. With
/// them, it excludes bases that a mate in an earlier piece has, and applies COVERAGE_CAP and
/// LOCUS_ACCUMULATION_CAP across pieces.
pub(super) struct WgsJoin {
    by_rules: Vec<RulesJoin>,
    intervals: Option<Intervals>,
}

/// The totals of all reads by the rules of one program.
#[derive(Clone, Debug, Default)]
pub(crate) struct WgsTotals {
    /// Number of positions by their number of counted bases, up to the cap. Positions without any
    /// base are missing.
    pub good: Vec<u64>,
    /// Number of positions by their number of bases above noise, up to the cap. Positions without
    /// any base are missing.
    pub called: Vec<u64>,
    /// Histogram of the qualities of bases above noise. At each position, only the first bases up
    /// to the cap are counted.
    pub quals: Vec<u64>,
    /// Number of aligned bases of counted reads, at positions that count.
    pub counted: u64,
    pub good_bases: u64,
    /// Number of bases that are not counted only because a read of the same name has a counted base
    /// at the same position (PCT_EXC_OVERLAP).
    pub overlap: u64,
    /// Number of bases that count, but exceed the cap at their position (PCT_EXC_CAPPED).
    pub capped: u64,
    pub excluded: Excluded,
}

struct RulesJoin {
    rules: WgsRules,
    counter: DepthCounter,
    open: Option<OpenContig>,
    totals: WgsTotals,
}

struct OpenContig {
    number: u32,
    /// The start of the last read. No later read covers positions before it.
    last: u32,
    /// Pages that later reads may cover.
    pages: OpenPages,
    waiting: Waiting,
    /// The open positions of the locus cap. `None` as long as there are too few reads to reach the
    /// cap.
    positions: Option<LocusCap>,
}

/// Reads of earlier pieces that later reads may overlap, in the order of the records. They may
/// include reads that no later read can reach, which are removed from time to time.
#[derive(Default)]
struct Waiting {
    reads: Reads,
    /// The number of the last read of each name, from 1.
    by_name: HashMap<u64, u32>,
    /// For each read, the number of the previous read of the same name, from 1, or 0.
    before: Vec<u32>,
    end: u32,
    /// Number of reads above which unreachable reads are removed. It doubles with the reads that
    /// stay, so that each read is copied only a few times.
    enough: usize,
}

/// Minimum number of waiting reads before unreachable reads are removed.
const MIN_READS_TO_PRUNE: usize = 256;

impl Waiting {
    /// Adds the reads of a piece that end at or after `last`, the start of its last read.
    fn add_reaching_reads(&mut self, reads: &Reads, last: u32) {
        reads.views().filter(|view| view.read.end >= last).for_each(|view| self.push_read(view));
        if self.reads.list.len() > self.enough.max(MIN_READS_TO_PRUNE) {
            self.forget_before(last);
        }
    }

    fn push_read(&mut self, view: ReadView<'_>) {
        let number = self.reads.list.len() as u32 + 1;
        self.before.push(self.by_name.insert(view.read.name, number).unwrap_or(0));
        self.end = self.end.max(view.read.end);
        self.reads.push_copy(view);
    }

    /// Removes reads that end before `last`, and copies the others.
    fn forget_before(&mut self, last: u32) {
        let before = std::mem::take(&mut self.reads);
        self.by_name.clear();
        self.before.clear();
        self.end = 0;
        before.views().filter(|view| view.read.end >= last).for_each(|view| self.push_read(view));
        self.enough = 2 * self.reads.list.len();
    }

    /// Returns all waiting reads with this name hash.
    fn of_name(&self, name: u64) -> impl Iterator<Item = ReadView<'_>> {
        let last = self.by_name.get(&name).copied().unwrap_or(0);
        let numbers = std::iter::successors(Some(last), |&number| {
            (number as usize).checked_sub(1).map(|at| self.before[at])
        });
        numbers.take_while(|&number| number > 0).map(|number| self.reads.view(number as usize - 1))
    }

    /// Returns the memory in bytes that is in use, and that the copy takes while reads are removed.
    fn heap_bytes(&self) -> usize {
        2 * self.reads.heap_bytes() + 4 * self.before.capacity() + self.by_name.capacity() * NAME_BYTES
    }

    /// Returns the maximum number of further bytes in use while this number of reads with this
    /// number of bytes is added.
    fn max_growth_bytes(&self, reads: usize, bytes: usize) -> usize {
        let table = extra_slots_to_grow(self.by_name.capacity(), self.by_name.len(), reads) * NAME_BYTES;
        let lists = if self.before.len() + reads > self.before.capacity() {
            2 * (self.reads.heap_bytes() + bytes) + 8 * (self.before.len() + reads)
        } else {
            2 * bytes
        };
        table + lists
    }
}

/// Memory of a name table slot in bytes.
const NAME_BYTES: usize = size_of::<(u64, u32)>() + 1;

impl WgsJoin {
    pub(super) fn new(rules: &[WgsRules], intervals: Option<&Intervals>) -> Self {
        let join = |&rules: &WgsRules| RulesJoin {
            rules,
            counter: DepthCounter::default(),
            open: None,
            totals: WgsTotals {
                good: vec![0; rules.cap as usize + 1],
                called: vec![0; rules.cap as usize + 1],
                quals: vec![0; usize::from(MAX_QUAL) + 1],
                ..WgsTotals::default()
            },
        };
        WgsJoin { by_rules: rules.iter().map(join).collect(), intervals: intervals.cloned() }
    }

    /// Adds the next piece. Passes the lists of reads that are no longer needed to `release`, to
    /// reuse their memory.
    pub(super) fn add_piece(&mut self, piece: WgsPiece, mut release: impl FnMut(Reads)) -> Result<()> {
        let intervals = self.intervals.as_ref();
        for (join, piece) in self.by_rules.iter_mut().zip(piece.by_rules) {
            join.totals.excluded.add(&piece.excluded);
            for piece in piece.contigs {
                release(join.add_piece(piece, intervals)?);
            }
        }
        Ok(())
    }

    pub(super) fn into_totals(self) -> Vec<WgsTotals> {
        let finish = |mut join: RulesJoin| {
            join.close_contig();
            join.totals
        };
        self.by_rules.into_iter().map(finish).collect()
    }

    /// Returns the memory in bytes that is in use, without the totals.
    pub(super) fn heap_bytes(&self) -> u64 {
        let open = self.by_rules.iter().filter_map(|join| join.open.as_ref());
        let bytes = |open: &OpenContig| {
            let positions = open.positions.as_ref().map_or(0, LocusCap::heap_bytes);
            open.pages.heap_bytes() + open.waiting.heap_bytes() + positions
        };
        open.map(|open| bytes(open) as u64).sum()
    }

    /// Returns the maximum memory in bytes at any moment while `piece` is added, without the
    /// totals.
    pub(super) fn max_bytes(&self, piece: &WgsPiece) -> u64 {
        let mut max_heap_bytes = self.heap_bytes();
        for (join, piece) in self.by_rules.iter().zip(&piece.by_rules) {
            for piece in &piece.contigs {
                let Some(last) = piece.reads.list.last().map(|read| read.start) else { continue };
                // Only reads that reach the last read have to wait.
                let (mut reads, mut bytes) = (0, 0);
                for view in piece.reads.views().filter(|view| view.read.end >= last) {
                    reads += 1;
                    bytes += view.heap_bytes();
                }
                let open = join.open.as_ref().filter(|open| open.number == piece.contig);
                let growth = open.map_or(4 * bytes, |open| open.waiting.max_growth_bytes(reads, bytes));
                let waiting = open.map_or(0, |open| open.waiting.reads.list.len());
                // If reads are left out, the depths of the first reads are counted again.
                let is_capped = waiting + piece.reads.list.len() > join.rules.locus_cap as usize;
                let all = piece.reads.heap_bytes() + piece.depths.heap_bytes();
                let again = if is_capped { 2 * all } else { 0 };
                let open_pages = piece.depths.pages.iter().filter(|it| end_of(it.number) > last.into());
                let pages = OpenPages::bytes_of(open_pages.count());
                max_heap_bytes += (growth + again) as u64 + pages;
            }
        }
        max_heap_bytes
    }
}

impl RulesJoin {
    /// Adds a piece, and returns its list of reads for reuse.
    fn add_piece(&mut self, piece: ContigPiece, intervals: Option<&Intervals>) -> Result<Reads> {
        let ContigPiece { contig, head, mut reads, mut depths } = piece;
        let (Some(first), Some(last)) = (reads.list.first(), reads.list.last()) else {
            return Ok(reads);
        };
        let (first, last) = (first.start, last.start);
        if self.open.as_ref().is_none_or(|open| open.number != contig) {
            if self.open.as_ref().is_some_and(|open| contig < open.number) {
                return Err(unsorted_error());
            }
            self.close_contig();
            let (pages, waiting, positions) = Default::default();
            self.open = Some(OpenContig { number: contig, last: 0, pages, waiting, positions });
        }
        let RulesJoin { rules, counter, open, totals } = self;
        let Some(open) = open else { return Ok(reads) };
        if first < open.last {
            return Err(unsorted_error());
        }
        if let Some(kept) = open.apply_locus_cap(&reads, rules.locus_cap, intervals) {
            // Only reads of the head can be left out. The head includes all reads that overlap
            // them.
            let dropped = reads.list.len() - kept.list.len();
            depths.subtract(
                &counter.count_by_name(&reads.copy_first(head as usize), rules.counted_bases()),
            );
            depths.add(&counter.count_by_name(
                &kept.copy_first((head as usize).saturating_sub(dropped)),
                rules.counted_bases(),
            ));
            reads = kept;
        }
        open.subtract_earlier_mates(&reads, &mut depths, rules.min_qual);
        for (sum, more) in totals.quals.iter_mut().zip(&depths.quals) {
            *sum += more;
        }
        open.pages.take_back_quals(&reads, &depths.pages, rules.cap, &mut totals.quals);
        totals.counted += depths.counted;
        totals.overlap += depths.overlap;
        for page in depths.pages {
            match open.pages.get_mut(page.number) {
                Some(sum) => sum.add_page(&page),
                None if end_of(page.number) <= last.into() => {
                    let depths = page.called.iter().zip(&page.good);
                    totals.add_positions(
                        depths.map(|(&called, &good)| (called.into(), good.into())),
                        rules.cap,
                    );
                }
                None => open.pages.insert_page(&page),
            }
        }
        open.last = last;
        open.waiting.add_reaching_reads(&reads, last);
        while let Some((_, page)) = open.pages.pop_before(last) {
            totals.add_page(page, rules.cap);
        }
        Ok(reads)
    }

    fn close_contig(&mut self) {
        let Some(open) = self.open.take() else { return };
        open.pages.into_all().for_each(|(_, page)| self.totals.add_page(page, self.rules.cap));
    }
}

impl OpenContig {
    /// Returns the reads of a piece that the locus cap keeps, or `None` if it keeps all.
    fn apply_locus_cap(
        &mut self,
        reads: &Reads,
        cap: u32,
        intervals: Option<&Intervals>,
    ) -> Option<Reads> {
        if self.positions.is_none() && self.waiting.reads.list.len() + reads.list.len() > cap as usize {
            self.waiting.forget_before(self.last);
        }
        let waiting = &self.waiting.reads;
        if waiting.list.len() + reads.list.len() <= cap as usize {
            self.positions = None;
            return None;
        }
        let new = || LocusCap::new(cap, self.number, intervals, waiting);
        self.positions.get_or_insert_with(new).filter_reads(reads)
    }

    /// Subtracts bases at which a read of the same name, in an earlier piece, has a counted base.
    fn subtract_earlier_mates(&self, reads: &Reads, depths: &mut Depths, min_qual: u8) {
        if self.waiting.reads.list.is_empty() {
            return;
        }
        let mut met: HashMap<u64, Vec<usize>> = HashMap::new();
        let (mut marks, mut known) = (Vec::new(), Vec::new());
        for number in 0..reads.list.len() {
            let view = reads.view(number);
            if view.read.start >= self.waiting.end {
                break;
            }
            if !self.waiting.by_name.contains_key(&view.read.name) {
                continue;
            }
            // Bases that an earlier read of the same piece has were already subtracted.
            known.clear();
            known.resize(view.values.len(), false);
            let before = met.entry(view.read.name).or_default();
            for &other in before.iter() {
                view.mark_shared_positions(reads.view(other), min_qual, &mut known);
            }
            before.push(number);
            marks.clone_from(&known);
            let others = self.waiting.of_name(view.read.name);
            others.for_each(|other| view.mark_shared_positions(other, min_qual, &mut marks));
            marks.iter_mut().zip(&known).for_each(|(mark, known)| *mark &= !known);
            depths.subtract_marked(view, &marks);
        }
    }
}

impl WgsTotals {
    fn add_page(&mut self, page: OpenPage, cap: u32) {
        self.add_positions(page.called.into_iter().zip(page.good), cap);
    }

    /// Adds positions by their depths, as pairs of the bases above noise and the counted bases.
    #[inline]
    fn add_positions(&mut self, depths: impl Iterator<Item = (u32, u32)>, cap: u32) {
        for (called, good) in depths.filter(|(called, _)| *called > 0) {
            self.called[called.min(cap) as usize] += 1;
            self.good[good.min(cap) as usize] += 1;
            self.good_bases += u64::from(good);
            self.capped += u64::from(good.saturating_sub(cap));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::depth::reads::is_good;

    #[test]
    fn a_base_counts_if_its_quality_does_and_it_is_not_n() {
        for (value, min_qual, counts) in
            [(3, 3, true), (2, 3, false), (20, 20, true), (19, 20, false), (0x80 | 40, 20, false)]
        {
            assert_eq!(is_good(value, min_qual), counts, "{value} {min_qual}");
            assert!(!is_good(value, 128), "no quality is enough");
        }
    }
}

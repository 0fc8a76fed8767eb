//! Joins pieces in read order: the distribution of depths, and the bins of GC and depth.

use std::collections::{BTreeMap, HashMap};

use readmill_coverage::changes::{DepthChange, merge_changes};
use readmill_record::extra_slots_to_grow;

use super::piece::{ContigRun, MateRead, StatsPiece};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct OrderTotals {
    /// Consecutive reads on the same contig are in order, as samtools defines it.
    pub is_sorted: bool,
    /// Number of positions by depth, without positions of depth 0.
    pub depths: BTreeMap<u32, u64>,
    /// Bins of GC and depth. The first one is always empty, as in samtools.
    pub bins: Vec<GcBin>,
    /// Number of bases that are covered by both mates. They are subtracted from `bases mapped (cigar)`.
    pub overlap: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GcBin {
    /// Sum of the GC fractions of the reads. It is added read by read in single precision, so that it
    /// equals samtools' sum.
    pub gc: f32,
    pub reads: u32,
}

#[derive(Debug)]
pub(super) struct StatsJoin {
    totals: OrderTotals,
    gc_bin: u32,
    bin_start: u32,
    has_mates: bool,
    open: Option<StatsContig>,
    pairs: Pairs,
    merged: Vec<DepthChange>,
}

#[derive(Debug, Default)]
struct StatsContig {
    number: u32,
    last: u32,
    changes: Vec<DepthChange>,
    depth: i64,
    run_start: u32,
}

/// Reads that wait for their mates, with the limits at which samtools forgets them.
#[derive(Debug, Default)]
struct Pairs {
    by_name: HashMap<u64, WaitingMate>,
    /// Number of waiting templates, and number of reads since some were last removed: the two counters
    /// by which samtools decides when to remove more.
    waiting: u64,
    reads_since_removal: u32,
    block_bytes: usize,
}

#[derive(Debug)]
struct WaitingMate {
    is_first: bool,
    blocks: Vec<(u32, u32)>,
}

impl WaitingMate {
    fn block_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<(u32, u32)>() + 16
    }
}

const WAITING_BYTES: usize = size_of::<WaitingMate>() + 16;

/// If more templates wait, and after this number of reads, the templates that end before the current
/// read are removed, as in samtools.
const MAX_WAITING: u32 = 10_000;

impl StatsJoin {
    pub fn new(gc_bin: u32, has_mates: bool) -> Self {
        let (is_sorted, depths, overlap) = (true, BTreeMap::new(), 0);
        let totals = OrderTotals { is_sorted, depths, bins: vec![GcBin::default()], overlap };
        let (open, pairs, merged) = Default::default();
        StatsJoin { totals, gc_bin, bin_start: 0, has_mates, open, pairs, merged }
    }

    pub fn add_piece(&mut self, piece: StatsPiece) {
        for run in piece.runs {
            if self.totals.is_sorted {
                self.add_run(run);
            }
        }
        self.totals.is_sorted &= !piece.is_cut;
    }

    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| open.changes.capacity());
        ((open + self.merged.capacity()) * size_of::<DepthChange>()
            + self.totals.depths.len() * 32
            + self.totals.bins.capacity() * size_of::<GcBin>()
            + self.pairs.by_name.capacity() * WAITING_BYTES
            + self.pairs.block_bytes) as u64
    }

    pub fn max_bytes_to_add(&self, piece: &StatsPiece) -> u64 {
        let (mut events, mut blocks, mut mates, mut reads) = (0, 0, 0, 0);
        for run in &piece.runs {
            events += run.events.len();
            mates += run.mates.len();
            blocks += run.mates.iter().map(|mate| mate.blocks.len()).sum::<usize>();
            reads += run.reads.len();
        }
        let carried = self.open.as_ref().map_or(0, |open| open.changes.len());
        // A mate can split a block into two. Vectors double when they grow, and are copied then.
        let lists = 2 * 3 * (carried + events + 4 * blocks);
        let waiting = &self.pairs.by_name;
        let table = extra_slots_to_grow(waiting.capacity(), waiting.len(), mates) * WAITING_BYTES;
        let bins = &self.totals.bins;
        let bins = if bins.len() + reads > bins.capacity() { 2 * (bins.len() + reads) } else { 0 };
        self.heap_bytes()
            + (lists * size_of::<DepthChange>() + table + bins * size_of::<GcBin>() + 32 * events) as u64
    }

    pub fn finish(mut self) -> OrderTotals {
        self.close_contig();
        self.totals
    }

    fn add_run(&mut self, mut run: ContigRun) {
        let begins = self.open.as_ref().is_none_or(|open| open.number != run.contig);
        if begins {
            self.close_contig();
            self.open = Some(StatsContig { number: run.contig, ..StatsContig::default() });
        } else if self.open.as_ref().is_some_and(|open| run.first < open.last) {
            self.totals.is_sorted = false;
            return;
        }
        let events = if self.has_mates { self.pair_mates(&mut run, begins) } else { Vec::new() };
        self.add_bins(&run, begins);
        let Some(open) = &mut self.open else { return };
        if !events.is_empty() {
            open.changes.extend(events);
            open.changes.sort_unstable_by_key(|&(position, _)| position);
        }
        let mut at = run.first;
        let events = run.events.iter().map(|&(further, more)| {
            at += further;
            (at, more)
        });
        merge_changes(&open.changes, events, &mut self.merged);
        std::mem::swap(&mut open.changes, &mut self.merged);
        open.last = run.last;
        open.count_before(run.last, &mut self.totals.depths);
    }

    fn close_contig(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.count_before(u32::MAX, &mut self.totals.depths);
        }
    }

    /// Adds reads to the bins of GC and depth. A read that starts more than `gc_bin` bases after the
    /// start of the bin, or on another contig, begins a new one.
    fn add_bins(&mut self, run: &ContigRun, begins: bool) {
        let (mut at, mut begins) = (run.first, begins);
        for read in &run.reads {
            at += read.step;
            if std::mem::take(&mut begins) || at - self.bin_start > self.gc_bin {
                self.bin_start = at;
                self.totals.bins.push(GcBin::default());
            }
            if let Some(bin) = self.totals.bins.last_mut() {
                bin.reads = bin.reads.wrapping_add(1);
                bin.gc += read.gc as f32 / read.length as f32;
            }
        }
    }

    fn pair_mates(&mut self, run: &mut ContigRun, begins: bool) -> Vec<DepthChange> {
        let (mut events, mut at) = (Vec::new(), run.first);
        let mut mates = std::mem::take(&mut run.mates).into_iter().peekable();
        for (number, read) in (0..).zip(&run.reads) {
            at += read.step;
            self.pairs.reads_since_removal += 1;
            if self.pairs.waiting > MAX_WAITING.into() && self.pairs.reads_since_removal > MAX_WAITING {
                self.pairs
                    .remove_where(|waiting| waiting.blocks.last().is_none_or(|block| block.1 < at));
            }
            if begins && number == 0 {
                self.pairs.remove_where(|_| true);
            }
            if let Some(mate) = mates.next_if(|mate| mate.read == number) {
                self.totals.overlap += self.pairs.meet_mate(mate, &mut events);
            }
        }
        events
    }
}

impl Pairs {
    fn remove_where(&mut self, is_gone: impl Fn(&WaitingMate) -> bool) {
        let before = self.by_name.len();
        self.by_name.retain(|_, waiting| !is_gone(waiting));
        self.waiting -= (before - self.by_name.len()) as u64;
        self.block_bytes = self.by_name.values().map(WaitingMate::block_bytes).sum();
        self.reads_since_removal = 0;
    }

    /// Adds a read whose mate may overlap it. If its mate waits, only the bases outside of the mate are
    /// added to `events`; if not, all bases are, and the read waits itself. Returns the number of bases
    /// that both cover.
    fn meet_mate(&mut self, read: MateRead, events: &mut Vec<DepthChange>) -> u64 {
        let MateRead { name, is_first, blocks, .. } = read;
        let mut cover = |(from, to): (u32, u32)| events.extend([(from, 1), (to, -1)]);
        let mut overlap = 0;
        match self.by_name.get_mut(&name) {
            Some(waiting) if waiting.is_first != is_first => {
                for (mut from, to) in blocks {
                    let mut is_inside = false;
                    for &(start, end) in &waiting.blocks {
                        if from >= end {
                            continue;
                        }
                        if to <= start {
                            break;
                        }
                        if from < start {
                            cover((from, start));
                            from = start;
                        }
                        if to <= end {
                            overlap += u64::from(to - from);
                            is_inside = true;
                            break;
                        }
                        overlap += u64::from(end - from);
                        from = end;
                    }
                    if !is_inside {
                        cover((from, to));
                    }
                }
                self.block_bytes -= self.by_name.remove(&name).map_or(0, |it| it.block_bytes());
                self.waiting -= 1;
            }
            Some(waiting) => {
                blocks.iter().copied().for_each(cover);
                self.block_bytes -= waiting.block_bytes();
                waiting.blocks.extend(blocks);
                self.block_bytes += waiting.block_bytes();
            }
            None if blocks.is_empty() => {}
            None => {
                blocks.iter().copied().for_each(cover);
                let waiting = WaitingMate { is_first, blocks };
                self.block_bytes += waiting.block_bytes();
                self.by_name.insert(name, waiting);
                self.waiting += 1;
            }
        }
        overlap
    }
}

impl StatsContig {
    fn count_before(&mut self, to: u32, depths: &mut BTreeMap<u32, u64>) {
        let n = self.changes.partition_point(|&(position, _)| position < to);
        for &(position, more) in &self.changes[..n] {
            if self.depth > 0 && position > self.run_start {
                *depths.entry(self.depth as u32).or_default() += u64::from(position - self.run_start);
            }
            self.run_start = position;
            self.depth += i64::from(more);
        }
        self.changes.drain(..n);
    }
}

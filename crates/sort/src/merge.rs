//! Merges sorted runs and sorted lists. Divides their common order into ranges serially, and puts
//! the records of each range in order in parallel.
//!
//! The sources are the runs on disk and the lists in memory, numbered oldest first, runs before
//! lists. Among equal keys, the source with the lower number wins, so equal records keep their
//! input order. Each source is a sequence of blocks (the frames of a run, up to 128 entries of a
//! list), whose first keys and sizes are known without reading them.
//!
//! ```text
//!              border 1            border 2
//!                 │                   │
//! run 0    [ frame 0 │    frame 1     │   frame 2    ]
//! run 1    [      frame 0      │   frame 1   │  frame 2 ]
//! list 2   [  block 0  │ block 1 │ block 2 │ block 3 ]
//!                 │                   │
//!          range 0│      range 1      │range 2
//! ```
//!
//! 1. [`Merge::next_range`] visits blocks, not records: a tournament between the first keys of the
//!    sources' next blocks selects the next block. After about [`PARTITION`] bytes of blocks, the
//!    range ends before the first record of the following block. This border is exact in the source
//!    of that block; in the other sources, it is inside a block.
//! 2. [`Range::order_records`] finds the border in the other sources and merges the records between
//!    two borders. It uses only keys and lengths (entries of lists, key columns of frames), and can
//!    run on any number of threads at once.
//! 3. [`super::partition`] cuts the ordered ranges into partitions. Ranges depend on the runs, and
//!    therefore on the memory limit; partitions, and therefore the output, do not.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_format::bgzf::BLOCK_RECORD_BYTES;
use readmill_format::spill::Spill;
use readmill_record::{Charge, Result, SealedArena};
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::frame::{Frame, KeyColumn, KeyRow, SpilledRun};
use super::key::{Key, Keyer};
use super::run::{self, List, STAMP_BYTES};
use super::tournament::LoserTree;

/// Size of a partition in bytes of BAM records: sixteen BGZF blocks, about 1 MiB. (4 MiB would be
/// too large: a partition takes two to three times its size while it is processed, and 8 threads
/// must fit into 160 MiB.)
pub const PARTITION: u64 = 16 * BLOCK_RECORD_BYTES as u64;

/// Divides the merged order of all sources into ranges.
///
/// One thread calls [`Merge::next_range`] and passes the ranges to other threads, which call
/// [`Range::order_records`]. The results are cut into partitions in range order.
///
/// ```
/// use std::sync::Arc;
///
/// use readmill_format::{sam::LineParser, spill::Spill};
/// use readmill_record::{Arena, Batch, Header, RecordRef, Stamp};
/// use readmill_sort::{Cutter, Keyer, List, Merge, Order, RunSort, Sources};
///
/// # let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// # let mut batch = Batch::default();
/// # for (number, pos) in [60, 30].into_iter().enumerate() {
/// #     let (line, mut raw) = (format!("r\t0\tchr1\t{pos}\t60\t4M\t*\t0\t0\tACGT\tIIII"), Vec::new());
/// #     LineParser::new(&header).parse(line.as_bytes(), &mut raw)?;
/// #     batch.push(&raw, Stamp::new(number as u64, 0))?;
/// # }
/// // Collect a batch with reads at 60 and 30, and sort its entries.
/// let sort = RunSort::new(Keyer::new(Order::Coordinate, &header));
/// let (arena, mut entries) = (Arena::new(1 << 16).unwrap(), Vec::new());
/// sort.copy_batch(&arena, &batch, &mut entries)?;
/// let sealed = Arc::new(arena.seal());
/// let lists = vec![List::sort(entries, sealed.bytes(), sort.keyer(), &mut Vec::new())];
/// let (spill, keyer) = (Arc::new(Spill::new(&[])), Arc::clone(sort.keyer()));
/// let sources = Sources { spill, keyer, runs: Vec::new(), lists, sealed, charges: Vec::new() };
///
/// // Merge them.
/// let (mut merge, mut cutter) = (Merge::new(Arc::new(sources)), Cutter::default());
/// let mut partitions = Vec::new();
/// while let Some(range) = merge.next_range() {
///     partitions.extend(cutter.cut(range.order_records()?));
/// }
/// partitions.extend(cutter.take_rest());
///
/// let mut positions = Vec::new();
/// for partition in &partitions {
///     partition.gather(|_, raw| Ok(positions.push(RecordRef::new(raw).pos())))?;
/// }
/// assert_eq!(positions, [29, 59]); // 0-based
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Merge {
    sources: Arc<Sources>,
    tree: LoserTree<Key>,
    tails: Vec<Vec<u8>>,
    /// For each source, the block that contains the end of the last range.
    blocks: Vec<u32>,
    /// For each run, the frame that contains the end of the last range.
    frames: Vec<Arc<Frame>>,
    low: Option<Arc<MergeBorder>>,
    until: Option<MergeBorder>,
    ended: bool,
}

impl Merge {
    pub fn new(sources: Arc<Sources>) -> Self {
        let n = sources.len();
        let keys = (0..n).map(|source| sources.block_key(source, 1)).collect();
        let tails: Vec<Vec<u8>> = (0..n).map(|source| sources.block_tail(source, 1)).collect();
        let tree = LoserTree::with_order(keys, |a, b| sorts_before(&tails, a, b));
        let frames = (0..sources.runs.len()).map(|run| Arc::new(Frame::new(run, 0))).collect();
        let (blocks, ended) = (vec![0; n], sources.is_empty());
        Merge { tree, tails, blocks, frames, low: None, until: None, ended, sources }
    }

    /// Starts a merge at a border that [`super::ranges::divide_order`] returned for the same
    /// sources. All sources must be runs, because a job that is divided among processes keeps no
    /// reads in memory.
    pub fn start_after(sources: Arc<Sources>, start: &RangeStart) -> Self {
        let mut merge = Merge::new(sources);
        let n = merge.sources.len();
        let next = |source: usize| start.blocks[source] as usize + 1;
        let keys = (0..n).map(|source| merge.sources.block_key(source, next(source))).collect();
        merge.tails = (0..n).map(|source| merge.sources.block_tail(source, next(source))).collect();
        merge.tree = LoserTree::with_order(keys, |a, b| sorts_before(&merge.tails, a, b));
        let frame = |run: usize| Arc::new(Frame::new(run, start.blocks[run] as usize));
        merge.frames = (0..n).map(frame).collect();
        merge.blocks.clone_from(&start.blocks);
        merge.low = Some(Arc::new(start.border.clone()));
        merge
    }

    /// Ends the merge before `border`, which must be a border that a complete merge of the same
    /// sources passes. `None` means that the merge ends after the last record.
    #[must_use]
    pub fn end_before(self, border: Option<MergeBorder>) -> Self {
        Merge { until: border, ..self }
    }

    /// Returns whether all records before `border` are in ranges that were already returned.
    pub fn has_passed(&self, border: &MergeBorder) -> bool {
        self.low.as_ref().is_some_and(|low| !low.is_before(border))
    }

    /// Returns the next range, or `None` after the last one. Reads nothing from disk.
    pub fn next_range(&mut self) -> Option<Range> {
        if self.ended || self.until.as_ref().is_some_and(|until| self.has_passed(until)) {
            return None;
        }
        let before = self.blocks.clone();
        let mut frames: Vec<Arc<Frame>> = self.frames.clone();
        let high = self.pass_blocks(&mut frames).map(Arc::new);
        self.ended = high.is_none();
        let low = std::mem::replace(&mut self.low, high.clone());
        let blocks = before.into_iter().zip(self.blocks.iter().copied()).collect();
        Some(Range { sources: Arc::clone(&self.sources), low, high, blocks, frames })
    }

    /// Passes blocks of at least [`PARTITION`] bytes, and returns the border before the next block,
    /// or `None` if no block is left. Appends the frames that it enters to `frames`.
    fn pass_blocks(&mut self, frames: &mut Vec<Arc<Frame>>) -> Option<MergeBorder> {
        let mut bytes = 0;
        while let Some((key, source)) = self.tree.winner() {
            let passed = self.blocks[source] as usize;
            bytes += self.sources.block_bytes(source, passed);
            let (block, next) = (passed + 1, passed + 2);
            self.blocks[source] = block as u32;
            if let Some(frame) = self.frames.get_mut(source) {
                *frame = Arc::new(Frame::new(source, block));
                frames.push(Arc::clone(frame));
            }
            let tail = std::mem::replace(&mut self.tails[source], self.sources.block_tail(source, next));
            let (key_next, tails) = (self.sources.block_key(source, next), &self.tails);
            self.tree.replace_winner_by(key_next, |a, b| sorts_before(tails, a, b));
            if bytes >= PARTITION {
                return Some(MergeBorder { key, tail, source, block });
            }
        }
        None
    }
}

/// The sources of a merge: sorted runs on disk and sorted lists in memory, with everything needed
/// to read them. All ranges and partitions share the sources; the last one to be dropped frees
/// them.
///
/// Sources are numbered from 0 in input order, runs before lists.
pub struct Sources {
    pub spill: Arc<Spill>,
    pub keyer: Arc<Keyer>,
    pub runs: Vec<SpilledRun>,
    pub lists: Vec<List>,
    pub sealed: Arc<SealedArena>,
    /// Charges for the reads in memory and for the memory of the merge, held until the sources are
    /// dropped. (Each run holds the charge for its own index.)
    pub charges: Vec<Charge>,
}

/// A border in the merged order: the position before the first record of one block of one source.
///
/// All sources together have a total order (key, tail, source), so the border also has an exact
/// position in every other source. [`MergeBorder::follows_record`] compares a record with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MergeBorder {
    pub key: Key,
    pub tail: Vec<u8>,
    pub source: usize,
    pub block: usize,
}

/// The start of an output range that a separate process writes ([`super::ranges`]). It can be
/// stored in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RangeStart {
    pub border: MergeBorder,
    pub blocks: Vec<u32>,
    /// Total size of all records before the border, without their stamps, in bytes. Partitions are
    /// cut by this sum.
    pub bytes: u64,
}

impl MergeBorder {
    fn is_before(&self, other: &MergeBorder) -> bool {
        let order = self.key.cmp(&other.key).then_with(|| self.tail.cmp(&other.tail));
        order.then((self.source, self.block).cmp(&(other.source, other.block))).is_lt()
    }

    /// Returns whether a record is before the border. `source` is the source of the record and must
    /// not be the source of the border. `tail` is called only if the keys are equal and not
    /// decided.
    pub fn follows_record(&self, source: usize, key: Key, tail: impl FnOnce() -> Vec<u8>) -> bool {
        let mut order = key.cmp(&self.key);
        if order.is_eq() && !key.is_decided() {
            order = tail().cmp(&self.tail);
        }
        order.then(source.cmp(&self.source)).is_lt()
    }
}

impl Sources {
    /// Returns whether the records in memory were already sorted when they were read, both within
    /// each list and from one list to the next. Compares only keys, not their tails.
    pub fn were_sorted(&self) -> bool {
        let keys = |list: &List| Some((list.entries().first()?.key, list.entries().last()?.key));
        let ends: Vec<(Key, Key)> = self.lists.iter().filter_map(keys).collect();
        self.lists.iter().all(List::was_sorted) && ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// Returns whether no record in these sources sorts before an earlier record with the given key
    /// and tail. Used for presorted input, whose first reads are already in the output.
    pub fn all_follow_key(&self, key: Key, tail: &[u8]) -> bool {
        (0..self.len()).all(|source| match self.block_key(source, 0).cmp(&key) {
            Ordering::Equal if !key.is_decided() => self.block_tail(source, 0)[..] >= *tail,
            order => order.is_ge(),
        })
    }

    pub fn record_bytes(&self) -> u64 {
        let runs = self.runs.iter().map(SpilledRun::record_bytes);
        runs.chain(self.lists.iter().map(List::record_bytes)).sum()
    }

    pub fn len(&self) -> usize {
        self.runs.len() + self.lists.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn list(&self, source: usize) -> Option<&List> {
        self.lists.get(source.checked_sub(self.runs.len())?)
    }

    pub fn block_count(&self, source: usize) -> usize {
        self.list(source).map_or_else(|| self.runs[source].frames().len(), List::block_count)
    }

    /// Returns the size of the records in a block in bytes: without stamps for a list, with stamps
    /// for a run. The difference affects only the size of ranges.
    pub fn block_bytes(&self, source: usize, block: usize) -> u64 {
        match self.list(source) {
            Some(list) => list.block_bytes(block),
            None => u64::from(self.runs[source].frames()[block].raw),
        }
    }

    /// Returns the first key of a block, or [`Key::LAST`] if the source has no such block.
    pub fn block_key(&self, source: usize, block: usize) -> Key {
        let key = match self.list(source) {
            Some(list) => list.entries().get(list.block_start(block)).map(|entry| entry.key),
            None => self.runs[source].frames().get(block).map(|frame| frame.key),
        };
        key.unwrap_or(Key::LAST)
    }

    pub fn block_tail(&self, source: usize, block: usize) -> Vec<u8> {
        let tail = match self.list(source) {
            Some(list) => list
                .entries()
                .get(list.block_start(block))
                .filter(|entry| !entry.key.is_decided())
                .map(|entry| run::compute_tail(&self.keyer, self.sealed.bytes(), entry.place)),
            None => self.runs[source].frames().get(block).map(|frame| frame.tail.to_vec()),
        };
        tail.unwrap_or_default()
    }

    /// Counts the entries of `list` before `border`. The border must be inside block `block` of the
    /// list, because only this block is searched.
    pub fn count_entries_before(
        &self,
        list: &List,
        source: usize,
        block: usize,
        border: &MergeBorder,
    ) -> usize {
        if source == border.source {
            return list.block_start(border.block);
        }
        let start = list.block_start(block);
        let entries = &list.entries()[start..list.block_start(block + 1)];
        let tail = |place| run::compute_tail(&self.keyer, self.sealed.bytes(), place);
        start
            + entries
                .partition_point(|entry| border.follows_record(source, entry.key, || tail(entry.place)))
    }
}

/// Returns whether key `a` sorts before key `b`, for a [`LoserTree`]. Each key has the number of
/// its source; `tails` holds the tail of each source's current key.
pub fn sorts_before(tails: &[Vec<u8>], a: (Key, u32), b: (Key, u32)) -> bool {
    let mut order = a.0.cmp(&b.0);
    if order.is_eq() && !a.0.is_decided() && a.0 != Key::LAST {
        order = tails[a.1 as usize].cmp(&tails[b.1 as usize]);
    }
    order.then(a.1.cmp(&b.1)).is_lt()
}

pub fn strip_stamp_bytes(len: usize) -> u64 {
    len.saturating_sub(STAMP_BYTES) as u64
}

/// The records between two borders of a merge, not yet in order. Ranges are independent, so any
/// thread can put a range in order.
pub struct Range {
    pub(super) sources: Arc<Sources>,
    pub(super) low: Option<Arc<MergeBorder>>,
    pub(super) high: Option<Arc<MergeBorder>>,
    /// For each source, the block that contains the lower border and the block that contains the
    /// upper border.
    pub(super) blocks: Vec<(u32, u32)>,
    /// For each run, in order, the frame that contains the lower border; then the frames of any run
    /// that the merge entered after it.
    pub(super) frames: Vec<Arc<Frame>>,
}

/// The records of a range in their final order, as references to the arena and to frames.
/// [`super::Cutter`] cuts it into partitions.
pub struct OrderedRange {
    pub(super) sources: Arc<Sources>,
    /// For each record, its place in the arena. If the bit [`SPILLED`] is set, the number of the
    /// spool whose next record it is.
    pub(super) picks: Vec<u64>,
    /// For each record, the size of the range in bytes up to the end of this record.
    pub(super) ends: Vec<u64>,
    pub(super) spools: Vec<Spool>,
}

/// Marks a pick that is read from a spool; the lower bits are the spool number.
pub(super) const SPILLED: u64 = 1 << 63;

pub(super) struct Spool {
    pub(super) run: usize,
    pub(super) frames: Vec<Arc<Frame>>,
    pub(super) offset: usize,
}

impl Range {
    /// Puts the records in order. Reads frames from disk unless a neighbouring range has already
    /// read them.
    ///
    /// # Errors
    ///
    /// A frame cannot be read or is damaged.
    pub fn order_records(self) -> Result<OrderedRange> {
        let Range { sources, low, high, blocks, frames } = self;
        let (low, high) = (low.as_deref(), high.as_deref());
        let mut spools = group_frames_by_run(&sources, high, &frames);
        let mut merge = RangeMerge::default();
        for (number, spool) in spools.iter_mut().enumerate() {
            let border = high.filter(|high| high.source != spool.run);
            let walk = RunCursor {
                sources: &sources,
                run: spool.run,
                frames: &spool.frames,
                column: None,
                border,
            };
            merge.enter_run(walk, number, low, &mut spool.offset)?;
        }
        for (source, &(first, last)) in blocks.iter().enumerate().skip(sources.runs.len()) {
            let Some(list) = sources.list(source) else { continue };
            let (first, last) = (first as usize, last as usize);
            let start = low.map_or(0, |low| sources.count_entries_before(list, source, first, low));
            let end = high.map_or(list.entries().len(), |high| {
                sources.count_entries_before(list, source, last, high)
            });
            merge.enter_list(&sources, &list.entries()[start..end]);
        }
        let (picks, ends) = merge.merge_sources(&sources)?;
        Ok(OrderedRange { sources, picks, ends, spools })
    }
}

/// Groups the frames of a range by run. Omits the frames after the upper border from the run that
/// contains it.
fn group_frames_by_run(
    sources: &Sources,
    high: Option<&MergeBorder>,
    frames: &[Arc<Frame>],
) -> Vec<Spool> {
    let (first, later) = frames.split_at(sources.runs.len());
    let mut spools: Vec<Spool> = Vec::with_capacity(first.len());
    for frame in first {
        spools.push(Spool { run: frame.run, frames: vec![Arc::clone(frame)], offset: 0 });
    }
    for frame in later {
        spools[frame.run].frames.push(Arc::clone(frame));
    }
    for spool in &mut spools {
        let end = high.filter(|high| high.source == spool.run).map_or(usize::MAX, |high| high.block);
        spool.frames.retain(|frame| frame.number < end);
    }
    spools
}

struct RunCursor<'a> {
    sources: &'a Sources,
    run: usize,
    frames: &'a [Arc<Frame>],
    column: Option<KeyColumn<'a>>,
    /// The upper border. `None` if it is between two frames of this run: the frames after it are
    /// not in `frames`.
    border: Option<&'a MergeBorder>,
}

impl<'a> RunCursor<'a> {
    fn next_row(&mut self) -> Result<Option<KeyRow<'a>>> {
        loop {
            if let Some(row) = self.column.as_mut().map(KeyColumn::next_row).transpose()?.flatten() {
                let (key, tail, _) = row;
                let inside =
                    self.border.is_none_or(|high| high.follows_record(self.run, key, || tail.to_vec()));
                return Ok(inside.then_some(row));
            }
            let Some((frame, rest)) = self.frames.split_first() else { return Ok(None) };
            self.frames = rest;
            self.column =
                Some(KeyColumn::new(frame.load_content(&self.sources.spill, &self.sources.runs)?));
        }
    }
}

enum SourceCursor<'a> {
    List { entries: &'a [Entry] },
    Run { walk: RunCursor<'a>, spool: u64, len: usize },
}

/// The merge of one range: the cursor of each source, and the key and tail of its next record.
#[derive(Default)]
struct RangeMerge<'a> {
    cursors: Vec<SourceCursor<'a>>,
    keys: Vec<Key>,
    tails: Vec<Vec<u8>>,
}

impl<'a> RangeMerge<'a> {
    /// Adds a run, starting at its first record that is not before the lower border. Adds the arena
    /// bytes of the skipped records to `skipped`.
    fn enter_run(
        &mut self,
        mut walk: RunCursor<'a>,
        spool: usize,
        low: Option<&MergeBorder>,
        skipped: &mut usize,
    ) -> Result<()> {
        let low = low.filter(|low| low.source != walk.run);
        while let Some((key, tail, len)) = walk.next_row()? {
            if low.is_some_and(|low| low.follows_record(walk.run, key, || tail.to_vec())) {
                *skipped += len;
                continue;
            }
            self.cursors.push(SourceCursor::Run { walk, spool: SPILLED | spool as u64, len });
            self.keys.push(key);
            self.tails.push(tail.to_vec());
            return Ok(());
        }
        Ok(())
    }

    fn enter_list(&mut self, sources: &Sources, entries: &'a [Entry]) {
        let Some(first) = entries.first() else { return };
        self.cursors.push(SourceCursor::List { entries });
        self.keys.push(first.key);
        self.tails.push(tail_of_entry(sources, first));
    }

    /// Merges all sources. Returns the picks (see [`OrderedRange`]) and, for each pick, the size of
    /// the range in bytes up to its end.
    fn merge_sources(mut self, sources: &Sources) -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut picks, mut ends) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
        let mut tree = LoserTree::with_order(std::mem::take(&mut self.keys), |a, b| {
            sorts_before(&self.tails, a, b)
        });
        let (arena, mut bytes) = (sources.sealed.bytes(), 0);
        while let Some((_, winner)) = tree.winner() {
            let tail = &mut self.tails[winner];
            let next = match &mut self.cursors[winner] {
                SourceCursor::List { entries } => {
                    let Some((first, rest)) = entries.split_first() else { break };
                    picks.push(first.place.0);
                    bytes += run::arena_record_bytes(arena, first.place) as u64;
                    *entries = rest;
                    rest.first().map_or(Key::LAST, |next| {
                        if !next.key.is_decided() {
                            *tail = tail_of_entry(sources, next);
                        }
                        next.key
                    })
                }
                SourceCursor::Run { walk, spool, len } => {
                    picks.push(*spool);
                    bytes += strip_stamp_bytes(*len);
                    match walk.next_row()? {
                        Some((key, rest, next)) => {
                            *len = next;
                            tail.clear();
                            tail.extend_from_slice(rest);
                            key
                        }
                        None => Key::LAST,
                    }
                }
            };
            ends.push(bytes);
            tree.replace_winner_by(next, |a, b| sorts_before(&self.tails, a, b));
        }
        Ok((picks, ends))
    }
}

fn tail_of_entry(sources: &Sources, entry: &Entry) -> Vec<u8> {
    if entry.key.is_decided() {
        return Vec::new();
    }
    run::compute_tail(&sources.keyer, sources.sealed.bytes(), entry.place)
}

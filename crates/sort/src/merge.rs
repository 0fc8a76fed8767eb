//! Merging: it splits the order of all records into ranges, serially, and orders the records of each, in parallel.
//!
//! [`Merge::next_range`] visits blocks, not records: a tournament of the first keys of each source's next
//! block selects the next block. After blocks of about [`PARTITION`] bytes, the range ends before the first
//! record of the following block. The positions of this border in the other sources are found in parallel,
//! when the range is ordered ([`Range`]). Only then the exact bytes of a range are known. So ranges
//! depend on runs and lists; partitions, on which the output depends, are cut from them afterwards
//! ([`super::partition`]).
//!
//! Its sources are sorted runs on disk, and sorted lists in memory, numbered oldest first, runs before lists, so that equal records keep input order when the
//! source with the lower number goes first. Each source is a sequence of blocks (frames of a run, a few
//! entries of a list), whose first keys and bytes are known without reading them.
//!
//! A [`Range`] lies between two borders. Ordering its records uses keys and lengths only: entries of lists, columns of
//! frames. Any number of ranges can be ordered at the same time.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_format::bgzf::BLOCK_RECORDS;
use readmill_format::spill::Spill;
use readmill_record::{Charge, Result, Sealed};
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::frame::{Frame, KeyColumn, KeyRow, SpilledRun};
use super::key::{Key, Keyer};
use super::run::{self, List, STAMP_BYTES};
use super::tournament::LoserTree;

/// Bytes of BAM records after which a partition is cut: sixteen blocks, about one MiB. (Not four: a partition
/// in work takes two to three times its size, and 8 threads must fit into 160 MiB.)
pub const PARTITION: u64 = 16 * BLOCK_RECORDS as u64;

/// Splits the order of all records into ranges.
pub struct Merge {
    sources: Arc<Sources>,
    /// A tournament of the next blocks of all sources.
    tree: LoserTree<Key>,
    /// The tail of each block's first key.
    tails: Vec<Vec<u8>>,
    /// The block of each source that contains the border after the last range.
    blocks: Vec<u32>,
    /// The frame of each run that contains it.
    frames: Vec<Arc<Frame>>,
    low: Option<Arc<Border>>,
    /// Where it ends; `None` at the last record.
    until: Option<Border>,
    ended: bool,
}

impl Merge {
    /// Merges all of `sources`.
    pub fn new(sources: Arc<Sources>) -> Self {
        let n = sources.len();
        let keys = (0..n).map(|source| sources.block_key(source, 1)).collect();
        let tails: Vec<Vec<u8>> = (0..n).map(|source| sources.block_tail(source, 1)).collect();
        let tree = LoserTree::with(keys, |a, b| wins(&tails, a, b));
        let frames = (0..sources.runs.len()).map(|run| Arc::new(Frame::new(run, 0))).collect();
        let (blocks, ended) = (vec![0; n], sources.is_empty());
        Merge { tree, tails, blocks, frames, low: None, until: None, ended, sources }
    }

    /// Merges what comes after a border of these sources, which are runs.
    pub fn after(sources: Arc<Sources>, start: &RangeStart) -> Self {
        let mut merge = Merge::new(sources);
        let n = merge.sources.len();
        let next = |source: usize| start.blocks[source] as usize + 1;
        let keys = (0..n).map(|source| merge.sources.block_key(source, next(source))).collect();
        merge.tails = (0..n).map(|source| merge.sources.block_tail(source, next(source))).collect();
        merge.tree = LoserTree::with(keys, |a, b| wins(&merge.tails, a, b));
        let frame = |run: usize| Arc::new(Frame::new(run, start.blocks[run] as usize));
        merge.frames = (0..n).map(frame).collect();
        merge.blocks.clone_from(&start.blocks);
        merge.low = Some(Arc::new(start.border.clone()));
        merge
    }

    /// Ends before a border that a merge of these sources has from its beginning.
    #[must_use]
    pub fn until(self, border: Option<Border>) -> Self {
        Merge { until: border, ..self }
    }

    /// Whether everything before this border is in ranges that were returned.
    pub fn has_passed(&self, border: &Border) -> bool {
        self.low.as_ref().is_some_and(|low| !low.is_before(border))
    }

    /// Returns the next range; `None` at the end.
    pub fn next_range(&mut self) -> Option<Range> {
        if self.ended || self.until.as_ref().is_some_and(|until| self.has_passed(until)) {
            return None;
        }
        let before = self.blocks.clone();
        let mut frames: Vec<Arc<Frame>> = self.frames.clone();
        let high = self.walk(&mut frames).map(Arc::new);
        self.ended = high.is_none();
        let low = std::mem::replace(&mut self.low, high.clone());
        let blocks = before.into_iter().zip(self.blocks.iter().copied()).collect();
        Some(Range { sources: Arc::clone(&self.sources), low, high, blocks, frames })
    }

    /// Passes blocks until they have enough bytes; returns the border before the next block, `None` at the
    /// end. New frames are appended to `frames`.
    fn walk(&mut self, frames: &mut Vec<Arc<Frame>>) -> Option<Border> {
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
            self.tree.replace_with(key_next, |a, b| wins(tails, a, b));
            if bytes >= PARTITION {
                return Some(Border { key, tail, source, block });
            }
        }
        None
    }
}

/// All sources of a merge.
pub struct Sources {
    /// The spill with the runs.
    pub spill: Arc<Spill>,
    /// The keyer, which makes the tails of keys.
    pub keyer: Arc<Keyer>,
    /// Runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// Lists in memory, oldest first.
    pub lists: Vec<List>,
    /// The arenas of the lists' entries.
    pub sealed: Arc<Sealed>,
    /// The charges for the reads in memory and for the memory of the merge. (Each run holds the charge for its own index.)
    pub charges: Vec<Charge>,
}

/// A border in the order of all records: before the first record of a block of one source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Border {
    /// That record's key.
    pub key: Key,
    /// The key's tail.
    pub tail: Vec<u8>,
    /// Its source.
    pub source: usize,
    /// Its block.
    pub block: usize,
}

/// Where a range starts that separate runs of the program write ([`super::ranges`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RangeStart {
    /// The border before its first record.
    pub border: Border,
    /// The frame of each run that contains the border.
    pub blocks: Vec<u32>,
    /// Bytes of all records before it, without their stamps.
    pub bytes: u64,
}

impl Border {
    /// Whether this border comes before another one of the same sources.
    fn is_before(&self, other: &Border) -> bool {
        let order = self.key.cmp(&other.key).then_with(|| self.tail.cmp(&other.tail));
        order.then((self.source, self.block).cmp(&(other.source, other.block))).is_lt()
    }

    /// Whether a record of another source comes before the border.
    pub fn is_behind(&self, source: usize, key: Key, tail: impl FnOnce() -> Vec<u8>) -> bool {
        let mut order = key.cmp(&self.key);
        if order.is_eq() && !key.is_decided() {
            order = tail().cmp(&self.tail);
        }
        order.then(source.cmp(&self.source)).is_lt()
    }
}

impl Sources {
    /// Whether all lists were already in order before the sort, and each follows the list before.
    pub fn were_sorted(&self) -> bool {
        let keys = |list: &List| Some((list.entries().first()?.key, list.entries().last()?.key));
        let ends: Vec<(Key, Key)> = self.lists.iter().filter_map(keys).collect();
        self.lists.iter().all(List::was_sorted) && ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// Whether no record sorts before one with this key, which was read before all of them.
    pub fn follow(&self, key: Key, tail: &[u8]) -> bool {
        (0..self.len()).all(|source| match self.block_key(source, 0).cmp(&key) {
            Ordering::Equal if !key.is_decided() => self.block_tail(source, 0)[..] >= *tail,
            order => order.is_ge(),
        })
    }

    /// Bytes of all records.
    pub fn record_bytes(&self) -> u64 {
        let runs = self.runs.iter().map(SpilledRun::record_bytes);
        runs.chain(self.lists.iter().map(List::record_bytes)).sum()
    }

    /// Returns the number of sources.
    pub fn len(&self) -> usize {
        self.runs.len() + self.lists.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the source with the number `source` if it is a list; `None` if it is a run.
    pub fn list(&self, source: usize) -> Option<&List> {
        self.lists.get(source.checked_sub(self.runs.len())?)
    }

    /// Number of blocks of a source.
    pub fn blocks(&self, source: usize) -> usize {
        self.list(source).map_or_else(|| self.runs[source].frames().len(), List::blocks)
    }

    /// Returns the bytes of the records of a block, exactly or approximately.
    pub fn block_bytes(&self, source: usize, block: usize) -> u64 {
        match self.list(source) {
            Some(list) => list.block_bytes(block),
            None => u64::from(self.runs[source].frames()[block].raw),
        }
    }

    /// Returns the first key of a block; after the last block, [`Key::LAST`].
    pub fn block_key(&self, source: usize, block: usize) -> Key {
        let key = match self.list(source) {
            Some(list) => list.entries().get(list.block_start(block)).map(|entry| entry.key),
            None => self.runs[source].frames().get(block).map(|frame| frame.key),
        };
        key.unwrap_or(Key::LAST)
    }

    /// Returns the tail of a block's first key; empty if the key is decided.
    pub fn block_tail(&self, source: usize, block: usize) -> Vec<u8> {
        let tail = match self.list(source) {
            Some(list) => list
                .entries()
                .get(list.block_start(block))
                .filter(|entry| !entry.key.is_decided())
                .map(|entry| run::tail(&self.keyer, self.sealed.bytes(), entry.place)),
            None => self.runs[source].frames().get(block).map(|frame| frame.tail.to_vec()),
        };
        tail.unwrap_or_default()
    }

    /// Returns the number of entries of list `source` before the border, which lies in `block`.
    pub fn cut(&self, list: &List, source: usize, block: usize, border: &Border) -> usize {
        if source == border.source {
            return list.block_start(border.block);
        }
        let start = list.block_start(block);
        let entries = &list.entries()[start..list.block_start(block + 1)];
        let tail = |place| run::tail(&self.keyer, self.sealed.bytes(), place);
        start
            + entries.partition_point(|entry| border.is_behind(source, entry.key, || tail(entry.place)))
    }
}

/// Whether key `a` of a source sorts before key `b` of another, for a tournament. `tails` has the tail of
/// each source's key.
pub fn wins(tails: &[Vec<u8>], a: (Key, u32), b: (Key, u32)) -> bool {
    let mut order = a.0.cmp(&b.0);
    if order.is_eq() && !a.0.is_decided() && a.0 != Key::LAST {
        order = tails[a.1 as usize].cmp(&tails[b.1 as usize]);
    }
    order.then(a.1.cmp(&b.1)).is_lt()
}

/// Returns the bytes of the record in an arena record of `len` bytes.
pub fn record_bytes(len: usize) -> u64 {
    len.saturating_sub(STAMP_BYTES) as u64
}

/// Records between two borders, not yet in order.
pub struct Range {
    pub(super) sources: Arc<Sources>,
    /// The lower border; `None` at the start of all records.
    pub(super) low: Option<Arc<Border>>,
    /// The upper border; `None` at the end of all records.
    pub(super) high: Option<Arc<Border>>,
    /// For each source the blocks that contain the borders.
    pub(super) blocks: Vec<(u32, u32)>,
    /// For each run the frame that contains the lower border, then those after it.
    pub(super) frames: Vec<Arc<Frame>>,
}

/// Records in their final order.
pub struct Ordered {
    /// The sources of the records.
    pub(super) sources: Arc<Sources>,
    /// For each record its place in the arena, or the spool whose next record it is.
    pub(super) picks: Vec<u64>,
    /// For each record the cumulative bytes of the range, up to its end.
    pub(super) ends: Vec<u64>,
    /// Records on disk, run by run.
    pub(super) spools: Vec<Spool>,
}

/// Marks a pick from a spool; the lower bits are the spool's number.
pub(super) const SPILLED: u64 = 1 << 63;

/// Frames of a run to be read, from an offset in the first.
pub(super) struct Spool {
    pub(super) run: usize,
    pub(super) frames: Vec<Arc<Frame>>,
    pub(super) offset: usize,
}

impl Range {
    /// Puts the records in order.
    pub fn order(self) -> Result<Ordered> {
        let Range { sources, low, high, blocks, frames } = self;
        let (low, high) = (low.as_deref(), high.as_deref());
        let mut spools = spools(&sources, high, &frames);
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
            let start = low.map_or(0, |low| sources.cut(list, source, first, low));
            let end = high.map_or(list.entries().len(), |high| sources.cut(list, source, last, high));
            merge.enter_list(&sources, &list.entries()[start..end]);
        }
        let (picks, ends) = merge.play(&sources)?;
        Ok(Ordered { sources, picks, ends, spools })
    }
}

/// Returns the frames of each run that the range overlaps.
fn spools(sources: &Sources, high: Option<&Border>, frames: &[Arc<Frame>]) -> Vec<Spool> {
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

/// A cursor over a run's records up to the upper border.
struct RunCursor<'a> {
    sources: &'a Sources,
    run: usize,
    frames: &'a [Arc<Frame>],
    column: Option<KeyColumn<'a>>,
    /// The upper border, unless it is between two frames of this run.
    border: Option<&'a Border>,
}

impl<'a> RunCursor<'a> {
    fn next(&mut self) -> Result<Option<KeyRow<'a>>> {
        loop {
            if let Some(row) = self.column.as_mut().map(KeyColumn::next_row).transpose()?.flatten() {
                let (key, tail, _) = row;
                let inside =
                    self.border.is_none_or(|high| high.is_behind(self.run, key, || tail.to_vec()));
                return Ok(inside.then_some(row));
            }
            let Some((frame, rest)) = self.frames.split_first() else { return Ok(None) };
            self.frames = rest;
            self.column = Some(KeyColumn::new(frame.load(&self.sources.spill, &self.sources.runs)?));
        }
    }
}

/// The remaining records of a source in the range, starting with its next one.
enum SourceCursor<'a> {
    List { entries: &'a [Entry] },
    Run { walk: RunCursor<'a>, spool: u64, len: usize },
}

/// The cursors of all sources, with the key of each one's next record.
#[derive(Default)]
struct RangeMerge<'a> {
    cursors: Vec<SourceCursor<'a>>,
    keys: Vec<Key>,
    tails: Vec<Vec<u8>>,
}

impl<'a> RangeMerge<'a> {
    /// Adds a run from the lower border on; `skipped` becomes the bytes before it.
    fn enter_run(
        &mut self,
        mut walk: RunCursor<'a>,
        spool: usize,
        low: Option<&Border>,
        skipped: &mut usize,
    ) -> Result<()> {
        let low = low.filter(|low| low.source != walk.run);
        while let Some((key, tail, len)) = walk.next()? {
            if low.is_some_and(|low| low.is_behind(walk.run, key, || tail.to_vec())) {
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
        self.tails.push(rest_of_key(sources, first));
    }

    /// Merges all sources; returns the picks, and the cumulative bytes up to the end of each.
    fn play(mut self, sources: &Sources) -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut picks, mut ends) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
        let mut tree = LoserTree::with(std::mem::take(&mut self.keys), |a, b| wins(&self.tails, a, b));
        let (arena, mut bytes) = (sources.sealed.bytes(), 0);
        while let Some((_, winner)) = tree.winner() {
            let tail = &mut self.tails[winner];
            let next = match &mut self.cursors[winner] {
                SourceCursor::List { entries } => {
                    let Some((first, rest)) = entries.split_first() else { break };
                    picks.push(first.place.0);
                    bytes += run::record_bytes(arena, first.place) as u64;
                    *entries = rest;
                    rest.first().map_or(Key::LAST, |next| {
                        if !next.key.is_decided() {
                            *tail = rest_of_key(sources, next);
                        }
                        next.key
                    })
                }
                SourceCursor::Run { walk, spool, len } => {
                    picks.push(*spool);
                    bytes += record_bytes(*len);
                    match walk.next()? {
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
            tree.replace_with(next, |a, b| wins(&self.tails, a, b));
        }
        Ok((picks, ends))
    }
}

fn rest_of_key(sources: &Sources, entry: &Entry) -> Vec<u8> {
    if entry.key.is_decided() {
        return Vec::new();
    }
    run::tail(&sources.keyer, sources.sealed.bytes(), entry.place)
}

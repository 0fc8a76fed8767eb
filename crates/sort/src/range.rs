//! Orders the records of a range, which lies between two borders.
//!
//! It uses keys and lengths only: entries of lists, columns of frames. Any number of ranges can be ordered at
//! the same time.

use std::sync::Arc;

use readmill_record::Result;

use super::entry::Entry;
use super::frame::{Frame, KeyColumn, KeyRow};
use super::key::Key;
use super::run;
use super::sources::{Border, Sources, record_bytes, wins};
use super::tournament::LoserTree;

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
    run: usize,
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

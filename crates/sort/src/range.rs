//! A range of the order, between two borders: which records it has, in which order.
//!
//! Touches keys and lengths only: entries of lists, columns of frames. Any number of ranges are ordered at
//! the same time.

use std::sync::Arc;

use readmill_record::Result;

use super::entry::Entry;
use super::frame::{Column, Frame, Row};
use super::key::Key;
use super::run;
use super::sources::{Border, Sources, record_bytes, wins};
use super::tournament::LoserTree;

/// Records between two borders, not yet in order.
pub struct Range {
    pub(super) sources: Arc<Sources>,
    /// Where it starts; nothing at the start of everything.
    pub(super) low: Option<Arc<Border>>,
    /// Where it ends; nothing at the end of everything.
    pub(super) high: Option<Arc<Border>>,
    /// For each source the blocks in which the borders lie.
    pub(super) blocks: Vec<(u32, u32)>,
    /// For each run the frame in which the lower border lies, then those after it.
    pub(super) frames: Vec<Arc<Frame>>,
}

/// Records in their final order.
pub struct Ordered {
    /// What they are part of.
    pub(super) sources: Arc<Sources>,
    /// For each record its place in the arena, or which spool it is next in.
    pub(super) picks: Vec<u64>,
    /// For each record the bytes of all records of the range up to its end.
    pub(super) ends: Vec<u64>,
    /// Records on disk, run by run.
    pub(super) spools: Vec<Spool>,
}

/// Marks a pick from a spool; below it stands the spool's number.
pub(super) const SPILLED: u64 = 1 << 63;

/// Frames of a run to be read through, from an offset in the first.
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
        let mut field = Field::default();
        for (number, spool) in spools.iter_mut().enumerate() {
            let border = high.filter(|high| high.source != spool.run);
            let walk =
                Walk { sources: &sources, run: spool.run, frames: &spool.frames, column: None, border };
            field.enter_run(walk, number, low, &mut spool.offset)?;
        }
        for (source, &(first, last)) in blocks.iter().enumerate().skip(sources.runs.len()) {
            let Some(list) = sources.list(source) else { continue };
            let (first, last) = (first as usize, last as usize);
            let start = low.map_or(0, |low| sources.cut(list, source, first, low));
            let end = high.map_or(list.entries().len(), |high| sources.cut(list, source, last, high));
            field.enter_list(&sources, &list.entries()[start..end]);
        }
        let (picks, ends) = field.play(&sources)?;
        Ok(Ordered { sources, picks, ends, spools })
    }
}

/// The frames of each run that the range reaches into.
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

/// A run's records up to the upper border.
struct Walk<'a> {
    sources: &'a Sources,
    run: usize,
    frames: &'a [Arc<Frame>],
    column: Option<Column<'a>>,
    /// The upper border, unless it lies between two frames of this run.
    border: Option<&'a Border>,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Result<Option<Row<'a>>> {
        loop {
            if let Some(row) = self.column.as_mut().map(Column::next_row).transpose()?.flatten() {
                let (key, tail, _) = row;
                let inside =
                    self.border.is_none_or(|high| high.is_behind(self.run, key, || tail.to_vec()));
                return Ok(inside.then_some(row));
            }
            let Some((frame, rest)) = self.frames.split_first() else { return Ok(None) };
            self.frames = rest;
            self.column = Some(Column::new(frame.load(&self.sources.spill, &self.sources.runs)?));
        }
    }
}

/// What is left of a source in the range, its next record included.
enum Head<'a> {
    List { entries: &'a [Entry] },
    Run { walk: Walk<'a>, spool: u64, len: usize },
}

/// All heads, with the key of each one's next record.
#[derive(Default)]
struct Field<'a> {
    heads: Vec<Head<'a>>,
    keys: Vec<Key>,
    tails: Vec<Vec<u8>>,
}

impl<'a> Field<'a> {
    /// Enters a run's records from the lower border on; `skipped` becomes the bytes before it.
    fn enter_run(
        &mut self,
        mut walk: Walk<'a>,
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
            self.heads.push(Head::Run { walk, spool: SPILLED | spool as u64, len });
            self.keys.push(key);
            self.tails.push(tail.to_vec());
            return Ok(());
        }
        Ok(())
    }

    fn enter_list(&mut self, sources: &Sources, entries: &'a [Entry]) {
        let Some(first) = entries.first() else { return };
        self.heads.push(Head::List { entries });
        self.keys.push(first.key);
        self.tails.push(rest_of_key(sources, first));
    }

    /// Plays the tournament to its end: picks, and the bytes up to the end of each.
    fn play(mut self, sources: &Sources) -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut picks, mut ends) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
        let mut tree = LoserTree::with(std::mem::take(&mut self.keys), |a, b| wins(&self.tails, a, b));
        let (arena, mut bytes) = (sources.sealed.bytes(), 0);
        while let Some((_, winner)) = tree.winner() {
            let tail = &mut self.tails[winner];
            let next = match &mut self.heads[winner] {
                Head::List { entries } => {
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
                Head::Run { walk, spool, len } => {
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

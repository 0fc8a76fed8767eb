//! Pieces of several files become runs of one depth, in the order of positions.
//!
//! # Algorithm
//! 1. The contig is the first one that any file has a piece of; that is known once each file has a piece, or has ended.
//! 2. The changes of each file's depth on the contig are kept in order. No later read of a file changes the depth before the
//!    start of its last read; the least of these starts is the limit.
//! 3. Changes before the limit are applied together, position by position. Between two of them the depths are one run.
//! 4. If no file has more of the contig, it ends, and the next one begins.

use std::collections::VecDeque;

use readmill_record::Result;

use crate::depth::piece::{ContigPart, ContigTally, DepthPiece, PositionQuality, unsorted};
use crate::join;
use crate::mates::{Block, Event};

/// Takes runs of one depth, in order.
pub trait DepthSink {
    /// A contig without reads that count.
    fn pass(&mut self, contig: u32) -> Result<()>;

    /// A contig begins.
    fn begin(&mut self, contig: u32) -> Result<()>;

    /// The depths in each file from `start` to `end`, where a read extends over all of it: 0-based, half-open.
    fn run(&mut self, start: u32, end: u32, depths: &[u32]) -> Result<()>;

    /// The contig ends.
    fn end(&mut self) -> Result<()>;
}

/// Takes sums over reads, before the runs in which these reads are.
pub trait TallySink: DepthSink {
    /// Sums over reads of a contig.
    fn tally(&mut self, contig: u32, tally: ContigTally) -> Result<()>;

    /// Qualities at positions, in their order.
    fn qualities(&mut self, qualities: Vec<PositionQuality>) -> Result<()>;

    /// Places of the next reads of a file, on the contig that is open.
    fn reads(&mut self, _file: usize, _reads: Vec<Block>) -> Result<()> {
        Ok(())
    }
}

/// Merges the pieces of files.
pub struct DepthMerge {
    files: Vec<FileState>,
    /// How many reads extend over a position, in all files.
    cover: Column,
    contigs: u32,
    /// The contig that has begun and not ended.
    open: Option<u32>,
    /// The first contig that was neither begun nor passed.
    next: u32,
    /// Where the run begins.
    from: u32,
    depths: Vec<u32>,
    merged: Vec<Event>,
}

/// Changes in order, and the sum of those before them.
#[derive(Default)]
struct Column {
    changes: Vec<Event>,
    at: usize,
    sum: i32,
}

#[derive(Default)]
struct FileState {
    column: Column,
    /// Pieces that wait for their contig.
    waiting: VecDeque<ContigPart>,
    /// The contig and position of the last read.
    last: Option<(u32, u32)>,
    has_ended: bool,
}

impl Column {
    /// Adds changes that are in order.
    fn add(&mut self, changes: impl Iterator<Item = Event>, merged: &mut Vec<Event>) {
        join::merge(&self.changes, changes, merged);
        std::mem::swap(&mut self.changes, merged);
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        self.changes.get(self.at).map_or(u32::MAX, |change| change.0)
    }

    /// Applies the change at this position, if there is one.
    #[inline(always)]
    fn apply(&mut self, position: u32) -> bool {
        let Some(&(_, more)) = self.changes.get(self.at).filter(|change| change.0 == position) else {
            return false;
        };
        self.at += 1;
        self.sum += more;
        true
    }

    fn forget_applied(&mut self) {
        self.changes.drain(..self.at);
        self.at = 0;
    }
}

impl DepthMerge {
    /// Merges the pieces of so many files, which have so many contigs.
    pub fn new(files: usize, contigs: u32) -> Self {
        DepthMerge {
            files: (0..files).map(|_| FileState::default()).collect(),
            cover: Column::default(),
            contigs,
            open: None,
            next: 0,
            from: 0,
            depths: vec![0; files],
            merged: Vec::new(),
        }
    }

    /// Adds the next piece of a file.
    ///
    /// # Errors
    /// Its reads lie before those of the piece ahead of it.
    pub fn add(&mut self, file: usize, piece: DepthPiece, sink: &mut impl TallySink) -> Result<()> {
        let state = &mut self.files[file];
        for (contig, tally) in piece.tallies {
            sink.tally(contig, tally)?;
        }
        for part in piece.parts {
            if state.last.is_some_and(|last| (part.contig, part.first) < last) {
                return Err(unsorted());
            }
            state.last = Some((part.contig, part.last));
            state.waiting.push_back(part);
        }
        self.advance(sink)
    }

    /// Ends a file; once all have ended, passes the last contigs.
    pub fn end(&mut self, file: usize, sink: &mut impl TallySink) -> Result<()> {
        self.files[file].has_ended = true;
        self.advance(sink)?;
        if self.files.iter().all(|file| file.has_ended) {
            self.pass_to(self.contigs, sink)?;
        }
        Ok(())
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        let events = |column: &Column| column.changes.capacity() * size_of::<Event>();
        let file = |file: &FileState| {
            events(&file.column) as u64 + file.waiting.iter().map(ContigPart::heap_bytes).sum::<u64>()
        };
        let own = events(&self.cover) + self.merged.capacity() * size_of::<Event>();
        own as u64 + self.files.iter().map(file).sum::<u64>()
    }

    /// The most bytes in use at any time while the next piece of a file is added.
    pub fn most_bytes(&self, file: usize, piece: &DepthPiece) -> u64 {
        let state = &self.files[file];
        let (mut events, mut bytes) = (state.column.changes.len() + self.cover.changes.len(), 0);
        for part in state.waiting.iter().chain(&piece.parts) {
            events += part.events.len() + 2 * part.spans.len();
            bytes += part.heap_bytes();
        }
        // Lists double, and are copied as they grow: the column's, the cover's, and the merged one.
        self.heap_bytes() + bytes + (3 * 3 * events * size_of::<Event>()) as u64
    }

    fn advance(&mut self, sink: &mut impl TallySink) -> Result<()> {
        loop {
            let contig = match self.open {
                Some(contig) => contig,
                None => {
                    let Some(contig) = self.first_waiting() else { return Ok(()) };
                    self.pass_to(contig, sink)?;
                    self.next = contig + 1;
                    sink.begin(contig)?;
                    (self.open, self.from) = (Some(contig), 0);
                    contig
                }
            };
            let limit = self.take(contig, sink)?;
            self.apply_before(limit, sink)?;
            if limit < u32::MAX {
                return Ok(());
            }
            sink.end()?;
            self.open = None;
        }
    }

    /// The first contig of the pieces that wait; none where one may still come, or where there are none.
    fn first_waiting(&self) -> Option<u32> {
        let mut first: Option<u32> = None;
        for file in &self.files {
            match file.waiting.front() {
                Some(part) => first = Some(first.map_or(part.contig, |first| first.min(part.contig))),
                None if file.has_ended => {}
                None => return None,
            }
        }
        first
    }

    /// Takes the pieces of the contig that wait; returns the position before which no read changes the depth any more.
    fn take(&mut self, contig: u32, sink: &mut impl TallySink) -> Result<u32> {
        let mut limit = u32::MAX;
        for (number, file) in self.files.iter_mut().enumerate() {
            while let Some(part) = file.waiting.pop_front_if(|part| part.contig == contig) {
                let mut at = part.first;
                let changes = part.events.iter().map(|&(further, more)| {
                    at += further;
                    (at, more)
                });
                file.column.add(changes, &mut self.merged);
                let spans = part.spans.iter().flat_map(|&(start, end)| [(start, 1), (end, -1)]);
                self.cover.add(spans, &mut self.merged);
                if !part.reads.is_empty() {
                    sink.reads(number, part.reads)?;
                }
                if !part.qualities.is_empty() {
                    sink.qualities(part.qualities)?;
                }
            }
            if file.waiting.is_empty() && !file.has_ended {
                let last = file.last.filter(|last| last.0 == contig);
                limit = limit.min(last.map_or(0, |last| last.1));
            }
        }
        Ok(limit)
    }

    /// Applies all changes before `limit`.
    fn apply_before(&mut self, limit: u32, sink: &mut impl TallySink) -> Result<()> {
        let DepthMerge { files, cover, depths, from, .. } = self;
        loop {
            let first = files.iter().fold(cover.next(), |first, file| first.min(file.column.next()));
            if first >= limit {
                break;
            }
            if cover.sum > 0 && first > *from {
                sink.run(*from, first, depths)?;
            }
            *from = first;
            cover.apply(first);
            for (file, depth) in files.iter_mut().zip(&mut *depths) {
                if file.column.apply(first) {
                    *depth = file.column.sum.max(0).cast_unsigned();
                }
            }
        }
        cover.forget_applied();
        files.iter_mut().for_each(|file| file.column.forget_applied());
        Ok(())
    }

    fn pass_to(&mut self, contig: u32, sink: &mut impl TallySink) -> Result<()> {
        (self.next..contig).try_for_each(|contig| sink.pass(contig))?;
        self.next = self.next.max(contig);
        Ok(())
    }
}

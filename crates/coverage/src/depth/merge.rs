//! Merges the pieces of several files into runs of equal depth, in position order.
//!
//! # Algorithm
//! 1. The next contig is the first one on which any file has a piece. It is known as soon as each file
//!    has a piece or has ended.
//! 2. For each file, the depth changes on this contig are kept in order. Later reads of a file
//!    start at or after its last read. So changes before the limit, the smallest of these starts,
//!    are final.
//! 3. Changes before the limit are applied to all files, position by position. Between two such
//!    positions, the depths are constant: this is one run.
//! 4. If no file has more reads on the contig, it ends, and the next one begins.

use std::collections::VecDeque;

use readmill_record::Result;

use crate::depth::piece::{ContigPart, ContigTally, DepthPiece, PositionQuality, unsorted_error};
use crate::join;
use crate::mates::{AlignedBlock, DepthChange};

/// Receives runs of equal depth, with contigs in header order. Implemented by the writers of
/// `samtools depth`, `coverage` and `bedcov`.
pub trait DepthSink {
    /// Called for a contig without counted reads.
    fn skip_contig(&mut self, contig: u32) -> Result<()>;

    fn begin_contig(&mut self, contig: u32) -> Result<()>;

    /// Receives a run (0-based, half-open) with its depth in each file. Runs consist of positions
    /// that at least one read spans; their depth may be 0.
    fn add_run(&mut self, start: u32, end: u32, depths: &[u32]) -> Result<()>;

    fn end_contig(&mut self) -> Result<()>;
}

/// A [`DepthSink`] that also receives sums over reads. They arrive before the runs of these reads.
pub trait TallySink: DepthSink {
    fn add_tally(&mut self, contig: u32, tally: ContigTally) -> Result<()>;

    /// Receives base quality sums on the open contig, sorted by position.
    fn add_qualities(&mut self, qualities: Vec<PositionQuality>) -> Result<()>;

    /// Receives start and end of the next reads of a file, on the open contig. Only `bedcov` counts
    /// reads by region.
    fn add_reads(&mut self, _file: usize, _reads: Vec<AlignedBlock>) -> Result<()> {
        Ok(())
    }
}

/// Merges the pieces of all files.
///
/// ```
/// use readmill_coverage::depth::{DepthLines, DepthMerge, DepthPiece, LineOptions, PositionChoice};
///
/// let contigs = [("chr1".to_string(), 2)].into();
/// let mut text = Vec::new();
/// let options = LineOptions { positions: PositionChoice::All, ..LineOptions::default() };
/// let mut lines = DepthLines::new(options, &contigs, 2, |page| {
///     text.extend_from_slice(page);
///     Ok(())
/// });
///
/// let mut merge = DepthMerge::new(2, 1);
/// merge.add_piece(0, DepthPiece::default(), &mut lines)?; // a batch without counted reads
/// merge.end_file(0, &mut lines)?;
/// merge.end_file(1, &mut lines)?;
/// lines.finish()?;
/// assert_eq!(text, b"chr1\t1\t0\t0\nchr1\t2\t0\t0\n");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct DepthMerge {
    files: Vec<DepthFile>,
    /// Number of spans (see [`ContigPart::spans`]) at a position, in all files. Positions with 0
    /// are not part of a run.
    cover: ChangeColumn,
    contigs: u32,
    open: Option<u32>,
    next_contig: u32,
    run_start: u32,
    depths: Vec<u32>,
    merged: Vec<DepthChange>,
}

#[derive(Default)]
struct ChangeColumn {
    changes: Vec<DepthChange>,
    at: usize,
    sum: i32,
}

#[derive(Default)]
struct DepthFile {
    column: ChangeColumn,
    waiting: VecDeque<ContigPart>,
    last: Option<(u32, u32)>,
    has_ended: bool,
}

impl ChangeColumn {
    fn merge_changes(
        &mut self,
        changes: impl Iterator<Item = DepthChange>,
        merged: &mut Vec<DepthChange>,
    ) {
        join::merge_changes(&self.changes, changes, merged);
        std::mem::swap(&mut self.changes, merged);
    }

    #[inline(always)]
    fn next_position(&self) -> u32 {
        self.changes.get(self.at).map_or(u32::MAX, |change| change.0)
    }

    #[inline(always)]
    fn apply_at(&mut self, position: u32) -> bool {
        let Some(&(_, more)) = self.changes.get(self.at).filter(|change| change.0 == position) else {
            return false;
        };
        self.at += 1;
        self.sum += more;
        true
    }

    fn drop_applied(&mut self) {
        self.changes.drain(..self.at);
        self.at = 0;
    }
}

impl DepthMerge {
    pub fn new(files: usize, contigs: u32) -> Self {
        DepthMerge {
            files: (0..files).map(|_| DepthFile::default()).collect(),
            cover: ChangeColumn::default(),
            contigs,
            open: None,
            next_contig: 0,
            run_start: 0,
            depths: vec![0; files],
            merged: Vec::new(),
        }
    }

    /// Adds the next piece of a file, and passes the runs that it completes to `sink`.
    ///
    /// # Errors
    /// A read of the piece starts before the last read of an earlier piece of the file, or `sink` fails.
    pub fn add_piece(
        &mut self,
        file: usize,
        piece: DepthPiece,
        sink: &mut impl TallySink,
    ) -> Result<()> {
        let state = &mut self.files[file];
        for (contig, tally) in piece.tallies {
            sink.add_tally(contig, tally)?;
        }
        for part in piece.parts {
            if state.last.is_some_and(|last| (part.contig, part.first) < last) {
                return Err(unsorted_error());
            }
            state.last = Some((part.contig, part.last));
            state.waiting.push_back(part);
        }
        self.pass_final_runs(sink)
    }

    /// Marks a file as complete. After the last file, passes the remaining contigs to `sink`.
    pub fn end_file(&mut self, file: usize, sink: &mut impl TallySink) -> Result<()> {
        self.files[file].has_ended = true;
        self.pass_final_runs(sink)?;
        if self.files.iter().all(|file| file.has_ended) {
            self.skip_contigs_to(self.contigs, sink)?;
        }
        Ok(())
    }

    pub fn heap_bytes(&self) -> u64 {
        let events = |column: &ChangeColumn| column.changes.capacity() * size_of::<DepthChange>();
        let file = |file: &DepthFile| {
            events(&file.column) as u64 + file.waiting.iter().map(ContigPart::heap_bytes).sum::<u64>()
        };
        let own = events(&self.cover) + self.merged.capacity() * size_of::<DepthChange>();
        own as u64 + self.files.iter().map(file).sum::<u64>()
    }

    pub fn max_bytes_to_add(&self, file: usize, piece: &DepthPiece) -> u64 {
        let state = &self.files[file];
        let (mut events, mut bytes) = (state.column.changes.len() + self.cover.changes.len(), 0);
        for part in state.waiting.iter().chain(&piece.parts) {
            events += part.events.len() + 2 * part.spans.len();
            bytes += part.heap_bytes();
        }
        // Each of three vectors may grow: the file's column, the cover, and the merged list. A
        // vector that grows is copied to one twice as large.
        self.heap_bytes() + bytes + (3 * 3 * events * size_of::<DepthChange>()) as u64
    }

    fn pass_final_runs(&mut self, sink: &mut impl TallySink) -> Result<()> {
        loop {
            let contig = match self.open {
                Some(contig) => contig,
                None => {
                    let Some(contig) = self.first_waiting_contig() else { return Ok(()) };
                    self.skip_contigs_to(contig, sink)?;
                    self.next_contig = contig + 1;
                    sink.begin_contig(contig)?;
                    (self.open, self.run_start) = (Some(contig), 0);
                    contig
                }
            };
            let limit = self.merge_waiting(contig, sink)?;
            self.apply_changes_before(limit, sink)?;
            if limit < u32::MAX {
                return Ok(());
            }
            sink.end_contig()?;
            self.open = None;
        }
    }

    /// Returns the first contig of all waiting parts. `None` if nothing waits, or if a file may
    /// still deliver an earlier contig.
    fn first_waiting_contig(&self) -> Option<u32> {
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

    /// Merges the waiting parts on `contig` into the columns. Returns the position before which the
    /// depths are final, or `u32::MAX` if the contig is complete.
    fn merge_waiting(&mut self, contig: u32, sink: &mut impl TallySink) -> Result<u32> {
        let mut limit = u32::MAX;
        for (number, file) in self.files.iter_mut().enumerate() {
            while let Some(part) = file.waiting.pop_front_if(|part| part.contig == contig) {
                let mut at = part.first;
                let changes = part.events.iter().map(|&(further, more)| {
                    at += further;
                    (at, more)
                });
                file.column.merge_changes(changes, &mut self.merged);
                let spans = part.spans.iter().flat_map(|&(start, end)| [(start, 1), (end, -1)]);
                self.cover.merge_changes(spans, &mut self.merged);
                if !part.reads.is_empty() {
                    sink.add_reads(number, part.reads)?;
                }
                if !part.qualities.is_empty() {
                    sink.add_qualities(part.qualities)?;
                }
            }
            if file.waiting.is_empty() && !file.has_ended {
                let last = file.last.filter(|last| last.0 == contig);
                limit = limit.min(last.map_or(0, |last| last.1));
            }
        }
        Ok(limit)
    }

    fn apply_changes_before(&mut self, limit: u32, sink: &mut impl TallySink) -> Result<()> {
        let DepthMerge { files, cover, depths, run_start: from, .. } = self;
        loop {
            let first = files
                .iter()
                .fold(cover.next_position(), |first, file| first.min(file.column.next_position()));
            if first >= limit {
                break;
            }
            if cover.sum > 0 && first > *from {
                sink.add_run(*from, first, depths)?;
            }
            *from = first;
            cover.apply_at(first);
            for (file, depth) in files.iter_mut().zip(&mut *depths) {
                if file.column.apply_at(first) {
                    *depth = file.column.sum.max(0).cast_unsigned();
                }
            }
        }
        cover.drop_applied();
        files.iter_mut().for_each(|file| file.column.drop_applied());
        Ok(())
    }

    fn skip_contigs_to(&mut self, contig: u32, sink: &mut impl TallySink) -> Result<()> {
        (self.next_contig..contig).try_for_each(|contig| sink.skip_contig(contig))?;
        self.next_contig = self.next_contig.max(contig);
        Ok(())
    }
}

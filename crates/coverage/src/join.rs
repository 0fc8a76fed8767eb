//! Joins pieces, in read order, into runs of equal depth.
//!
//! A read may overlap reads of later pieces, and its mate may be in a later piece. So the join
//! keeps the depth changes after the start of the last read, and the reads that still wait for a
//! mate. Depths before this start are final, and are passed on as runs.

use std::sync::Arc;

use readmill_record::{Error, Result, extra_slots_to_grow};

use crate::mates::{ByName, DepthChange, WaitingRead, subtract_overlap};
use crate::piece::{ContigPiece, CoveragePiece, HeadOp, SORT_HINT};

/// Receives the depths of all contigs, in header order. Implemented by
/// [`CoverageReport`](crate::CoverageReport) for the files of mosdepth, and by
/// [`Piles`](crate::Piles).
///
/// [`CoverageJoin`] calls `begin_contig`, `add_run` any number of times, and `end_contig` for each
/// contig with reads, and `skip_contig` for each other contig:
///
/// ```
/// use readmill_coverage::{DepthReceiver, DepthRun};
/// use readmill_record::Result;
///
/// /// Counts the bases that at least one read covers.
/// #[derive(Default)]
/// struct Breadth(u64);
///
/// impl DepthReceiver for Breadth {
///     fn begin_contig(&mut self, _contig: u32) -> Result<()> { Ok(()) }
///     fn add_run(&mut self, run: DepthRun) -> Result<()> {
///         self.0 += if run.depth > 0 { u64::from(run.end - run.start) } else { 0 };
///         Ok(())
///     }
///     fn end_contig(&mut self) -> Result<()> { Ok(()) }
///     fn skip_contig(&mut self, _contig: u32) -> Result<()> { Ok(()) }
/// }
///
/// let mut breadth = Breadth::default();
/// breadth.begin_contig(0)?;
/// breadth.add_run(DepthRun { start: 0, end: 40, depth: 2 })?;
/// breadth.add_run(DepthRun { start: 40, end: 100, depth: 0 })?;
/// breadth.end_contig()?;
/// assert_eq!(breadth.0, 40);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait DepthReceiver {
    /// Begins a contig with reads. If all of them are filtered out, the contig is one run of depth
    /// 0.
    fn begin_contig(&mut self, contig: u32) -> Result<()>;

    /// Receives the next run of the contig. Runs have no gaps between them, and neighbours differ
    /// in depth.
    fn add_run(&mut self, run: DepthRun) -> Result<()>;

    fn end_contig(&mut self) -> Result<()>;

    /// Called for a contig without reads.
    fn skip_contig(&mut self, contig: u32) -> Result<()>;
}

/// Adjacent bases with the same depth, 0-based and half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthRun {
    pub start: u32,
    pub end: u32,
    pub depth: i32,
}

/// Joins the pieces of a sorted file.
///
/// ```
/// use std::sync::Arc;
///
/// use readmill_coverage::{CoverageJoin, CoveragePieceMaker, Piles, ReadOptions};
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Ledger, PieceMaker, Stamp};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n")?;
/// let lengths: Arc<[u32]> = Arc::new([100]);
/// let mut maker = CoveragePieceMaker::new(&Arc::new(ReadOptions::default()), &lengths);
/// let mut charge = Ledger::unlimited().empty_charge("coverage");
/// let (mut join, mut piles) = (CoverageJoin::new(&lengths), Piles::default());
///
/// // Two batches with one read each; the reads cover bases 0-9 and 5-14 (0-based).
/// for line in ["a\t0\tchr1\t1\t60\t10M\t*\t0\t0\t*\t*", "b\t0\tchr1\t6\t60\t10M\t*\t0\t0\t*\t*"] {
///     let (mut raw, mut batch) = (Vec::new(), Batch::default());
///     LineParser::new(&header).parse(line.as_bytes(), &mut raw)?;
///     batch.push(&raw, Stamp::default())?;
///     join.add_piece(maker.make(&batch, &mut charge)?, &mut piles)?;
/// }
/// join.finish(&mut piles)?;
/// let deepest = piles.deepest()[0];
/// assert_eq!((deepest.bases, deepest.max_depth), (20, 2));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct CoverageJoin {
    lengths: Arc<[u32]>,
    open: Option<CoverageContig>,
    next_contig: u32,
    merged: Vec<DepthChange>,
}

#[derive(Default)]
struct CoverageContig {
    number: u32,
    length: u32,
    changes: Vec<DepthChange>,
    depth: i32,
    run_start: u32,
    /// Start of the last read. Depths before it are final, because later reads start at or after
    /// it.
    last: u32,
    /// Reads that wait for a mate, including some whose mate can no longer come (see `waiting_limit`).
    waiting: ByName<WaitingRead>,
    /// If more reads than this wait, those that end at or before the start of the last read are
    /// removed. The limit is twice the number that remained last time, so that each read is checked
    /// only a few times.
    waiting_limit: usize,
}

const MIN_WAITING: usize = 256;

const WAITING_BYTES: usize = size_of::<WaitingRead>() + 64;

/// Returns an upper bound on the number of elements that a vector allocates when it grows from
/// `capacity` to `length`. A vector doubles its capacity, or grows to `length` if that is more.
/// (Its minimum of four elements is ignored.)
pub(crate) fn max_growth(capacity: usize, length: usize) -> usize {
    if length > capacity { 2 * length } else { 0 }
}

impl CoverageJoin {
    pub fn new(lengths: &Arc<[u32]>) -> Self {
        CoverageJoin { lengths: Arc::clone(lengths), open: None, next_contig: 0, merged: Vec::new() }
    }

    /// Adds the next piece, and passes the runs that it completes to `depths`.
    ///
    /// # Errors
    /// A read of the piece starts before the last read of an earlier piece (the file is not sorted
    /// by coordinate), or `depths` fails.
    pub fn add_piece(&mut self, piece: CoveragePiece, depths: &mut impl DepthReceiver) -> Result<()> {
        for part in piece.contigs {
            match &self.open {
                Some(open) if open.number == part.contig => {}
                _ => self.open_contig(part.contig, depths)?,
            }
            let Some(open) = &mut self.open else { continue };
            open.add_part(part, &mut self.merged, depths)?;
        }
        Ok(())
    }

    /// Ends the last contig with reads, and skips all contigs after it. Call this once, after the
    /// last piece.
    pub fn finish(&mut self, depths: &mut impl DepthReceiver) -> Result<()> {
        self.close_contig(depths)?;
        self.skip_contigs_to(self.lengths.len() as u32, depths)
    }

    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| {
            open.changes.capacity() * size_of::<DepthChange>() + open.waiting.capacity() * WAITING_BYTES
        });
        (self.merged.capacity() * size_of::<DepthChange>() + open) as u64
    }

    /// Returns the peak memory in bytes while `piece` is added. The caller charges it before it calls
    /// [`CoverageJoin::add_piece`].
    pub fn max_bytes_to_add(&self, piece: &CoveragePiece) -> u64 {
        let (mut events, mut tails) = (self.merged.len(), 0);
        for part in &piece.contigs {
            let taken_back: usize = part.head.iter().map(|op| 2 * op.block_capacity()).sum();
            events += part.events.len() + taken_back;
            tails += part.head.len() + part.tail.len();
        }
        let open = self.open.as_ref();
        let (carried, waiting) = open.map_or((0, (0, 0)), |open| {
            (open.changes.len(), (open.waiting.capacity(), open.waiting.len()))
        });
        // A vector that grows is copied to one twice as large.
        let lists = 2 * max_growth(self.merged.capacity(), carried + events)
            + max_growth(open.map_or(0, |open| open.changes.capacity()), carried + events);
        let table = extra_slots_to_grow(waiting.0, waiting.1, tails) * WAITING_BYTES;
        self.heap_bytes() + (lists * size_of::<DepthChange>() + table) as u64
    }

    fn open_contig(&mut self, contig: u32, depths: &mut impl DepthReceiver) -> Result<()> {
        self.close_contig(depths)?;
        if contig < self.next_contig {
            return Err(unsorted_error());
        }
        self.skip_contigs_to(contig, depths)?;
        self.next_contig = contig + 1;
        depths.begin_contig(contig)?;
        let length = self.lengths.get(contig as usize).copied().unwrap_or(0);
        self.open = Some(CoverageContig { number: contig, length, ..CoverageContig::default() });
        Ok(())
    }

    fn skip_contigs_to(&mut self, contig: u32, depths: &mut impl DepthReceiver) -> Result<()> {
        (self.next_contig..contig).try_for_each(|contig| depths.skip_contig(contig))?;
        self.next_contig = self.next_contig.max(contig);
        Ok(())
    }

    fn close_contig(&mut self, depths: &mut impl DepthReceiver) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.pass_runs_before(u32::MAX, depths)?;
        if open.run_start < open.length {
            depths.add_run(DepthRun { start: open.run_start, end: open.length, depth: open.depth })?;
        }
        depths.end_contig()
    }
}

impl CoverageContig {
    fn add_part(
        &mut self,
        part: ContigPiece,
        merged: &mut Vec<DepthChange>,
        depths: &mut impl DepthReceiver,
    ) -> Result<()> {
        let ContigPiece { first, last, events, head, tail, .. } = part;
        if first < self.last {
            return Err(unsorted_error());
        }
        let carried = self.changes.len();
        head.into_iter().for_each(|op| self.apply_head_op(op));
        if self.changes.len() > carried {
            self.changes.sort_unstable_by_key(|&(position, _)| position);
        }
        let mut at = first;
        let events = events.into_iter().map(|(further, more)| {
            at += further;
            (at, more)
        });
        merge_changes(&self.changes, events, merged);
        std::mem::swap(&mut self.changes, merged);
        self.pass_runs_before(last, depths)?;
        self.last = last;
        if self.waiting.len() + tail.len() > self.waiting_limit.max(MIN_WAITING) {
            self.waiting.retain(|_, read| read.place.end > last);
            self.waiting_limit = 2 * (self.waiting.len() + tail.len());
        }
        self.waiting.extend(tail.into_iter().map(|read| (read.name, read)));
        Ok(())
    }

    /// Applies an operation to the waiting reads of earlier pieces. The thread that made the piece
    /// could not do this, because it did not know these reads.
    fn apply_head_op(&mut self, op: HeadOp) {
        let (read, either) = match op {
            HeadOp::Forget(name) => return drop(self.waiting.remove(&name)),
            HeadOp::Meet(read) => (read, false),
            HeadOp::Either(read) => (read, true),
        };
        match self.waiting.remove(&read.name).filter(|mate| mate.place.end > read.place.start) {
            Some(mate) => {
                let (changes, length) = (&mut self.changes, self.length);
                subtract_overlap((read.place, &read.blocks), (mate.place, &mate.blocks), |event| {
                    if event.0 < length {
                        changes.push(event);
                    }
                });
            }
            None if either => drop(self.waiting.insert(read.name, read)),
            None => {}
        }
    }

    fn pass_runs_before(&mut self, to: u32, depths: &mut impl DepthReceiver) -> Result<()> {
        let n = self.changes.partition_point(|&(position, _)| position < to);
        for &(position, more) in &self.changes[..n] {
            if position > self.run_start {
                depths.add_run(DepthRun { start: self.run_start, end: position, depth: self.depth })?;
                self.run_start = position;
            }
            self.depth += more;
        }
        self.changes.drain(..n);
        Ok(())
    }
}

/// Merges two sorted lists of changes into `into`. Changes at the same position are added up, and
/// dropped if the sum is 0.
pub fn merge_changes(
    carried: &[DepthChange],
    events: impl Iterator<Item = DepthChange>,
    into: &mut Vec<DepthChange>,
) {
    into.clear();
    let mut push = |(position, more): DepthChange| match into.last_mut() {
        Some(last) if last.0 == position => last.1 += more,
        Some(last) if last.1 == 0 => *last = (position, more),
        _ => into.push((position, more)),
    };
    let mut carried = carried.iter().copied().peekable();
    for event in events {
        while let Some(before) = carried.next_if(|before| before.0 < event.0) {
            push(before);
        }
        push(event);
    }
    carried.for_each(&mut push);
    if into.last().is_some_and(|last| last.1 == 0) {
        into.pop();
    }
}

fn unsorted_error() -> Error {
    Error::input("the reads are not sorted by coordinate, but coverage needs sorted reads")
        .hint(SORT_HINT)
}

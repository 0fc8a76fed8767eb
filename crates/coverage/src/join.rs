//! Joins pieces, in the order of the reads, into runs of bases with equal depth.
//!
//! A read may overlap reads of later pieces, and its mate may be in a later piece. So the join holds the
//! changes of depth after the last read, and the reads that still wait for a mate. Everything before the
//! last read is final and is passed on as runs.

use std::sync::Arc;

use readmill_record::{Error, Result, slots_to_grow};

use crate::mates::{ByName, Event, WaitingRead, take_back};
use crate::piece::{ContigPiece, CoveragePiece, HeadOp, SORT_FIRST};

/// Receives the depths of all contigs, in the order of the header. Implemented by
/// [`Report`](crate::Report) for the files of mosdepth, and by [`Piles`](crate::Piles).
///
/// [`Join`] calls `begin`, `run` any number of times, and `end` for each contig with reads, and `pass`
/// for each other contig:
///
/// ```
/// use readmill_coverage::{Depths, Run};
/// use readmill_record::Result;
///
/// /// Counts the bases that at least one read covers.
/// #[derive(Default)]
/// struct Breadth(u64);
///
/// impl Depths for Breadth {
///     fn begin(&mut self, _contig: u32) -> Result<()> { Ok(()) }
///     fn run(&mut self, run: Run) -> Result<()> {
///         self.0 += if run.depth > 0 { u64::from(run.end - run.start) } else { 0 };
///         Ok(())
///     }
///     fn end(&mut self) -> Result<()> { Ok(()) }
///     fn pass(&mut self, _contig: u32) -> Result<()> { Ok(()) }
/// }
///
/// let mut breadth = Breadth::default();
/// breadth.begin(0)?;
/// breadth.run(Run { start: 0, end: 40, depth: 2 })?;
/// breadth.run(Run { start: 40, end: 100, depth: 0 })?;
/// breadth.end()?;
/// assert_eq!(breadth.0, 40);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait Depths {
    /// Begins a contig with reads. They may all be filtered: the contig is then one run of depth 0.
    fn begin(&mut self, contig: u32) -> Result<()>;

    /// Takes the next run of the contig. Runs have no gaps between them, and neighbours differ in depth.
    fn run(&mut self, run: Run) -> Result<()>;

    fn end(&mut self) -> Result<()>;

    /// Takes a contig without reads.
    fn pass(&mut self, contig: u32) -> Result<()>;
}

/// Adjacent bases with the same depth, 0-based and half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: u32,
    pub end: u32,
    pub depth: i32,
}

/// Joins the pieces of a sorted file.
///
/// ```
/// use std::sync::Arc;
///
/// use readmill_coverage::{CoveragePieceMaker, Join, Piles, ReadOptions};
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Ledger, PieceMaker, Stamp};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n")?;
/// let lengths: Arc<[u32]> = Arc::new([100]);
/// let mut maker = CoveragePieceMaker::new(&Arc::new(ReadOptions::default()), &lengths);
/// let mut charge = Ledger::unlimited().empty("coverage");
/// let (mut join, mut piles) = (Join::new(&lengths), Piles::default());
///
/// // Two batches with one read each; the reads cover bases 0-9 and 5-14 (0-based).
/// for line in ["a\t0\tchr1\t1\t60\t10M\t*\t0\t0\t*\t*", "b\t0\tchr1\t6\t60\t10M\t*\t0\t0\t*\t*"] {
///     let (mut raw, mut batch) = (Vec::new(), Batch::default());
///     LineParser::new(&header).parse(line.as_bytes(), &mut raw)?;
///     batch.push(&raw, Stamp::default())?;
///     join.add(maker.make(&batch, &mut charge)?, &mut piles)?;
/// }
/// join.finish(&mut piles)?;
/// let deepest = piles.deepest()[0];
/// assert_eq!((deepest.bases, deepest.most), (20, 2));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Join {
    lengths: Arc<[u32]>,
    open: Option<OpenContig>,
    next: u32,
    merged: Vec<Event>,
}

#[derive(Default)]
struct OpenContig {
    number: u32,
    length: u32,
    changes: Vec<Event>,
    depth: i32,
    from: u32,
    /// Position of the last read. Depths before it are final, because later reads start there or after
    /// it.
    last: u32,
    /// Reads that wait for a mate, including some whose mate can no longer come (see `enough`).
    waiting: ByName<WaitingRead>,
    /// Number of waiting reads at which those that end before the last read are removed. It is twice the
    /// number that remained last time, so that each read is checked only a few times.
    enough: usize,
}

const ENOUGH: usize = 256;

const WAITING_BYTES: usize = size_of::<WaitingRead>() + 64;

/// Returns an upper bound of the elements that a vector of this capacity allocates while it grows to
/// `length`: its capacity doubles.
fn grown(capacity: usize, length: usize) -> usize {
    if length > capacity { 2 * length } else { 0 }
}

impl Join {
    pub fn new(lengths: &Arc<[u32]>) -> Self {
        Join { lengths: Arc::clone(lengths), open: None, next: 0, merged: Vec::new() }
    }

    /// Adds the next piece, and passes the runs that it completes to `depths`.
    ///
    /// # Errors
    /// A read of the piece starts before the last read of an earlier piece: the file is not sorted by
    /// coordinate. Or `depths` fails.
    pub fn add(&mut self, piece: CoveragePiece, depths: &mut impl Depths) -> Result<()> {
        for part in piece.contigs {
            match &self.open {
                Some(open) if open.number == part.contig => {}
                _ => self.begin(part.contig, depths)?,
            }
            let Some(open) = &mut self.open else { continue };
            open.add(part, &mut self.merged, depths)?;
        }
        Ok(())
    }

    /// Ends the last contig with reads, and passes all contigs after it. Called once, after the last
    /// piece.
    pub fn finish(&mut self, depths: &mut impl Depths) -> Result<()> {
        self.close(depths)?;
        self.pass_to(self.lengths.len() as u32, depths)
    }

    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| {
            open.changes.capacity() * size_of::<Event>() + open.waiting.capacity() * WAITING_BYTES
        });
        (self.merged.capacity() * size_of::<Event>() + open) as u64
    }

    /// Returns the peak memory in bytes while `piece` is added. The caller charges it before it calls
    /// [`Join::add`].
    pub fn most_bytes(&self, piece: &CoveragePiece) -> u64 {
        let (mut events, mut tails) = (self.merged.len(), 0);
        for part in &piece.contigs {
            let taken_back: usize = part.head.iter().map(|op| 2 * op.blocks()).sum();
            events += part.events.len() + taken_back;
            tails += part.head.len() + part.tail.len();
        }
        let open = self.open.as_ref();
        let (carried, waiting) = open.map_or((0, (0, 0)), |open| {
            (open.changes.len(), (open.waiting.capacity(), open.waiting.len()))
        });
        // Vectors of changes double when they grow, and are copied then.
        let lists = 2 * grown(self.merged.capacity(), carried + events)
            + grown(open.map_or(0, |open| open.changes.capacity()), carried + events);
        let table = slots_to_grow(waiting.0, waiting.1, tails) * WAITING_BYTES;
        self.heap_bytes() + (lists * size_of::<Event>() + table) as u64
    }

    fn begin(&mut self, contig: u32, depths: &mut impl Depths) -> Result<()> {
        self.close(depths)?;
        if contig < self.next {
            return Err(unsorted());
        }
        self.pass_to(contig, depths)?;
        self.next = contig + 1;
        depths.begin(contig)?;
        let length = self.lengths.get(contig as usize).copied().unwrap_or(0);
        self.open = Some(OpenContig { number: contig, length, ..OpenContig::default() });
        Ok(())
    }

    fn pass_to(&mut self, contig: u32, depths: &mut impl Depths) -> Result<()> {
        (self.next..contig).try_for_each(|contig| depths.pass(contig))?;
        self.next = self.next.max(contig);
        Ok(())
    }

    fn close(&mut self, depths: &mut impl Depths) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.advance(u32::MAX, depths)?;
        if open.from < open.length {
            depths.run(Run { start: open.from, end: open.length, depth: open.depth })?;
        }
        depths.end()
    }
}

impl OpenContig {
    fn add(
        &mut self,
        part: ContigPiece,
        merged: &mut Vec<Event>,
        depths: &mut impl Depths,
    ) -> Result<()> {
        let ContigPiece { first, last, events, head, tail, .. } = part;
        if first < self.last {
            return Err(unsorted());
        }
        let carried = self.changes.len();
        head.into_iter().for_each(|op| self.meet(op));
        if self.changes.len() > carried {
            self.changes.sort_unstable_by_key(|&(position, _)| position);
        }
        let mut at = first;
        let events = events.into_iter().map(|(further, more)| {
            at += further;
            (at, more)
        });
        merge(&self.changes, events, merged);
        std::mem::swap(&mut self.changes, merged);
        self.advance(last, depths)?;
        self.last = last;
        if self.waiting.len() + tail.len() > self.enough.max(ENOUGH) {
            self.waiting.retain(|_, read| read.place.end > last);
            self.enough = 2 * (self.waiting.len() + tail.len());
        }
        self.waiting.extend(tail.into_iter().map(|read| (read.name, read)));
        Ok(())
    }

    /// Carries out an operation on the waiting reads that the thread which made the piece could not: it
    /// did not know the reads of earlier pieces.
    fn meet(&mut self, op: HeadOp) {
        let (read, either) = match op {
            HeadOp::Forget(name) => return drop(self.waiting.remove(&name)),
            HeadOp::Meet(read) => (read, false),
            HeadOp::Either(read) => (read, true),
        };
        match self.waiting.remove(&read.name).filter(|mate| mate.place.end > read.place.start) {
            Some(mate) => {
                let (changes, length) = (&mut self.changes, self.length);
                take_back((read.place, &read.blocks), (mate.place, &mate.blocks), |event| {
                    if event.0 < length {
                        changes.push(event);
                    }
                });
            }
            None if either => drop(self.waiting.insert(read.name, read)),
            None => {}
        }
    }

    fn advance(&mut self, to: u32, depths: &mut impl Depths) -> Result<()> {
        let n = self.changes.partition_point(|&(position, _)| position < to);
        for &(position, more) in &self.changes[..n] {
            if position > self.from {
                depths.run(Run { start: self.from, end: position, depth: self.depth })?;
                self.from = position;
            }
            self.depth += more;
        }
        self.changes.drain(..n);
        Ok(())
    }
}

/// Merges two sorted lists of changes into `into`. Changes at one position are added up, and left out if
/// the sum is 0.
pub fn merge(carried: &[Event], events: impl Iterator<Item = Event>, into: &mut Vec<Event>) {
    into.clear();
    let mut push = |(position, more): Event| match into.last_mut() {
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

fn unsorted() -> Error {
    Error::input("the reads are not sorted by coordinate, and coverage is counted of sorted reads")
        .hint(SORT_FIRST)
}

//! Joins pieces, in their order, to runs of bases of one depth.

use std::sync::Arc;

use readmill_record::{Error, Result, slots_to_grow};

use crate::mates::{ByName, Event, WaitingRead, take_back};
use crate::piece::{ContigPiece, CoveragePiece, HeadOp, SORT_FIRST};

/// Takes the depths of all contigs, in the order of the header.
pub trait Depths {
    /// Begins a contig that has reads, whether or not they count.
    fn begin(&mut self, contig: u32) -> Result<()>;

    /// Takes the next run of bases of one depth, on the contig that was begun. Runs leave no gaps, and neighbours differ.
    fn run(&mut self, run: Run) -> Result<()>;

    /// Ends the contig that was begun.
    fn end(&mut self) -> Result<()>;

    /// Passes a contig that has no reads.
    fn pass(&mut self, contig: u32) -> Result<()>;
}

/// A run of bases of one depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first position, 0-based.
    pub start: u32,
    /// The position after the last one.
    pub end: u32,
    /// How many reads cover each of its bases.
    pub depth: i32,
}

/// Joins pieces.
pub struct Join {
    lengths: Arc<[u32]>,
    open: Option<OpenContig>,
    /// The first contig that was neither begun nor passed.
    next: u32,
    merged: Vec<Event>,
}

/// The contig whose pieces are being joined.
#[derive(Default)]
struct OpenContig {
    number: u32,
    length: u32,
    /// Changes of the depth from `last` on, in order.
    changes: Vec<Event>,
    /// The depth so far, and where its run began.
    depth: i32,
    from: u32,
    /// The position of the last read: no later read changes what is before it.
    last: u32,
    /// Reads that wait for their mates; some of them end before the last read.
    waiting: ByName<WaitingRead>,
    /// How many may wait until those are looked for that end before the last read: each is looked at a few times at most.
    enough: usize,
}

/// Reads that wait until those are looked for whose mates will not come.
const ENOUGH: usize = 256;

/// Bytes of memory of a read that waits: its place in the table, and its blocks.
const WAITING_BYTES: usize = size_of::<WaitingRead>() + 64;

/// Returns the maximum number of further elements that a list of this capacity allocates while it grows to that length.
fn grown(capacity: usize, length: usize) -> usize {
    if length > capacity { 2 * length } else { 0 }
}

impl Join {
    /// Joins pieces of reads on contigs of these lengths.
    pub fn new(lengths: &Arc<[u32]>) -> Self {
        Join { lengths: Arc::clone(lengths), open: None, next: 0, merged: Vec::new() }
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// Its reads lie before those of the piece ahead of it.
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

    /// Ends the last contig, and passes those behind it.
    pub fn finish(&mut self, depths: &mut impl Depths) -> Result<()> {
        self.close(depths)?;
        self.pass_to(self.lengths.len() as u32, depths)
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| {
            open.changes.capacity() * size_of::<Event>() + open.waiting.capacity() * WAITING_BYTES
        });
        (self.merged.capacity() * size_of::<Event>() + open) as u64
    }

    /// The most bytes in use at any time while a piece is added.
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
        // Lists of changes double, and are copied as they grow.
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

    /// Has a read meet its mate, if that waits.
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

    /// Passes the runs that end before `to`, or at it.
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

/// Merges changes that are in order; those of one position become one, and are left out if they cancel.
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

//! The committer: what tickets leave behind, in their order.

use std::sync::{Arc, Mutex};

use readmill_format::spill::Extent;
use readmill_record::{Charge, Header, Result};
use readmill_sort::{Frames, Merge, Sources, SpilledRun};

use super::state::{Ingest, Shared, lock};
use super::ticket::{Done, Left, Room, TurnoverDone};
use crate::outputs::Sink;
use crate::pipeline::flush::To;
use crate::pipeline::sort_buffer::Held;
use crate::pipeline::sort_context::{INDEXES, READS};

/// Takes what tickets leave behind, in their order.
pub struct Committer<'a> {
    ingest: &'a Ingest<'a>,
    held: &'a mut Held,
    shared: &'a Mutex<Shared>,
    /// Where reads go that come sorted, and the header above them.
    sink: &'a mut Sink,
    header: &'a Header,
    /// What the reads take that go to disk.
    leaving: Option<Charge>,
    /// Their run, and whether that is only what does not fill a partition of the output.
    writing: Option<SpilledRun>,
    to: To,
    /// Where the rest of the prefix lay that is merged into the output now.
    consumed: Option<Extent>,
}

impl<'a> Committer<'a> {
    pub fn new(
        ingest: &'a Ingest<'a>,
        held: &'a mut Held,
        shared: &'a Mutex<Shared>,
        (sink, header): (&'a mut Sink, &'a Header),
    ) -> Self {
        let (leaving, writing, to, consumed) = (None, None, To::Run, None);
        Committer { ingest, held, shared, sink, header, leaving, writing, to, consumed }
    }

    pub fn commit(&mut self, done: Done) -> Result<()> {
        match done {
            Done::Stretch(left) => self.stretch(*left),
            Done::Turnover(done, large) => {
                lock(self.shared).large_under_way -= u64::from(large.bytes() > 0);
                drop(large);
                self.turnover(done)
            }
            Done::Idle => Ok(()),
        }
    }

    fn stretch(&mut self, left: Left) -> Result<()> {
        let Committer { ingest, held, .. } = self;
        held.run.push(&left.entries);
        held.ends.push(&left.ends);
        // What the ticket was given becomes what it needed; the rest is free again.
        let Room { mut reserved, held_back } = left.room;
        reserved.move_to(&mut held.link_charge, held_back);
        reserved.move_to(&mut held.ends_charge, held.ends.bytes());
        held.ends_charge.note_use(held.ends.filled());
        let reads = held.charge.bytes() + left.reads;
        reserved.move_to(&mut held.charge, reads);
        held.largest = held.largest.max(left.largest);
        held.any_placed |= left.placed;
        held.tagged = held.tagged.max(left.tagged);
        ingest.buffers.entries.put(left.entries);
        let mut shared = lock(self.shared);
        (shared.reads, shared.ends) = (held.charge.bytes(), held.ends.bytes());
        shared.largest = held.largest;
        Ok(())
    }

    fn turnover(&mut self, done: TurnoverDone) -> Result<()> {
        match done {
            TurnoverDone::Turn => {
                let none = self.ingest.waiting.ledger.empty(READS);
                self.leaving = Some(std::mem::replace(&mut self.held.charge, none));
                lock(self.shared).turnover.turned(self.held.run.take())?;
            }
            TurnoverDone::Sorted(list) => {
                let sources = lock(self.shared).turnover.sorted(list);
                sources.into_iter().for_each(|sources| self.begin_writing(sources));
            }
            TurnoverDone::Frames(frames) => self.append(frames)?,
            TurnoverDone::Encoded(encoded) => {
                if let Some(writer) = self.ingest.writer {
                    self.held.prefix.write(encoded, self.header, self.sink, writer)?;
                }
            }
            TurnoverDone::Close(rest) => {
                rest.map_or(Ok(()), |frames| self.append(frames))?;
                self.close();
            }
        }
        Ok(())
    }

    /// All lists are sorted: now they are merged, into a run or into the output.
    fn begin_writing(&mut self, mut sources: Sources) {
        self.to = self.destination(&sources);
        if self.to == To::Output
            && let Some(rest) = self.held.prefix.rest.take()
        {
            self.consumed = Some(rest.extent());
            sources.runs.push(rest);
        }
        lock(self.shared).turnover.write(Merge::new(Arc::new(sources)), self.to);
    }

    /// Reads that are to leave the memory go into the output if they came sorted, as did all before them, of
    /// which there never was a run.
    fn destination(&self, sources: &Sources) -> To {
        let sorted = self.held.spilled == 0 && sources.were_sorted();
        let follows = sorted && self.held.prefix.is_before(sources);
        if self.ingest.writer.is_some() && follows { To::Output } else { To::Run }
    }

    fn append(&mut self, mut frames: Frames) -> Result<()> {
        let waiting = self.ingest.waiting;
        let run = match &mut self.writing {
            Some(run) => run,
            none => {
                let (extent, charge) =
                    (waiting.spill.begin(self.held.spilled)?, waiting.ledger.empty(INDEXES));
                none.insert(SpilledRun::new(extent, waiting.framing, charge))
            }
        };
        run.append(&waiting.spill, &mut frames)?;
        self.ingest.buffers.frames.put(frames);
        Ok(())
    }

    fn close(&mut self) {
        let waiting = self.ingest.waiting;
        let run = self.writing.take().map(SpilledRun::complete);
        self.leaving = None;
        match self.to {
            To::Run => run.into_iter().for_each(|run| self.held.push(run)),
            To::Output => {
                self.held.prefix.rest = run.filter(|run| !run.frames().is_empty());
                self.consumed.take().into_iter().for_each(|extent| waiting.spill.free(&extent));
            }
        }
        let mut shared = lock(self.shared);
        shared.too_many_runs = self.held.has_too_many_runs(waiting);
        shared.reads = self.held.charge.bytes();
        shared.turnover.closed();
    }
}

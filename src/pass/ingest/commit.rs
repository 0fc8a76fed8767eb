//! The committer: what tickets leave behind, in their order.

use std::sync::{Arc, Mutex};

use readmill_record::{Header, Result};
use readmill_steps::sort::{Frames, Merge, Sources, SpilledRun};

use super::state::{Ingest, Shared, lock};
use super::ticket::{Done, Left, TurnoverDone};
use crate::output::Sink;
use crate::pass::duplicates;
use crate::pass::held::Held;
use crate::pass::turnover::To;

/// Takes what tickets leave behind, in their order.
pub struct Committer<'a> {
    ingest: &'a Ingest<'a>,
    held: &'a mut Held,
    shared: &'a Mutex<Shared>,
    /// Where reads go that come sorted, and the header above them.
    sink: &'a mut Sink,
    header: &'a Header,
    /// Room of the records that the link held back at the last ticket.
    had: u64,
    /// Room that the reads took which go to disk.
    leaving: u64,
    /// Their run, and whether that is only what does not fill a partition of the output.
    writing: Option<SpilledRun>,
    to: To,
}

impl<'a> Committer<'a> {
    pub fn new(
        ingest: &'a Ingest<'a>,
        held: &'a mut Held,
        shared: &'a Mutex<Shared>,
        (sink, header): (&'a mut Sink, &'a Header),
        had: u64,
    ) -> Self {
        let (leaving, writing, to) = (0, None, To::Run);
        Committer { ingest, held, shared, sink, header, had, leaving, writing, to }
    }

    pub fn commit(&mut self, done: Done) -> Result<()> {
        match done {
            Done::Stretch(left) => self.stretch(left),
            Done::Turnover(done) => self.turnover(done),
            Done::Idle => Ok(()),
        }
    }

    fn stretch(&mut self, left: Left) -> Result<()> {
        let Committer { ingest, held, .. } = self;
        held.run.push(&left.entries);
        held.ends.push(&left.ends);
        if ingest.must_be_grouped && held.ends.grouping.is_scattered() {
            return Err(duplicates::not_grouped());
        }
        // What the ticket took, and what its link holds back more than the one before.
        let needs = left.reads + left.ends.bytes() + left.room.held_back;
        ingest.waiting.budget.settle(left.room.reserved + self.had, needs);
        self.had = left.room.held_back;
        held.bytes += left.reads;
        held.any_placed |= left.placed;
        ingest.buffers.entries.put(left.entries);
        let mut shared = lock(self.shared);
        (shared.reads, shared.ends) = (held.bytes, held.ends.bytes());
        Ok(())
    }

    fn turnover(&mut self, done: TurnoverDone) -> Result<()> {
        match done {
            TurnoverDone::Turn => {
                self.leaving = std::mem::take(&mut self.held.bytes);
                lock(self.shared).turnover.turned(self.held.run.take())?;
            }
            TurnoverDone::Sorted(list) => {
                let sources = lock(self.shared).turnover.sorted(list);
                if let Some(mut sources) = sources {
                    self.to = self.destination(&sources);
                    if self.to == To::Output {
                        sources.runs = std::mem::take(&mut self.held.runs);
                        let index = sources.runs.iter().map(SpilledRun::index_bytes).sum();
                        self.ingest.waiting.budget.release(index);
                    }
                    lock(self.shared).turnover.write(Merge::new(Arc::new(sources)), self.to);
                }
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

    /// Whether reads that are to leave the memory go into the output: they came sorted, as did all before
    /// them, of which there is no run but the end of what is in the output.
    fn destination(&self, sources: &Sources) -> To {
        let prefix = &self.held.prefix;
        let all_before = if prefix.is_empty() { 0 } else { 1 };
        let sorted = self.held.runs.len() <= all_before && sources.were_sorted();
        let follows = sorted && prefix.is_before(sources);
        if self.ingest.writer.is_some() && follows { To::Output } else { To::Run }
    }

    fn append(&mut self, mut frames: Frames) -> Result<()> {
        let waiting = self.ingest.waiting;
        let run = match &mut self.writing {
            Some(run) => run,
            none => {
                none.insert(SpilledRun::new(waiting.spill.begin(self.held.spilled)?, waiting.framing))
            }
        };
        run.append(&waiting.spill, &mut frames)?;
        self.ingest.buffers.frames.put(frames);
        Ok(())
    }

    fn close(&mut self) {
        let waiting = self.ingest.waiting;
        let run = self.writing.take().map(SpilledRun::complete);
        let index = run.as_ref().map_or(0, SpilledRun::index_bytes);
        waiting.budget.settle(std::mem::take(&mut self.leaving), index);
        match self.to {
            To::Run => run.into_iter().for_each(|run| self.held.push(run)),
            To::Output => self.held.runs.extend(run),
        }
        let mut shared = lock(self.shared);
        shared.too_many_runs = self.held.has_too_many_runs(waiting);
        shared.reads = self.held.bytes;
        shared.turnover.closed();
    }
}

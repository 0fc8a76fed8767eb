//! The committer of ingest: takes the results of tickets, in ticket order.

use std::sync::{Arc, Mutex};

use readmill_format::spill::Extent;
use readmill_record::{Charge, Header, Result};
use readmill_sort::{Frames, Merge, Sources, SpilledRun};

use super::state::{Ingest, IngestState, lock};
use super::ticket::{FinishedTicket, FlushResult, FlushedPart, Flushing, IngestedBatch, TicketRoom};
use crate::outputs::Sink;
use crate::pipeline::flush::FlushTarget;
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::{INDEXES, READS};

/// Adds the results of tickets to the sort buffer, and drives the flush from one stage to the next.
/// Called serially, in ticket order.
pub struct Committer<'a> {
    ingest: &'a Ingest<'a>,
    buffer: &'a mut SortBuffer,
    shared: &'a Mutex<IngestState>,
    sink: &'a mut Sink,
    header: &'a Header,
    /// Charge of the reads that are being flushed, released when they are written.
    leaving: Option<Charge>,
    /// The run being written. If presorted reads go to the output, it holds only the last ones,
    /// which do not fill a partition.
    writing: Option<SpilledRun>,
    to: FlushTarget,
    /// Place in the spill of the left-over presorted reads that the current merge reads; freed at
    /// its end.
    consumed: Option<Extent>,
}

impl<'a> Committer<'a> {
    pub fn new(
        ingest: &'a Ingest<'a>,
        buffer: &'a mut SortBuffer,
        shared: &'a Mutex<IngestState>,
        sink: &'a mut Sink,
        header: &'a Header,
    ) -> Self {
        let (leaving, writing, to, consumed) = (None, None, FlushTarget::Run, None);
        Committer { ingest, buffer, shared, sink, header, leaving, writing, to, consumed }
    }

    pub fn commit(&mut self, done: FinishedTicket) -> Result<()> {
        match done {
            FinishedTicket::Read(ingested) => self.commit_batch(*ingested),
            FinishedTicket::Flush(Flushing { task, large }) => {
                lock(self.shared).large_under_way -= u64::from(large.bytes() > 0);
                drop(large);
                self.commit_flush(task)
            }
            FinishedTicket::Idle => Ok(()),
        }
    }

    fn commit_batch(&mut self, ingested: IngestedBatch) -> Result<()> {
        let Committer { ingest, buffer, .. } = self;
        buffer.run.push(&ingested.entries);
        buffer.ends.push(&ingested.ends);
        // Moves the memory that the ticket reserved to the charges of its results; the rest is
        // released.
        let TicketRoom { mut reserved, held_back } = ingested.room;
        reserved.move_to(&mut buffer.link_charge, held_back);
        reserved.move_to(&mut buffer.ends_charge, buffer.ends.bytes());
        buffer.ends_charge.note_use(buffer.ends.filled());
        let reads = buffer.charge.bytes() + ingested.reads;
        reserved.move_to(&mut buffer.charge, reads);
        buffer.largest = buffer.largest.max(ingested.largest);
        buffer.any_placed |= ingested.placed;
        buffer.tagged = buffer.tagged.max(ingested.tagged);
        ingest.buffers.entries.put(ingested.entries);
        let mut shared = lock(self.shared);
        (shared.reads, shared.ends) = (buffer.charge.bytes(), buffer.ends.bytes());
        shared.largest = buffer.largest;
        Ok(())
    }

    fn commit_flush(&mut self, done: FlushResult) -> Result<()> {
        match done {
            FlushResult::Seal => {
                let none = self.ingest.context.ledger.empty(READS);
                self.leaving = Some(std::mem::replace(&mut self.buffer.charge, none));
                lock(self.shared).flush.sealed(self.buffer.run.take())?;
            }
            FlushResult::Sort(list) => {
                let sources = lock(self.shared).flush.sorted(list);
                sources.into_iter().for_each(|sources| self.begin_writing(sources));
            }
            FlushResult::Write(FlushedPart::Frames(frames), _) => self.append(frames)?,
            FlushResult::Write(FlushedPart::Encoded(encoded), _) => {
                if let Some(writer) = self.ingest.writer {
                    self.buffer.presorted.write(encoded, self.header, self.sink, writer)?;
                }
            }
            FlushResult::Close(rest, _) => {
                rest.map_or(Ok(()), |frames| self.append(frames))?;
                self.close();
            }
        }
        Ok(())
    }

    fn begin_writing(&mut self, mut sources: Sources) {
        self.to = self.destination(&sources);
        if self.to == FlushTarget::Output
            && let Some(rest) = self.buffer.presorted.rest.take()
        {
            self.consumed = Some(rest.extent());
            sources.runs.push(rest);
        }
        lock(self.shared).flush.write(Merge::new(Arc::new(sources)), self.to);
    }

    /// Returns where the flushed reads go. They go into the output if reads may leave early, all
    /// reads so far came sorted, and no run was ever written.
    fn destination(&self, sources: &Sources) -> FlushTarget {
        let sorted = self.buffer.spilled == 0 && sources.were_sorted();
        let follows = sorted && self.buffer.presorted.is_before(sources);
        if self.ingest.writer.is_some() && follows { FlushTarget::Output } else { FlushTarget::Run }
    }

    fn append(&mut self, mut frames: Frames) -> Result<()> {
        let context = self.ingest.context;
        let run = match &mut self.writing {
            Some(run) => run,
            none => {
                let (extent, charge) =
                    (context.spill.begin(self.buffer.spilled)?, context.ledger.empty(INDEXES));
                none.insert(SpilledRun::new(extent, context.framing, charge))
            }
        };
        run.append(&context.spill, &mut frames)?;
        self.ingest.buffers.frames.put(frames);
        Ok(())
    }

    fn close(&mut self) {
        let context = self.ingest.context;
        let run = self.writing.take().map(SpilledRun::complete);
        self.leaving = None;
        match self.to {
            FlushTarget::Run => run.into_iter().for_each(|run| self.buffer.push(run)),
            FlushTarget::Output => {
                self.buffer.presorted.rest = run.filter(|run| !run.frames().is_empty());
                self.consumed.take().into_iter().for_each(|extent| context.spill.free(&extent));
            }
        }
        let mut shared = lock(self.shared);
        shared.too_many_runs = self.buffer.has_too_many_runs(context);
        shared.reads = self.buffer.charge.bytes();
        shared.flush.closed();
    }
}

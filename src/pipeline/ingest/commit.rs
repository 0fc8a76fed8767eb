//! The committer of ingest: takes the results of tickets, in ticket order.

use std::sync::{Arc, Mutex};

use readmill_format::spill::Extent;
use readmill_record::{Charge, Header, Result};
use readmill_sort::{Frames, Merge, Sources, SpilledRun};

use super::state::{Ingest, IngestState, lock_state};
use super::ticket::{FinishedTicket, FlushResult, FlushedPart, Flushing, IngestedBatch, TicketRoom};
use crate::outputs::Sink;
use crate::pipeline::flush::FlushTarget;
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::{INDEXES, READS};

/// Adds the results of tickets to the sort buffer, and advances the flush through its stages.
/// Called serially, in ticket order.
pub struct Committer<'a> {
    ingest: &'a Ingest<'a>,
    buffer: &'a mut SortBuffer,
    shared: &'a Mutex<IngestState>,
    sink: &'a mut Sink,
    header: &'a Header,
    /// The charge for the reads that are being flushed, released when they are written.
    flushing_charge: Option<Charge>,
    /// The run being written. If presorted reads are written to the output, the run holds only the
    /// remaining reads, which do not fill a partition.
    open_run: Option<SpilledRun>,
    target: FlushTarget,
    /// The extent of the remaining presorted reads that the current merge reads. Freed at the end
    /// of the merge.
    merged_extent: Option<Extent>,
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
        Committer {
            ingest,
            buffer,
            shared,
            sink,
            header,
            flushing_charge: leaving,
            open_run: writing,
            target: to,
            merged_extent: consumed,
        }
    }

    pub fn commit_ticket(&mut self, done: FinishedTicket) -> Result<()> {
        match done {
            FinishedTicket::Read(ingested) => self.commit_batch(*ingested),
            FinishedTicket::Flush(Flushing { task, large }) => {
                lock_state(self.shared).large_flushes_in_flight -= u64::from(large.bytes() > 0);
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
        // Moves the reserved memory to the charges of the ticket's results. The rest is released.
        let TicketRoom { mut reserved, held_back } = ingested.room;
        reserved.move_to(&mut buffer.link_charge, held_back);
        reserved.move_to(&mut buffer.ends_charge, buffer.ends.bytes());
        buffer.ends_charge.set_used(buffer.ends.filled_bytes());
        let reads = buffer.charge.bytes() + ingested.record_bytes;
        reserved.move_to(&mut buffer.charge, reads);
        buffer.largest_record_bytes = buffer.largest_record_bytes.max(ingested.largest_record_bytes);
        buffer.any_placed |= ingested.any_placed;
        buffer.has_sort_field = buffer.has_sort_field.max(ingested.has_sort_field);
        ingest.buffers.entries.put(ingested.entries);
        let mut shared = lock_state(self.shared);
        (shared.arena_bytes, shared.end_bytes) = (buffer.charge.bytes(), buffer.ends.bytes());
        shared.largest_record_bytes = buffer.largest_record_bytes;
        Ok(())
    }

    fn commit_flush(&mut self, done: FlushResult) -> Result<()> {
        match done {
            FlushResult::Seal => {
                let none = self.ingest.context.ledger.empty_charge(READS);
                self.flushing_charge = Some(std::mem::replace(&mut self.buffer.charge, none));
                lock_state(self.shared).flush.start_sorting(self.buffer.run.take_lists())?;
            }
            FlushResult::Sort(list) => {
                let sources = lock_state(self.shared).flush.add_sorted_list(list);
                sources.into_iter().for_each(|sources| self.begin_writing(sources));
            }
            FlushResult::Write(FlushedPart::Frames(frames), _) => self.append_frames(frames)?,
            FlushResult::Write(FlushedPart::Encoded(encoded), _) => {
                if let Some(writer) = self.ingest.writer {
                    self.buffer.presorted.write_partitions(encoded, self.header, self.sink, writer)?;
                }
            }
            FlushResult::Close(rest, _) => {
                rest.map_or(Ok(()), |frames| self.append_frames(frames))?;
                self.close_run();
            }
        }
        Ok(())
    }

    fn begin_writing(&mut self, mut sources: Sources) {
        self.target = self.choose_target(&sources);
        if self.target == FlushTarget::Output
            && let Some(rest) = self.buffer.presorted.leftover_run.take()
        {
            self.merged_extent = Some(rest.extent());
            sources.runs.push(rest);
        }
        lock_state(self.shared).flush.start_writing(Merge::new(Arc::new(sources)), self.target);
    }

    /// Returns where flushed reads are written. They are written to the output if reads may be
    /// written early, all reads so far arrived in order, and no run was ever written.
    fn choose_target(&self, sources: &Sources) -> FlushTarget {
        let sorted = self.buffer.runs_written == 0 && sources.were_sorted();
        let follows = sorted && self.buffer.presorted.is_before(sources);
        if self.ingest.writer.is_some() && follows { FlushTarget::Output } else { FlushTarget::Run }
    }

    fn append_frames(&mut self, mut frames: Frames) -> Result<()> {
        let context = self.ingest.context;
        let run = match &mut self.open_run {
            Some(run) => run,
            none => {
                let (extent, charge) = (
                    context.spill.begin_extent(self.buffer.runs_written)?,
                    context.ledger.empty_charge(INDEXES),
                );
                none.insert(SpilledRun::new(extent, context.framing, charge))
            }
        };
        run.append_frames(&context.spill, &mut frames)?;
        self.ingest.buffers.frames.put(frames);
        Ok(())
    }

    fn close_run(&mut self) {
        let context = self.ingest.context;
        let run = self.open_run.take().map(SpilledRun::shrink_index);
        self.flushing_charge = None;
        match self.target {
            FlushTarget::Run => run.into_iter().for_each(|run| self.buffer.add_run(run)),
            FlushTarget::Output => {
                self.buffer.presorted.leftover_run = run.filter(|run| !run.frames().is_empty());
                self.merged_extent
                    .take()
                    .into_iter()
                    .for_each(|extent| context.spill.free_extent(&extent));
            }
        }
        let mut shared = lock_state(self.shared);
        shared.too_many_runs = self.buffer.has_too_many_runs(context);
        shared.arena_bytes = self.buffer.charge.bytes();
        shared.flush.end_flush();
    }
}

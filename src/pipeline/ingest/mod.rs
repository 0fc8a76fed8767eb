//! The single pass over the input, which copies its reads into the arena. When the arena is nearly
//! full, reading continues with a new one. The same pass flushes the old arena to disk, or to the
//! output if the reads arrived in order ([`super::flush`]).
//!
//! When a chunk is claimed, the maximum memory that it may need is reserved, in claim order. When
//! it is committed, the unused part is released. So a run is a contiguous range of chunks, and the
//! oldest ticket never waits for a younger one. If there is no memory for the next chunk, the chunk
//! waits until earlier tickets release memory or a run is written. Only the claimer waits: it
//! claims idle tickets, limited by the number of tickets in flight.
//!
//! | phase | file |
//! |---|---|
//! | configuration and shared state | [`state`] |
//! | types of a ticket, phase by phase | [`ticket`] |
//! | decides what each ticket does | [`claim`] |
//! | takes the results of tickets | [`commit`] |

mod claim;
mod commit;
mod state;
mod ticket;

use std::sync::{Arc, Mutex};

use readmill_engine::Pass;
use readmill_markdup as markdup;
use readmill_markdup::{DuplicateEnds, EndsPart};
use readmill_record::{Arena, Batch, Error, Header, Result};
use readmill_sort::{Entry, Partition, run};

use super::batch_pipeline::PipelineWorker;
use super::feed::{Feed, FeedReader, LinkedBatch, TicketBuffer};
use super::flush::{FlushTarget, FlushWorker, LinkedFlush};
use super::presorted::EarlyWriter;
use super::sort_buffer::SortBuffer;
use crate::outputs::{PartWriter, Sink};
use claim::Claimer;
use commit::Committer;
use state::IngestState;
pub use state::{Ingest, IngestBuffers};
use ticket::{
    ClaimedTicket, FinishedTicket, FlushResult, FlushedPart, Flushing, IngestedBatch, LinkedTicket,
    OpenedTicket, Reading,
};

/// Why [`Ingest::fill_sort_buffer`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngestStop {
    Ended,
    /// Runs, ends or the next chunk need memory that a flush cannot free. The caller must merge
    /// runs, spill ends, or give up.
    NoRoom,
}

pub struct IngestWorker<'a> {
    reader: FeedReader,
    steps: PipelineWorker<'a>,
    ends: Option<markdup::EndsScratch>,
    flush: FlushWorker,
    early_writer: Option<EarlyWriter<'a>>,
}

impl<'a> Ingest<'a> {
    /// Reads until the inputs end, or until the caller must free memory ([`IngestStop`]). May write
    /// presorted reads to `sink`, after `header`.
    pub fn fill_sort_buffer(
        &self,
        feed: &mut Feed,
        buffer: &mut SortBuffer,
        sink: &mut Sink,
        header: &Header,
    ) -> Result<IngestStop> {
        let keyer = self.context.sort.keyer();
        let shared = Mutex::new(IngestState::new(self.context, buffer));
        let arena = std::mem::replace(&mut buffer.arena, Arc::new(Arena::empty()));
        let mut claimer = Claimer::new(self, arena, &shared);
        let mut cutter = std::mem::take(&mut buffer.presorted.cutter);
        let mut committer = Committer::new(self, buffer, &shared, sink, header);
        let Feed { input, link } = feed;
        let link = |_, open| {
            Ok(match open {
                OpenedTicket::Read(Reading { task, mut room, arena }) => {
                    // The linked batch includes records that the linker held back from earlier
                    // chunks, which are still in memory.
                    let held_back = self.context.room_for_bytes(link.waiting_bytes());
                    room.reserved.resize(room.reserved.bytes() + held_back);
                    let task = self.readers.link_task(link, task)?;
                    task.first_name().into_iter().for_each(|name| keyer.set_anchor(name));
                    room.held_back = self.context.room_for_bytes(link.waiting_bytes());
                    LinkedTicket::Read(Reading { task, room, arena })
                }
                OpenedTicket::Flush(Flushing { task, large }) => {
                    LinkedTicket::Flush(Flushing { task: task.cut_partitions(&mut cutter), large })
                }
                OpenedTicket::Idle => LinkedTicket::Idle,
            })
        };
        let workers = readmill_engine::run_pass(
            self.context.crew,
            &IngestPass(self),
            |ticket| claimer.claim_ticket(ticket, input),
            link,
            |_, done| committer.commit_ticket(done),
        )?;
        let (arena, ended) = (claimer.arena, claimer.has_ended);
        for IngestWorker { steps, early_writer, .. } in workers {
            steps.merge_counts_into(&mut buffer.counts);
            early_writer
                .into_iter()
                .for_each(|early_writer| early_writer.steps.merge_counts_into(&mut buffer.counts));
        }
        (buffer.arena, buffer.presorted.cutter) = (arena, cutter);
        self.writer.map_or(Ok(()), PartWriter::write_pending)?;
        Ok(if ended { IngestStop::Ended } else { IngestStop::NoRoom })
    }

    /// Checks the records of a batch, applies the steps, stores template ends, and copies the
    /// remaining reads into the arena.
    fn ingest_batch(
        &self,
        worker: &mut IngestWorker<'a>,
        linked: Reading<LinkedBatch>,
    ) -> Result<IngestedBatch> {
        let IngestWorker { reader, steps, ends: scratch, .. } = worker;
        let Reading { task, room, arena } = linked;
        reader.check_records(task, |mut batch| {
            let mut ends = EndsPart::default();
            if let Some(scratch) = scratch {
                scratch.collect_evidence(&batch, &mut ends);
            }
            steps.process_batch(&mut batch)?; // nothing is routed to extra outputs before the sort
            if let (Some(duplicate_ends), Some(scratch)) = (self.ends, scratch) {
                duplicate_ends.collect_ends(scratch, &batch, &mut ends)?;
            }
            let mut entries = self.buffers.entries.take().unwrap_or_default();
            entries.clear();
            self.context.sort.copy_batch(&arena, &batch, &mut entries)?;
            let reads = batch.record_bytes() + (run::RECORD_OVERHEAD * batch.len()) as u64;
            let largest = batch.largest_record();
            let placed = batch.records().any(|(_, record)| record.ref_id() >= 0);
            let tagged = self.has_sort_field(&batch);
            let product = (entries.capacity() * size_of::<Entry>()) as u64 + ends.bytes();
            self.readers.record_buffer_size(TicketBuffer::Product, product);
            self.readers.recycle_batch(batch);
            Ok(IngestedBatch {
                entries,
                ends,
                record_bytes: reads,
                largest_record_bytes: largest,
                any_placed: placed,
                has_sort_field: tagged,
                room,
            })
        })
    }
}

impl<'a> Ingest<'a> {
    /// Returns whether any read of the batch has the optional field that is the sort key. `None` if
    /// reads are not sorted by a field, or if the batch is empty.
    fn has_sort_field(&self, batch: &Batch) -> Option<bool> {
        let tag = self.context.sort.keyer().field().filter(|_| !batch.is_empty())?;
        Some(batch.records().any(|(_, record)| record.field(tag).is_some()))
    }

    /// Performs the parallel working phase of a flush task: packs records into frames of a run, or
    /// encodes them for the output.
    fn perform_flush_task(
        &self,
        worker: &mut IngestWorker<'a>,
        linked: LinkedFlush,
    ) -> Result<FlushResult> {
        let IngestWorker { flush, early_writer, .. } = worker;
        let sort = &self.context.sort;
        let mut pack = |records: &[Partition]| {
            flush.pack_partitions(records, sort, self.buffers.frames.take().unwrap_or_default())
        };
        Ok(match linked {
            LinkedFlush::Seal => FlushResult::Seal,
            LinkedFlush::Sort(list) => FlushResult::Sort(list),
            LinkedFlush::Write(records, FlushTarget::Run) => {
                FlushResult::Write(FlushedPart::Frames(pack(&records)?), FlushTarget::Run)
            }
            LinkedFlush::Write(partitions, FlushTarget::Output) => {
                let absent = || Error::bug("reads are to leave, and nobody can write them");
                let writer = self.writer.ok_or_else(absent)?;
                let early_writer =
                    early_writer.get_or_insert_with(|| EarlyWriter::new(&self.output_pipeline, writer));
                let encoded = early_writer.encode_partitions(&partitions, sort, writer)?;
                FlushResult::Write(FlushedPart::Encoded(encoded), FlushTarget::Output)
            }
            LinkedFlush::Close(rest, target) => {
                let frames = rest.map(|rest| pack(std::slice::from_ref(&rest))).transpose()?;
                FlushResult::Close(frames, target)
            }
        })
    }
}

struct IngestPass<'r, 'a>(&'r Ingest<'a>);

impl<'a> Pass for IngestPass<'_, 'a> {
    type Input = ClaimedTicket;
    type Opened = OpenedTicket;
    type Linked = LinkedTicket;
    type Output = FinishedTicket;
    type Worker = IngestWorker<'a>;
    type Error = Error;

    fn make_worker(&self) -> IngestWorker<'a> {
        let Ingest { readers, pipeline, ends, context, .. } = self.0;
        IngestWorker {
            reader: readers.new_reader(),
            steps: pipeline.new_worker(),
            ends: ends.map(DuplicateEnds::new_scratch),
            flush: FlushWorker::new(context.framing),
            early_writer: None,
        }
    }

    fn open(&self, worker: &mut IngestWorker<'a>, claimed: ClaimedTicket) -> Result<OpenedTicket> {
        Ok(match claimed {
            ClaimedTicket::Read(Reading { task, room, arena }) => {
                OpenedTicket::Read(Reading { task: worker.reader.open_task(task)?, room, arena })
            }
            ClaimedTicket::Flush(Flushing { task, large }) => {
                let task = worker.flush.open_task(task, &self.0.context.sort)?;
                OpenedTicket::Flush(Flushing { task, large })
            }
            ClaimedTicket::Idle => OpenedTicket::Idle,
        })
    }

    fn work(&self, worker: &mut IngestWorker<'a>, ready: LinkedTicket) -> Result<FinishedTicket> {
        Ok(match ready {
            LinkedTicket::Read(linked) => {
                FinishedTicket::Read(Box::new(self.0.ingest_batch(worker, linked)?))
            }
            LinkedTicket::Flush(Flushing { task, large }) => {
                FinishedTicket::Flush(Flushing { task: self.0.perform_flush_task(worker, task)?, large })
            }
            LinkedTicket::Idle => FinishedTicket::Idle,
        })
    }
}

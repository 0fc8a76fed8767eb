//! The streaming pass: reads chunks of the input, applies the steps, and writes encoded parts. It
//! keeps no reads, so its memory does not depend on the input. Used if nothing is sorted and no
//! duplicates are marked.

use readmill_engine::{Crew, Pass};
use readmill_input::MAX_CLAIM_BYTES;
use readmill_process::console::Console;
use readmill_record::{Charge, Error, Header, Ledger, Limit, Result};

use super::StepCounts;
use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::feed::{Feed, FeedReader, FeedReaders, LinkedBatch, OpenedTask, TicketBuffer};
use super::long_reads::{LONG_READ_COPIES, LongReads};
use super::merge::WrittenRecords;
use crate::outputs::routing::RoutedRecords;
use crate::outputs::{EncodedPart, PartEncoder, PartWriter, Sink};
use crate::pipeline::inputs::{InputTask, Inputs};

/// Size of regions, in bytes, below which one thread finishes before other threads have started.
const MAX_SINGLE_THREAD_BYTES: u64 = 2 << 20;

/// Returns the part of the crew that reads these inputs. One thread suffices for a few small
/// regions. CRAM containers are larger than chunks of other formats, so fewer tickets are in flight
/// if not all containers would fit into `room` bytes. A container larger than its share is rejected
/// later.
pub fn choose_crew(mut crew: Crew, inputs: &mut [Inputs], room: u64, ledger: &Ledger) -> Result<Crew> {
    let bytes: Option<u64> = inputs.iter().map(Inputs::remaining_region_bytes).sum();
    if bytes.is_some_and(|bytes| bytes < MAX_SINGLE_THREAD_BYTES) {
        crew = Crew { threads: 1, in_flight: crew.in_flight.min(2) };
    }
    if inputs.iter().any(Inputs::has_cram) {
        let mut first = 1;
        for inputs in &mut *inputs {
            first = inputs
                .peek_task()?
                .map_or(0, |next| next.max_record_bytes() + next.extra_open_bytes())
                .max(first);
        }
        let fitting = usize::try_from(room / first).unwrap_or(usize::MAX);
        crew.in_flight = crew.in_flight.min(fitting).max(1);
        let each = Limit::part_of(room, crew.in_flight as u64, ledger);
        inputs.iter_mut().for_each(|inputs| inputs.limit_containers(each));
    }
    Ok(crew)
}

struct StreamPass<'a> {
    readers: FeedReaders,
    pipeline: BatchPipeline<'a>,
    writer: Option<PartWriter<'a>>,
}

struct StreamWorker<'a> {
    reader: FeedReader,
    steps: PipelineWorker<'a>,
    encoder: Option<PartEncoder>,
}

struct StreamedBatch {
    read: u64,
    part: Option<EncodedPart>,
    routed: RoutedRecords,
    charge: Charge,
}

impl<'a> Pass for StreamPass<'a> {
    /// A task and its charge; `None` for an idle ticket.
    type Input = Option<(InputTask, Charge)>;
    type Opened = Option<(OpenedTask, Charge)>;
    type Linked = Option<(LinkedBatch, Charge)>;
    type Output = Option<StreamedBatch>;
    type Worker = StreamWorker<'a>;
    type Error = Error;

    fn make_worker(&self) -> StreamWorker<'a> {
        StreamWorker {
            reader: self.readers.new_reader(),
            steps: self.pipeline.new_worker(),
            encoder: self.writer.as_ref().map(PartWriter::new_encoder),
        }
    }

    fn open(&self, worker: &mut StreamWorker<'a>, claimed: Self::Input) -> Result<Self::Opened> {
        let Some((next, charge)) = claimed else { return Ok(None) };
        Ok(Some((worker.reader.open_task(next)?, charge)))
    }

    fn work(&self, worker: &mut StreamWorker<'a>, linked: Self::Linked) -> Result<Self::Output> {
        self.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
        let Some((linked, charge)) = linked else { return Ok(None) };
        let StreamWorker { reader, steps, encoder } = worker;
        let (batch, read, routed) = reader.check_records(linked, |mut batch| {
            let read = batch.len() as u64;
            let routed = steps.process_batch(&mut batch)?;
            Ok((batch, read, routed))
        })?;
        let mut part = self.writer.as_ref().map(PartWriter::take_empty_part);
        if let (Some(part), Some(encoder)) = (&mut part, encoder) {
            encoder.encode(&batch, part)?;
            self.readers.record_buffer_size(TicketBuffer::Product, part.bytes.capacity() as u64);
        }
        self.readers.recycle_batch(batch);
        Ok(Some(StreamedBatch { read, part, routed, charge }))
    }
}

pub struct StreamOutput<'a> {
    pub sink: &'a mut Sink,
    pub header: &'a Header,
}

/// Streams the input through the steps to the main output, if there is one, and to extra outputs.
/// Also returns the number of records read.
pub fn stream_reads(
    crew: Crew,
    feed: Feed,
    pipeline: BatchPipeline<'_>,
    mut output: Option<StreamOutput<'_>>,
    ledger: &Ledger,
    console: &Console,
) -> Result<(u64, WrittenRecords)> {
    let writer = output.as_ref().map(|output| output.sink.writer(output.header, crew.in_flight));
    let large_parts = writer.as_ref().and_then(PartWriter::large_parts);
    let gathered = large_parts.map(|parts| parts.bytes);
    let feed = feed.with_batch_bytes(gathered);
    let usual = MAX_CLAIM_BYTES as u64 + gathered.unwrap_or(0).max(MAX_CLAIM_BYTES as u64);
    let long_reads =
        LongReads::new(ledger, LONG_READ_COPIES + large_parts.map_or(0, |parts| parts.copies), usual);
    let mut held_back = ledger.empty_charge(LongReads::LEDGER_NAME);
    let extra = pipeline.extra;
    let pass = StreamPass { readers: feed.new_reader_factory(), pipeline, writer };
    let Feed { mut input, mut link } = feed;
    let (mut read, mut records) = (0, 0);
    // Whether memory was short at the last claim, while no ticket in flight could release any.
    let mut last_was_short = false;
    let workers = readmill_engine::run_pass(
        crew,
        &pass,
        |_| {
            if long_reads.must_wait() {
                return Ok(Some(None));
            }
            let any_under_way = long_reads.has_tickets_in_flight();
            let next = match input.claim_task() {
                Ok(Some(next)) => next,
                Ok(None) => return Ok(None),
                // An idle ticket also writes pending parts, which may release memory.
                Err(error) if error.is_shortage() && (any_under_way || !last_was_short) => {
                    last_was_short = !any_under_way;
                    return Ok(Some(None));
                }
                Err(error) => return Err(error),
            };
            last_was_short = false;
            console.advance(next.read_bytes());
            let charge = long_reads.charge_claimed_task(&next);
            Ok(Some(Some((next, charge))))
        },
        |_, opened| {
            let Some((piece, mut charge)) = opened else { return Ok(None) };
            let linked = pass.readers.link_task(&mut link, piece)?;
            long_reads.charge_linked_reads(
                linked.record_bytes(),
                link.waiting_bytes(),
                &mut charge,
                &mut held_back,
            );
            Ok(Some((linked, charge)))
        },
        |_, batch: Option<StreamedBatch>| {
            let Some(StreamedBatch { read: n, part, routed, mut charge }) = batch else { return Ok(()) };
            read += n;
            extra.map_or(Ok(()), |extra| extra.take_batch(routed))?;
            if let (Some(mut part), Some(output), Some(writer)) = (part, &mut output, &pass.writer) {
                records += part.records;
                // The part may still have to be written, but its reads are no longer in memory.
                charge.resize(charge.bytes().min(part.bytes.capacity() as u64));
                part.charge = Some(charge);
                output.sink.take_part(part, writer)?;
            }
            long_reads.record_commit();
            Ok(())
        },
    )?;
    pass.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|worker| worker.steps.merge_counts_into(&mut counts));
    Ok((read, WrittenRecords { records, counts }))
}

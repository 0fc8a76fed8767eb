//! Streams reads: pieces in, steps, encoded parts out; no read is kept.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_engine::{Crew, Pass};
use readmill_input::MAX_CLAIM;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use super::StepCounts;
use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::feed::{Feed, FeedReader, FeedReaders, LinkedBatch, OpenedTask, TicketBuffer};
use super::merge::Written;
use crate::outputs::routing::RoutedRecords;
use crate::outputs::{EncodedPart, PartEncoder, PartWriter, Sink};
use crate::pipeline::inputs::InputTask;
use crate::process::console::Console;

/// Charges what reads in flight take beyond the share of a batch: CRAM containers, long reads, and records that the
/// link holds back.
///
/// How much a long read takes is known when it is linked, and then it cannot wait. So once there are long reads, a task is
/// claimed only if the next one, and the growth of those that are not linked yet, fit into the free memory; else the
/// claimer claims idle tickets until earlier ones are committed.
struct LongReads<'a> {
    ledger: &'a Ledger,
    copies: u64,
    /// The bytes of a batch that has a share of memory.
    usual: u64,
    /// The largest charge of a ticket, and how much one grew when it was linked.
    largest: AtomicU64,
    growth: AtomicU64,
    /// Tickets that were claimed, linked, committed: idle ones do not count.
    claimed: AtomicU64,
    linked: AtomicU64,
    committed: AtomicU64,
}

/// How many copies of a long read are in memory at once: in its batch, in a step, and encoded.
const COPIES: u64 = 4;

impl<'a> LongReads<'a> {
    const NAME: &'static str = "long reads and CRAM containers under way";

    fn new(ledger: &'a Ledger, copies: u64, usual: u64) -> Self {
        let (largest, growth, claimed, linked, committed) = Default::default();
        LongReads { ledger, copies, usual, largest, growth, claimed, linked, committed }
    }

    /// Whether the next task must wait for tickets under way.
    fn must_wait(&self) -> bool {
        let (largest, growth) = (self.largest.load(Relaxed), self.growth.load(Relaxed));
        let claimed = self.claimed.load(Relaxed);
        if largest == 0 || claimed == self.committed.load(Relaxed) {
            return false;
        }
        let unlinked = claimed - self.linked.load(Relaxed);
        // Half as much again, for a line of SAM that is not claimed yet.
        self.ledger.free() < largest + largest / 2 + unlinked * growth
    }

    /// Charges a task that is claimed. The charge of a CRAM container never exceeds the limit for containers, because the
    /// input refuses larger ones.
    fn claim(&self, next: &InputTask) -> Charge {
        self.claimed.fetch_add(1, Relaxed);
        let mut charge = self.ledger.empty(LongReads::NAME);
        let bytes = next.bound() + next.working() + next.read_bytes();
        charge.resize(bytes.saturating_sub(3 * MAX_CLAIM as u64));
        self.largest.fetch_max(charge.bytes(), Relaxed);
        charge
    }

    /// Charges the reads that the link has released, and those that it still holds back.
    fn link(&self, bytes: u64, waiting: u64, charge: &mut Charge, held_back: &mut Charge) {
        let cost = |bytes: u64| self.copies * bytes.saturating_sub(self.usual);
        let claimed = charge.bytes();
        charge.resize(claimed.max(cost(bytes)));
        held_back.resize(waiting);
        let largest = charge.bytes().max(cost(waiting));
        self.largest.fetch_max(largest, Relaxed);
        self.growth.fetch_max(largest - claimed, Relaxed);
        self.linked.fetch_add(1, Relaxed);
    }

    fn commit(&self) {
        self.committed.fetch_add(1, Relaxed);
    }
}

struct StreamPass<'a> {
    readers: FeedReaders,
    pipeline: BatchPipeline<'a>,
    /// Encodes the reads; `None` where no main output is written.
    writer: Option<PartWriter<'a>>,
}

/// One thread's reader, pipeline and encoder.
struct StreamWorker<'a> {
    reader: FeedReader,
    steps: PipelineWorker<'a>,
    encoder: Option<PartEncoder>,
}

/// The result of a batch.
struct StreamedBatch {
    /// Records that were read.
    read: u64,
    /// The part of the main output.
    part: Option<EncodedPart>,
    /// Reads that go to extra outputs.
    routed: RoutedRecords,
    /// Its memory beyond the share of a batch.
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

    fn worker(&self) -> StreamWorker<'a> {
        StreamWorker {
            reader: self.readers.reader(),
            steps: self.pipeline.worker(),
            encoder: self.writer.as_ref().map(PartWriter::encoder),
        }
    }

    fn open(&self, worker: &mut StreamWorker<'a>, claimed: Self::Input) -> Result<Self::Opened> {
        let Some((next, charge)) = claimed else { return Ok(None) };
        Ok(Some((worker.reader.open(next)?, charge)))
    }

    fn work(&self, worker: &mut StreamWorker<'a>, linked: Self::Linked) -> Result<Self::Output> {
        self.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
        let Some((linked, charge)) = linked else { return Ok(None) };
        let StreamWorker { reader, steps, encoder } = worker;
        let (batch, read, routed) = reader.check(linked, |mut batch| {
            let read = batch.len() as u64;
            let routed = steps.apply(&mut batch)?;
            Ok((batch, read, routed))
        })?;
        let mut part = self.writer.as_ref().map(PartWriter::part);
        if let (Some(part), Some(encoder)) = (&mut part, encoder) {
            encoder.encode(&batch, part)?;
            self.readers.note(TicketBuffer::Product, part.bytes.capacity() as u64);
        }
        self.readers.reuse(batch);
        Ok(Some(StreamedBatch { read, part, routed, charge }))
    }
}

/// The main output of a stream.
pub struct StreamOutput<'a> {
    /// Takes the encoded parts.
    pub sink: &'a mut Sink,
    /// The header of the output.
    pub header: &'a Header,
}

/// Streams the input through the steps into the main output, if there is one, and into extra outputs; also returns the
/// number of records read.
pub fn stream(
    crew: Crew,
    feed: Feed,
    pipeline: BatchPipeline<'_>,
    mut output: Option<StreamOutput<'_>>,
    ledger: &Ledger,
    console: &Console,
) -> Result<(u64, Written)> {
    let writer = output.as_ref().map(|output| output.sink.writer(output.header, crew.in_flight));
    let cram_copies = writer.as_ref().map_or(0, PartWriter::cram_copies);
    let gathered = writer.as_ref().and_then(PartWriter::gathers);
    let feed = feed.gathering(gathered);
    let usual = MAX_CLAIM as u64 + gathered.unwrap_or(0).max(MAX_CLAIM as u64);
    let long_reads = LongReads::new(ledger, COPIES + cram_copies, usual);
    let mut held_back = ledger.empty(LongReads::NAME);
    let extra = pipeline.extra;
    let pass = StreamPass { readers: feed.readers(), pipeline, writer };
    let Feed { mut input, mut link } = feed;
    let (mut read, mut records) = (0, 0);
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            if long_reads.must_wait() {
                return Ok(Some(None));
            }
            let Some(next) = input.claim()? else { return Ok(None) };
            console.advance(next.read_bytes());
            let charge = long_reads.claim(&next);
            Ok(Some(Some((next, charge))))
        },
        |_, opened| {
            let Some((piece, mut charge)) = opened else { return Ok(None) };
            let linked = pass.readers.link(&mut link, piece)?;
            long_reads.link(linked.bytes(), link.waiting_bytes(), &mut charge, &mut held_back);
            Ok(Some((linked, charge)))
        },
        |_, batch: Option<StreamedBatch>| {
            let Some(StreamedBatch { read: n, part, routed, charge }) = batch else { return Ok(()) };
            read += n;
            extra.map_or(Ok(()), |extra| extra.take(routed))?;
            if let (Some(part), Some(output), Some(writer)) = (part, &mut output, &pass.writer) {
                records += part.records;
                output.sink.take(part, writer)?;
            }
            drop(charge);
            long_reads.commit();
            Ok(())
        },
    )?;
    pass.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|worker| worker.steps.finish(&mut counts));
    Ok((read, Written { records, counts }))
}

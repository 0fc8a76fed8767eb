//! Streams reads: pieces in, steps, encoded parts out; no read is kept.

use readmill_engine::{Crew, Pass};
use readmill_input::MAX_CLAIM;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use super::StepCounts;
use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::feed::{Feed, FeedReader, FeedReaders, LinkedBatch, Linker, OpenedTask, TicketBuffer};
use super::merge::Written;
use crate::outputs::routing::RoutedRecords;
use crate::outputs::{EncodedPart, PartEncoder, PartWriter, Sink};
use crate::pipeline::inputs::InputTask;
use crate::process::console::Console;

/// Charges what reads in flight take beyond the share of a batch: CRAM containers, long reads, and records that the
/// link holds back.
struct LongReadCharge {
    held_back: Charge,
    copies: u64,
}

/// How many copies of a long read are in memory at once: in its batch, in a step, and encoded.
const COPIES: u64 = 4;

/// How many more are in memory where it is encoded as CRAM: its series, and one of them while it is compressed.
const CRAM_COPIES: u64 = 3;

impl LongReadCharge {
    const NAME: &str = "long reads and CRAM containers under way";

    fn new(ledger: &Ledger, copies: u64) -> Self {
        LongReadCharge { held_back: ledger.empty(LongReadCharge::NAME), copies }
    }

    /// Charges the reads that the link has released, and those that it still holds back.
    fn linked(
        &mut self,
        stretch: LinkedBatch,
        mut charge: Charge,
        link: &Linker,
    ) -> (LinkedBatch, Charge) {
        let bytes = self.copies * stretch.bytes().saturating_sub(2 * MAX_CLAIM as u64);
        charge.resize(charge.bytes().max(bytes));
        self.held_back.resize(link.waiting_bytes());
        (stretch, charge)
    }
}

/// Returns a task with its charge. The charge of a CRAM container never exceeds the limit for containers, because
/// the input refuses larger ones.
fn charge_task(next: InputTask, ledger: &Ledger) -> (InputTask, Charge) {
    let mut charge = ledger.empty(LongReadCharge::NAME);
    let bytes = next.bound() + next.working() + next.read_bytes();
    charge.resize(bytes.saturating_sub(3 * MAX_CLAIM as u64));
    (next, charge)
}

struct StreamPass<'a> {
    readers: FeedReaders,
    pipeline: BatchPipeline<'a>,
    writer: PartWriter<'a>,
}

impl<'a> Pass for StreamPass<'a> {
    type Input = (InputTask, Charge);
    type Opened = (OpenedTask, Charge);
    type Linked = (LinkedBatch, Charge);
    type Output = (EncodedPart, u64, Charge);
    type Worker = (FeedReader, PipelineWorker<'a>, PartEncoder);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.pipeline.worker(), self.writer.encoder())
    }

    fn open(&self, worker: &mut Self::Worker, (next, charge): Self::Input) -> Result<Self::Opened> {
        Ok((worker.0.open(next)?, charge))
    }

    fn work(&self, worker: &mut Self::Worker, (stretch, charge): Self::Linked) -> Result<Self::Output> {
        self.writer.write_pending()?;
        let (reader, steps, encoder) = worker;
        let (batch, read, routed) = reader.check(stretch, |mut batch| {
            let read = batch.len() as u64;
            let routed = steps.apply(&mut batch)?;
            Ok((batch, read, routed))
        })?;
        let mut part = self.writer.part();
        encoder.encode(&batch, &mut part)?;
        part.routed = routed;
        self.readers.note(TicketBuffer::Product, part.bytes.capacity() as u64);
        self.readers.reuse(batch);
        Ok((part, read, charge))
    }
}

/// Streams the input through the steps into the output; also returns the number of records read.
pub fn to_sink(
    crew: Crew,
    feed: Feed,
    pipeline: BatchPipeline<'_>,
    header: &Header,
    sink: &mut Sink,
    ledger: &Ledger,
    console: &Console,
) -> Result<(u64, Written)> {
    let (writer, extra) = (sink.writer(header, crew.in_flight), pipeline.extra);
    let copies = COPIES + if writer.is_cram() { CRAM_COPIES } else { 0 };
    let mut long_reads = LongReadCharge::new(ledger, copies);
    let pass = StreamPass { readers: feed.readers(), pipeline, writer };
    let Feed { mut input, mut link } = feed;
    let (mut read, mut records) = (0, 0);
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            let next = input.claim()?;
            console.advance(next.as_ref().map_or(0, InputTask::read_bytes));
            Ok(next.map(|next| charge_task(next, ledger)))
        },
        |_, (piece, charge)| {
            let stretch = pass.readers.link(&mut link, piece)?;
            Ok(long_reads.linked(stretch, charge, &link))
        },
        |_, (mut part, n, _charge): (EncodedPart, u64, Charge)| {
            read += n;
            records += part.records;
            extra.map_or(Ok(()), |extra| extra.take(std::mem::take(&mut part.routed)))?;
            sink.take(part, &pass.writer)
        },
    )?;
    pass.writer.write_pending()?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|(_, steps, _)| steps.finish(&mut counts));
    Ok((read, Written { records, counts }))
}

struct InspectPass<'a> {
    readers: FeedReaders,
    pipeline: BatchPipeline<'a>,
}

impl<'a> Pass for InspectPass<'a> {
    type Input = (InputTask, Charge);
    type Opened = (OpenedTask, Charge);
    type Linked = (LinkedBatch, Charge);
    type Output = (u64, RoutedRecords, Charge);
    type Worker = (FeedReader, PipelineWorker<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (self.readers.reader(), self.pipeline.worker())
    }

    fn open(&self, worker: &mut Self::Worker, (next, charge): Self::Input) -> Result<Self::Opened> {
        Ok((worker.0.open(next)?, charge))
    }

    fn work(&self, (reader, steps): &mut Self::Worker, linked: Self::Linked) -> Result<Self::Output> {
        let (stretch, charge) = linked;
        let (batch, (read, routed)) = reader.check(stretch, |mut batch| {
            let read = batch.len() as u64;
            let routed = steps.apply(&mut batch)?;
            Ok((batch, (read, routed)))
        })?;
        self.readers.reuse(batch);
        Ok((read, routed, charge))
    }
}

/// Streams the input to tallies and extra outputs only; returns the number of records read.
pub fn inspect(
    crew: Crew,
    feed: Feed,
    pipeline: BatchPipeline<'_>,
    ledger: &Ledger,
    console: &Console,
) -> Result<(u64, StepCounts)> {
    let mut long_reads = LongReadCharge::new(ledger, COPIES);
    let extra = pipeline.extra;
    let pass = InspectPass { readers: feed.readers(), pipeline };
    let Feed { mut input, mut link } = feed;
    let mut read = 0;
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            let next = input.claim()?;
            console.advance(next.as_ref().map_or(0, InputTask::read_bytes));
            Ok(next.map(|next| charge_task(next, ledger)))
        },
        |_, (piece, charge)| {
            let stretch = pass.readers.link(&mut link, piece)?;
            Ok(long_reads.linked(stretch, charge, &link))
        },
        |_, (records, routed, _charge)| {
            read += records;
            extra.map_or(Ok(()), |extra| extra.take(routed))
        },
    )?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|(_, steps)| steps.finish(&mut counts));
    Ok((read, counts))
}

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
        linked: LinkedBatch,
        mut charge: Charge,
        link: &Linker,
    ) -> (LinkedBatch, Charge) {
        let bytes = self.copies * linked.bytes().saturating_sub(2 * MAX_CLAIM as u64);
        charge.resize(charge.bytes().max(bytes));
        self.held_back.resize(link.waiting_bytes());
        (linked, charge)
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
    _charge: Charge,
}

impl<'a> Pass for StreamPass<'a> {
    type Input = (InputTask, Charge);
    type Opened = (OpenedTask, Charge);
    type Linked = (LinkedBatch, Charge);
    type Output = StreamedBatch;
    type Worker = StreamWorker<'a>;
    type Error = Error;

    fn worker(&self) -> StreamWorker<'a> {
        StreamWorker {
            reader: self.readers.reader(),
            steps: self.pipeline.worker(),
            encoder: self.writer.as_ref().map(PartWriter::encoder),
        }
    }

    fn open(&self, worker: &mut StreamWorker<'a>, (next, charge): Self::Input) -> Result<Self::Opened> {
        Ok((worker.reader.open(next)?, charge))
    }

    fn work(
        &self,
        worker: &mut StreamWorker<'a>,
        (linked, _charge): Self::Linked,
    ) -> Result<StreamedBatch> {
        self.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
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
        Ok(StreamedBatch { read, part, routed, _charge })
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
    let is_cram = writer.as_ref().is_some_and(PartWriter::is_cram);
    let mut long_reads = LongReadCharge::new(ledger, COPIES + if is_cram { CRAM_COPIES } else { 0 });
    let extra = pipeline.extra;
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
            let linked = pass.readers.link(&mut link, piece)?;
            Ok(long_reads.linked(linked, charge, &link))
        },
        |_, batch: StreamedBatch| {
            read += batch.read;
            extra.map_or(Ok(()), |extra| extra.take(batch.routed))?;
            if let (Some(part), Some(output), Some(writer)) = (batch.part, &mut output, &pass.writer) {
                records += part.records;
                output.sink.take(part, writer)?;
            }
            Ok(())
        },
    )?;
    pass.writer.as_ref().map_or(Ok(()), PartWriter::write_pending)?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|worker| worker.steps.finish(&mut counts));
    Ok((read, Written { records, counts }))
}

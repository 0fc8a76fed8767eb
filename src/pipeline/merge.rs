//! The merge: ranges of the final order are sorted on all threads, cut into partitions, gathered and encoded on all
//! threads. The same merge writes reads to the spill as one sorted run.

use readmill_engine::{Crew, Pass, Pool, map_ordered};
use readmill_record::{Batch, Error, Header, Result};
use readmill_sort::{Cutter, Framing, Merge, Ordered, Partition, Range, SpilledRun};

use super::StepCounts;
use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::flush::FlushWorker;
use super::sort_context::{INDEXES, SortContext};
use crate::outputs::{EncodedPart, PartEncoder, PartWriter, Sink};
use crate::process::console::Console;

/// The result of writing all reads.
pub struct Written {
    /// Records written.
    pub records: u64,
    /// Counts of the steps.
    pub counts: StepCounts,
}

struct SinkPass<'a> {
    pipeline: BatchPipeline<'a>,
    writer: PartWriter<'a>,
}

/// One thread's batch, pipeline and encoder.
type MergeWorker<'a> = (Batch, PipelineWorker<'a>, PartEncoder);

impl<'a> Pass for SinkPass<'a> {
    /// A range, or `None` at the end.
    type Input = Option<Range>;
    type Opened = Option<Ordered>;
    type Linked = Vec<Partition>;
    type Output = Vec<EncodedPart>;
    type Worker = MergeWorker<'a>;
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (Batch::with_capacity(9 << 17), self.pipeline.worker(), self.writer.encoder())
    }

    fn open(&self, _: &mut Self::Worker, range: Option<Range>) -> Result<Option<Ordered>> {
        range.map(Range::order).transpose()
    }

    fn work(&self, worker: &mut Self::Worker, partitions: Vec<Partition>) -> Result<Vec<EncodedPart>> {
        self.writer.write_pending()?;
        partitions.into_iter().map(|partition| self.encode(worker, &partition)).collect()
    }
}

impl<'a> SinkPass<'a> {
    fn encode(&self, worker: &mut MergeWorker<'a>, partition: &Partition) -> Result<EncodedPart> {
        let (batch, steps, encoder) = worker;
        partition.gather_into(batch)?;
        let routed = steps.apply(batch)?;
        let mut part = self.writer.part();
        encoder.encode(batch, &mut part)?;
        (part.routed, part.start) = (routed, partition.start());
        Ok(part)
    }
}

/// Merges reads into the output; `cutter` cuts its partitions.
pub fn to_sink(
    crew: Crew,
    mut merge: Merge,
    pipeline: BatchPipeline<'_>,
    header: &Header,
    sink: &mut Sink,
    mut cutter: Cutter,
    console: &Console,
) -> Result<Written> {
    let (mut records, mut ended) = (0, false);
    let extra = pipeline.extra;
    let pass = SinkPass { pipeline, writer: sink.writer(header, crew.in_flight) };
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| {
            let range = merge.next_range();
            let end = range.is_none() && !std::mem::replace(&mut ended, range.is_none());
            Ok((range.is_some() || end).then_some(range))
        },
        |_, ordered| {
            Ok(match ordered {
                Some(ordered) => cutter.cut(ordered),
                None => Vec::from_iter(cutter.finish()),
            })
        },
        |_, parts: Vec<EncodedPart>| {
            for mut part in parts {
                records += part.records;
                console.advance(part.records);
                extra.map_or(Ok(()), |extra| extra.take(std::mem::take(&mut part.routed)))?;
                sink.take(part, &pass.writer)?;
            }
            Ok(())
        },
    )?;
    pass.writer.write_pending()?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|(_, steps, _)| steps.finish(&mut counts));
    Ok(Written { records, counts })
}

/// Merges reads into one sorted run of the spill.
pub fn to_spill(
    context: &SortContext,
    framing: Framing,
    mut merge: Merge,
    turn: usize,
    largest: u64,
) -> Result<SpilledRun> {
    let charge = context.ledger.empty(INDEXES);
    let mut run = SpilledRun::new(context.spill.begin(turn)?, framing, charge);
    let (crew, _large) = context.crew_for(largest)?;
    let frames = Pool::new(crew.in_flight);
    let pack = |worker: &mut FlushWorker, range: Range| {
        let spare = frames.take().unwrap_or_default();
        worker.pack(&[range.order()?.into()], &context.sort, spare)
    };
    let claim = || Ok::<_, Error>(merge.next_range());
    map_ordered(
        crew,
        claim,
        || FlushWorker::new(framing),
        pack,
        |mut packed| {
            run.append(&context.spill, &mut packed)?;
            frames.put(packed);
            Ok(())
        },
    )?;
    Ok(run.complete())
}

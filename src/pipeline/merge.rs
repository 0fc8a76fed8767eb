//! The final merge ([`write_to_sink`]): ranges of the output order are sorted in parallel and cut
//! into partitions serially. The records of each partition are then gathered, processed by the late
//! steps and encoded in parallel. The merge can also write one sorted run to the spill
//! ([`write_to_spill`]).

use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicU64};

use readmill_engine::{Crew, Pass, Pool, map_ordered};
use readmill_process::console::Console;
use readmill_record::{Batch, Error, Header, Result};
use readmill_sort::{Cutter, Framing, Merge, OrderedRange, Partition, Range, RangeStart, SpilledRun};

use super::StepCounts;
use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::flush::FlushWorker;
use super::sort_context::{INDEXES, SortContext};
use crate::outputs::{EncodedPart, PartEncoder, PartTarget, PartWriter};

pub struct WrittenRecords {
    pub records: u64,
    pub counts: StepCounts,
}

struct SinkPass<'a> {
    pipeline: BatchPipeline<'a>,
    writer: PartWriter<'a>,
}

/// The part of the output order that a merge writes: the whole order, or a range of it if the
/// processes of a job in stages each write one range.
#[derive(Default)]
pub struct OutputRange {
    pub cutter: Cutter,
    /// Only partitions that start after this many bytes of records are written. `None` includes the
    /// first partition.
    pub after: Option<u64>,
    /// Start of the next range. Partitions that start after it are not written. `None` includes the
    /// last partition.
    pub until: Option<RangeStart>,
}

impl OutputRange {
    /// Returns the range from `start` to `until`, the start of the next range, cut into partitions
    /// of `partition` bytes. `None` as `start` means the first record, and as `until` the end.
    pub fn between(partition: u64, start: Option<&RangeStart>, until: Option<RangeStart>) -> Self {
        let after = start.map(|start| start.bytes);
        OutputRange { cutter: Cutter::with_size(partition).resume_at(after.unwrap_or(0)), after, until }
    }

    /// Returns the partitions that belong to the range, and whether any partition followed its end.
    fn keep_own_partitions(&self, mut partitions: Vec<Partition>) -> (Vec<Partition>, bool) {
        partitions.retain(|partition| self.after.is_none_or(|after| partition.start() > after));
        let Some(until) = &self.until else { return (partitions, false) };
        let all = partitions.len();
        partitions.retain(|partition| partition.start() <= until.bytes);
        let ended = partitions.len() < all;
        (partitions, ended)
    }
}

impl From<Cutter> for OutputRange {
    fn from(cutter: Cutter) -> Self {
        OutputRange { cutter, ..OutputRange::default() }
    }
}

enum RangeTask {
    Range(Range),
    /// Waits until earlier ranges are cut, because one of them may have been the last.
    Wait,
    End,
}

enum OpenedRange {
    Range(OrderedRange),
    Wait,
    End,
}

type RangeWorker<'a> = (Batch, PipelineWorker<'a>, PartEncoder);

impl<'a> Pass for SinkPass<'a> {
    type Input = RangeTask;
    type Opened = OpenedRange;
    type Linked = Vec<Partition>;
    type Output = Vec<EncodedPart>;
    type Worker = RangeWorker<'a>;
    type Error = Error;

    fn make_worker(&self) -> Self::Worker {
        (Batch::with_capacity(9 << 17), self.pipeline.new_worker(), self.writer.new_encoder())
    }

    fn open(&self, _: &mut Self::Worker, task: RangeTask) -> Result<OpenedRange> {
        Ok(match task {
            RangeTask::Range(range) => OpenedRange::Range(range.order_records()?),
            RangeTask::Wait => OpenedRange::Wait,
            RangeTask::End => OpenedRange::End,
        })
    }

    fn work(&self, worker: &mut Self::Worker, partitions: Vec<Partition>) -> Result<Vec<EncodedPart>> {
        self.writer.write_pending()?;
        partitions.into_iter().map(|partition| self.encode_partition(worker, &partition)).collect()
    }
}

impl<'a> SinkPass<'a> {
    fn encode_partition(
        &self,
        worker: &mut RangeWorker<'a>,
        partition: &Partition,
    ) -> Result<EncodedPart> {
        let (batch, steps, encoder) = worker;
        partition.gather_into(batch)?;
        let routed = steps.process_batch(batch)?;
        let mut part = self.writer.take_empty_part();
        encoder.encode(batch, &mut part)?;
        (part.routed, part.start) = (routed, partition.start());
        Ok(part)
    }
}

/// Merges reads into `target` through the stages of `pipeline`. Writes only the range `output`.
///
/// Ranges are claimed and cut, and parts are written, serially. Ranges are put in order, and their
/// records gathered and encoded, in parallel.
pub fn write_to_sink(
    crew: Crew,
    mut merge: Merge,
    pipeline: BatchPipeline<'_>,
    header: &Header,
    target: &mut (impl PartTarget + Send),
    mut output: OutputRange,
    console: &Console,
) -> Result<WrittenRecords> {
    let (mut records, mut ended) = (0, false);
    let until = output.until.clone();
    // The number of ranges that are claimed but not cut, and whether the end of the output range
    // was reached.
    let (uncut, complete) = (AtomicU64::new(0), AtomicBool::new(false));
    let extra = pipeline.extra;
    let pass = SinkPass { pipeline, writer: target.writer(header, crew.in_flight)? };
    let workers = readmill_engine::run_pass(
        crew,
        &pass,
        |_| {
            if ended || complete.load(Acquire) {
                return Ok(None);
            }
            let is_under_way = until.as_ref().is_some_and(|until| merge.has_passed(&until.border));
            if is_under_way && uncut.load(Acquire) > 0 {
                return Ok(Some(RangeTask::Wait));
            }
            uncut.fetch_add(1, AcqRel);
            let range = merge.next_range();
            ended = range.is_none();
            Ok(Some(range.map_or(RangeTask::End, RangeTask::Range)))
        },
        |_, opened| {
            let partitions = match opened {
                OpenedRange::Wait => return Ok(Vec::new()),
                OpenedRange::Range(ordered) => output.cutter.cut(ordered),
                OpenedRange::End => Vec::from_iter(output.cutter.take_rest()),
            };
            let (own, last) = output.keep_own_partitions(partitions);
            complete.fetch_or(last, AcqRel);
            uncut.fetch_sub(1, AcqRel);
            Ok(own)
        },
        |_, parts: Vec<EncodedPart>| {
            for mut part in parts {
                records += part.records;
                console.advance(part.records);
                extra.map_or(Ok(()), |extra| extra.take_batch(std::mem::take(&mut part.routed)))?;
                target.take_part(part, &pass.writer)?;
            }
            Ok(())
        },
    )?;
    pass.writer.write_pending()?;
    let mut counts = StepCounts::new();
    workers.into_iter().for_each(|(_, steps, _)| steps.merge_counts_into(&mut counts));
    Ok(WrittenRecords { records, counts })
}

/// Merges reads into one sorted run on disk, with the frame size and codec of `framing`. `largest`
/// is the size of the largest record in bytes, which limits the number of tickets in flight.
pub fn write_to_spill(
    context: &SortContext,
    framing: Framing,
    mut merge: Merge,
    turn: usize,
    largest: u64,
) -> Result<SpilledRun> {
    let charge = context.ledger.empty_charge(INDEXES);
    let mut run = SpilledRun::new(context.spill.begin_extent(turn)?, framing, charge);
    let (crew, _large) = context.crew_for(largest)?;
    let frames = Pool::new(crew.in_flight);
    let pack = |worker: &mut FlushWorker, range: Range| {
        let spare = frames.take().unwrap_or_default();
        worker.pack_partitions(&[range.order_records()?.into()], &context.sort, spare)
    };
    let claim = || Ok::<_, Error>(merge.next_range());
    map_ordered(
        crew,
        claim,
        || FlushWorker::new(framing),
        pack,
        |mut packed| {
            run.append_frames(&context.spill, &mut packed)?;
            frames.put(packed);
            Ok(())
        },
    )?;
    Ok(run.shrink_index())
}

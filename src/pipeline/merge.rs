//! Merging: ranges of the final order, put in order on all threads, cut into partitions, gathered and encoded
//! on all threads. The same merge writes reads to the spill as one sorted run.

use readmill_engine::{Crew, Pass, Pool};
use readmill_record::{Batch, Error, Header, Result};
use readmill_sort::{Cutter, Frames, Framing, Merge, Ordered, Partition, Range, RunSort, SpilledRun};

use super::Counts;
use super::batch_pipeline::{Doer, Doing};
use super::flush::Scratch;
use super::sort_context::{INDEXES, Waiting};
use crate::outputs::{Part, PartEncoder, Sink, Writer};
use crate::process::report::Report;

/// What leaves the merge.
pub struct Written {
    /// Records written.
    pub records: u64,
    /// What the steps counted.
    pub counts: Counts,
}

struct ToSink<'a> {
    doing: Doing<'a>,
    writer: Writer<'a>,
}

/// One thread's batch, what it does to it, and its encoder.
type Worker<'a> = (Batch, Doer<'a>, PartEncoder<'a>);

impl<'a> Pass for ToSink<'a> {
    /// A range, or the end of all.
    type Input = Option<Range>;
    type Opened = Option<Ordered>;
    type Linked = Vec<Partition>;
    type Output = Vec<Part>;
    type Worker = Worker<'a>;
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (Batch::with_capacity(9 << 17), self.doing.doer(), self.writer.encoder())
    }

    fn open(&self, _: &mut Self::Worker, range: Option<Range>) -> Result<Option<Ordered>> {
        range.map(Range::order).transpose()
    }

    fn work(&self, worker: &mut Self::Worker, partitions: Vec<Partition>) -> Result<Vec<Part>> {
        self.writer.write_behind()?;
        partitions.into_iter().map(|partition| self.encode(worker, &partition)).collect()
    }
}

impl<'a> ToSink<'a> {
    fn encode(&self, worker: &mut Worker<'a>, partition: &Partition) -> Result<Part> {
        let (batch, doer, encoder) = worker;
        partition.gather_into(batch)?;
        let aside = doer.apply(batch)?;
        let mut part = self.writer.part();
        encoder.encode(batch, &mut part)?;
        (part.aside, part.start) = (aside, partition.start());
        Ok(part)
    }
}

/// Merges into the output, whose partitions `cutter` cuts.
pub fn to_sink(
    crew: Crew,
    mut merge: Merge,
    doing: Doing<'_>,
    header: &Header,
    sink: &mut Sink,
    mut cutter: Cutter,
    report: &Report,
) -> Result<Written> {
    let (mut records, mut ended) = (0, false);
    let sides = doing.aside;
    let pass = ToSink { doing, writer: sink.writer(header, crew.in_flight) };
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
        |_, parts: Vec<Part>| {
            for mut part in parts {
                records += part.records;
                report.advance(part.records);
                sides.map_or(Ok(()), |sides| sides.take(std::mem::take(&mut part.aside)))?;
                sink.take(part, &pass.writer)?;
            }
            Ok(())
        },
    )?;
    pass.writer.write_behind()?;
    let mut counts = Counts::new();
    workers.into_iter().for_each(|(_, doer, _)| doer.finish(&mut counts));
    Ok(Written { records, counts })
}

struct ToSpill<'a> {
    sort: &'a RunSort,
    framing: Framing,
    frames: Pool<Frames>,
}

impl Pass for ToSpill<'_> {
    type Input = Range;
    type Opened = Ordered;
    type Linked = Ordered;
    type Output = Frames;
    type Worker = Scratch;
    type Error = Error;

    fn worker(&self) -> Scratch {
        Scratch::new(self.framing)
    }

    fn open(&self, _: &mut Scratch, range: Range) -> Result<Ordered> {
        range.order()
    }

    fn work(&self, scratch: &mut Scratch, range: Ordered) -> Result<Frames> {
        scratch.pack(&Partition::from(range), self.sort, self.frames.take().unwrap_or_default())
    }
}

/// Merges into one sorted run of the spill.
pub fn to_spill(
    waiting: &Waiting,
    framing: Framing,
    mut merge: Merge,
    turn: usize,
    largest: u64,
) -> Result<SpilledRun> {
    let charge = waiting.ledger.empty(INDEXES);
    let mut run = SpilledRun::new(waiting.spill.begin(turn)?, framing, charge);
    let (crew, _large) = waiting.crew_for(largest)?;
    let frames = Pool::new(crew.in_flight);
    let pass = ToSpill { sort: &waiting.sort, framing, frames };
    readmill_engine::run(
        crew,
        &pass,
        |_| Ok(merge.next_range()),
        |_, ordered| Ok(ordered),
        |_, mut frames: Frames| {
            run.append(&waiting.spill, &mut frames)?;
            pass.frames.put(frames);
            Ok(())
        },
    )?;
    Ok(run.complete())
}

//! Merging: partitions of the final order, gathered and encoded on all threads, written in order. The
//! same merge writes a full arena, or several runs, to the spill as one sorted run.

use readmill_engine::{Crew, Pass, Pool};
use readmill_format::spill::{Extent, Spill};
use readmill_record::{Batch, Error, Header, RecordRef, Result};
use readmill_steps::Step;
use readmill_steps::sort::frame::FrameWriter;
use readmill_steps::sort::{Merge, Partition, RunSort, SpilledRun, merge};

use super::{Counts, Steps};
use crate::output::{Encoding, Part, PartEncoder, Sink};
use crate::report::Report;

/// Where merged records come from.
pub struct Merged<'a> {
    /// The arena's bytes.
    pub arena: &'a [u8],
    /// The spill.
    pub spill: &'a Spill,
}

/// What leaves the merge.
pub struct Written {
    /// Records written.
    pub records: u64,
    /// What the steps counted.
    pub counts: Counts,
}

struct ToSink<'a> {
    from: Merged<'a>,
    steps: &'a [Box<dyn Step>],
    encoding: Encoding<'a>,
    parts: Pool<Part>,
}

impl<'a> Pass for ToSink<'a> {
    type Input = Partition;
    type Opened = Partition;
    type Linked = Partition;
    type Output = Part;
    type Worker = (Batch, Steps, PartEncoder<'a>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (Batch::with_capacity(9 << 17), super::fork(self.steps), self.encoding.encoder())
    }

    fn open(&self, _: &mut Self::Worker, partition: Partition) -> Result<Partition> {
        Ok(partition)
    }

    fn work(&self, worker: &mut Self::Worker, partition: Partition) -> Result<Part> {
        let (batch, steps, encoder) = worker;
        batch.clear();
        merge::gather(partition, self.from.arena, self.from.spill, |stamp, raw| batch.push(raw, stamp))?;
        super::apply(steps, batch)?;
        let mut part = self.parts.take().unwrap_or_default();
        encoder.encode(batch, &mut part);
        Ok(part)
    }
}

/// Merges into the output.
pub fn to_sink(
    crew: Crew,
    mut merge: Merge<'_>,
    from: Merged<'_>,
    steps: &[Box<dyn Step>],
    header: &Header,
    sink: &mut Sink,
    report: &Report,
) -> Result<Written> {
    let mut records = 0;
    let pass = ToSink { from, steps, encoding: sink.encoding(header), parts: Pool::new(crew.in_flight) };
    let workers = readmill_engine::run(
        crew,
        &pass,
        |_| merge.next_partition(),
        |_, partition| Ok(partition),
        |_, mut part: Part| {
            sink.take(&mut part)?;
            records += part.records;
            report.advance(part.records);
            pass.parts.put(part);
            Ok(())
        },
    )?;
    let mut counts = Counts::new();
    super::count(&mut counts, workers.iter().map(|worker| &worker.1));
    Ok(Written { records, counts })
}

struct ToSpill<'a> {
    from: Merged<'a>,
    sort: RunSort,
    frames: Pool<Vec<u8>>,
}

impl Pass for ToSpill<'_> {
    type Input = Partition;
    type Opened = Partition;
    type Linked = Partition;
    type Output = Vec<u8>;
    type Worker = FrameWriter;
    type Error = Error;

    fn worker(&self) -> FrameWriter {
        FrameWriter::default()
    }

    fn open(&self, _: &mut FrameWriter, partition: Partition) -> Result<Partition> {
        Ok(partition)
    }

    fn work(&self, writer: &mut FrameWriter, partition: Partition) -> Result<Vec<u8>> {
        let mut out = self.frames.take().unwrap_or_default();
        out.clear();
        merge::gather(partition, self.from.arena, self.from.spill, |stamp, raw| {
            writer.push(self.sort.key(RecordRef::new(raw)), stamp, raw, &mut out);
        })?;
        writer.close(&mut out);
        Ok(out)
    }
}

/// Merges into one sorted run of the spill.
pub fn to_spill(
    crew: Crew,
    mut merge: Merge<'_>,
    from: Merged<'_>,
    sort: RunSort,
    spill: &Spill,
    turn: usize,
) -> Result<SpilledRun> {
    let mut extent: Extent = spill.begin(turn)?;
    let pass = ToSpill { from, sort, frames: Pool::new(crew.in_flight) };
    readmill_engine::run(
        crew,
        &pass,
        |_| merge.next_partition(),
        |_, partition| Ok(partition),
        |_, frames: Vec<u8>| {
            spill.append(&mut extent, &frames)?;
            pass.frames.put(frames);
            Ok(())
        },
    )?;
    Ok(SpilledRun { extent })
}

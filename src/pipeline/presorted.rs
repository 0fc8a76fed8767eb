//! Writes presorted reads to the output as soon as memory is full, so that sorting a sorted file
//! costs no more than copying it.
//!
//! Whether the input is sorted is known only at its end. If memory is full and the reads arrived in
//! order, they are written to the output, assuming that no later read sorts before them. If one
//! does, the written reads are read back into a run ([`move_output_to_run`]), and the output is
//! written again from the start.

use readmill_engine::{Crew, Pass, Pool};
use readmill_format::bgzf::{BlockReader, Chunk, Inflater};
use readmill_format::chain::{ChunkLinker, LinkedRecords, OpenedChunk};
use readmill_input::MAX_CLAIM_BYTES;
use readmill_record::{Batch, Error, Header, Limit, RecordRef, Result};
use readmill_sort::{Cutter, Frames, Framing, Key, Partition, RunSort, Sources, SpilledRun};

use super::batch_pipeline::{BatchPipeline, PipelineWorker};
use super::flush::FlushWorker;
use super::sort_context::{INDEXES, SortContext};
use crate::outputs::{EncodedPart, PartEncoder, PartWriter, Sink};

/// Minimum frame size, in bytes, of the run that [`move_output_to_run`] writes. The run can be as
/// long as the input, and large frames keep its index small.
const LARGE_FRAME: usize = 256 << 10;

/// A sort key with its tail: the part of the sort value that does not fit into the key.
pub type FullKey = (Key, Vec<u8>);

#[derive(Default)]
pub struct Presorted {
    pub leftover_run: Option<SpilledRun>,
    pub cutter: Cutter,
    last_key: Option<FullKey>,
    pub records: u64,
}

pub struct EncodedPartitions {
    parts: Vec<EncodedPart>,
    ends: Option<(FullKey, FullKey)>,
}

impl Presorted {
    pub fn is_empty(&self) -> bool {
        self.last_key.is_none()
    }

    /// Returns whether all reads of `sources` sort after the reads in the output.
    pub fn is_before(&self, sources: &Sources) -> bool {
        self.last_key.as_ref().is_none_or(|(key, tail)| sources.all_follow_key(*key, tail))
    }

    /// Writes encoded partitions to `sink`. Writes the header before the first partition.
    ///
    /// # Errors
    /// Fails if the partitions sort before reads in the output, which is a bug, or if writing
    /// fails.
    pub fn write_partitions(
        &mut self,
        encoded: EncodedPartitions,
        header: &Header,
        sink: &mut Sink,
        writer: &PartWriter<'_>,
    ) -> Result<()> {
        let Some((first, last)) = encoded.ends else { return Ok(()) };
        if self.is_empty() {
            sink.write_header(header)?;
        }
        if self.last_key.as_ref().is_some_and(|before| first < *before) {
            return Err(Error::bug("reads would leave in the wrong order"));
        }
        self.last_key = Some(last);
        for part in encoded.parts {
            self.records += part.records;
            sink.take_part(part, writer)?;
        }
        Ok(())
    }
}

pub struct EarlyWriter<'a> {
    batch: Batch,
    pub steps: PipelineWorker<'a>,
    encoder: PartEncoder,
}

impl<'a> EarlyWriter<'a> {
    pub fn new(pipeline: &BatchPipeline<'a>, writer: &PartWriter<'a>) -> Self {
        EarlyWriter {
            batch: Batch::default(),
            steps: pipeline.new_worker(),
            encoder: writer.new_encoder(),
        }
    }

    /// Gathers and encodes partitions of the output. Also determines the sort keys of their first
    /// and last read, which [`Presorted::write_partitions`] checks.
    pub fn encode_partitions(
        &mut self,
        partitions: &[Partition],
        sort: &RunSort,
        writer: &PartWriter<'_>,
    ) -> Result<EncodedPartitions> {
        writer.write_pending()?;
        let EarlyWriter { batch, steps, encoder } = self;
        let mut encoded = EncodedPartitions { parts: Vec::new(), ends: None };
        for partition in partitions {
            partition.gather_into(batch)?;
            steps.process_batch(batch)?;
            let mut part = writer.take_empty_part();
            encoder.encode(batch, &mut part)?;
            encoded.parts.push(part);
            if let [first, .., last] | [first @ last] = batch.spans[..] {
                let last = full_key(sort, batch.record(last))?;
                let first = match encoded.ends.take() {
                    Some((first, _)) => first,
                    None => full_key(sort, batch.record(first))?,
                };
                encoded.ends = Some((first, last));
            }
        }
        Ok(encoded)
    }
}

fn full_key(sort: &RunSort, record: RecordRef<'_>) -> Result<FullKey> {
    let (key, mut tail) = (sort.keyer().key(record)?, Vec::new());
    if !key.is_decided() {
        sort.keyer().write_tail(record, &mut tail);
    }
    Ok((key, tail))
}

/// Moves the reads in the output to a run on disk, and empties the output. Their positions in the
/// input are lost, so no step after the sort may need them, as duplicate flags do
/// (`can_write_early` in `run/buffered.rs`).
pub fn move_output_to_run(
    context: &SortContext,
    header: &Header,
    sink: &mut Sink,
    largest: u64,
) -> Result<SpilledRun> {
    let (crew, _large) = context.crew_for(largest)?;
    let mut blocks = BlockReader::new(sink.read_written()?, true);
    let framing = Framing { size: context.framing.size.max(LARGE_FRAME), ..context.framing };
    let mut run =
        SpilledRun::new(context.spill.begin_extent(0)?, framing, context.ledger.empty_charge(INDEXES));
    let mut link = ChunkLinker::new(Limit::UNLIMITED);
    let pass = ReadBackPass::new(context, framing, header);
    let mut ended = false;
    readmill_engine::run_pass(
        crew,
        &pass,
        |_| {
            let mut chunk: Chunk = pass.chunks.take().unwrap_or_default();
            let more = blocks.next_chunk(&mut chunk)?;
            let end = !more && !std::mem::replace(&mut ended, !more);
            Ok((more || end).then_some(chunk).map(|chunk| more.then_some(chunk)))
        },
        |_, opened| {
            Ok(match opened {
                Some(opened) => link.link_chunk(opened),
                None => link.finish_input(Batch::default()),
            })
        },
        |_, mut frames: Frames| {
            run.append_frames(&context.spill, &mut frames)?;
            pass.frames.put(frames);
            Ok(())
        },
    )?;
    sink.restart_output(header)?;
    Ok(run.shrink_index())
}

struct ReadBackPass<'a> {
    context: &'a SortContext,
    framing: Framing,
    n_ref: i32,
    chunks: Pool<Chunk>,
    batches: Pool<Batch>,
    frames: Pool<Frames>,
}

impl<'a> ReadBackPass<'a> {
    fn new(context: &'a SortContext, framing: Framing, header: &Header) -> Self {
        let Crew { in_flight: n, .. } = context.crew;
        let (chunks, batches, frames) = (Pool::new(n), Pool::new(n), Pool::new(n));
        ReadBackPass { context, framing, n_ref: header.n_ref(), chunks, batches, frames }
    }
}

impl Pass for ReadBackPass<'_> {
    type Input = Option<Chunk>;
    type Opened = Option<OpenedChunk>;
    type Linked = LinkedRecords;
    type Output = Frames;
    type Worker = (Inflater, FlushWorker);
    type Error = Error;

    fn make_worker(&self) -> Self::Worker {
        (Inflater::default(), FlushWorker::new(self.framing))
    }

    fn open(&self, worker: &mut Self::Worker, chunk: Option<Chunk>) -> Result<Option<OpenedChunk>> {
        let Some(chunk) = chunk else { return Ok(None) };
        let mut opened = OpenedChunk::reuse(self.batches.take().unwrap_or_default());
        opened.inflate_chunk(&mut worker.0, &chunk)?;
        self.chunks.put(chunk);
        opened.guess_first_record(self.n_ref);
        Ok(Some(opened))
    }

    fn work(&self, worker: &mut Self::Worker, linked: LinkedRecords) -> Result<Frames> {
        linked.fault.map_or(Ok(()), Err)?;
        let frames = self.frames.take().unwrap_or_default();
        let mut batch = linked.batch.check(linked.number, self.n_ref)?;
        let frames = worker.1.pack_batch(&batch, &self.context.sort, frames)?;
        batch.clear_for_reuse(3 * MAX_CLAIM_BYTES / 2);
        self.batches.put(batch);
        Ok(frames)
    }
}

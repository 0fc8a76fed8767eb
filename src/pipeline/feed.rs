//! Turns inputs into batches of checked records. Each pass starts with these phases:
//!
//! ```text
//! FeedInput::claim     serial     chunks of a file, FASTQ reads, or templates to merge
//! FeedReader::open     parallel   inflate, decode, align
//! FeedReaders::link    serial     join records that chunks cut, keep templates together
//! FeedReader::check    parallel   validate and number records, fit them to the merged header
//! ```

use std::sync::Arc;

use readmill_engine::{Crew, Pool};
use readmill_filters::Reconcile;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, LinkedRecords, OpenedChunk};
use readmill_input::{MAX_CLAIM_BYTES, Opener};
use readmill_process::pause::{self, Moment};
use readmill_record::{
    Batch, Detail, Error, Limit, Result, ShareUse, Stamp, Step, UncheckedBatch, UncheckedRecord,
};

use crate::addons::InputCounter;
use crate::aligning::{AlignLink, AlignTask, AlignTaskResult, AlignWorker};
use crate::merging::{MergeLink, MergeTask, MergeTaskResult, MergeWorker};
use crate::pipeline::inputs::{InputFile, InputTask, Inputs, PreparedInput, ReadTask};

/// The inputs of a pass and the linker of their chunks. A pass splits the feed: the claimer owns
/// `input`, and the serial linking phase owns `link`.
pub struct Feed {
    pub input: FeedInput,
    pub link: Linker,
}

/// Joins opened chunks in input order, so that each batch contains complete records and complete
/// templates.
pub struct Linker {
    chain: ChunkLinker,
    /// Collects FASTQ batches into cohorts for the insert size; `None` unless reads are aligned.
    align: Option<AlignLink>,
    /// Pairs unaligned templates with their alignments; `None` unless alignments are merged.
    merge: Option<MergeLink>,
    gather: Option<BatchGatherer>,
}

/// Joins consecutive batches of one input until they have enough bytes. Used for CRAM output,
/// because small containers compress badly.
struct BatchGatherer {
    min_bytes: u64,
    held_batch: Option<LinkedBatch>,
}

impl BatchGatherer {
    /// Adds a batch and returns the records to process now, or none while too few bytes are held.
    /// Returns the last batch of an input, and a batch with an error, immediately.
    fn add_batch(
        &mut self,
        next: LinkedBatch,
        last: bool,
        readers: &FeedReaders,
    ) -> Result<LinkedBatch> {
        let all = match self.held_batch.take() {
            None => next,
            Some(mut held) => {
                let (batch, more) = (&mut held.linked.batch, &next.linked.batch);
                let (room, bytes) = (self.min_bytes as usize + MAX_REUSED_BYTES, batch.parts_mut().0);
                bytes.reserve_exact(room.saturating_sub(bytes.len()));
                more.records().try_for_each(|record| batch.push(record, Stamp::default()))?;
                held.linked.fault = next.linked.fault;
                readers.recycle_batch(next.linked.batch.into_memory());
                held
            }
        };
        if last || all.linked.fault.is_some() || all.record_bytes() >= self.min_bytes {
            return Ok(all);
        }
        let LinkedBatch { input, linked: LinkedRecords { first, number, .. } } = all;
        self.held_batch = Some(all);
        Ok(LinkedBatch {
            input,
            linked: LinkedRecords { batch: UncheckedBatch::default(), first, number, fault: None },
        })
    }
}

impl Linker {
    pub fn record_count(&self) -> u64 {
        self.chain.record_count()
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.chain.waiting_bytes()
    }

    /// Returns whether a template was too long for one batch. Mates may then be in different
    /// batches, and the input does not count as grouped by name.
    pub fn has_cut_template(&self) -> bool {
        self.chain.has_split_template()
    }
}

/// The claiming side of a [`Feed`]: takes the next chunk from the inputs, one thread at a time.
pub struct FeedInput {
    pub inputs: Inputs,
    detail: Detail,
    input_counter: Option<Arc<dyn InputCounter>>,
    buffers: Arc<FeedBuffers>,
}

/// Maximum size in bytes of a buffer that is reused. Larger buffers, which held long reads, are
/// freed.
const MAX_REUSED_BYTES: usize = 3 * MAX_CLAIM_BYTES / 2;

struct FeedBuffers {
    batches: Pool<Batch>,
    chunks: Pool<Chunk>,
    used: Arc<TicketUse>,
}

/// Peak use of the memory share for batches in progress, for each [`TicketBuffer`]. Shown in the
/// memory report of a run.
pub type TicketUse = ShareUse<3>;

#[derive(Clone, Copy)]
pub enum TicketBuffer {
    Claim,
    Batch,
    /// The result for the records: entries of the sort buffer, or an encoded part of the output.
    Product,
}

pub type OpenedTask = ReadTask<OpenedChunk, AlignTaskResult, MergeTaskResult>;

pub struct LinkedBatch {
    input: usize,
    linked: LinkedRecords,
}

impl Feed {
    /// Creates a feed that rejects records larger than `max_record`. `crew` determines the number
    /// of tickets in flight and thereby the number of pooled buffers. Their peak sizes are recorded
    /// in `used`.
    pub fn new(inputs: Inputs, max_record: Limit, crew: Crew, used: &Arc<TicketUse>) -> Self {
        let (batches, chunks) = (Pool::new(crew.in_flight), Pool::new(crew.in_flight));
        let input = FeedInput {
            inputs,
            detail: Detail::Whole,
            input_counter: None,
            buffers: Arc::new(FeedBuffers { batches, chunks, used: Arc::clone(used) }),
        };
        let (align, merge) = match input.inputs.prepared_input() {
            None => (None, None),
            Some(PreparedInput::Aligned(lanes)) => (Some(AlignLink::new(lanes)), None),
            Some(PreparedInput::Merged(merging)) => (None, Some(MergeLink::new(merging))),
        };
        Feed { input, link: Linker { chain: ChunkLinker::new(max_record), align, merge, gather: None } }
    }

    /// Creates batches of about `bytes` bytes of records, if that is larger than the usual batch.
    /// `None` keeps the usual size. Batch boundaries depend only on the chunks of the file, not on
    /// threads.
    pub fn with_batch_bytes(mut self, bytes: Option<u64>) -> Self {
        let gather = |bytes: u64| BatchGatherer {
            min_bytes: bytes - MAX_CLAIM_BYTES as u64 / 2,
            held_batch: None,
        };
        self.link.gather = bytes.filter(|&bytes| bytes > MAX_CLAIM_BYTES as u64).map(gather);
        self
    }

    /// Limits decoding to the parts of a record that the run needs. Below [`Detail::Whole`],
    /// optional fields are not checked, and records are not grouped by template.
    pub fn with_detail(mut self, detail: Detail) -> Self {
        self.input.detail = detail;
        self
    }

    /// Counts all unchanged records of each input with `counter`, if there is one. Has no effect
    /// for FASTQ input, whose reads are counted by the lanes before they are aligned.
    pub fn with_input_counter(mut self, counter: Option<&Arc<dyn InputCounter>>) -> Self {
        let counter = counter.filter(|_| self.input.inputs.prepared_input().is_none());
        self.input.input_counter = counter.cloned();
        self
    }

    pub fn new_reader_factory(&self) -> FeedReaders {
        let FeedInput { inputs, detail, input_counter, buffers } = &self.input;
        FeedReaders {
            inputs: inputs.files(),
            detail: if inputs.prepared_input().is_none() { *detail } else { Detail::Whole },
            prepared: inputs.prepared_input().cloned(),
            input_counter: input_counter.clone(),
            buffers: Arc::clone(buffers),
        }
    }
}

impl FeedInput {
    /// Claims the next task, in input order. Called by one thread at a time. Returns `None` after
    /// the last input.
    pub fn claim_task(&mut self) -> Result<Option<InputTask>> {
        pause::at(Moment::PieceRead);
        self.inputs.next_task(self.buffers.chunks.take().unwrap_or_default())
    }
}

impl InputTask {
    /// Returns the maximum size of the task's records in BAM form, in bytes.
    pub fn max_record_bytes(&self) -> u64 {
        match self {
            InputTask::Piece(_, claim) => claim.max_bam_bytes() as u64,
            InputTask::Align(align) => align.task.records().map_or(0, |opened| opened.len() as u64),
            InputTask::Merge(merge) => merge.task.records().map_or(0, |opened| opened.len() as u64),
            InputTask::End(_) => 0,
        }
    }

    pub fn max_records(&self) -> Option<u64> {
        match self {
            InputTask::Piece(_, claim) => claim.max_records().map(|records| records as u64),
            InputTask::Align(align) => align.task.records().map(|opened| opened.record_count() as u64),
            InputTask::Merge(merge) => merge.task.records().map(|opened| opened.record_count() as u64),
            InputTask::End(_) => None,
        }
    }

    /// Returns the memory for opening the task in addition to the usual share of a ticket, for
    /// example for a large CRAM container.
    pub fn extra_open_bytes(&self) -> u64 {
        match self {
            InputTask::Piece(_, claim) => claim.working_bytes() as u64,
            InputTask::End(_) | InputTask::Align(..) | InputTask::Merge(..) => 0,
        }
    }

    /// Returns the number of input bytes that the task has read. Progress is the sum of these.
    pub fn read_bytes(&self) -> u64 {
        match self {
            InputTask::Piece(_, claim) => claim.read_bytes() as u64,
            InputTask::Align(align) => align.read_bytes,
            InputTask::Merge(merge) => merge.read_bytes,
            InputTask::End(_) => 0,
        }
    }
}

/// The part of a [`Feed`] that all threads share. Creates one [`FeedReader`] for each thread, and
/// links opened tasks.
#[derive(Clone)]
pub struct FeedReaders {
    inputs: Arc<[InputFile]>,
    detail: Detail,
    prepared: Option<PreparedInput>,
    input_counter: Option<Arc<dyn InputCounter>>,
    buffers: Arc<FeedBuffers>,
}

impl FeedReaders {
    pub fn new_reader(&self) -> FeedReader {
        let reconcile = self.inputs.iter().map(|input| input.reconcile.clone()).collect();
        let shared = self.clone();
        FeedReader { shared, opener: None, aligner: None, merger: None, reconcile }
    }

    /// Links an opened task to the previous ones. Called serially, in claim order. The returned
    /// batch may be empty while records wait for the rest of their template.
    pub fn link_task(&self, link: &mut Linker, piece: OpenedTask) -> Result<LinkedBatch> {
        let spare = || self.buffers.batches.take().unwrap_or_default();
        let Linker { chain, align, merge, gather } = link;
        let last = matches!(piece, OpenedTask::End(_));
        let linked = match piece {
            OpenedTask::Piece(input, opened) => LinkedBatch { input, linked: chain.link_chunk(opened) },
            OpenedTask::End(input) => LinkedBatch { input, linked: chain.finish_input(spare()) },
            OpenedTask::Align(done) => {
                align.as_mut().map_or(Ok(()), |align| align.link_result(done))?;
                LinkedBatch { input: 0, linked: chain.link_nothing(spare()) }
            }
            OpenedTask::Merge(done) => {
                merge.as_mut().map_or(Ok(()), |merge| merge.link_result(done))?;
                LinkedBatch { input: 0, linked: chain.link_nothing(spare()) }
            }
        };
        match gather {
            Some(gather) => gather.add_batch(linked, last, self),
            None => Ok(linked),
        }
    }

    pub fn record_buffer_size(&self, buffer: TicketBuffer, bytes: u64) {
        self.buffers.used.note_buffer(buffer as usize, bytes);
    }

    pub fn recycle_batch(&self, mut batch: Batch) {
        self.record_buffer_size(TicketBuffer::Batch, batch.heap_bytes());
        batch.clear_for_reuse(MAX_REUSED_BYTES);
        self.buffers.batches.put(batch);
    }
}

impl LinkedBatch {
    pub fn record_bytes(&self) -> u64 {
        self.linked.batch.record_bytes()
    }

    /// Returns the name of the first record; `None` if the batch is empty. The record is not
    /// checked yet, so the name may be empty.
    pub fn first_name(&self) -> Option<&[u8]> {
        self.linked.batch.records().next().map(UncheckedRecord::name)
    }
}

/// One thread's decoder, aligner or merger, which opens claimed tasks and checks linked records.
pub struct FeedReader {
    shared: FeedReaders,
    opener: Option<(usize, Opener)>,
    aligner: Option<AlignWorker>,
    merger: Option<MergeWorker>,
    reconcile: Vec<Option<Reconcile>>,
}

impl FeedReader {
    /// Opens a claimed task, in parallel with other tasks: inflates and decodes a chunk, or aligns
    /// or merges reads.
    pub fn open_task(&mut self, next: InputTask) -> Result<OpenedTask> {
        let (number, claim) = match next {
            InputTask::End(input) => return Ok(OpenedTask::End(input)),
            InputTask::Align(align) => {
                return Ok(match align.task {
                    AlignTask::Records(opened) => OpenedTask::Piece(0, opened),
                    task => OpenedTask::Align(self.align_reads(task)?),
                });
            }
            InputTask::Merge(merge) => {
                return Ok(match merge.task {
                    MergeTask::Records(opened) => OpenedTask::Piece(0, opened),
                    task => OpenedTask::Merge(self.merge_alignments(task)?),
                });
            }
            InputTask::Piece(input, claim) => (input, claim),
        };
        let input = &self.shared.inputs[number];
        let opener = match &mut self.opener {
            Some((of, opener)) if *of == number => opener,
            other => {
                let mut opener = Opener::new(&input.header, input.setup.as_ref());
                if input.reconcile.is_none() {
                    opener.set_detail(self.shared.detail);
                }
                &mut other.insert((number, opener)).1
            }
        };
        let mut opened = OpenedChunk::reuse(self.shared.buffers.batches.take().unwrap_or_default());
        let spare = opener.open(claim, &mut opened).map_err(input.name_errors())?;
        self.shared.record_buffer_size(TicketBuffer::Claim, spare.compressed.capacity() as u64);
        if spare.compressed.capacity() <= MAX_REUSED_BYTES {
            self.shared.buffers.chunks.put(spare);
        }
        Ok(OpenedTask::Piece(number, opened))
    }

    fn align_reads(&mut self, task: AlignTask) -> Result<AlignTaskResult> {
        let FeedReaders { prepared, buffers, .. } = &self.shared;
        let Some(PreparedInput::Aligned(lanes)) = prepared else {
            return Err(Error::bug("there is no aligner for these reads"));
        };
        let worker = self.aligner.get_or_insert_with(|| AlignWorker::new(lanes));
        worker.perform_task(task, || buffers.batches.take().unwrap_or_default())
    }

    fn merge_alignments(&mut self, task: MergeTask) -> Result<MergeTaskResult> {
        let FeedReaders { prepared, buffers, .. } = &self.shared;
        let Some(PreparedInput::Merged(merging)) = prepared else {
            return Err(Error::bug("there is no merger for these reads"));
        };
        let worker = self.merger.get_or_insert_with(|| MergeWorker::new(merging));
        worker.perform_task(task, || buffers.batches.take().unwrap_or_default())
    }

    /// Checks and numbers the records, adapts them to the merged header, and passes them to `then`.
    /// Errors contain the input file and the record number in that file.
    pub fn check_records<T>(
        &mut self,
        linked: LinkedBatch,
        then: impl FnOnce(Batch) -> Result<T>,
    ) -> Result<T> {
        let LinkedRecords { batch, first, number, fault } = linked.linked;
        let input = &self.shared.inputs[linked.input];
        let (n_ref, reconcile) = (input.header.n_ref(), &mut self.reconcile[linked.input]);
        let without_fields = self.shared.detail < Detail::Whole && reconcile.is_none();
        let checked = if without_fields {
            batch.check_without_fields(number, n_ref)
        } else {
            batch.check(number, n_ref)
        };
        let mut batch = checked.map_err(input.name_errors())?;
        fault.map_or(Ok(()), Err).map_err(input.name_errors())?;
        if let Some(counter) = &self.shared.input_counter {
            let mut records = batch.records().map(|(_, record)| record);
            let counted = counter.count_records(linked.input, number, &mut records);
            counted.map_err(input.name_errors())?;
        }
        if without_fields {
            batch.number_records(first);
        } else {
            batch.stamp_templates(first);
        }
        let reconciled = match reconcile {
            Some(step) => step.apply(&mut batch),
            None => Ok(()),
        };
        reconciled.and_then(|()| then(batch)).map_err(|mut error| {
            let before = first - number; // records of the inputs before this one
            error.place.record = error.place.record.map(|record| record.saturating_sub(before));
            input.name_errors()(error)
        })
    }
}

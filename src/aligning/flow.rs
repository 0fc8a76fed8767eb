//! The parallel work of a thread on an aligner task ([`AlignWorker`]), and the serial linking of
//! its results ([`AlignLink`]), in input order: batches are checked and join cohorts, and the
//! batches of complete cohorts become ready to be written.

use std::collections::VecDeque;
use std::sync::Arc;

use readmill_align::{Aligner, Cohorts, Seeded};
use readmill_fastq::{BatchLinker, TakenBatch};
use readmill_filters::adapter::AdapterCounts;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_input::{Claim, Opener};
use readmill_record::{Batch, Error, ReadBatch, RecordRef, Result, UncheckedBatch, edit, tag};

use super::kernel::find_piece_end;
use super::lane::LaneSource;
use super::lanes::Lanes;
use super::mixed::{MixedPieces, SingleRecords, number_reads};
use super::queue::{AlignTask, AlignTaskResult, BatchFindings, BatchSeeds, BatchSlot, ReadyBatch};
use super::unaligned::MAX_RECORD;

/// Joins the batches of all lanes into cohorts, in input order. Called serially, in ticket order.
pub struct AlignLink {
    lanes: Arc<Lanes>,
    /// Index of the current lane. `order` checks the order of its FASTQ batches; it is `None` for
    /// records and after the last lane.
    current_lane: usize,
    order: Option<BatchLinker>,
    adapters: AdapterCounts,
    kept_templates: u64,
    chain: ChunkLinker,
    /// Decides where cohorts end. `None` if each batch is aligned independently.
    cutter: Option<Cohorts>,
    cohorts: VecDeque<PendingCohort>,
    first: u64,
    numbered: Option<(usize, u64)>,
    has_reads: bool,
    waiting_bytes: u64,
    long_read_bytes: u64,
}

struct PendingCohort {
    lane: usize,
    /// The batches; `None` for a batch whose candidates are still being searched for.
    batches: Vec<Option<(ReadBatch, BatchSeeds)>>,
    missing: usize,
    /// Total bases of the batches with candidates, and the bytes of their reads and candidates.
    seeded: (u64, u64),
    closed: bool,
}

impl AlignLink {
    pub fn new(lanes: &Arc<Lanes>) -> Self {
        let mut flow = AlignLink {
            lanes: Arc::clone(lanes),
            current_lane: 0,
            order: None,
            adapters: AdapterCounts::default(),
            kept_templates: 0,
            chain: ChunkLinker::new(MAX_RECORD),
            cutter: None,
            cohorts: VecDeque::new(),
            first: 0,
            numbered: None,
            has_reads: false,
            waiting_bytes: 0,
            long_read_bytes: 0,
        };
        flow.begin_lane();
        flow
    }

    /// Takes the result of a task, and moves complete cohorts to the queue. Called in ticket order.
    pub fn link_result(&mut self, done: AlignTaskResult) -> Result<()> {
        match done {
            AlignTaskResult::Waited => return Ok(()),
            AlignTaskResult::Taken(lane, taken, reads, prepared) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                if lane == self.current_lane {
                    self.link_fastq_batch(taken, reads, prepared)?;
                } // otherwise, it was taken before the end of the lane was known
            }
            AlignTaskResult::Opened(lane, opened) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                if lane >= self.current_lane {
                    self.lanes.link_opened(lane, opened, &mut self.chain)?;
                } // otherwise, the lane has ended before its file
            }
            AlignTaskResult::Converted(lane, mut reads, prepared, last) => {
                self.lanes.lock_queue().reads_in_flight -= 1;
                if lane == self.current_lane {
                    self.lanes.add_findings(lane, &mut self.adapters, &prepared, &mut reads);
                    self.add_converted_reads(reads, last)?;
                }
            }
            AlignTaskResult::Seeded(slot, reads, seeded) => {
                self.store_candidates(slot, reads, seeded)?
            }
            AlignTaskResult::Emitted(opened) => self.lanes.lock_queue().records.push_back(opened),
        }
        self.release_complete_cohorts()?;
        self.lanes.lock_queue().in_flight -= 1;
        Ok(())
    }

    fn link_fastq_batch(
        &mut self,
        taken: TakenBatch,
        mut reads: ReadBatch,
        prepared: Option<Result<BatchFindings>>,
    ) -> Result<()> {
        let Some(order) = &mut self.order else { return Ok(()) };
        let batch = (taken, prepared);
        self.lanes.link_taken(self.current_lane, order, &mut self.adapters, batch, &mut reads)?;
        let last = self.lanes.lanes[self.current_lane].claims()?.has_ended();
        self.add_wanted_templates(reads, last)
    }

    /// Adds the templates of a batch that belong to the wanted slice of the lane. Ends the lane if
    /// `last` is set, or if all later templates are outside the slice.
    fn add_wanted_templates(&mut self, mut reads: ReadBatch, last: bool) -> Result<()> {
        if self.lanes.trimming.is_some() {
            reads.set_first_template(self.kept_templates); // numbered as if the dropped templates did not exist
            self.kept_templates += reads.template_count_with_singles() as u64;
        }
        if reads.is_mixed() {
            // No slice starts or ends after the first of these batches (see `LaneScan`).
            self.add_mixed(&reads)?;
            self.lanes.buffers.put(reads);
            return if last { self.end_lane() } else { Ok(()) };
        }
        let wanted = &self.lanes.lanes[self.current_lane].wanted;
        let (range, are_all) = wanted.wanted_range(reads.first_template(), reads.template_count());
        if range.len() == reads.template_count() && !range.is_empty() {
            self.add_batch(reads)?;
        } else {
            let part = (!range.is_empty()).then(|| reads.copy_templates(range));
            self.lanes.buffers.put(reads);
            part.map_or(Ok(()), |part| self.add_batch(part))?;
        }
        if last || are_all { self.end_lane() } else { Ok(()) }
    }

    fn end_lane(&mut self) -> Result<()> {
        self.lanes.end_lane(self.current_lane);
        self.next_lane()
    }

    /// Adds a batch that contains single reads among pairs, in pieces. If a cohort ends between
    /// mates, they become single reads, as in bwa.
    fn add_mixed(&mut self, reads: &ReadBatch) -> Result<()> {
        let Some(singles) = reads.singles() else { return Ok(()) };
        self.has_reads |= reads.template_count_with_singles() > 0;
        let mut pieces = MixedPieces::new(reads.first_template(), singles.first_read);
        let mut order = reads.iter_in_file_order().peekable();
        while let Some((of, index)) = order.next() {
            let mate = if of.segments() == 2 { order.next() } else { None };
            let mut ends = self.count_read_in_cohort(of, index);
            match mate {
                Some((_, mate)) if ends => {
                    pieces.push_single(of, index);
                    self.add_to_cohort(pieces.take_piece(), true)?;
                    pieces.push_single(of, mate);
                    ends = self.count_read_in_cohort(of, mate);
                }
                Some((_, mate)) => {
                    pieces.push_pair(of, [index, mate]);
                    ends = self.count_read_in_cohort(of, mate);
                }
                None => pieces.push_single(of, index),
            }
            if ends || pieces.is_full() {
                self.add_to_cohort(pieces.take_piece(), ends)?;
            }
        }
        let rest = pieces.take_piece();
        if rest.template_count_with_singles() > 0 {
            self.add_to_cohort(rest, self.cutter.is_none())?;
        }
        Ok(())
    }

    /// Counts a read for the current cohort. Returns whether the cohort ends after it.
    fn count_read_in_cohort(&mut self, of: &ReadBatch, index: usize) -> bool {
        let bases = u64::from(of.spans()[index].len);
        self.cutter.as_mut().is_some_and(|cutter| cutter.take_read(bases))
    }

    /// Adds reads that were converted from records. The first of them determines the number of
    /// reads per template, so cohorts can be cut only after that.
    fn add_converted_reads(&mut self, reads: ReadBatch, last: bool) -> Result<()> {
        if self.cutter.is_none() {
            self.cutter = self.lanes.kernel.cohort_bases(reads.segments()).map(Cohorts::new);
        }
        self.add_wanted_templates(reads, last)
    }

    /// Moves on to the next lane.
    ///
    /// # Errors
    /// Fails if the last lane has ended, and a run that requires reads has found none.
    fn next_lane(&mut self) -> Result<()> {
        self.close_cohort();
        self.current_lane += 1;
        self.begin_lane();
        let is_last = self.current_lane == self.lanes.lanes.len();
        match self.lanes.no_reads_error().filter(|_| is_last && !self.has_reads) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn begin_lane(&mut self) {
        (self.order, self.cutter, self.adapters, self.kept_templates) = Default::default();
        let Some(lane) = self.lanes.lanes.get(self.current_lane) else { return };
        (self.adapters, self.kept_templates) = (lane.adapters.clone(), lane.templates_kept_before);
        if let LaneSource::Fastq(claims) = &lane.source {
            self.order = Some(BatchLinker::new(claims));
            self.cutter = self.lanes.new_cohort_cutter(claims);
        }
    }

    /// Adds a batch to its cohort. Cuts the batch where a cohort ends, and into pieces that are
    /// small enough for the aligner.
    fn add_batch(&mut self, reads: ReadBatch) -> Result<()> {
        self.has_reads = true;
        let (all, mut from) = (0..reads.template_count(), 0);
        while from < all.end {
            let (part, ends) = match &mut self.cutter {
                Some(cutter) => cutter.take_templates(&reads, from),
                None => (from..find_piece_end(&reads, from..all.end), true),
            };
            while from < part.end {
                let piece = from..find_piece_end(&reads, from..part.end);
                from = piece.end;
                let closes = ends && from == part.end;
                if piece == all {
                    return self.add_to_cohort(reads, closes);
                }
                self.add_to_cohort(reads.copy_templates(piece), closes)?;
            }
        }
        self.lanes.buffers.put(reads);
        Ok(())
    }

    /// Adds a batch to the last cohort, and queues it for the search for candidates. `closes` means
    /// that the cohort ends with this batch.
    ///
    /// # Errors
    /// Fails if the batch contains a read that is too long for the memory.
    fn add_to_cohort(&mut self, reads: ReadBatch, closes: bool) -> Result<()> {
        let (long, room) = (self.lanes.long_read_bytes(&reads), self.lanes.room);
        if long > room.long {
            return Err(self.lanes.too_long_error(self.current_lane, &reads));
        }
        self.long_read_bytes = self.long_read_bytes.max(room.long.min(long * self.lanes.threads as u64));
        let mut cohort = match self.cohorts.pop_back() {
            Some(open) if !open.closed => open,
            ended => {
                self.cohorts.extend(ended);
                PendingCohort {
                    lane: self.current_lane,
                    batches: Vec::new(),
                    missing: 0,
                    seeded: (0, 0),
                    closed: false,
                }
            }
        };
        let slot =
            BatchSlot { cohort: self.first + self.cohorts.len() as u64, batch: cohort.batches.len() };
        cohort.batches.push(None);
        cohort.missing += 1;
        self.cohorts.push_back(cohort);
        self.lanes.lock_queue().unseeded.push_back((slot, reads));
        if closes {
            self.close_cohort();
        }
        Ok(())
    }

    fn store_candidates(&mut self, slot: BatchSlot, reads: ReadBatch, seeded: BatchSeeds) -> Result<()> {
        let at = (slot.cohort - self.first) as usize;
        let cohort = self.cohorts.get_mut(at).ok_or_else(|| Error::bug("a batch has no cohort"))?;
        let took = batch_bytes(&reads, &seeded);
        let of_singles = reads.singles().map_or(0, |singles| singles.reads.base_count());
        cohort.seeded = (cohort.seeded.0 + reads.base_count() + of_singles, cohort.seeded.1 + took);
        self.waiting_bytes += took;
        let available = self.lanes.room.reads - self.long_read_bytes;
        if self.waiting_bytes > available {
            let cohort_bases = self.lanes.kernel.cohort_bases(reads.segments());
            return Err(too_large_error(cohort, cohort_bases, self.waiting_bytes, available));
        }
        cohort.missing -= 1;
        cohort.batches[slot.batch] = Some((reads, seeded));
        Ok(())
    }

    fn close_cohort(&mut self) {
        self.cohorts.back_mut().into_iter().for_each(|cohort| cohort.closed = true);
        self.cutter.iter_mut().for_each(Cohorts::end_cohort);
    }

    /// Infers the insert sizes of complete cohorts, and queues their batches to be written as
    /// records.
    fn release_complete_cohorts(&mut self) -> Result<()> {
        while self.cohorts.front().is_some_and(|cohort| cohort.closed && cohort.missing == 0) {
            let Some(PendingCohort { lane, mut batches, .. }) = self.cohorts.pop_front() else { break };
            self.first += 1;
            let before = self.numbered.filter(|&(of, _)| of == lane).map(|(_, reads)| reads);
            self.numbered = number_reads(&mut batches, before).map(|reads| (lane, reads));
            let seen: Vec<&Seeded> =
                batches.iter().flatten().filter_map(|(_, seeded)| seeded.reads.as_ref()).collect();
            let model = Arc::new(self.lanes.kernel.infer_insert_sizes(&seen)?);
            let mut queue = self.lanes.lock_queue();
            for (reads, seeded) in batches.into_iter().flatten() {
                self.waiting_bytes -= batch_bytes(&reads, &seeded);
                queue.ready.push_back(ReadyBatch { lane, reads, seeded, model: Arc::clone(&model) });
            }
        }
        Ok(())
    }
}

/// Returns the error for reads and candidates that take more than `available` bytes. For an
/// incomplete cohort, it contains the memory for the whole cohort, assuming that the rest needs as
/// much per base as the batches so far.
fn too_large_error(
    cohort: &PendingCohort,
    cohort_bases: Option<u64>,
    bytes: u64,
    available: u64,
) -> Error {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let (bases, cohort_bytes) = cohort.seeded;
    let Some(all) = cohort_bases else {
        let (bytes, available) = (mib(bytes), available >> 20);
        let what = format!(
            "reads and their candidate alignments need {bytes} MiB, but only {available} MiB are available"
        );
        return Error::usage(what).hint("raise -m, or use fewer threads");
    };
    let expected = u128::from(cohort_bytes) * u128::from(all.max(bases)) / u128::from(bases.max(1));
    let need = mib(bytes.max(u64::try_from(expected).unwrap_or(u64::MAX)));
    let available = available >> 20;
    let what =
        format!("one insert-size batch (-K) needs {need} MiB, but only {available} MiB are available");
    Error::usage(what).hint("lower -K, or raise -m")
}

fn batch_bytes(reads: &ReadBatch, seeded: &BatchSeeds) -> u64 {
    reads.data_bytes() as u64 + seeded.bytes()
}

/// The aligner and the decoder of one thread, which perform the parallel part of aligner tasks.
pub struct AlignWorker {
    lanes: Arc<Lanes>,
    aligner: Option<Box<dyn Aligner>>,
    opener: Option<(usize, Opener)>,
}

impl AlignWorker {
    pub fn new(lanes: &Arc<Lanes>) -> Self {
        AlignWorker { lanes: Arc::clone(lanes), aligner: None, opener: None }
    }

    fn get_or_create_aligner(&mut self) -> Result<&mut Box<dyn Aligner>> {
        Ok(match &mut self.aligner {
            Some(aligner) => aligner,
            none => none.insert(Arc::clone(&self.lanes.kernel).new_aligner()?),
        })
    }

    /// Performs a task in parallel with others. Writes records into the memory that `spare`
    /// returns.
    pub fn perform_task(
        &mut self,
        task: AlignTask,
        spare: impl FnOnce() -> Batch,
    ) -> Result<AlignTaskResult> {
        match task {
            AlignTask::Take { lane, batch } => {
                let mut reads = self.lanes.buffers.take().unwrap_or_default();
                let taken = self.lanes.lanes[lane].claims()?.take(batch, &mut reads);
                let whole = taken.is_whole() && !reads.is_empty();
                if let Some(counts) = self.lanes.lanes[lane].input_counts.as_ref().filter(|_| whole) {
                    counts.count_batch(batch, &reads);
                }
                let prepared = whole.then(|| self.lanes.prepare_reads(lane, &mut reads));
                Ok(AlignTaskResult::Taken(lane, taken, reads, prepared))
            }
            AlignTask::Open(lane, claim) => self.open_chunk(lane, claim),
            AlignTask::Convert(raw) => {
                let mut reads = self.lanes.buffers.take().unwrap_or_default();
                let unaligned = self.lanes.lanes[raw.lane].unaligned()?;
                unaligned.convert_records(&raw, &mut reads)?; // this also checks the records
                let counts = self.lanes.lanes[raw.lane].input_counts.as_ref();
                counts
                    .map_or(Ok(()), |counts| counts.count_records(&raw, unaligned.header().n_ref()))?;
                let prepared = self.lanes.prepare_reads(raw.lane, &mut reads)?;
                let memory = Arc::into_inner(raw.batch).map(UncheckedBatch::into_memory);
                memory.into_iter().for_each(|batch| self.lanes.batches.put(batch));
                Ok(AlignTaskResult::Converted(raw.lane, reads, prepared, raw.last))
            }
            AlignTask::Seed(slot, reads) => {
                let seeded = self.find_candidates(&reads)?;
                self.release_long_read_bytes(self.lanes.long_read_bytes(&reads));
                Ok(AlignTaskResult::Seeded(slot, reads, seeded))
            }
            AlignTask::Emit(piece) => self.write_records(piece, spare()).map(AlignTaskResult::Emitted),
            AlignTask::Records(opened) => Ok(AlignTaskResult::Emitted(opened)),
            AlignTask::Wait => Ok(AlignTaskResult::Waited),
        }
    }

    /// Finds candidate positions for the reads of a batch, and for the single reads among its
    /// pairs.
    fn find_candidates(&mut self, reads: &ReadBatch) -> Result<BatchSeeds> {
        let aligner = self.get_or_create_aligner()?;
        let lone = reads.singles().map(|singles| &singles.reads).filter(|lone| !lone.is_empty());
        let of_reads =
            (!reads.is_empty() || !reads.is_mixed()).then(|| aligner.seed_reads(reads)).transpose()?;
        Ok(BatchSeeds {
            reads: of_reads,
            singles: lone.map(|lone| aligner.seed_reads(lone)).transpose()?,
        })
    }

    /// Releases the bytes reserved for long reads in [`Lanes::next_task`].
    fn release_long_read_bytes(&self, long: u64) {
        if long > 0 {
            self.lanes.lock_queue().long_read_bytes -= long;
        }
    }

    fn open_chunk(&mut self, lane: usize, claim: Option<Claim>) -> Result<AlignTaskResult> {
        let Some(claim) = claim else { return Ok(AlignTaskResult::Opened(lane, None)) };
        let unaligned = self.lanes.lanes[lane].unaligned()?;
        let opener = match &mut self.opener {
            Some((of, opener)) if *of == lane => opener,
            other => &mut other.insert((lane, unaligned.new_opener())).1,
        };
        let mut opened = OpenedChunk::reuse(self.lanes.batches.take().unwrap_or_default());
        let spare = unaligned.open_chunk(opener, claim, &mut opened)?;
        self.lanes.chunks.put(spare);
        Ok(AlignTaskResult::Opened(lane, Some(opened)))
    }

    fn write_records(&mut self, piece: ReadyBatch, spare: Batch) -> Result<OpenedChunk> {
        let ReadyBatch { lane, mut reads, seeded, model, .. } = piece;
        let mut opened = OpenedChunk::reuse(spare);
        let lanes = Arc::clone(&self.lanes);
        let group = lanes.lanes[lane].group.as_deref();
        let mut singles = SingleRecords::default();
        if let (Some(of_batch), Some(seeded)) = (reads.singles(), seeded.singles) {
            self.get_or_create_aligner()?.emit_records(
                &of_batch.reads,
                seeded,
                &model,
                group,
                &mut |read, record| {
                    singles.push_record(read, record);
                    Ok(())
                },
            )?;
        }
        let lone = reads.singles().map(|singles| &singles.reads);
        let mut put_singles = |opened: &mut OpenedChunk, pair: usize| {
            let Some(lone) = lone else { return };
            while let Some((read, record)) = singles.next_before_pair(lone, pair) {
                append_record(opened, lone, read, record);
            }
        };
        if let Some(seeded) = seeded.reads {
            self.get_or_create_aligner()?.emit_records(
                &reads,
                seeded,
                &model,
                group,
                &mut |read, record| {
                    put_singles(&mut opened, read / 2);
                    append_record(&mut opened, &reads, read, record);
                    Ok(())
                },
            )?;
        }
        put_singles(&mut opened, usize::MAX);
        self.release_long_read_bytes(self.lanes.long_read_bytes(&reads));
        reads.reset(1, 0);
        self.lanes.buffers.put(reads);
        Ok(opened)
    }
}

/// Appends a record of read number `read` of a batch, with the flags and fields of all records of
/// this read.
fn append_record(opened: &mut OpenedChunk, reads: &ReadBatch, read: usize, record: &[u8]) {
    let (bytes, fields, flags) = (opened.bytes_mut(), reads.fields(read), reads.flags(read));
    let start = bytes.len();
    bytes.extend_from_slice(record);
    if flags != 0 {
        edit::set_flags(&mut bytes[start..], RecordRef::new(record).flags().0 | flags);
    }
    if !fields.is_empty() {
        bytes.extend_from_slice(fields);
        edit::set_block_size(bytes, start);
    }
    if let Some(adapter) = reads.adapter_start(read) {
        edit::append_integer(bytes, start, tag::XT, adapter);
    }
    opened.push_record(start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_whole_cohort_needs_is_foretold() {
        let cohort = PendingCohort {
            lane: 0,
            batches: Vec::new(),
            missing: 0,
            seeded: (1000, 50 << 20),
            closed: false,
        };
        let said = |all, bytes: u64| too_large_error(&cohort, all, bytes << 20, 112 << 20).to_string();
        let whole = said(Some(10_000), 113);
        assert!(
            whole.contains("one insert-size batch (-K) needs 500 MiB, but only 112 MiB are available"),
            "{whole}"
        );
        assert!(whole.contains("lower -K, or raise -m"), "{whole}");
        assert!(said(Some(1000), 113).contains("needs 113 MiB"), "beside others");
        assert!(said(None, 113).contains("reads and their candidate alignments need 113 MiB"));
    }
}

//! Flushes full memory to disk while reading continues into fresh memory.
//!
//! Tickets of the reading pass do the work: the claimer alternates between chunks of the input and
//! tasks of the [`Flush`]. So a program that writes our input never waits for our disk.
//!
//! 1. [`Seal`](FlushPhase::Seal): tickets no longer write to the old arena.
//! 2. [`Sort`](FlushPhase::Sort): each list of entries is sorted, in parallel.
//! 3. [`Write`](FlushPhase::Write): ranges of the merged lists are put in order in parallel, and
//!    become frames of a run. If the reads were already sorted, the ranges become parts of the output
//!    instead ([`super::presorted`]).
//! 4. [`Close`](FlushPhase::Close): the run is complete.
//!
//! Tickets are committed in claim order, so each stage can assume that the previous stage is
//! complete.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Arena, Batch, RecordRef, Result, SealedArena, Stamp};
use readmill_sort::{
    Cutter, Entry, FrameWriter, Frames, Framing, List, Merge, OrderedRange, Partition, Range, RunSort,
    Sources,
};

use super::sort_context;

/// The state of the flush: its current stage and the remaining tasks. The claimer takes tasks from
/// it, and the committer moves it to the next stage.
pub struct Flush {
    stage: FlushStage,
    sort: RunSort,
    spill: Arc<Spill>,
}

enum FlushStage {
    Idle,
    Sealing(Arc<Arena>),
    /// Lists are being sorted. `list_count` lists must be sorted before they can be merged.
    Sorting {
        sealed: Arc<SealedArena>,
        unsorted: std::vec::IntoIter<Vec<Entry>>,
        lists: Vec<List>,
        list_count: usize,
    },
    Writing(Merge, FlushTarget),
    /// All ranges are claimed, but not all are written.
    Closing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushTarget {
    Run,
    Output,
}

/// A task of a flush in one phase of a pass. `L` is a list of entries, `W` a range that is written,
/// and `C` the remaining records at the end, which do not fill a partition of the output.
pub enum FlushPhase<L, W, C> {
    /// Seals the old arena. Claimed at the start of the flush. When it is committed, all tickets
    /// that wrote to the arena are finished, because they were claimed earlier.
    Seal,
    Sort(L),
    Write(W, FlushTarget),
    Close(C, FlushTarget),
}

pub type FlushTask = FlushPhase<UnsortedList, Range, ()>;
/// A task after the parallel opening phase: its list is sorted, or its range is in order.
pub type OpenedFlush = FlushPhase<List, OrderedRange, ()>;
/// A task after the serial linking phase: a range for the output is cut into partitions.
pub type LinkedFlush = FlushPhase<List, Vec<Partition>, Option<Partition>>;

pub struct UnsortedList {
    entries: Vec<Entry>,
    sealed: Arc<SealedArena>,
}

impl OpenedFlush {
    /// Cuts a range for the output into partitions. Called serially, because partition borders
    /// depend on all preceding bytes.
    pub fn cut_partitions(self, cutter: &mut Cutter) -> LinkedFlush {
        match self {
            OpenedFlush::Seal => LinkedFlush::Seal,
            OpenedFlush::Sort(list) => LinkedFlush::Sort(list),
            OpenedFlush::Write(range, target) => LinkedFlush::Write(
                match target {
                    FlushTarget::Run => vec![range.into()],
                    FlushTarget::Output => cutter.cut(range),
                },
                target,
            ),
            OpenedFlush::Close((), target) => {
                let rest = if target == FlushTarget::Output { cutter.take_rest() } else { None };
                LinkedFlush::Close(rest, target)
            }
        }
    }
}

pub struct FlushWorker {
    entries: Vec<Entry>,
    writer: FrameWriter,
    tail: Vec<u8>,
}

impl Flush {
    pub fn new(sort: RunSort, spill: Arc<Spill>) -> Self {
        Flush { stage: FlushStage::Idle, sort, spill }
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.stage, FlushStage::Idle)
    }

    /// Begins to flush `arena`. The caller must claim the returned task next, so that all tickets
    /// that write to the arena were claimed before it.
    pub fn begin_flush(&mut self, arena: Arc<Arena>) -> FlushTask {
        self.stage = FlushStage::Sealing(arena);
        FlushTask::Seal
    }

    /// Returns the next task. Returns `None` while the tasks of the next stage are unknown.
    pub fn next_task(&mut self) -> Option<FlushTask> {
        match &mut self.stage {
            FlushStage::Sorting { sealed, unsorted, .. } => {
                let sealed = Arc::clone(sealed);
                unsorted.next().map(|entries| FlushTask::Sort(UnsortedList { entries, sealed }))
            }
            FlushStage::Writing(merge, to) => match merge.next_range() {
                Some(range) => Some(FlushTask::Write(range, *to)),
                None => {
                    let to = *to;
                    self.stage = FlushStage::Closing;
                    Some(FlushTask::Close((), to))
                }
            },
            FlushStage::Idle | FlushStage::Sealing(_) | FlushStage::Closing => None,
        }
    }

    /// Starts to sort `lists`, the entries of the old arena. Called when [`Seal`](FlushPhase::Seal)
    /// is committed.
    ///
    /// # Errors
    /// Fails if a ticket still holds the arena, which is a bug.
    pub fn start_sorting(&mut self, lists: Vec<Vec<Entry>>) -> Result<()> {
        if let FlushStage::Sealing(arena) = std::mem::replace(&mut self.stage, FlushStage::Idle) {
            let arena = Arc::into_inner(arena).ok_or_else(sort_context::arena_in_use_error)?;
            let (sealed, all) = (Arc::new(arena.seal()), lists.len());
            self.stage = FlushStage::Sorting {
                sealed,
                unsorted: lists.into_iter(),
                lists: Vec::new(),
                list_count: all,
            };
        }
        Ok(())
    }

    /// Adds a sorted list. When all lists are sorted, returns them as the sources of a merge, which
    /// the caller passes to [`Flush::start_writing`].
    pub fn add_sorted_list(&mut self, list: List) -> Option<Sources> {
        let FlushStage::Sorting { sealed, lists, list_count: all, .. } = &mut self.stage else {
            return None;
        };
        lists.push(list);
        if lists.len() < *all {
            return None;
        }
        Some(Sources {
            spill: Arc::clone(&self.spill),
            keyer: Arc::clone(self.sort.keyer()),
            runs: Vec::new(),
            lists: std::mem::take(lists),
            sealed: Arc::clone(sealed),
            charges: Vec::new(), // the committer holds the charge of the reads until they are on disk
        })
    }

    pub fn start_writing(&mut self, merge: Merge, to: FlushTarget) {
        self.stage = FlushStage::Writing(merge, to);
    }

    pub fn end_flush(&mut self) {
        self.stage = FlushStage::Idle;
    }
}

impl FlushWorker {
    pub fn new(framing: Framing) -> Self {
        FlushWorker { entries: Vec::new(), writer: FrameWriter::new(framing), tail: Vec::new() }
    }

    /// Performs the parallel opening phase of a task: sorts its list, or puts its range in order.
    pub fn open_task(&mut self, task: FlushTask, sort: &RunSort) -> Result<OpenedFlush> {
        Ok(match task {
            FlushTask::Seal => OpenedFlush::Seal,
            FlushTask::Sort(UnsortedList { entries, sealed }) => {
                OpenedFlush::Sort(List::sort(entries, sealed.bytes(), sort.keyer(), &mut self.entries))
            }
            FlushTask::Write(range, target) => OpenedFlush::Write(range.order_records()?, target),
            FlushTask::Close((), target) => OpenedFlush::Close((), target),
        })
    }

    /// Packs the sorted records of partitions into frames of a run, and closes the last frame.
    pub fn pack_partitions(
        &mut self,
        partitions: &[Partition],
        sort: &RunSort,
        mut frames: Frames,
    ) -> Result<Frames> {
        for records in partitions {
            records
                .gather(|stamp, raw| self.push_record(RecordRef::new(raw), stamp, sort, &mut frames))?;
        }
        self.writer.close_frame(&mut frames);
        Ok(frames)
    }

    /// Packs the sorted records of a batch into frames of a run, and closes the last frame.
    pub fn pack_batch(&mut self, batch: &Batch, sort: &RunSort, mut frames: Frames) -> Result<Frames> {
        for (stamp, record) in batch.records() {
            self.push_record(record, stamp, sort, &mut frames)?;
        }
        self.writer.close_frame(&mut frames);
        Ok(frames)
    }

    fn push_record(
        &mut self,
        record: RecordRef<'_>,
        stamp: Stamp,
        sort: &RunSort,
        frames: &mut Frames,
    ) -> Result<()> {
        let key = sort.keyer().key(record)?;
        self.tail.clear();
        if !key.is_decided() {
            sort.keyer().write_tail(record, &mut self.tail);
        }
        self.writer.push(key, &self.tail, stamp, record.raw(), frames);
        Ok(())
    }
}

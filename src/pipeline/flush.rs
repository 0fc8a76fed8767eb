//! Flushes full memory to disk while reading goes on in fresh memory.
//!
//! Reads are sorted list by list, merged range by range and written as one run, by tickets of the pass that reads: the
//! claimer alternates between tasks of a [`Flush`] and pieces of the input, so a process that writes into our input
//! does not wait for our disk. Tickets are committed in the order in which they were claimed; so one stage knows that
//! the one before it is complete.
//!
//! Presorted reads go into the output instead of a run ([`super::presorted`]).

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Arena, Batch, RecordRef, Result, Sealed, Stamp};
use readmill_sort::{
    Cutter, Entry, FrameWriter, Frames, Framing, List, Merge, Ordered, Partition, Range, RunSort,
    Sources,
};

use super::sort_context;

/// The flush under way: its stage and its next tasks.
pub struct Flush {
    stage: FlushStage,
    sort: RunSort,
    spill: Arc<Spill>,
}

enum FlushStage {
    /// No flush is under way.
    Idle,
    /// Waits until no ticket fills the old memory any more.
    Sealing(Arc<Arena>),
    /// Lists are sorted.
    Sorting {
        sealed: Arc<Sealed>,
        unsorted: std::vec::IntoIter<Vec<Entry>>,
        lists: Vec<List>,
        all: usize,
    },
    /// Ranges are ordered and written.
    Writing(Merge, FlushTarget),
    /// The last ranges are under way.
    Closing,
}

/// Where flushed reads go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushTarget {
    /// Into a run.
    Run,
    /// Into the output.
    Output,
}

/// A task of a flush, in one of its phases: `L` is a list, `W` a range that is written, and `C` the records that do not
/// fill a partition of the output.
pub enum FlushPhase<L, W, C> {
    /// Seals the old memory, once no ticket fills it any more; done when it is committed.
    Seal,
    /// Sorts a list.
    Sort(L),
    /// Orders a range and writes it.
    Write(W, FlushTarget),
    /// Ends the run, once all its ranges are written.
    Close(C, FlushTarget),
}

/// A task of a flush, as it is claimed.
pub type FlushTask = FlushPhase<UnsortedList, Range, ()>;
/// A task after its first parallel phase: the list is sorted, the range is in order.
pub type OpenedFlush = FlushPhase<List, Ordered, ()>;
/// A task after the link: the range is cut into partitions of the output, or is one of the run.
pub type LinkedFlush = FlushPhase<List, Vec<Partition>, Option<Partition>>;

/// A list that is to be sorted, and the memory of its reads.
pub struct UnsortedList {
    entries: Vec<Entry>,
    sealed: Arc<Sealed>,
}

impl OpenedFlush {
    /// Cuts partitions for the output.
    pub fn link(self, cutter: &mut Cutter) -> LinkedFlush {
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
                let rest = if target == FlushTarget::Output { cutter.finish() } else { None };
                LinkedFlush::Close(rest, target)
            }
        }
    }
}

/// One thread's buffers for a flush.
pub struct FlushWorker {
    entries: Vec<Entry>,
    writer: FrameWriter,
    tail: Vec<u8>,
}

impl Flush {
    /// Creates an idle flush.
    pub fn new(sort: RunSort, spill: Arc<Spill>) -> Self {
        Flush { stage: FlushStage::Idle, sort, spill }
    }

    /// Whether no flush is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self.stage, FlushStage::Idle)
    }

    /// Begins to flush `arena`; the task that is returned must be claimed next.
    pub fn begin(&mut self, arena: Arc<Arena>) -> FlushTask {
        self.stage = FlushStage::Sealing(arena);
        FlushTask::Seal
    }

    /// Returns the next task, if it can be done now.
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

    /// Continues with the lists of the old memory, which no ticket fills any more.
    pub fn sealed(&mut self, lists: Vec<Vec<Entry>>) -> Result<()> {
        if let FlushStage::Sealing(arena) = std::mem::replace(&mut self.stage, FlushStage::Idle) {
            let arena = Arc::into_inner(arena).ok_or_else(sort_context::arena_in_use)?;
            let (sealed, all) = (Arc::new(arena.seal()), lists.len());
            self.stage =
                FlushStage::Sorting { sealed, unsorted: lists.into_iter(), lists: Vec::new(), all };
        }
        Ok(())
    }

    /// Takes the next sorted list. Once all are there, returns them as sources of a merge: call [`Flush::write`] next.
    pub fn sorted(&mut self, list: List) -> Option<Sources> {
        let FlushStage::Sorting { sealed, lists, all, .. } = &mut self.stage else { return None };
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
            charges: Vec::new(), // the reads are charged to who commits until they are on disk
        })
    }

    /// Starts to write a merge to its target.
    pub fn write(&mut self, merge: Merge, to: FlushTarget) {
        self.stage = FlushStage::Writing(merge, to);
    }

    /// Ends the flush.
    pub fn closed(&mut self) {
        self.stage = FlushStage::Idle;
    }
}

impl FlushWorker {
    /// Creates buffers for frames of this framing.
    pub fn new(framing: Framing) -> Self {
        FlushWorker { entries: Vec::new(), writer: FrameWriter::new(framing), tail: Vec::new() }
    }

    /// The first parallel phase of a task.
    pub fn open(&mut self, task: FlushTask, sort: &RunSort) -> Result<OpenedFlush> {
        Ok(match task {
            FlushTask::Seal => OpenedFlush::Seal,
            FlushTask::Sort(UnsortedList { entries, sealed }) => {
                OpenedFlush::Sort(List::sort(entries, sealed.bytes(), sort.keyer(), &mut self.entries))
            }
            FlushTask::Write(range, target) => OpenedFlush::Write(range.order()?, target),
            FlushTask::Close((), target) => OpenedFlush::Close((), target),
        })
    }

    /// Packs records, which are in order, into frames.
    pub fn pack(
        &mut self,
        partitions: &[Partition],
        sort: &RunSort,
        mut frames: Frames,
    ) -> Result<Frames> {
        for records in partitions {
            records.gather(|stamp, raw| self.push(RecordRef::new(raw), stamp, sort, &mut frames))?;
        }
        self.writer.close(&mut frames);
        Ok(frames)
    }

    /// Packs the records of a batch, which are in order, into frames.
    pub fn pack_batch(&mut self, batch: &Batch, sort: &RunSort, mut frames: Frames) -> Result<Frames> {
        for (stamp, record) in batch.records() {
            self.push(record, stamp, sort, &mut frames)?;
        }
        self.writer.close(&mut frames);
        Ok(frames)
    }

    fn push(
        &mut self,
        record: RecordRef<'_>,
        stamp: Stamp,
        sort: &RunSort,
        frames: &mut Frames,
    ) -> Result<()> {
        let key = sort.keyer().key(record)?;
        self.tail.clear();
        if !key.is_decided() {
            sort.keyer().tail(record, &mut self.tail);
        }
        self.writer.push(key, &self.tail, stamp, record.raw(), frames);
        Ok(())
    }
}

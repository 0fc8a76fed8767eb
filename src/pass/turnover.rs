//! Memory that is full goes to disk while reading goes on in fresh memory.
//!
//! What was read is sorted list by list, merged range by range and written as one run, by tickets of the
//! very pass that reads: the claimer hands out the tasks of a [`Turnover`] in turns with chunks of the input, so
//! a process that writes into our input does not wait for our disk. Tickets are committed in the order
//! in which they were claimed; that is how one stage knows that the one before is complete.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Arena, Error, RecordRef, Result, Sealed};
use readmill_steps::sort::{
    Entry, FrameWriter, Frames, Framing, List, Merge, Ordered, Partition, Range, RunSort, Sources,
};

/// A run on its way to disk: what its tasks are and which come next.
pub struct Turnover {
    stage: Stage,
    sort: RunSort,
    spill: Arc<Spill>,
}

enum Stage {
    /// Nothing is on its way.
    Rest,
    /// Tickets that still fill the old memory are under way.
    Turning(Arc<Arena>),
    /// Lists are sorted.
    Sorting {
        sealed: Arc<Sealed>,
        unsorted: std::vec::IntoIter<Vec<Entry>>,
        lists: Vec<List>,
        all: usize,
    },
    /// Ranges are ordered and written.
    Writing(Merge),
    /// The last ranges are under way.
    Closing,
}

/// What a ticket does for a turnover.
pub enum Task {
    /// Seals the old memory, once no ticket fills it any more.
    Turn,
    /// Sorts a list.
    Sort(Vec<Entry>, Arc<Sealed>),
    /// Orders a range and packs it into frames.
    Write(Range),
    /// Ends the run, once all its ranges are written.
    Close,
}

/// A task after its first parallel phase.
pub enum Opened {
    /// Nothing to do before it is its turn.
    Turn,
    /// A sorted list.
    Sorted(List),
    /// A range in order.
    Ordered(Ordered),
    /// Nothing to do before it is its turn.
    Close,
}

/// What a task leaves.
pub enum Done {
    /// The old memory may be sealed.
    Turn,
    /// A sorted list.
    Sorted(List),
    /// Frames of the run.
    Frames(Frames),
    /// The run is complete.
    Close,
}

/// A thread's scratch.
pub struct Scratch {
    entries: Vec<Entry>,
    writer: FrameWriter,
    tail: Vec<u8>,
}

impl Turnover {
    /// At rest.
    pub fn new(sort: RunSort, spill: Arc<Spill>) -> Self {
        Turnover { stage: Stage::Rest, sort, spill }
    }

    /// Whether nothing is on its way.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.stage, Stage::Rest)
    }

    /// Begins with all that was read into `arena`; the task given is to be claimed next.
    pub fn begin(&mut self, arena: Arc<Arena>) -> Task {
        self.stage = Stage::Turning(arena);
        Task::Turn
    }

    /// The next task, if it can be done now.
    pub fn next_task(&mut self) -> Option<Task> {
        match &mut self.stage {
            Stage::Sorting { sealed, unsorted, .. } => {
                unsorted.next().map(|list| Task::Sort(list, Arc::clone(sealed)))
            }
            Stage::Writing(merge) => match merge.next_range() {
                Some(range) => Some(Task::Write(range)),
                None => {
                    self.stage = Stage::Closing;
                    Some(Task::Close)
                }
            },
            Stage::Rest | Stage::Turning(_) | Stage::Closing => None,
        }
    }

    /// No ticket fills the old memory any more; these are its lists.
    pub fn turned(&mut self, lists: Vec<Vec<Entry>>) -> Result<()> {
        let Stage::Turning(arena) = std::mem::replace(&mut self.stage, Stage::Rest) else {
            return Ok(());
        };
        let arena =
            Arc::into_inner(arena).ok_or_else(|| Error::usage("memory was still being filled"))?;
        let (sealed, all) = (Arc::new(arena.seal()), lists.len());
        self.stage = Stage::Sorting { sealed, unsorted: lists.into_iter(), lists: Vec::new(), all };
        self.merge_if_sorted();
        Ok(())
    }

    /// The next list is sorted.
    pub fn sorted(&mut self, list: List) {
        if let Stage::Sorting { lists, .. } = &mut self.stage {
            lists.push(list);
        }
        self.merge_if_sorted();
    }

    fn merge_if_sorted(&mut self) {
        if let Stage::Sorting { sealed, lists, all, .. } = &mut self.stage
            && lists.len() == *all
        {
            let sources = Sources {
                spill: Arc::clone(&self.spill),
                keyer: Arc::clone(self.sort.keyer()),
                runs: Vec::new(),
                lists: std::mem::take(lists),
                sealed: Arc::clone(sealed),
            };
            self.stage = Stage::Writing(Merge::new(Arc::new(sources)));
        }
    }

    /// The run is complete.
    pub fn closed(&mut self) {
        self.stage = Stage::Rest;
    }
}

impl Scratch {
    /// For frames as `framing` says.
    pub fn new(framing: Framing) -> Self {
        Scratch { entries: Vec::new(), writer: FrameWriter::new(framing), tail: Vec::new() }
    }

    /// The first parallel phase of a task.
    pub fn open(&mut self, task: Task, sort: &RunSort) -> Result<Opened> {
        Ok(match task {
            Task::Turn => Opened::Turn,
            Task::Sort(list, sealed) => {
                Opened::Sorted(List::sort(list, sealed.bytes(), sort.keyer(), &mut self.entries))
            }
            Task::Write(range) => Opened::Ordered(range.order()?),
            Task::Close => Opened::Close,
        })
    }

    /// The second parallel phase.
    pub fn work(
        &mut self,
        opened: Opened,
        sort: &RunSort,
        frames: impl FnOnce() -> Frames,
    ) -> Result<Done> {
        Ok(match opened {
            Opened::Turn => Done::Turn,
            Opened::Sorted(list) => Done::Sorted(list),
            Opened::Ordered(range) => Done::Frames(self.pack(range, sort, frames())?),
            Opened::Close => Done::Close,
        })
    }

    /// Packs a range into frames.
    pub fn pack(&mut self, range: Ordered, sort: &RunSort, mut frames: Frames) -> Result<Frames> {
        let Scratch { writer, tail, .. } = self;
        Partition::from(range).gather(|stamp, raw| {
            let record = RecordRef::new(raw);
            let key = sort.keyer().key(record)?;
            if key.is_decided() {
                tail.clear();
            } else {
                sort.keyer().tail(record, tail);
            }
            writer.push(key, tail, stamp, raw, &mut frames);
            Ok(())
        })?;
        writer.close(&mut frames);
        Ok(frames)
    }
}

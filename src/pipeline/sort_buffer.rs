//! The sort buffer: reads in memory and in runs on disk, and template ends, until the input ends.

use std::sync::Arc;

use readmill_markdup::EndStore;
use readmill_record::{Arena, Charge, Result};
use readmill_sort::{Framing, List, Merge, Run, Sources, SpilledRun};

use super::parallel_sort::ThreadedSort;
use super::presorted::Presorted;
use super::sort_context::{self, ENDS, READS, SortContext, arena_in_use};
use super::{StepCounts, merge, parallel_sort};
use crate::process::pause::{self, Moment};

/// Reads and template ends that wait for the end of the input.
pub struct SortBuffer {
    /// Sorted runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// How many runs were written in all.
    pub spilled: usize,
    /// The newest reads.
    pub arena: Arc<Arena>,
    /// Their entries.
    pub run: Run,
    /// Charge of the arena and the entries.
    pub charge: Charge,
    /// Ends of all reads.
    pub ends: EndStore,
    /// Charge of the ends in memory.
    pub ends_charge: Charge,
    /// Charge of the records that the link holds back.
    pub link_charge: Charge,
    /// Bytes of the largest of the reads.
    pub largest: u64,
    /// Records read.
    pub records: u64,
    /// Reads that are in the output already.
    pub presorted: Presorted,
    /// Whether any read has a reference sequence.
    pub any_placed: bool,
    /// Whether any read has the optional field that reads are sorted by; `None` without reads or such a field.
    pub tagged: Option<bool>,
    /// Counts of the steps.
    pub counts: StepCounts,
}

/// Ledger name of the frames of runs that are being merged.
const FRAMES: &str = "merging of runs";

/// Frames of runs that were merged from others are no larger than this.
const MOST_FRAME: usize = 1 << 20;

impl SortBuffer {
    /// Creates an empty buffer.
    pub fn new(context: &SortContext, ends: EndStore) -> Self {
        SortBuffer {
            runs: Vec::new(),
            spilled: 0,
            arena: Arc::new(Arena::empty()),
            run: Run::new(context.list),
            charge: context.ledger.empty(READS),
            ends,
            ends_charge: context.ledger.empty(ENDS),
            link_charge: context.ledger.empty(READS),
            largest: 0,
            records: 0,
            presorted: Presorted::default(),
            any_placed: false,
            tagged: None,
            counts: StepCounts::default(),
        }
    }

    /// Adds a run on disk, unless it is empty.
    pub fn push(&mut self, run: SpilledRun) {
        if !run.frames().is_empty() {
            self.runs.push(run);
            self.spilled += 1;
            pause::at(Moment::RunSpilled);
        }
    }

    /// Bytes that the frames of the runs on disk take while they are merged.
    fn frame_bytes(&self) -> u64 {
        self.runs.iter().map(SpilledRun::merging_bytes).sum()
    }

    /// Whether the runs on disk are so many that merging them would take half the memory, with their indexes.
    pub fn has_too_many_runs(&self, context: &SortContext) -> bool {
        let indexes: u64 = self.runs.iter().map(SpilledRun::index_bytes).sum();
        let large = sort_context::long_read_bytes(self.largest);
        self.runs.len() > 1 && self.frame_bytes() + indexes + large > context.room / 2
    }

    /// Writes the ends as sorted items.
    pub fn spill_ends(&mut self, context: &SortContext) -> Result<()> {
        self.ends.spill(&ThreadedSort(context.crew), &context.spill, self.spilled)?;
        self.ends_charge.resize(self.ends.bytes());
        Ok(())
    }

    /// Sorts the lists in memory and returns everything in memory as sources of a merge; their charge is released with
    /// the merge.
    fn sources(&mut self, context: &SortContext) -> Result<Sources> {
        let arena = std::mem::replace(&mut self.arena, Arc::new(Arena::empty()));
        let arena = Arc::into_inner(arena).ok_or_else(arena_in_use)?;
        let sealed = Arc::new(arena.seal());
        let unsorted = self.run.take();
        let keyer = Arc::clone(context.sort.keyer());
        let lists: Vec<List> = parallel_sort::sort_lists(context.crew, unsorted, |list, scratch| {
            List::sort(list, sealed.bytes(), &keyer, scratch)
        })?;
        let charges = vec![std::mem::replace(&mut self.charge, context.ledger.empty(READS))];
        Ok(Sources {
            spill: Arc::clone(&context.spill),
            keyer,
            runs: Vec::new(),
            lists,
            sealed,
            charges,
        })
    }

    /// Writes the reads in memory as a sorted run.
    pub fn spill(&mut self, context: &SortContext) -> Result<()> {
        let sources = self.sources(context)?;
        let run = merge::to_spill(
            context,
            context.framing,
            Merge::new(Arc::new(sources)),
            self.spilled,
            self.largest,
        )?;
        self.push(run);
        Ok(())
    }

    /// Merges the newest runs on disk into one, because each run takes memory in the final merge: those that result
    /// from as many merges as the last. The frames of the new run are larger, so its index is smaller. Runs of one size
    /// are merged when there are many, so each read is rewritten only as often as the logarithm of the number of runs.
    pub fn consolidate(&mut self, context: &SortContext) -> Result<()> {
        let mut charge = context.ledger.empty(FRAMES);
        if !charge.try_grow(self.frame_bytes()) {
            self.spill(context)?;
            charge.resize(self.frame_bytes());
        }
        let Some(size) = self.runs.last().map(|run| run.framing().size) else { return Ok(()) };
        let kind = |run: &SpilledRun| run.framing().size == size;
        let kept = self.runs.iter().rposition(|run| !kind(run)).map_or(0, |last| last + 1);
        let kept = if self.runs.len() - kept < 2 { kept.saturating_sub(1) } else { kept };
        let runs = self.runs.split_off(kept);
        let extents: Vec<_> = runs.iter().map(SpilledRun::extent).collect();
        let largest = runs.iter().map(|run| run.framing().size).max().unwrap_or(size);
        let sources = Sources {
            spill: Arc::clone(&context.spill),
            keyer: Arc::clone(context.sort.keyer()),
            runs,
            lists: Vec::new(),
            sealed: Arc::new(Arena::empty().seal()),
            charges: vec![charge],
        };
        let framing = Framing { size: (4 * largest).min(MOST_FRAME), ..context.framing };
        let run = merge::to_spill(
            context,
            framing,
            Merge::new(Arc::new(sources)),
            self.spilled,
            self.largest,
        )?;
        extents.iter().for_each(|extent| context.spill.free(extent));
        self.runs.push(run);
        Ok(())
    }

    /// Returns everything as sources of the final merge. Reads in memory are spilled first if they leave no room to
    /// merge the runs.
    pub fn take_sources(&mut self, context: &SortContext) -> Result<Sources> {
        while self.has_too_many_runs(context) {
            self.consolidate(context)?;
        }
        let mut charge = context.ledger.empty(FRAMES);
        if !charge.try_grow(self.frame_bytes() + sort_context::long_read_bytes(self.largest)) {
            self.spill(context)?;
        }
        charge.resize(self.frame_bytes());
        let mut sources = self.sources(context)?;
        sources.charges.push(charge);
        sources.runs = self.presorted.rest.take().into_iter().chain(self.runs.drain(..)).collect();
        Ok(sources)
    }
}

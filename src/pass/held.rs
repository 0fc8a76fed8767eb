//! What waits for the end of the input: reads in memory and on disk, and duplicate ends.

use std::sync::Arc;

use readmill_engine::{Budget, Crew};
use readmill_format::spill::Spill;
use readmill_record::{Arena, Error, Result};
use readmill_steps::markdup::Ends;
use readmill_steps::sort::{Framing, List, Merge, Run, RunSort, Sources, SpilledRun};

use super::{Counts, duplicates, merge, order};

/// What waiting needs.
pub struct Waiting {
    /// The threads.
    pub crew: Crew,
    /// How reads are sorted.
    pub sort: RunSort,
    /// Room in memory.
    pub budget: Budget,
    /// Room on disk.
    pub spill: Arc<Spill>,
    /// Entries of a list.
    pub list: usize,
    /// How frames on disk are made.
    pub framing: Framing,
}

impl Waiting {
    /// Memory a run takes while it is merged: the frame being read, the one its partition still holds, keys.
    pub fn run_bytes(&self) -> u64 {
        5 * self.framing.size as u64 / 2
    }
}

/// What waits.
pub struct Held {
    /// Sorted runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// How many runs were written in all.
    pub spilled: usize,
    /// The newest reads.
    pub arena: Arc<Arena>,
    /// Their entries.
    pub run: Run,
    /// Room that both take.
    pub bytes: u64,
    /// Ends of all reads.
    pub ends: Ends,
    /// Records read.
    pub records: u64,
    /// Whether any read has a reference sequence.
    pub any_placed: bool,
    /// What the steps counted.
    pub counts: Counts,
}

impl Held {
    /// Nothing yet, and no memory for it.
    pub fn new(waiting: &Waiting) -> Self {
        let (runs, spilled, bytes, ends, records, any_placed, counts) = Default::default();
        let (arena, run) = (Arc::new(Arena::empty()), Run::new(waiting.list));
        Held { runs, spilled, arena, run, bytes, ends, records, any_placed, counts }
    }

    /// Takes a run, unless it is empty.
    pub fn push(&mut self, run: SpilledRun) {
        if !run.frames().is_empty() {
            self.runs.push(run);
            self.spilled += 1;
        }
    }

    /// Memory that the runs on disk take while they are merged, their indexes included.
    fn merging_bytes(&self, waiting: &Waiting) -> u64 {
        let frames = self.runs.len() as u64 * waiting.run_bytes();
        frames + self.runs.iter().map(SpilledRun::index_bytes).sum::<u64>()
    }

    /// Whether the runs on disk are so many that merging them would take half the memory.
    pub fn has_too_many_runs(&self, waiting: &Waiting) -> bool {
        self.runs.len() > 1 && self.merging_bytes(waiting) > waiting.budget.capacity() / 2
    }

    /// Writes the ends as sorted items.
    pub fn spill_ends(&mut self, waiting: &Waiting) -> Result<()> {
        let bytes = self.ends.bytes();
        duplicates::spill(waiting.crew, &mut self.ends, &waiting.spill, self.spilled)?;
        waiting.budget.release(bytes.min(waiting.budget.used()));
        Ok(())
    }

    /// Sorts the lists in memory and takes all that waits to be merged; the memory is given back when the
    /// merge lets go of it.
    fn sources(&mut self, waiting: &Waiting) -> Result<Sources> {
        let arena = std::mem::replace(&mut self.arena, Arc::new(Arena::empty()));
        let arena = Arc::into_inner(arena).ok_or_else(still_filled)?;
        let sealed = Arc::new(arena.seal());
        let unsorted = self.run.take();
        let keyer = Arc::clone(waiting.sort.keyer());
        let lists: Vec<List> = order::lists(waiting.crew, unsorted, |list, scratch| {
            List::sort(list, sealed.bytes(), &keyer, scratch)
        })?;
        Ok(Sources { spill: Arc::clone(&waiting.spill), keyer, runs: Vec::new(), lists, sealed })
    }

    /// Writes the reads in memory as a sorted run.
    pub fn spill(&mut self, waiting: &Waiting) -> Result<()> {
        let sources = self.sources(waiting)?;
        let run = merge::to_spill(waiting, Merge::new(Arc::new(sources)), self.spilled)?;
        waiting.budget.settle(std::mem::take(&mut self.bytes), run.index_bytes());
        self.push(run);
        Ok(())
    }

    /// Merges all runs on disk into one, because each takes memory when it is merged.
    pub fn consolidate(&mut self, waiting: &Waiting) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let index: u64 = runs.iter().map(SpilledRun::index_bytes).sum();
        let extents: Vec<_> = runs.iter().map(SpilledRun::extent).collect();
        let sources = Sources {
            spill: Arc::clone(&waiting.spill),
            keyer: Arc::clone(waiting.sort.keyer()),
            runs,
            lists: Vec::new(),
            sealed: Arc::new(Arena::empty().seal()),
        };
        let run = merge::to_spill(waiting, Merge::new(Arc::new(sources)), self.spilled)?;
        extents.iter().for_each(|extent| waiting.spill.free(extent));
        waiting.budget.settle(index, run.index_bytes());
        self.runs.push(run);
        Ok(())
    }

    /// Takes everything, to be merged into the output. What is in memory is written out first if it leaves no
    /// room to merge what is on disk.
    pub fn into_sources(mut self, waiting: &Waiting) -> Result<Sources> {
        while self.has_too_many_runs(waiting) {
            self.consolidate(waiting)?;
        }
        let frames = self.runs.len() as u64 * waiting.run_bytes();
        if !self.runs.is_empty()
            && !self.run.is_empty()
            && frames + waiting.budget.used() > waiting.budget.capacity()
        {
            self.spill(waiting)?;
        }
        let mut sources = self.sources(waiting)?;
        sources.runs = self.runs;
        Ok(sources)
    }
}

/// A ticket held the arena beyond the pass it belonged to.
pub fn still_filled() -> Error {
    Error::io("the memory of the reads is still in use", &std::io::Error::other("this is a bug"))
}

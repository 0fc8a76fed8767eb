//! What waits for the end of the input: reads in memory and on disk, and duplicate ends.

use readmill_engine::{Budget, Crew};
use readmill_format::spill::Spill;
use readmill_record::{Arena, Error, Result};
use readmill_steps::markdup::Ends;
use readmill_steps::sort::{Merge, Run, RunSort, SpilledRun, frame};

use super::merge::{self, Merged};
use super::{Counts, duplicates, order};

/// What waiting needs.
pub struct Waiting {
    /// The threads.
    pub crew: Crew,
    /// How reads are sorted.
    pub sort: RunSort,
    /// Room in memory.
    pub budget: Budget,
    /// Room on disk.
    pub spill: Spill,
}

/// What waits.
pub struct Held {
    /// Sorted runs on disk, oldest first.
    pub runs: Vec<SpilledRun>,
    /// The newest reads.
    pub arena: Arena,
    /// Their entries.
    pub run: Run,
    /// Ends of all reads.
    pub ends: Ends,
    /// Records read.
    pub records: u64,
    /// What the steps counted.
    pub counts: Counts,
}

/// Memory a run takes while it is merged: the frame being read, the one its partition still holds, keys.
const RUN_BYTES: u64 = (5 * frame::FRAME / 2) as u64;

impl Held {
    /// Nothing yet, and no memory for it.
    pub fn new() -> Self {
        let (runs, run, ends, counts) = Default::default();
        Held { runs, arena: Arena::empty(), run, ends, records: 0, counts }
    }

    /// Takes `room` bytes of address space for reads, unless that has been done since the last spill.
    pub fn reserve(&mut self, room: u64) -> Result<()> {
        if self.arena.capacity() == 0 {
            self.arena = Arena::new(room as usize)
                .map_err(|e| Error::io(format!("{} MiB of memory are not to be had", room >> 20), &e))?;
        }
        Ok(())
    }

    /// Whether nothing is in memory that could be written out.
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.ends.bytes() == 0
    }

    /// Writes what is in memory as a sorted run, and its ends as sorted items, and gives the memory back
    /// to the system. `kept` bytes of room stay taken.
    pub fn spill(&mut self, waiting: &Waiting, kept: u64) -> Result<()> {
        let Waiting { crew, sort, budget, spill } = waiting;
        order::entries(*crew, &mut self.run)?;
        let run = std::mem::take(&mut self.run);
        let arena = std::mem::replace(&mut self.arena, Arena::empty());
        let sealed = arena.seal();
        let merge = Merge::new(spill, &[], run.lists(), sealed.bytes())?;
        let from = Merged { arena: sealed.bytes(), spill };
        let turn = self.runs.len();
        self.runs.push(merge::to_spill(*crew, merge, from, *sort, spill, turn)?);
        drop(sealed);
        drop(run);
        duplicates::spill(*crew, &mut self.ends, spill, turn)?;
        budget.release(budget.used().saturating_sub(kept));
        if self.runs.len() as u64 * RUN_BYTES > budget.capacity() / 2 {
            self.consolidate(waiting)?;
        }
        Ok(())
    }

    /// Merges all runs on disk into one, because each takes memory when it is merged.
    fn consolidate(&mut self, waiting: &Waiting) -> Result<()> {
        let Waiting { crew, sort, spill, .. } = waiting;
        let merge = Merge::new(spill, &self.runs, &[], &[])?;
        let from = Merged { arena: &[], spill };
        self.runs = vec![merge::to_spill(*crew, merge, from, *sort, spill, 0)?];
        Ok(())
    }

    /// Makes sure that the runs on disk can be merged beside what is in memory.
    pub fn make_room(&mut self, waiting: &Waiting, marks: u64) -> Result<()> {
        let needed = self.runs.len() as u64 * RUN_BYTES + waiting.budget.used();
        if !self.runs.is_empty() && !self.run.is_empty() && needed > waiting.budget.capacity() {
            self.spill(waiting, marks)?;
        }
        Ok(())
    }
}

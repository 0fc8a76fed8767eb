//! The sort buffer: holds template ends, and reads in memory and in runs on disk, until the input
//! ends.

use std::sync::Arc;

use readmill_markdup::EndStore;
use readmill_process::pause::{self, Moment};
use readmill_record::{Arena, Charge, Result};
use readmill_sort::{Framing, List, Merge, Run, Sources, SpilledRun};

use super::parallel_sort::ThreadedSort;
use super::presorted::Presorted;
use super::sort_context::{self, ENDS, READS, SortContext, arena_in_use_error};
use super::{StepCounts, merge, parallel_sort};

/// Reads and template ends that ingest has collected. After the last read,
/// [`SortBuffer::take_sources`] turns the reads into the sources of the final merge.
pub struct SortBuffer {
    /// Sorted runs on disk, oldest first. Their order matters, because reads with equal keys keep
    /// their input order.
    pub runs: Vec<SpilledRun>,
    pub runs_written: usize,
    /// Memory of the newest reads. Shared with the tickets of a pass, which copy records into it.
    pub arena: Arc<Arena>,
    pub run: Run,
    pub charge: Charge,
    pub ends: EndStore,
    pub ends_charge: Charge,
    /// The charge for records that the linker holds back until their template is complete.
    pub link_charge: Charge,
    /// Size of the largest read so far in bytes. It determines the memory that each ticket needs
    /// for merging.
    pub largest_record_bytes: u64,
    pub records: u64,
    pub presorted: Presorted,
    pub any_placed: bool,
    /// Whether any read has the optional field that is the sort key. `None` if there are no reads,
    /// or if reads are not sorted by a field.
    pub has_sort_field: Option<bool>,
    pub counts: StepCounts,
}

const FRAMES: &str = "merging of runs";

/// Maximum frame size, in bytes, of runs that are merged from other runs.
const MAX_MERGED_FRAME: usize = 1 << 20;

impl SortBuffer {
    pub fn new(context: &SortContext, ends: EndStore) -> Self {
        SortBuffer {
            runs: Vec::new(),
            runs_written: 0,
            arena: Arc::new(Arena::empty()),
            run: Run::new(context.entries_per_list),
            charge: context.ledger.empty_charge(READS),
            ends,
            ends_charge: context.ledger.empty_charge(ENDS),
            link_charge: context.ledger.empty_charge(READS),
            largest_record_bytes: 0,
            records: 0,
            presorted: Presorted::default(),
            any_placed: false,
            has_sort_field: None,
            counts: StepCounts::default(),
        }
    }

    pub fn add_run(&mut self, run: SpilledRun) {
        if !run.frames().is_empty() {
            self.runs.push(run);
            self.runs_written += 1;
            pause::at(Moment::RunSpilled);
        }
    }

    fn frame_bytes(&self) -> u64 {
        self.runs.iter().map(SpilledRun::merging_bytes).sum()
    }

    /// Returns whether runs on disk must be merged now, because the final merge of all runs, with
    /// their indexes, would take more than half of the memory.
    pub fn has_too_many_runs(&self, context: &SortContext) -> bool {
        let indexes: u64 = self.runs.iter().map(SpilledRun::index_bytes).sum();
        let large = sort_context::long_read_bytes(self.largest_record_bytes);
        self.runs.len() > 1 && self.frame_bytes() + indexes + large > context.room / 2
    }

    /// Writes the template ends in memory to disk as sorted items, and releases most of their
    /// memory.
    pub fn spill_ends(&mut self, context: &SortContext) -> Result<()> {
        self.ends.spill(&ThreadedSort(context.crew), &context.spill, self.runs_written)?;
        self.ends_charge.resize(self.ends.bytes());
        Ok(())
    }

    /// Sorts the lists in memory and returns them as the sources of a merge. Their charge moves to
    /// the sources, so the memory is released after the merge.
    fn take_sources_in_memory(&mut self, context: &SortContext) -> Result<Sources> {
        let arena = std::mem::replace(&mut self.arena, Arc::new(Arena::empty()));
        let arena = Arc::into_inner(arena).ok_or_else(arena_in_use_error)?;
        let sealed = Arc::new(arena.seal());
        let unsorted = self.run.take_lists();
        let keyer = Arc::clone(context.sort.keyer());
        let lists: Vec<List> = parallel_sort::sort_lists(context.crew, unsorted, |list, scratch| {
            List::sort(list, sealed.bytes(), &keyer, scratch)
        })?;
        let charges = vec![std::mem::replace(&mut self.charge, context.ledger.empty_charge(READS))];
        Ok(Sources {
            spill: Arc::clone(&context.spill),
            keyer,
            runs: Vec::new(),
            lists,
            sealed,
            charges,
        })
    }

    pub fn spill_reads(&mut self, context: &SortContext) -> Result<()> {
        let sources = self.take_sources_in_memory(context)?;
        let run = merge::write_to_spill(
            context,
            context.framing,
            Merge::new(Arc::new(sources)),
            self.runs_written,
            self.largest_record_bytes,
        )?;
        self.add_run(run);
        Ok(())
    }

    /// Merges the newest runs on disk into one, because each run needs memory in the final merge.
    /// Selects the newest runs of equal frame size, which have been merged equally often. The new
    /// run has frames of four times the size, so its index is smaller. As in a counter, runs of one
    /// size are merged only when there are many, so the number of times that a read is rewritten is
    /// at most the logarithm of the number of runs.
    pub fn merge_newest_runs(&mut self, context: &SortContext) -> Result<()> {
        let mut charge = context.ledger.empty_charge(FRAMES);
        if !charge.try_grow(self.frame_bytes()) {
            self.spill_reads(context)?;
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
        let framing = Framing { size: (4 * largest).min(MAX_MERGED_FRAME), ..context.framing };
        let run = merge::write_to_spill(
            context,
            framing,
            Merge::new(Arc::new(sources)),
            self.runs_written,
            self.largest_record_bytes,
        )?;
        extents.iter().for_each(|extent| context.spill.free_extent(extent));
        self.runs.push(run);
        Ok(())
    }

    /// Returns all reads as the sources of the final merge. Merges runs if there are too many.
    /// First writes the reads in memory to disk if they leave too little memory for merging.
    pub fn take_sources(&mut self, context: &SortContext) -> Result<Sources> {
        while self.has_too_many_runs(context) {
            self.merge_newest_runs(context)?;
        }
        let mut charge = context.ledger.empty_charge(FRAMES);
        if !charge
            .try_grow(self.frame_bytes() + sort_context::long_read_bytes(self.largest_record_bytes))
        {
            self.spill_reads(context)?;
        }
        charge.resize(self.frame_bytes());
        let mut sources = self.take_sources_in_memory(context)?;
        sources.charges.push(charge);
        sources.runs =
            self.presorted.leftover_run.take().into_iter().chain(self.runs.drain(..)).collect();
        Ok(sources)
    }
}

//! The regions of the contigs of a run, one contig after the other.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_caller::{CallerOptions, Contig, DrawLimit, RunTables};
use readmill_format::intervals::{IntervalArguments, Intervals as GivenIntervals};
use readmill_format::reference::{Matched, Reference, ReferenceWindow};
use readmill_jmath::JavaRandom;
use readmill_record::{Error, Header, Ledger, RecordRef, Result};
use readmill_regions::intake::IntakeCounts;
use readmill_regions::{AssemblyRegion, ContigSpan, Intervals, RegionWalk, normalize_reference};

use super::request::CallIntervals;

/// Bases of the reference that are read at once.
const BASES_AT_ONCE: usize = 1 << 12;

/// Regions of one task. Fewer if their reads take more memory.
const MAX_TASK_REGIONS: usize = 512;

/// Memory in bytes of the reads of a task, unless a single region has more.
const MAX_TASK_BYTES: u64 = 1 << 20;

/// Memory in bytes of a region and its results, without its reads.
const REGION_BYTES: u64 = 1 << 13;

/// A contig of the reads on which variants are called.
struct PlannedContig {
    /// Index in the header of the reads.
    index: usize,
    name: Vec<u8>,
    intervals: Intervals,
    /// Whether to omit the contig if it has no reads, because the reference does not have it.
    is_optional: bool,
}

/// Neighbouring regions of a contig, which one thread calls.
pub(super) struct CallTask {
    pub(super) number: u64,
    pub(super) contig: Contig,
    pub(super) regions: Vec<AssemblyRegion>,
    /// Memory of the regions in bytes, with their reads and results.
    pub(super) bytes: u64,
}

/// Walks over the contigs of a run and finds their regions. Records come in the order of the file.
pub(super) struct ContigsWalk {
    walk: RegionWalk,
    reference: Matched,
    /// Path of the reference, for messages.
    path: PathBuf,
    window: ReferenceWindow,
    /// The contigs that are not complete, in order. The first one is open if `open` is set.
    contigs: VecDeque<PlannedContig>,
    open: Option<Contig>,
    /// Whether this has the generator from which calls draw, too.
    pub(super) has_generator: bool,
    /// Contig and position of the last record.
    last: (usize, i32),
    regions: Vec<AssemblyRegion>,
    /// Number of `regions` whose memory is part of `bytes`.
    sized: usize,
    /// Memory in bytes of `regions` and their reads.
    bytes: u64,
    /// Number of tasks that were passed on.
    tasks: u64,
}

impl ContigsWalk {
    pub(super) fn new(
        options: &CallerOptions,
        tables: &RunTables,
        reference: &Reference,
        header: &Header,
        (intervals, ledger): (&CallIntervals, &Ledger),
    ) -> Result<Self> {
        let arguments = IntervalArguments {
            include: &intervals.include,
            exclude: &intervals.exclude,
            padding: intervals.padding,
            exclusion_padding: 0,
        };
        let given = GivenIntervals::from_arguments(&arguments, header, ledger)?;
        let numbers = reference.match_contigs(header)?;
        let mut contigs = VecDeque::new();
        for (index, contig) in header.references().iter().enumerate() {
            let spans = Vec::from_iter(contig_spans(&given, index as u32, contig.length));
            if spans.is_empty() {
                continue;
            }
            let is_optional = numbers[index].is_none() && intervals.include.is_empty();
            let (name, intervals) = (contig.name.clone(), Intervals::new(spans));
            contigs.push_back(PlannedContig { index, name, intervals, is_optional });
        }
        Ok(ContigsWalk {
            walk: tables.start_walk(options, header)?,
            reference: Matched::new(reference, header)?,
            path: reference.path().to_path_buf(),
            window: reference.letter_window(),
            contigs,
            open: None,
            has_generator: false,
            last: (0, i32::MIN),
            regions: Vec::new(),
            sized: 0,
            bytes: 0,
            tasks: 0,
        })
    }

    /// Returns the generator of random numbers for reads.
    pub(super) fn random(&mut self) -> &mut JavaRandom {
        self.walk.random()
    }

    /// Returns whether [`add_record`](Self::add_record) may draw a number for the record.
    pub(super) fn may_draw_for(&self, record: RecordRef<'_>) -> bool {
        let is_open = self.open.as_ref().is_some_and(|open| open.index as i32 == record.ref_id());
        is_open && self.walk.may_draw_for(record)
    }

    /// Returns the numbers of records that passed and failed the filters of reads.
    pub(super) fn counts(&self) -> &IntakeCounts {
        self.walk.counts()
    }

    /// Returns the number of tasks that were passed on.
    pub(super) fn task_count(&self) -> u64 {
        self.tasks
    }

    /// Returns the place up to which GATK calls regions before it draws numbers for the next reads.
    pub(super) fn draw_limit(&self) -> DrawLimit {
        let contig = self.open.as_ref().map_or(0, |contig| contig.index);
        (contig, self.walk.draw_limit())
    }

    /// Passes on all regions that are complete.
    pub(super) fn pass_regions(
        &mut self,
        mut add_task: impl FnMut(CallTask) -> Result<()>,
    ) -> Result<()> {
        self.take_tasks(true, &mut add_task)
    }

    /// Returns the memory of reads and regions in bytes.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.walk.heap_bytes() + self.bytes
    }

    /// Adds the next record, and passes each task that is complete to `add_task`. Contigs before that of
    /// the record are completed first.
    pub(super) fn add_record(
        &mut self,
        record: RecordRef<'_>,
        mut add_task: impl FnMut(CallTask) -> Result<()>,
    ) -> Result<()> {
        let Ok(index) = usize::try_from(record.ref_id()) else { return Ok(()) };
        let place = (index, record.pos());
        if place < self.last {
            return Err(unsorted_error().qname(record.qname()));
        }
        self.last = place;
        while self.contigs.front().is_some_and(|contig| contig.index < index) {
            self.finish_contig(&mut add_task)?;
        }
        if self.contigs.front().is_none_or(|contig| contig.index != index) {
            return Ok(()); // nothing is called on this contig, or it is complete
        }
        self.open_contig()?;
        self.walk.add_record(record, &mut self.regions)?;
        self.take_tasks(false, &mut add_task)
    }

    /// Completes all contigs.
    pub(super) fn finish(&mut self, mut add_task: impl FnMut(CallTask) -> Result<()>) -> Result<()> {
        while !self.contigs.is_empty() {
            self.finish_contig(&mut add_task)?;
        }
        Ok(())
    }

    fn finish_contig(&mut self, add_task: &mut impl FnMut(CallTask) -> Result<()>) -> Result<()> {
        let is_omitted = self.contigs.front().is_some_and(|contig| contig.is_optional);
        if !is_omitted {
            self.open_contig()?;
            self.walk.finish_contig(&mut self.regions)?;
            self.take_tasks(true, add_task)?;
            self.open = None;
        }
        self.contigs.pop_front();
        Ok(())
    }

    /// Opens the next contig, unless it is open.
    fn open_contig(&mut self) -> Result<()> {
        let (None, Some(next)) = (&self.open, self.contigs.front()) else { return Ok(()) };
        let located = self.reference.locate_contig(next.index as i32)?;
        let (number, length) = located.ok_or_else(|| Error::bug("a contig is not in the header"))?;
        // The final allocation is filled, because a vector would be copied into it.
        let mut bases: Arc<[u8]> = std::iter::repeat_n(0, length as usize).collect();
        let unshared = Arc::get_mut(&mut bases).unwrap_or_default();
        for (start, part) in (0..).step_by(BASES_AT_ONCE).zip(unshared.chunks_mut(BASES_AT_ONCE)) {
            let end = start + part.len() as u32;
            part.copy_from_slice(self.window.codes(number, start, end)?);
            normalize_reference(part).map_err(|error| error.file(&self.path))?;
        }
        let contig = Contig::new(next.index, &next.name, bases);
        self.walk.start_contig(contig.clone(), &next.intervals)?;
        self.open = Some(contig);
        Ok(())
    }

    /// Passes on the tasks that are full, or all regions.
    fn take_tasks(
        &mut self,
        takes_all: bool,
        add_task: &mut impl FnMut(CallTask) -> Result<()>,
    ) -> Result<()> {
        let Some(contig) = &self.open else { return Ok(()) };
        if self.regions.len() == self.sized && !takes_all {
            return Ok(());
        }
        let (mut next, mut bytes) = (Vec::new(), self.bytes);
        let found = std::mem::take(&mut self.regions);
        let n = found.len();
        for (at, region) in found.into_iter().enumerate() {
            if at >= self.sized {
                bytes += REGION_BYTES + region.reads.iter().map(|read| read.heap_bytes()).sum::<u64>();
            }
            next.push(region);
            let is_full = next.len() >= MAX_TASK_REGIONS || bytes >= MAX_TASK_BYTES;
            if is_full || takes_all && at + 1 == n {
                let (number, contig) = (self.tasks, contig.clone());
                self.tasks += 1;
                let regions = std::mem::take(&mut next);
                let bytes = std::mem::take(&mut bytes);
                add_task(CallTask { number, contig, regions, bytes })?;
            }
        }
        (self.sized, self.regions, self.bytes) = (next.len(), next, bytes);
        Ok(())
    }
}

fn unsorted_error() -> Error {
    let what = "the read is before the previous one, but variants are called in the order of positions";
    Error::input(what).hint("sort the file first: readmill sort IN -o OUT.bam")
}

/// Returns the intervals on a contig as 1-based spans.
fn contig_spans(given: &GivenIntervals, contig: u32, length: u32) -> impl Iterator<Item = ContigSpan> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (start, end) = given.next_interval(contig, from).filter(|&(start, _)| start < length)?;
        from = end;
        Some(ContigSpan { start: start as i32 + 1, end: end.min(length) as i32 })
    })
}

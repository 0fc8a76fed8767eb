//! The stages of a job (`readmill shard`): parts of a buffered run, each in its own process.
//!
//! ```text
//! slice 1 ─► map ─┐                   ┌─► write range 1 ─┐
//! slice 2 ─► map ─┼─► judge · divide ─┼─► write range 2 ─┼─► join ─► output
//! slice 3 ─► map ─┘  compare · count  └─► write range 3 ─┘
//! ```
//!
//! Stages exchange their results in files, which [`crate::shard`] reads and writes.

use std::sync::Arc;

use readmill_bqsr::{ReadGroups, Totals};
use readmill_engine::Crew;
use readmill_format::spill::{Extent, Spill};
use readmill_markdup::item::HalfOrder;
use readmill_markdup::metrics::LibraryCounts;
use readmill_markdup::stored::StoredEnds;
use readmill_markdup::verdict::StoredVerdict;
use readmill_markdup::{DuplicateEnds, EndStore, MatePairing, Verdict};
use readmill_process::console::Console;
use readmill_record::{Arena, Charge, Error, Result};
use readmill_sort::{
    Framing, Keyer, Merge, Order, PARTITION, RangeStart, RunSort, Sources, SpilledRun, StoredRun, ranges,
};
use serde::{Deserialize, Serialize};

mod join;
mod recalibration;
mod scan;

pub use join::{JoinedRange, JoinedSlices};
pub use recalibration::{ReadSites, SiteFinder};
pub use scan::ScanInput;

use super::{RunState, set_order};
use crate::outputs::Sink;
use crate::outputs::part_counts::CountSettings;
use crate::outputs::staged_parts::{StagedPartList, StagedPartWriter};
use crate::pipeline::StepCounts;
use crate::pipeline::count::{self, CovariateCounter};
use crate::pipeline::duplicates::{self, DuplicateResolver};
use crate::pipeline::feed::Feed;
use crate::pipeline::inputs::Inputs;
use crate::pipeline::merge::{self, OutputRange};
use crate::pipeline::parallel_sort::ThreadedSort;
use crate::pipeline::recollect::collect_ends_again;
use crate::pipeline::sort_context::{self, ENDS, SortContext};
use crate::plan::Output;
use crate::run::late_steps::order_late_steps;
use crate::run::marking::{MarkedDuplicates, mark_options};
use crate::run::recal_setup;

/// Maximum and minimum bytes of records in a frame of a run that other stages read.
const FRAMES: [usize; 2] = [1 << 18, 1 << 14];

/// Memory for merging the runs of all slices, in bytes. Exceeded only if frames of the minimum size
/// need more.
const MERGING: usize = 64 << 20;

/// Returns the bytes of records in a frame with which merging `slices` runs stays within
/// [`MERGING`].
fn frame_bytes(slices: usize) -> usize {
    let [max_bytes, min_bytes] = FRAMES;
    let each = (2 * MERGING / 5 / slices.max(1)).clamp(min_bytes, max_bytes);
    1 << each.ilog2()
}

/// The result of the map stage: the reads of an input slice as a sorted run in a file.
#[derive(Serialize, Deserialize)]
pub struct MappedSlice {
    /// Number of records in the slice, before any filter.
    pub records: u64,
    pub run: StoredRun,
    /// The ends for duplicate marking; `None` if duplicates are not marked.
    pub ends: Option<StoredEnds>,
    /// Size of the largest record in bytes.
    pub largest: u64,
    pub any_placed: bool,
    /// Whether a template was too long for one batch, so that its mates must be joined by name.
    pub has_cut_template: bool,
    /// Whether any read has the optional field that is the sort key. `None` if there are no reads,
    /// or if reads are not sorted by a field.
    pub tagged: Option<bool>,
    pub span: u32,
    pub counts: StepCounts,
    /// The saved tallies of the reads, one entry for each tally of the run.
    pub tallies: Vec<Vec<u8>>,
}

/// The result of the judge stage: which records of the whole input are duplicates.
#[derive(Serialize, Deserialize)]
pub struct Judgement {
    /// The marks, stored in a file, and the duplicate counts.
    pub verdict: StoredVerdict,
    /// Whether any record has a DT field, which the write stage may have to clear.
    pub has_dt: bool,
}

/// The result of the write stage: a range of the output as encoded parts in a file.
#[derive(Serialize, Deserialize)]
pub struct WrittenRange {
    pub parts: StagedPartList,
    /// The position of the first part in the file. The other parts follow it.
    pub extent: Extent,
    /// The flagged reads of each library, for the duplication metrics.
    pub flagged: Vec<LibraryCounts>,
    /// The bases counted as the reads were written; `None` if none were counted.
    pub counted: Option<Totals>,
    /// Number of records that each step after the sort dropped or changed.
    pub counts: StepCounts,
    /// The saved tallies of the reads, one entry for each tally of the run.
    pub tallies: Vec<Vec<u8>>,
}

/// The sorted runs of all slices, and the sums over them.
#[derive(Default)]
pub struct Slices {
    /// The non-empty runs.
    pub runs: Vec<SpilledRun>,
    pub records: u64,
    /// Size of the largest record in bytes.
    pub largest: u64,
    pub any_placed: bool,
    /// Maximum number of reference bases that a read spans, if depths are counted.
    pub span: u32,
}

/// The input of a stage that works on one range of the output order.
pub struct RangeInput {
    pub slices: Slices,
    /// Which records are duplicates; `None` if duplicates are not marked.
    pub judgement: Option<Judgement>,
    /// Sites at which the sample differs from the reference, with `--bqsr-bootstrap`.
    pub sites: Option<ReadSites>,
    /// The counts of all reads; `None` if the run does not recalibrate reads by its own counts.
    pub table: Option<Totals>,
    /// The start of this range and of the next one. `None` means the start or the end of the
    /// output.
    pub range: [Option<RangeStart>; 2],
    /// The spill that contains the adopted files of the runs and of the judgement.
    pub spill: Arc<Spill>,
}

/// The duplicate marks in memory, with their charge.
struct LoadedMarks {
    verdict: Arc<Verdict>,
    has_dt: bool,
    charge: Charge,
}

/// The ends of a slice for duplicate marking. `base` is the ordinal of the slice's first record in
/// the whole input.
pub struct SliceEnds {
    pub ends: StoredEnds,
    pub base: u64,
}

/// The ends of the whole input for the judge stage.
pub struct InputEnds {
    /// The ends of each slice, in input order.
    pub slices: Vec<SliceEnds>,
    pub runs: Slices,
    /// Whether any slice has a template that was too long for one batch.
    pub has_cut_template: bool,
    /// The spill that contains the adopted files of the ends.
    pub spill: Spill,
}

/// Settings that depend on the first reads of the whole input. They are chosen once, so that all
/// stages use the same settings.
pub struct FirstDecisions {
    /// The name of the first read, relative to which sort keys of names are compared.
    pub anchor: Vec<u8>,
    /// How mates are paired, and the optical pixel distance. `None` if duplicates are not marked.
    pub duplicates: Option<(MatePairing, Option<i32>)>,
    /// The number of slices of the input; 0 if it is not decided yet.
    pub slices: usize,
}

impl<'a> RunState<'a> {
    /// Chooses the settings that depend on the first reads of the whole input.
    pub fn make_first_decisions(&self, inputs: &mut Inputs) -> Result<FirstDecisions> {
        let wanted = self.plan.steps.duplicates.as_ref();
        let prepare =
            |wanted| duplicates::prepare_duplicate_ends(wanted, &self.header, inputs, self.console);
        let ends = wanted.map(prepare).transpose()?;
        let first = inputs.first_reads()?;
        let record = first.batch().and_then(|batch| Some(batch.record(*batch.spans.first()?)));
        let anchor = match inputs.prepared_input() {
            Some(prepared) => prepared.first_name(),
            None => record.map(|record| record.qname().to_vec()),
        }
        .unwrap_or_default();
        let duplicates = ends.map(|ends| {
            (ends.mate_pairing(), ends.rules.optical.as_ref().map(|optical| optical.distance))
        });
        Ok(FirstDecisions { anchor, duplicates, slices: 0 })
    }

    /// Returns the collector of template ends with the settings from [`RunState::make_first_decisions`]. `None`
    /// if duplicates are not marked.
    fn duplicate_ends(&self, decided: &FirstDecisions) -> Result<Option<DuplicateEnds>> {
        let (Some(wanted), Some((pairing, distance))) =
            (&self.plan.steps.duplicates, decided.duplicates)
        else {
            return Ok(None);
        };
        let mut rules = wanted.rules.clone();
        if let (Some(optical), Some(distance)) = (&mut rules.optical, distance) {
            optical.distance = distance;
        }
        let ends = DuplicateEnds::new(&self.header, pairing, rules)?;
        Ok(Some(ends.with_tile_counts(self.plan.reports.is_described())))
    }

    fn sort_context(
        &self,
        inputs: &Inputs,
        decided: &FirstDecisions,
        duplicate_ends: Option<&DuplicateEnds>,
        room: u64,
    ) -> SortContext {
        let keyer = Keyer::new(self.plan.order(), &self.header);
        keyer.set_anchor(&decided.anchor);
        SortContext {
            crew: self.memory.crew,
            sort: RunSort::new(keyer),
            ledger: self.memory.ledger.clone(),
            room,
            spill: self.create_spill(),
            record_overhead: self.record_overhead(inputs, duplicate_ends),
            entries_per_list: self.memory.sizes.list,
            framing: Framing { size: self.memory.sizes.frame, codec: self.plan.resources.spill_codec },
        }
    }

    /// Sorts the reads of a slice into one run in the file of `into`. `inputs` must contain only
    /// this slice.
    pub fn map_slice(
        mut self,
        inputs: Inputs,
        decided: &FirstDecisions,
        into: &Arc<Spill>,
    ) -> Result<MappedSlice> {
        self.tallies.measure_spans();
        let duplicate_ends = self.duplicate_ends(decided)?;
        let (_charges, room) = self.charge_fixed_memory(&inputs, 0)?;
        let context = self.sort_context(&inputs, decided, duplicate_ends.as_ref(), room);
        context.spill.create_files()?;
        let mut feed = Feed::new(inputs, self.max_record(), context.crew, &self.memory.tickets);
        let mut nowhere = self.make_null_sink()?;
        let mut buffer =
            self.ingest_input(&context, &mut feed, duplicate_ends.as_ref(), &mut nowhere)?;
        let sources = Arc::new(buffer.take_sources(&context)?);
        let ends = std::mem::take(&mut buffer.ends);
        let (own, spill) = (Arc::clone(&context.spill), Arc::clone(into));
        let context = SortContext { spill, ..context };
        let framing = Framing { size: frame_bytes(decided.slices), ..context.framing };
        let run = merge::write_to_spill(
            &context,
            framing,
            Merge::new(sources),
            0,
            buffer.largest_record_bytes,
        )?
        .into_stored();
        let threads = ThreadedSort(context.crew);
        let ends =
            duplicate_ends.is_some().then(|| ends.store_ends(&threads, &own, into)).transpose()?;
        Ok(MappedSlice {
            records: buffer.records,
            run,
            ends,
            largest: buffer.largest_record_bytes,
            any_placed: buffer.any_placed,
            has_cut_template: feed.link.has_cut_template(),
            tagged: buffer.has_sort_field,
            span: self.tallies.longest_span()?,
            counts: std::mem::take(&mut buffer.counts),
            tallies: self.tallies.save_totals()?,
        })
    }

    /// Returns a sink that writes nothing, for stages that write no reads.
    /// [`RunState::ingest_input`] requires a sink.
    fn make_null_sink(&self) -> Result<Sink> {
        Sink::create(&Output::nowhere(), &self.header, false, &self.memory.ledger, self.console)
    }

    /// Divides the output order into at most `ranges` ranges of about equal size. Returns the
    /// starts of all ranges except the first. `spill` must have adopted the files of the runs.
    pub fn divide_output(
        &self,
        slices: Slices,
        spill: Arc<Spill>,
        ranges: usize,
    ) -> Result<Vec<RangeStart>> {
        let sources = Arc::new(self.sources_of_runs(slices.runs, spill));
        if sources.is_empty() { Ok(Vec::new()) } else { ranges::divide_order(&sources, ranges) }
    }

    fn sources_of_runs(&self, runs: Vec<SpilledRun>, spill: Arc<Spill>) -> Sources {
        Sources {
            spill,
            keyer: Arc::new(Keyer::new(self.plan.order(), &self.header)),
            runs,
            lists: Vec::new(),
            sealed: Arc::new(Arena::empty().seal()),
            charges: Vec::new(),
        }
    }

    /// Decides from the ends of all slices, in input order, which records are duplicates. Writes
    /// the marks to the file of `into`.
    pub fn judge_duplicates(
        self,
        inputs: &Inputs,
        decided: &FirstDecisions,
        ends: InputEnds,
        into: &Spill,
    ) -> Result<Judgement> {
        let InputEnds { slices, runs, has_cut_template, spill } = ends;
        let records = runs.records;
        let (Some(wanted), Some(duplicate_ends)) =
            (&self.plan.steps.duplicates, self.duplicate_ends(decided)?)
        else {
            return Err(Error::bug("there are no duplicates to be judged"));
        };
        let (_charges, room) = self.charge_fixed_memory(inputs, 0)?;
        let order = match duplicate_ends.mate_pairing() {
            MatePairing::InBatch | MatePairing::NameCoordinate | MatePairing::ByFields => {
                HalfOrder::Place
            }
            MatePairing::InBatchThenName | MatePairing::NameInput => HalfOrder::Input,
        };
        let mut ends = EndStore::new(&duplicate_ends);
        for SliceEnds { ends: slice, base } in slices {
            ends.adopt_ends(slice, base, order, &spill)?;
        }
        let has_dt = ends.has_dt;
        let spill = Arc::new(spill);
        self.console.begin_stage("marking", None, true);
        let resolver = DuplicateResolver {
            crew: self.memory.crew,
            ledger: &self.memory.ledger,
            max_mark_bytes: room / 2,
            spill: &spill,
            duplicate_ends: &duplicate_ends,
            has_cut_template,
            console: self.console,
        };
        let charge = self.memory.ledger.empty_charge(ENDS);
        let stated = duplicates::stated_read_order(inputs);
        let collect_again = |by_place: &DuplicateEnds, ends: &mut EndStore, charge| {
            let merging = runs.runs.iter().map(SpilledRun::merging_bytes).sum();
            let _merging = self.memory.ledger.charge("merging of runs", merging)?;
            let sources = Arc::new(self.sources_of_runs(runs.runs, Arc::clone(&spill)));
            let crew = self.memory.crew;
            collect_ends_again(crew, &sources, runs.largest, by_place, ends, charge, self.console)
        };
        let (resolved, _marks) =
            resolver.resolve_duplicates(wanted.mode, stated, ends, charge, records, collect_again)?;
        Ok(Judgement { verdict: resolved.verdict.store_marks(records, into)?, has_dt })
    }

    /// Loads the duplicate marks into memory and charges them. Returns `None` if there are none.
    fn load_marks(
        &self,
        judgement: Option<Judgement>,
        spill: &Arc<Spill>,
    ) -> Result<Option<LoadedMarks>> {
        let Some(Judgement { verdict, has_dt }) = judgement else { return Ok(None) };
        let charge = self.memory.ledger.charge("marks of duplicates", verdict.bytes())?;
        let verdict = Arc::new(verdict.load(Arc::clone(spill))?);
        Ok(Some(LoadedMarks { verdict, has_dt, charge }))
    }

    /// Starts the merge of all slices at `start`. Also returns the crew that fits the size of the
    /// largest record, and the charges for the merge.
    fn start_merge(
        &self,
        slices: Slices,
        start: Option<&RangeStart>,
        spill: &Arc<Spill>,
    ) -> Result<(Crew, Merge, [Charge; 2])> {
        let (crew, large) =
            sort_context::crew_for(self.memory.crew, &self.memory.ledger, slices.largest)?;
        let merging = slices.runs.iter().map(SpilledRun::merging_bytes).sum();
        let merging = self.memory.ledger.charge("merging of runs", merging)?;
        let sources = Arc::new(self.sources_of_runs(slices.runs, Arc::clone(spill)));
        let merge = match start {
            Some(start) => Merge::start_after(sources, start),
            None => Merge::new(sources),
        };
        Ok((crew, merge, [large, merging]))
    }

    /// Writes a range of the output to the file of `into`, as encoded parts. Marks and recalibrates
    /// the reads, as the merge of a run in one process does.
    pub fn write_range(
        mut self,
        inputs: &Inputs,
        decided: &FirstDecisions,
        input: RangeInput,
        into: &Arc<Spill>,
    ) -> Result<WrittenRange> {
        let RangeInput { slices, judgement, sites, table, range: [start, until], spill } = input;
        let duplicate_ends = self.duplicate_ends(decided)?;
        let from_file = self.new_step_from_table_file()?;
        // As in a run in one process, this is decided before it is known whether any read has a
        // position.
        let sorted = self.plan.order() == Order::Coordinate || self.header.declares_coordinate_order();
        self.set_written_order(slices.any_placed);
        let recalibration = self.plan.steps.recalibration.as_ref();
        let request = self.table_request();
        let counts_here = request.is_some_and(|request| request.after.is_some())
            || request.is_some() && recalibration.is_some_and(|it| it.apply.is_none());
        let reference = if counts_here { self.open_recal_reference(&spill)? } else { None };
        let of_table = table
            .as_ref()
            .map_or(0, |table| recal_setup::REPORT_BYTES_PER_COUNT_BYTE * table.heap_bytes() as u64);
        let (_charges, _) =
            self.charge_fixed_memory(inputs, self.counting_bytes(reference.as_deref()) + of_table)?;
        let reference = reference
            .map(|reference| self.exclude_stored_sites(reference, sites, &spill))
            .transpose()?;
        let wanted = self.plan.steps.duplicates.as_ref().zip(duplicate_ends.as_ref());
        let marked = self.load_marks(judgement, &spill)?.zip(wanted).map(|(marks, (wanted, ends))| {
            let LoadedMarks { verdict, has_dt, charge } = marks;
            let (writing, libraries) = (mark_options(wanted, has_dt), Arc::clone(&ends.libraries));
            MarkedDuplicates::new(verdict, charge, writing, libraries, &self.header)
        });
        let (apply, counter) = match (table, recalibration.and_then(|it| it.apply.as_ref()), request) {
            (Some(table), Some(wanted), Some(request)) => {
                let groups = ReadGroups::new(&self.header, &self.memory.ledger)?;
                let (table, _) = count::build_report(table, &groups, &request.counting)?;
                let apply = self.new_step_from_counts(&table, wanted, groups)?;
                (
                    Some(apply),
                    reference.as_ref().and_then(|reference| self.new_output_counter(reference)),
                )
            }
            _ => (from_file, self.new_input_counter(reference)),
        };
        let filters = std::mem::take(&mut self.after_duplicates);
        let marking = marked.as_ref().map(MarkedDuplicates::new_marking_step);
        let steps = order_late_steps(self.plan, marking, filters, apply);
        let Some(output) = self.plan.destination.main_output() else {
            return Err(Error::bug("there is no output to write"));
        };
        let partition = output.format.large_parts().map_or(PARTITION, |parts| parts.bytes);
        let [from, to] = [&start, &until].map(|border| border.as_ref().map(|border| border.bytes));
        let all = || slices.runs.iter().map(SpilledRun::record_bytes).sum();
        let parts = to.unwrap_or_else(all).saturating_sub(from.unwrap_or(0)).div_ceil(partition);
        let mut parts = StagedPartWriter::new(
            output,
            &self.header,
            sorted,
            CountSettings { tallies: self.tallies.take_ordered(), max_span: Some(slices.span) },
            parts,
            &self.memory.ledger,
            into,
        )?;
        let (crew, merge, _charges) = self.start_merge(slices, start.as_ref(), &spill)?;
        let range = OutputRange::between(partition, start.as_ref(), until);
        self.console.begin_stage("writing", None, false);
        let written =
            self.write_merged((crew, merge), &steps, counter.as_ref(), None, &mut parts, range)?;
        let mut flagged = Vec::new();
        marked.iter().for_each(|marked| marked.add_flagged(&mut flagged));
        let (parts, extent) = parts.into_parts();
        let counted = counter.map(CovariateCounter::into_totals);
        let tallies = self.tallies.save_totals()?;
        Ok(WrittenRange { parts, extent, flagged, counted, counts: written.counts, tallies })
    }

    /// Returns an empty range, for a job whose output has fewer ranges than the job has write
    /// stages.
    pub fn empty_range(&self, into: &Arc<Spill>) -> Result<WrittenRange> {
        let (parts, flagged, counted, counts, tallies) = Default::default();
        Ok(WrittenRange { parts, extent: into.begin_extent(0)?, flagged, counted, counts, tallies })
    }

    /// Adds the tallies of all slices and returns the sums for the join stage.
    pub fn add_tallies<'t>(&self, slices: impl Iterator<Item = &'t [Vec<u8>]>) -> Result<Vec<Vec<u8>>> {
        for tallies in slices {
            self.tallies.add_totals(tallies)?;
        }
        self.tallies.save_totals()
    }

    pub fn console(&self) -> &'a Console {
        self.console
    }

    /// Sets the sort order in the header for `--sort minhash`, which depends on whether any read
    /// has a position. For other orders, the header is already complete.
    fn set_written_order(&mut self, any_placed: bool) {
        if self.plan.order() == Order::Minhash {
            set_order(&mut self.header, Order::Minhash, any_placed);
        }
    }
}

//! Executes a plan.

pub mod additions;
mod align_scope;
mod already_recalibrated;
#[cfg(debug_assertions)]
pub mod audit;
mod buffered;
mod filters;
mod finish;
mod forecast;
mod late_steps;
mod marking;
pub mod memory;
mod recal_setup;
mod recalibrate;
mod run_json;
mod run_sources;
pub mod sample;
pub(crate) mod stages;
pub mod summary;
pub mod tables;
mod tallies;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use readmill_cram::{Cache, DECODER_BYTES};
use readmill_filters::spec::FilterSteps;
use readmill_filters::{DiscardLimit, LoneMates};
use readmill_format::bam;
use readmill_format::spill::Spill;
use readmill_format::summed::InputSums;
use readmill_input::check_file_ends;
use readmill_markdup::DuplicateEnds;
use readmill_process::console::Console;
use readmill_process::pause::{self, Moment};
use readmill_record::{
    Changes, Charge, Detail, Error, ErrorKind, Header, Ledger, Limit, Result, Step, input_file,
};
use readmill_sort as sort;
use readmill_sort::Order;

use crate::addons::{FileSetup, InputCounter};
use crate::aligning::{self, ChosenLanes, Lanes, SingleReadCounter, Trimming, Unaligned};
use crate::merging::Merging;
use crate::outputs::extra_writer::ExtraWriter;
use crate::outputs::report_files::{self, ReportFiles};
use crate::outputs::{OpenOutputs, Sink, extra};
use crate::pipeline::batch_pipeline::{BatchPipeline, RoutedFilters};
use crate::pipeline::count::CovariateCounter;
use crate::pipeline::feed::Feed;
use crate::pipeline::inputs::{Inputs, OpenOptions, PreparedInput};
use crate::pipeline::open_input;
use crate::pipeline::stream::{self, StreamOutput};
use crate::pipeline::tap::Tap;
use crate::plan::{self, Aligning, Command, Destination, Output, Plan};
use additions::Additions;
pub(crate) use align_scope::AlignScope;
use memory::Memory;
use summary::RunSummary;
use tallies::{RunTallies, union_of_changes};

/// Copies of the header in memory while it is written: as text, as BAM, and compressed.
const HEADER_FORMS: u64 = 3;

/// Executes a plan.
pub fn run(plan: &Plan, console: &Console) -> Result<RunSummary> {
    run_with(plan, Additions::default(), console)
}

/// Executes a plan with additional steps and tallies of the calling program.
pub fn run_with(plan: &Plan, additions: Additions, console: &Console) -> Result<RunSummary> {
    let started = Instant::now();
    with_state(plan, AlignScope::Whole, additions, console, |state, inputs| {
        let (plan, ledger) = (state.plan, state.memory.ledger.clone());
        let summary = match &plan.destination {
            Destination::Split(_) if !plan.holds_everything() => state.run_streaming(inputs, false),
            Destination::Nowhere => state.run_streaming(inputs, plan.reports.counts_in_order()),
            _ if plan.holds_everything() => state.run_buffered(inputs),
            _ => state.run_streaming(inputs, true),
        }?;
        console.clear_progress();
        summary::log_summary(plan, &ledger, &summary, started, console);
        input_file::forget_inputs(); // another run may write to them
        Ok(summary)
    })
}

/// Returns how the inputs are opened. `sums` takes their checksums, if the run is described.
fn input_options(plan: &Plan, memory: &Memory, sums: Option<InputSums>) -> OpenOptions {
    OpenOptions {
        allow_missing_eof: plan.resources.allow_missing_eof,
        max_line: Limit::part_of(memory.room, 8, &memory.ledger),
        max_container: Limit::part_of(memory.room / 2 * 3, 2, &memory.ledger),
        reference: plan.resources.reference.clone(),
        cache: Cache::from_environment(),
        name: Vec::new(),
        header_alone: plan.regions.is_some() || plan.is_header_alone(),
        header_as_is: false,
        ledger: memory.ledger.clone(),
        sums,
    }
}

/// Opens the inputs of a plan, creates its steps, and passes both to `execute`.
pub(crate) fn with_state<T>(
    plan: &Plan,
    scope: AlignScope,
    additions: Additions,
    console: &Console,
    execute: impl FnOnce(RunState<'_>, Inputs) -> Result<T>,
) -> Result<T> {
    plan.check()?;
    if !plan.resources.allow_same_input {
        open_input::check_no_file_twice(&plan.inputs)?;
    }
    if !plan.resources.allow_missing_eof {
        let of_records = plan.aligning.as_ref().map(plan::Aligning::record_files);
        check_file_ends(of_records.unwrap_or_else(|| plan.inputs.iter().collect()))?;
    }
    let mut memory = Memory::divide_for(plan, &scope)?;
    let _shares = std::mem::take(&mut memory.shares); // held until the end of the run
    #[cfg(debug_assertions)]
    let _audit = audit::begin_audit();
    summary::log_start(plan, &memory, console);
    report_files::refuse_overwrites(plan)?;
    let sums = plan.reports.is_described().then(InputSums::default);
    let rules = input_options(plan, &memory, sums.clone());
    let for_unusual = memory.for_unusual_reads.iter();
    let add_ons = plan.reports.add_ons.iter().zip(for_unusual);
    let mut counters = add_ons.filter_map(|(add_on, bytes)| add_on.input_counter(*bytes));
    let input_counter = counters.next();
    if counters.next().is_some() {
        return Err(Error::bug("two add-ons count the input files"));
    }
    let mut inputs = match (&plan.aligning, &plan.merging) {
        (Some(wanted), _) => {
            open_aligner_inputs(plan, wanted, scope, &memory, input_counter.as_ref(), &rules, console)?
        }
        (_, Some(wanted)) => open_merge_inputs(plan, wanted, &memory, &rules, console)?,
        _ => Inputs::open(&plan.inputs, rules, plan.steps.group_by_file)?,
    };
    if let Some(regions) = &plan.regions {
        let index = inputs.select_regions(regions, console)?;
        report_files::ensure_no_output_overwrites(plan, &index)?;
    }
    if let (Some(sums), Some(lanes)) = (&sums, inputs.lanes()) {
        lanes.file_sums().for_each(|(path, sum)| sums.set_sum(path, sum.clone()));
    }
    pause::at(Moment::InputOpened);
    inputs.warn_about_headers(console);
    inputs.warn_about_lengths(console);
    filters::check_adjacent_mates(&plan.steps.filters, &mut inputs)?;
    already_recalibrated::warn_if_recalibrated(plan, &mut inputs, console)?;
    let plan = &extra::without_needless_sort(plan, inputs.header());
    let mut header = inputs.header().try_clone()?;
    let Additions { early, late: added_late, tallies: others } = additions;
    let FilterSteps {
        before_sort: mut steps,
        after_duplicates,
        last: mut last_steps,
        lone_mates: lone,
        discard_limit: discarded,
    } = filters::make_filter_steps(plan, &mut header, &memory.ledger, console)?;
    let early = additions::make_added_steps(early, &mut header)?;
    let added_late = additions::make_added_steps(added_late, &mut header)?;
    let added = early.iter().chain(&added_late).map(|step| step.name());
    add_run_to_header(plan, &mut header, &Vec::from_iter(added))?;
    if let Some(output) = plan.destination.main_output() {
        output.format.complete_header(&mut header, &output.bases, &memory.ledger)?;
    }
    already_recalibrated::require_read_groups(plan, &mut inputs, &header, &memory.ledger)?;
    steps.extend(early);
    last_steps.extend(added_late);
    tallies::require_coordinate_order(plan, &header)?;
    let known: [&[Box<dyn Step>]; 3] = [&steps, &after_duplicates, &last_steps];
    let came = inputs.header();
    let tallies = RunTallies::new(plan, came, &header, &known, others, &memory, input_counter)?;
    tallies.warnings().for_each(|warning| console.write_warning(warning));
    let without_end = inputs.lanes().map_or_else(Vec::new, |lanes| lanes.missing_ends());
    let late = late_steps::changes_of_late_steps(plan).union(&union_of_changes(&after_duplicates));
    let changes = [union_of_changes(&steps), late.union(&union_of_changes(&last_steps))];
    let state = RunState {
        plan,
        changes,
        memory,
        console,
        header,
        steps,
        after_duplicates,
        last_steps,
        lone,
        discarded,
        tallies,
        trimming: inputs.lanes().and_then(|lanes| lanes.trimming.clone()),
        lone_reads: inputs.lanes().map(|lanes| Arc::clone(&lanes.single_reads)),
        sums: sums.unwrap_or_default(),
    };
    let result = execute(state, inputs);
    console.clear_progress();
    for (path, _) in
        without_end.iter().filter(|(_, is_missing)| result.is_ok() && is_missing.load(Relaxed))
    {
        console.write_warning(&format!(
            "{} has no BGZF EOF block at its end: the file may be truncated, although some programs do not write this block",
            path.display()
        ));
    }
    result.map_err(|error| match (&plan.inputs[..], error.kind) {
        ([one], ErrorKind::Input) => error.file(one), // an error about the whole file, not about a record
        _ => error,
    })
}

/// Opens unaligned reads, which are aligned as they are read.
fn open_aligner_inputs(
    plan: &Plan,
    wanted: &Aligning,
    scope: AlignScope,
    memory: &Memory,
    input_counter: Option<&Arc<dyn InputCounter>>,
    rules: &OpenOptions,
    console: &Console,
) -> Result<Inputs> {
    let resources = &plan.resources;
    let records = wanted.lanes.iter().filter(|lane| lane.records).flat_map(|lane| &lane.files);
    let mut unaligned = records.map(|path| Unaligned::open(path, rules)).collect::<Result<Vec<_>>>()?;
    unaligned.iter().for_each(|file| console.warn_about_header(file.path(), file.header()));
    let kernel = match scope {
        AlignScope::Whole | AlignScope::Slice(Some(_)) => aligning::load_index(wanted)?,
        _ => aligning::open_without_index(wanted)?,
    };
    let header = aligning::build_header(wanted, &*kernel, &mut unaligned, plan.no_pg())?;
    if matches!(scope, AlignScope::Whole | AlignScope::First) {
        wanted.warnings.iter().for_each(|warning| console.write_warning(warning));
        aligning::report_alternates(&*kernel, console);
    }
    let slice;
    let chosen = match scope {
        AlignScope::Whole | AlignScope::First => ChosenLanes::All,
        AlignScope::Scan | AlignScope::Header | AlignScope::Slice(None) => ChosenLanes::None,
        AlignScope::Slice(Some(mut of)) => {
            let mut records = unaligned.drain(..);
            if let Some(mut lane) = records.nth(of.lane) {
                if let Some(stream) = of.stream.take() {
                    lane.narrow_to_slice(stream, rules, of.segments, of.start.reading.template)?;
                }
                drop(records);
                unaligned.push(lane);
            } else {
                drop(records);
            }
            slice = of;
            ChosenLanes::Slice(&slice)
        }
    };
    let room = memory.aligning.unwrap_or_default();
    let allow_missing_eof = resources.allow_missing_eof;
    let lanes = Lanes::open(wanted, chosen, unaligned, kernel, memory.crew, room, allow_missing_eof)?;
    let lanes = lanes.with_input_counter(input_counter);
    if matches!(chosen, ChosenLanes::All) {
        lanes.report_encoding(console);
    }
    if !wanted.as_given && matches!(chosen, ChosenLanes::All) {
        lanes.check_layout(console)?;
    }
    let first = plan.inputs.first().map_or(Path::new("-"), PathBuf::as_path);
    Ok(Inputs::from_prepared(PreparedInput::Aligned(Arc::new(lanes)), first, header))
}

/// Opens unaligned reads and the alignments that are merged into them as they are read.
fn open_merge_inputs(
    plan: &Plan,
    wanted: &plan::Merging,
    memory: &Memory,
    rules: &OpenOptions,
    console: &Console,
) -> Result<Inputs> {
    let reference = plan.resources.reference.as_ref().map(|fasta| fasta.path());
    let merging = Merging::open(wanted, reference, memory.crew, rules)?;
    merging.files().for_each(|file| console.warn_about_header(file.path(), file.header()));
    let header = merging.header.clone();
    Ok(Inputs::from_prepared(PreparedInput::Merged(Arc::new(merging)), &wanted.unaligned, header))
}

/// Adds the sort order and the `@PG` line of the run to the header. `added` are the names of the
/// calling program's steps.
fn add_run_to_header(plan: &Plan, header: &mut Header, added: &[&str]) -> Result<()> {
    set_order(header, plan.order(), true);
    if plan.no_pg() {
        return Ok(());
    }
    let added = added.iter().map(|name| format!(" +{name}"));
    let command = plan.command_line() + &added.collect::<String>();
    header.add_program("readmill", env!("CARGO_PKG_VERSION"), &command)
}

/// Sets the sort order in the header.
fn set_order(header: &mut Header, order: Order, any_placed: bool) {
    if let Some(order) = order.header_fields(any_placed) {
        let (go, ss) = (order.go.map(str::as_bytes), order.ss.as_deref().map(str::as_bytes));
        header.set_order(order.so.as_bytes(), go, ss);
    }
}

/// A run with open inputs and a complete header.
pub(crate) struct RunState<'a> {
    plan: &'a Plan,
    memory: Memory,
    console: &'a Console,
    header: Header,
    /// Early steps: they run before the sort.
    steps: Vec<Box<dyn Step>>,
    /// Filters among the late steps that run before recalibration. `late_steps` has the order of
    /// all late steps.
    after_duplicates: Vec<Box<dyn Step>>,
    /// Late steps that run after all others.
    last_steps: Vec<Box<dyn Step>>,
    /// The templates without a mate, if a filter needs adjacent mates.
    lone: Option<Arc<LoneMates>>,
    /// The count of dropped reads, if the fraction of dropped reads is limited.
    discarded: Option<Arc<DiscardLimit>>,
    tallies: RunTallies,
    /// The changes that the early steps may make to reads, and those that the late steps may make.
    changes: [Changes; 2],
    /// The counts of trimmed reads; `None` if reads are not trimmed.
    trimming: Option<Arc<Trimming>>,
    /// The count of unpaired reads among the pairs to be aligned.
    lone_reads: Option<Arc<SingleReadCounter>>,
    /// Checksums of the inputs, for the description of the run.
    sums: InputSums,
}

impl RunState<'_> {
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.memory.ledger
    }

    /// Adds the trimming counts of a stage.
    pub(crate) fn add_trimmed(&self, more: &readmill_trim::TrimTally) {
        self.trimming.iter().for_each(|trimming| trimming.add_tally(more));
    }

    /// Returns the memory for buffered reads, in bytes.
    pub(crate) fn room(&self) -> u64 {
        self.memory.room
    }

    /// Returns whether a filter needs counts over the whole input: of templates without a mate, or
    /// of dropped reads.
    pub(crate) fn fixes_mates(&self) -> bool {
        self.lone.is_some() || self.discarded.is_some()
    }

    fn create_sink(&self) -> Result<Sink> {
        let sorted = self.plan.order() == Order::Coordinate;
        let is_written = !matches!(self.plan.destination, Destination::Nowhere);
        let nowhere;
        let output = match self.plan.destination.main_output() {
            Some(output) => output,
            None => {
                // FASTQ files are extra outputs that take all reads.
                nowhere = Output::nowhere();
                &nowhere
            }
        };
        let mut sink = Sink::create(output, &self.header, sorted, &self.memory.ledger, self.console)?;
        if !is_written {
            sink.disable_writing();
        }
        Ok(sink)
    }

    /// Lets `sink` count the main output in its order, and gives add-ons the files that they write
    /// while they count.
    fn count_output(&mut self, sink: &mut Sink, files: &mut ReportFiles) -> Result<()> {
        let setup = FileSetup {
            header: &self.header,
            is_described: self.plan.reports.is_described(),
            in_flight: self.memory.crew.in_flight,
            ledger: &self.memory.ledger,
            console: self.console,
        };
        self.tallies.open_files(files, &setup)?;
        sink.count_in_order(self.tallies.take_ordered());
        Ok(())
    }

    fn create_spill(&self) -> Arc<Spill> {
        Arc::new(Spill::new(&self.plan.resources.temp_dirs))
    }

    /// Charges memory that is not used for reads. Returns the charges and the memory left for
    /// reads.
    fn charge_fixed_memory(&self, inputs: &Inputs, recal_bytes: u64) -> Result<(Vec<Charge>, u64)> {
        let Memory { ledger, crew, room, .. } = &self.memory;
        let is_written = !matches!(self.plan.destination, Destination::Nowhere);
        let header = if is_written { bam::header::header_bytes(&self.header) * HEADER_FORMS } else { 0 };
        let uncounted = inputs.has_cram() && !self.memory.decoders;
        let decoders = if uncounted { (DECODER_BYTES * crew.threads) as u64 } else { 0 };
        let charges = [
            ("headers as they are written", header),
            ("CRAM decoders", decoders),
            (memory::RECALIBRATION, recal_bytes),
            ("tallies", self.tallies.memory_bytes(crew.threads as u64)),
        ]
        .into_iter()
        .map(|(name, bytes)| ledger.charge(name, bytes))
        .collect::<Result<_>>()?;
        let free = ledger.free().min(*room);
        if free < room / 4 {
            // Three quarters of a larger room must suffice for the charges.
            let more = (4 * (room - free)).div_ceil(3).saturating_sub(*room);
            let more = memory::extra_memory_for_room(self.plan, &self.memory, more);
            return Err(ledger.shortage_error("reads that wait", ledger.free() + more));
        }
        Ok((charges, free))
    }

    /// Returns the maximum number of bytes that a record takes in the sort buffer beyond the record
    /// itself.
    fn record_overhead(&self, inputs: &Inputs, duplicate_ends: Option<&DuplicateEnds>) -> u64 {
        let steps: usize = self.steps.iter().map(|step| step.max_growth_bytes()).sum();
        let ends = duplicate_ends.map_or(0, DuplicateEnds::max_bytes_per_record);
        (steps + inputs.max_record_growth() + ends + sort::run::RECORD_OVERHEAD) as u64
    }

    /// Returns an error if the filters need adjacent mates and the input has others, or if more
    /// reads were dropped than are allowed. Warns if most templates lack a mate.
    fn check_mates(&self) -> Result<()> {
        self.lone.as_ref().map_or(Ok(()), |lone| lone.check_adjacent())?;
        self.discarded.as_ref().map_or(Ok(()), |discarded| discarded.check_share())?;
        let Some(lone) = &self.lone else { return Ok(()) };
        let (lone, all) = lone.template_counts();
        if 2 * lone > all {
            let share = 100.0 * lone as f64 / all as f64;
            self.console.write_warning(&format!(
                "{lone} of {all} templates ({share:.1} %) have no mate in the input"
            ));
        }
        Ok(())
    }

    fn max_record(&self) -> Limit {
        Limit::part_of(self.memory.room, 5, &self.memory.ledger).capped_at(1 << 30)
    }

    /// Returns the pipeline for batches that are written. `first` is the tap of the tallies before
    /// its steps.
    fn output_pipeline<'a>(
        &'a self,
        first: Tap,
        steps: &'a [Box<dyn Step>],
        counter: Option<&'a CovariateCounter>,
        extra: Option<&'a ExtraWriter<'a>>,
    ) -> BatchPipeline<'a> {
        let [tallies_before, tallies_after, tallies_of_main] =
            [first, Tap::AfterLate, Tap::MainOutput].map(|tap| self.tallies.at(tap));
        BatchPipeline {
            tallies_before,
            filters: None,
            steps,
            counter,
            last_steps: &self.last_steps,
            tallies_after,
            extra,
            main_output_tallies: tallies_of_main,
        }
    }

    /// Runs a plan that keeps no reads in memory. Without a main output, reads are only tallied,
    /// counted, or written to extra outputs.
    fn run_streaming(mut self, mut inputs: Inputs, has_main: bool) -> Result<RunSummary> {
        if self.plan.is_header_alone() {
            inputs.stop_reading();
        }
        let mut sink = has_main.then(|| self.create_sink()).transpose()?;
        if let Some(sink) = &mut sink {
            sink.charge_index(&self.header, &self.memory.ledger)?;
        }
        let mut files = ReportFiles::open(self.plan, &self.header, self.ledger())?;
        if let Some(sink) = &mut sink {
            self.count_output(sink, &mut files)?;
        }
        let apply = self.new_step_from_table_file()?;
        let reference = self.open_recal_reference(&self.create_spill())?;
        let (_charges, room) =
            self.charge_fixed_memory(&inputs, self.counting_bytes(reference.as_deref()))?;
        let counter = self.new_input_counter(reference);
        let crew = stream::choose_crew(
            self.memory.crew,
            std::slice::from_mut(&mut inputs),
            room,
            &self.memory.ledger,
        )?;
        let mut steps = std::mem::take(&mut self.steps);
        let filters = std::mem::take(&mut self.after_duplicates);
        steps.extend(late_steps::order_late_steps(self.plan, None, filters, apply));
        let extra = extra::open_extra_outputs(
            self.plan,
            &self.header,
            crew.in_flight,
            &self.memory.ledger,
            self.console,
        )?;
        if let Some(sink) = &mut sink {
            sink.write_header(&self.header)?;
        }
        self.console.begin_stage("reading", inputs.size(), true);
        let place = self.plan.destination.dropped_reads_index();
        let only_drop =
            steps.iter().take_while(|step| step.changes() == Changes::dropping_reads()).count();
        let (drops, edits) = steps.split_at(place.map_or(0, |_| only_drop));
        let pipeline = BatchPipeline {
            filters: place.map(|place| RoutedFilters { steps: drops, place }),
            ..self.output_pipeline(Tap::Input, edits, counter.as_ref(), extra.as_ref())
        };
        let main = self.plan.destination.main_output();
        let detail = match (self.plan.command, &sink) {
            (Command::View, None) => pipeline.required_detail(),
            (Command::View, Some(_)) => {
                let written =
                    main.map_or(Detail::WithoutFields, |output| output.format.checked_detail());
                pipeline.required_detail().max(written)
            }
            _ => Detail::Whole,
        };
        let feed = Feed::new(inputs, self.max_record(), crew, &self.memory.tickets).with_detail(detail);
        let feed = feed.with_input_counter(self.tallies.input_counter());
        let output = sink.as_mut().map(|sink| StreamOutput { sink, header: &self.header });
        let (read, written) =
            stream::stream_reads(crew, feed, pipeline, output, &self.memory.ledger, self.console)?;
        self.check_mates()?;
        if let Some(counter) = counter {
            self.finish_table(counter, &mut files, false)?;
        }
        let (written, counts) = (written.records, written.counts);
        let summary =
            RunSummary { read_records: read, written_records: written, counts, ..RunSummary::default() };
        self.finish_outputs(summary, OpenOutputs { sink, extra, files, were_held: false })
    }
}

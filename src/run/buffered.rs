//! A run that must read all input before it can write the first record, because reads are sorted,
//! marked or recalibrated.
//!
//! 1. Ingest: reads the input once, and spills reads that do not fit into memory as sorted runs.
//! 2. Resolve: decides which reads are duplicates.
//! 3. Count: builds the recalibration table from all reads.
//! 4. Merge: writes the reads in order, with duplicate marks and new qualities.

use std::sync::Arc;

use readmill_markdup::{DuplicateEnds, EndStore};
use readmill_process::console::write_log_line;
use readmill_record::Result;
use readmill_sort::{Cutter, Framing, Keyer, Merge, Order, RunSort, Sources};

use super::forecast;
use super::late_steps::order_late_steps;
use super::marking::{MarkedDuplicates, ResolvedDuplicates};
use super::{RunState, set_order};
use crate::outputs::extra;
use crate::outputs::report_files::ReportFiles;
use crate::outputs::{OpenOutputs, Sink};
use crate::pipeline::batch_pipeline::BatchPipeline;
use crate::pipeline::duplicates;
use crate::pipeline::feed::Feed;
use crate::pipeline::ingest::{Ingest, IngestBuffers, IngestStop};
use crate::pipeline::inputs::Inputs;
use crate::pipeline::presorted::{self, Presorted};
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::{READS, SortContext};
use crate::pipeline::tap::Tap;
use crate::run::summary::{RunSummary, log_time_shares};

impl RunState<'_> {
    /// Executes the plan and returns its summary. All outputs get their final names at the end.
    pub(super) fn run_buffered(mut self, mut inputs: Inputs) -> Result<RunSummary> {
        let mut sink = self.create_sink()?;
        sink.charge_index(&self.header, &self.memory.ledger)?;
        let sort = RunSort::new(Keyer::new(self.plan.order(), &self.header));
        let mut files = ReportFiles::open(self.plan, &self.header, self.ledger())?;
        self.count_output(&mut sink, &mut files)?;
        let header = self.header.clone();
        let (in_flight, ledger) = (self.memory.crew.in_flight, &self.memory.ledger);
        let extra = extra::open_extra_outputs(self.plan, &header, in_flight, ledger, self.console)?;
        let spill = self.create_spill();
        spill.create_files()?;
        let from_file = self.new_step_from_table_file()?;
        let reference = self.open_recal_reference(&spill)?;
        let recal_bytes = self.counting_bytes(reference.as_deref());
        let known = spill.written_bytes();
        let wanted = self.plan.steps.duplicates.as_ref();
        let prepare =
            |wanted| duplicates::prepare_duplicate_ends(wanted, &self.header, &mut inputs, self.console);
        let duplicate_ends = wanted.map(prepare).transpose()?;
        let describe = self.plan.reports.is_described();
        let duplicate_ends = duplicate_ends.map(|ends| ends.with_tile_counts(describe));
        let (_charges, room) = self.charge_fixed_memory(&inputs, recal_bytes)?;
        let context = SortContext {
            crew: self.memory.crew,
            sort,
            ledger: self.memory.ledger.clone(),
            room,
            spill,
            record_overhead: self.record_overhead(&inputs, duplicate_ends.as_ref()),
            entries_per_list: self.memory.sizes.list,
            framing: Framing { size: self.memory.sizes.frame, codec: self.plan.resources.spill_codec },
        };
        self.check_forecast(&mut inputs, &context, duplicate_ends.as_ref(), &sink)?;
        let stated = duplicates::stated_read_order(&inputs);
        let feed = Feed::new(inputs, self.max_record(), context.crew, &self.memory.tickets);
        let mut feed = feed.with_input_counter(self.tallies.input_counter());

        let mut buffer = self.ingest_input(&context, &mut feed, duplicate_ends.as_ref(), &mut sink)?;
        self.check_mates()?;
        self.warn_if_tag_missing(buffer.has_sort_field);
        let (read, counts) = (buffer.records, std::mem::take(&mut buffer.counts));
        let mut summary = RunSummary { read_records: read, counts, ..RunSummary::default() };
        let cut = feed.link.has_cut_template();
        let resolve =
            |ends| self.resolve_duplicates(&context, ends, (stated, cut), &mut buffer, &mut summary);
        let resolved = duplicate_ends.as_ref().map(resolve).transpose()?;
        if self.plan.order() == Order::Minhash {
            set_order(&mut self.header, Order::Minhash, buffer.any_placed);
        }
        let (sources, presorted) = self.sources_after_presorted(&context, &mut buffer, &mut sink)?;
        let sources = Arc::new(sources);
        let decide = |resolved: ResolvedDuplicates| resolved.decide_by_names(&self, &context, &sources);
        let marked = resolved.map(decide).transpose()?;
        summary.spilled_runs = buffer.runs_written;
        let verdict = marked.as_ref().map(MarkedDuplicates::verdict);
        let (apply, counter) =
            self.count_and_recalibrate(&context, &sources, verdict, reference, &mut files)?;
        let recalibrated = apply.is_some();
        let filters = std::mem::take(&mut self.after_duplicates);
        let marking = marked.as_ref().map(MarkedDuplicates::new_marking_step);
        let steps = order_late_steps(self.plan, marking, filters, from_file.or(apply));
        self.console.begin_stage("writing", Some(read.saturating_sub(presorted.records)), false);
        let (crew, _large) = context.crew_for(buffer.largest_record_bytes)?;
        let large_parts =
            self.plan.destination.main_output().and_then(|output| output.format.large_parts());
        let Presorted { cutter, records: left_early, .. } = presorted;
        let cutter = large_parts.map_or(cutter, |parts| Cutter::with_size(parts.bytes));
        let merge = (crew, Merge::new(sources));
        let (counts_here, copies) = (counter.as_ref(), extra.as_ref());
        let written = self.write_merged(merge, &steps, counts_here, copies, &mut sink, cutter.into())?;
        if let Some(marked) = &marked {
            marked.write_duplication_metrics(self.plan, &mut files)?;
        }
        if let Some(counter) = counter {
            self.finish_table(counter, &mut files, recalibrated)?;
        }
        summary.counts.extend(written.counts);
        summary.written_records = left_early + written.records;
        summary.spilled_bytes = context.spill.written_bytes() - known;
        self.finish_outputs(summary, OpenOutputs { sink: Some(sink), extra, files, were_held: true })
    }

    /// Returns the reads that are still to be merged, and the output written so far if reads
    /// arrived in output order. If a later read belongs before the written reads, reads the output
    /// back into a run and restarts it.
    fn sources_after_presorted(
        &self,
        context: &SortContext,
        buffer: &mut SortBuffer,
        sink: &mut Sink,
    ) -> Result<(Sources, Presorted)> {
        let mut sources = buffer.take_sources(context)?;
        let mut presorted = std::mem::take(&mut buffer.presorted);
        if !presorted.is_before(&sources) {
            self.console.begin_stage("taking back", None, true);
            sources.runs.insert(
                0,
                presorted::move_output_to_run(context, &self.header, sink, buffer.largest_record_bytes)?,
            );
            self.tallies.reset_output_tallies();
            buffer.runs_written += 1;
            presorted = Presorted::default();
        }
        if presorted.is_empty() {
            sink.write_header(&self.header)?;
        }
        sink.set_expected_bytes(sources.record_bytes());
        Ok((sources, presorted))
    }

    /// Returns whether reads that arrive in output order can be written while the input is read.
    /// This requires a run that only sorts, and an output file that can be restarted.
    fn can_write_early(&self, sink: &Sink) -> bool {
        let steps = &self.plan.steps;
        let alone = steps.duplicates.is_none()
            && steps.recalibration.is_none()
            && self.after_duplicates.is_empty()
            && self.last_steps.is_empty()
            && self.plan.destination.max_extra_files() == 0
            && self.plan.order() != Order::Minhash;
        alone && sink.can_restart()
    }

    /// Warns if reads are sorted by an optional field that no read has. `tagged` is `None` if there
    /// are no reads.
    pub(crate) fn warn_if_tag_missing(&self, tagged: Option<bool>) {
        if let (Some(tag), Some(false)) = (Keyer::new(self.plan.order(), &self.header).field(), tagged) {
            let tag = String::from_utf8_lossy(&tag);
            self.console.write_warning(&format!("no read has the field {tag}, which is the sort key"));
        }
    }

    /// Forecasts the size of the run from the first reads and the file sizes, and logs the forecast
    /// with `--explain`. Also announces the remaining stages to the progress display.
    ///
    /// # Errors
    /// Fails if there is far too little disk space for the spill.
    fn check_forecast(
        &self,
        inputs: &mut Inputs,
        context: &SortContext,
        duplicate_ends: Option<&DuplicateEnds>,
        sink: &Sink,
    ) -> Result<()> {
        let explain = self.plan.resources.explain;
        let early = self.can_write_early(sink);
        let sorted = inputs.files().iter().all(|input| input.header.declares_coordinate_order());
        self.console.announce_stages(forecast::stage_time_shares(self.plan, early && sorted));
        let Some(expected) = forecast::forecast_run(inputs, context, duplicate_ends, early)? else {
            if explain {
                write_log_line("  expected: unknown, because the size of the input is unknown");
            }
            return Ok(());
        };
        let available = forecast::check_disk_space(&expected, context, self.console)?;
        if explain {
            expected.log_forecast(available);
            write_log_line("  expected shares of the time:");
            log_time_shares(&self.console.announced_stages());
        }
        Ok(())
    }

    /// Reads the input once and returns the buffered reads. Spills reads that do not fit into
    /// memory as sorted runs.
    ///
    /// # Errors
    /// Fails if the input is damaged, or if a single chunk needs more memory than the run can free.
    pub(super) fn ingest_input(
        &self,
        context: &SortContext,
        feed: &mut Feed,
        duplicate_ends: Option<&DuplicateEnds>,
        sink: &mut Sink,
    ) -> Result<SortBuffer> {
        self.console.begin_stage("reading", feed.input.inputs.size(), true);
        let writer =
            self.can_write_early(sink).then(|| sink.writer(&self.header, context.crew.in_flight));
        let at = |tap| self.tallies.at(tap);
        let (tallies_before, tallies_after) = (at(Tap::Input), at(Tap::SortBuffer));
        let pipeline = BatchPipeline {
            tallies_before,
            steps: &self.steps,
            tallies_after,
            ..BatchPipeline::default()
        };
        let (tallies_before, tallies_after, tallies_of_main) =
            (at(Tap::BeforeLate), at(Tap::AfterLate), at(Tap::MainOutput));
        let ingest = Ingest {
            pipeline,
            output_pipeline: BatchPipeline {
                tallies_before,
                tallies_after,
                main_output_tallies: tallies_of_main,
                ..BatchPipeline::default()
            },
            context,
            ends: duplicate_ends,
            writer: writer.as_ref(),
            console: self.console,
            readers: feed.new_reader_factory(),
            buffers: IngestBuffers::new(context.crew.in_flight),
        };
        let mut buffer =
            SortBuffer::new(context, duplicate_ends.map_or_else(EndStore::default, EndStore::new));
        while ingest.fill_sort_buffer(feed, &mut buffer, sink, &self.header)? != IngestStop::Ended {
            if buffer.has_too_many_runs(context) {
                buffer.merge_newest_runs(context)?;
            } else if buffer.ends.bytes() > 0 {
                buffer.spill_ends(context)?;
            } else {
                let next = feed.input.inputs.peek_task()?.map_or(0, |next| context.room_for_task(next));
                return Err(context.ledger.shortage_error(READS, next));
            }
        }
        buffer.records = feed.link.record_count();
        Ok(buffer)
    }
}

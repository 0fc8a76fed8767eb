//! A plan becomes passes: the whole program.

mod recalibrate;

use std::sync::Arc;
use std::time::Instant;

use readmill_engine::Budget;
use readmill_format::source::Source;
use readmill_format::spill::Spill;
use readmill_record::{Error, Header, Kind, Result};
use readmill_steps::filter::{DropUnmapped, ReplaceDictionary, ReplaceReadGroup};
use readmill_steps::markdup::optical::CANDIDATE_BYTES;
use readmill_steps::markdup::{ApplyMarks, DuplicateEnds, Ends, Verdict, Writing};
use readmill_steps::sort::{Framing, Keyer, Merge, Minimise, Order, RunSort, Sources};
use readmill_steps::{Step, sort};

use crate::forecast;
use crate::inputs::{self, Inputs, Rules};
use crate::memory::Memory;
use crate::output::Sink;
use crate::pass::doing::Doing;
use crate::pass::duplicates::Court;
use crate::pass::feed::Feed;
use crate::pass::held::Held;
use crate::pass::ingest::{Buffers, Ingest, Stop};
use crate::pass::merge;
use crate::pass::prefix::{self, Prefix};
use crate::pass::waiting::Waiting;
use crate::pass::{duplicates, stream};
use crate::plan::{DuplicateMode, Plan, Unmapped};
use crate::recalibration;
use crate::report::{Report, log};
use crate::side_files::{self, SideFiles};
use crate::summary::{self, Summary};

/// How often the header's text is in memory, at most, in one form or another.
const HEADER_COPIES: u64 = 6;

/// Bytes the header of a dictionary may take.
const MOST_DICTIONARY: usize = 64 << 20;

/// Does what the plan says.
pub fn run(plan: &Plan, report: &Report) -> Result<Summary> {
    let started = Instant::now();
    plan.check()?;
    let memory = Memory::divide(plan)?;
    summary::announce(plan, &memory, report);
    side_files::check(plan)?;
    let most = (memory.room / 8) as usize;
    let rules = Rules { allow_missing_eof: plan.means.allow_missing_eof, most };
    let inputs = Inputs::open(&plan.inputs, rules)?;
    let mut header = inputs.header().clone();
    let steps = steps(plan, &mut header)?;
    let job = Job { plan, memory, report, header, steps };
    let summary = match &plan.output {
        Some(_) if plan.holds_everything() => job.hold(inputs),
        Some(_) => job.pass_through(inputs),
        None => job.look(inputs),
    };
    report.done();
    let summary = summary.map_err(|error| match (&plan.inputs[..], error.kind) {
        ([one], Kind::Input) => error.file(one), // what is wrong with all of it, not with a record
        _ => error,
    })?;
    summary::conclude(&summary, started, report);
    Ok(summary)
}

/// The steps that are applied while reading, in their fixed order; they edit the header as they are made.
fn steps(plan: &Plan, header: &mut Header) -> Result<Vec<Box<dyn Step>>> {
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if let Some(which) = plan.steps.drop_unmapped {
        steps.push(Box::new(DropUnmapped::new(which == Unmapped::Strict)));
    }
    if let Some(path) = &plan.steps.dictionary {
        let (file, _) = inputs::open(path)?;
        let source = Source::open(file, true, MOST_DICTIONARY).map_err(|e| e.file(path))?;
        let step = ReplaceDictionary::new(source.header(), header).map_err(|e| e.file(path))?;
        steps.push(Box::new(step));
    }
    if let Some(group) = &plan.steps.read_group {
        steps.push(Box::new(ReplaceReadGroup::new(group, header)?));
    }
    set_order(header, plan.order(), true);
    if !plan.output.as_ref().is_some_and(|output| output.no_pg) {
        header.add_program("readmill", env!("CARGO_PKG_VERSION"), &plan.command_line());
    }
    Ok(steps)
}

/// Says in the header in which order reads leave.
fn set_order(header: &mut Header, order: Order, any_placed: bool) {
    if let Some(order) = order.header(any_placed) {
        let (go, ss) = (order.go.map(str::as_bytes), order.ss.as_deref().map(str::as_bytes));
        header.set_order(order.so.as_bytes(), go, ss);
    }
}

/// A run with its input open and its header settled.
struct Job<'a> {
    plan: &'a Plan,
    memory: Memory,
    report: &'a Report,
    header: Header,
    steps: Vec<Box<dyn Step>>,
}

impl Job<'_> {
    fn sink(&self) -> Result<Sink> {
        let sorted = self.plan.order() == Order::Coordinate;
        let output =
            self.plan.output.as_ref().ok_or_else(|| Error::bug("reads leave, and go nowhere"))?;
        Sink::create(output, &self.header, sorted, self.report)
    }

    fn spill(&self) -> Arc<Spill> {
        Arc::new(Spill::new(&self.plan.means.temp_dirs))
    }

    /// The room that headers leave, their text, lines, tables and copies, and what else stands beside reads.
    fn room(&self, inputs: &Inputs, beside_reads: u64) -> Result<u64> {
        let header = HEADER_COPIES * inputs.header_bytes() as u64;
        let left = self
            .memory
            .room
            .checked_sub(header + beside_reads)
            .filter(|&left| left >= self.memory.room / 4);
        left.ok_or_else(|| {
            Error::usage("the header, known sites and counts leave no room for reads").hint("raise -m")
        })
    }

    /// Most bytes a record takes beside itself while it waits.
    fn beside(&self, inputs: &Inputs, noted: Option<&DuplicateEnds>) -> u64 {
        let steps: usize = self.steps.iter().map(|step| step.growth()).sum();
        let ends = noted.map_or(0, DuplicateEnds::most_bytes);
        (steps + inputs.growth() + ends + sort::run::OVERHEAD) as u64
    }

    fn max_record(&self) -> usize {
        (self.memory.room / 5).min(1 << 30) as usize
    }

    /// Nothing leaves: reads are looked at.
    fn look(mut self, inputs: Inputs) -> Result<Summary> {
        let mut files = SideFiles::open(self.plan)?;
        let training = self.training(&self.spill())?;
        self.room(&inputs, self.beside_reads(training.as_deref()))?;
        let look = self.looks(training);
        let look = look.ok_or_else(|| Error::bug("nothing is to be learnt of the reads"))?;
        self.report.stage("reading", inputs.size(), true);
        let feed = Feed::new(inputs, self.max_record(), self.memory.crew);
        let doing = Doing { steps: &std::mem::take(&mut self.steps), look: Some(&look) };
        let (read, counts) = stream::to_look(self.memory.crew, feed, doing, self.report)?;
        self.settle(look, &mut files, false)?;
        files.rename()?;
        Ok(Summary { read, counts, ..Summary::default() })
    }

    /// Steps alone: nothing is held.
    fn pass_through(mut self, inputs: Inputs) -> Result<Summary> {
        let mut sink = self.sink()?;
        let mut files = SideFiles::open(self.plan)?;
        let apply = recalibration::step_from_file(self.plan.steps.recalibration.as_ref(), &self.header)?;
        self.steps.extend(apply);
        let training = self.training(&self.spill())?;
        self.room(&inputs, self.beside_reads(training.as_deref()))?;
        let look = self.looks(training);
        sink.begin(&self.header)?;
        self.report.stage("reading", inputs.size(), true);
        let crew = self.memory.crew;
        let feed = Feed::new(inputs, self.max_record(), crew);
        let doing = Doing { steps: &self.steps, look: look.as_ref() };
        let (read, written) = stream::to_sink(crew, feed, doing, &self.header, &mut sink, self.report)?;
        if let Some(look) = look {
            self.settle(look, &mut files, false)?;
        }
        sink.finish(self.report)?;
        files.rename()?;
        Ok(Summary { read, written: written.records, counts: written.counts, ..Summary::default() })
    }

    /// Steps that need the whole input: ingest, resolve, look, merge.
    fn hold(mut self, mut inputs: Inputs) -> Result<Summary> {
        let mut sink = self.sink()?;
        let sort = RunSort::new(Keyer::new(self.plan.order(), &self.header));
        let mut files = SideFiles::open(self.plan)?;
        let spill = self.spill();
        let recalibration = self.plan.steps.recalibration.as_ref();
        let from_file = recalibration::step_from_file(recalibration, &self.header)?;
        let training = self.training(&spill)?;
        let beside_reads = self.beside_reads(training.as_deref());
        let known = spill.written();
        let wanted = self.plan.steps.duplicates.as_ref();
        let prepare = |wanted| duplicates::prepare(wanted, &self.header, &mut inputs, self.report);
        let noted = wanted.map(prepare).transpose()?;
        let waiting = Waiting {
            crew: self.memory.crew,
            sort,
            budget: Budget::new(self.room(&inputs, beside_reads)?),
            spill,
            beside: self.beside(&inputs, noted.as_ref()),
            list: self.memory.sizes.list,
            framing: Framing { size: self.memory.sizes.frame, codec: self.plan.means.spill_codec },
        };
        self.foretell(&mut inputs, &waiting, noted.as_ref(), &sink)?;
        let input_header = inputs.header().clone();
        let mut feed = Feed::new(inputs, self.max_record(), waiting.crew);

        let mut held = self.ingest(&waiting, &mut feed, noted.as_ref(), &mut sink)?;
        let (read, counts) = (held.records, std::mem::take(&mut held.counts));
        let mut summary = Summary { read, counts, ..Summary::default() };
        let mut steps: Vec<Box<dyn Step>> = Vec::new();
        let mut marked = None;
        if let (Some(wanted), Some(noted)) = (wanted, &noted) {
            let writing = Writing {
                clear_dt: wanted.writing.clear_dt && held.ends.has_dt,
                ..wanted.writing.clone()
            };
            let grouped = (&input_header, feed.link.was_cut());
            let verdict = Arc::new(self.judge(&waiting, wanted.mode, noted, grouped, &mut held)?);
            summary::found(&verdict.tally, &self.header, self.report);
            summary.mode = Some(verdict.mode);
            let references = self.header.references().iter().map(|reference| reference.name.clone());
            let libraries = Arc::clone(&noted.libraries);
            let apply = ApplyMarks::new(Arc::clone(&verdict), writing, libraries, references.collect());
            marked = Some((verdict, apply.counted(), &noted.libraries));
            steps.push(Box::new(apply));
        }
        if self.plan.order() == Order::Minhash {
            steps.push(Box::new(Minimise));
            set_order(&mut self.header, Order::Minhash, held.any_placed);
        }
        let (sources, prefix) = self.behind_prefix(&waiting, &mut held, &mut sink)?;
        let sources = Arc::new(sources);
        summary.runs = held.spilled;
        let verdict = marked.as_ref().map(|(verdict, ..)| &**verdict);
        let (apply, look) = self.recalibrate(&waiting, &sources, verdict, training, &mut files)?;
        let recalibrated = apply.is_some();
        steps.extend(from_file.into_iter().chain(apply));
        self.report.stage("writing", Some(read.saturating_sub(prefix.records)), false);
        let (crew, merge) = (waiting.crew, Merge::new(sources));
        let Prefix { cutter, records: before, .. } = prefix;
        let doing = Doing { steps: &steps, look: look.as_ref() };
        let written = merge::to_sink(crew, merge, doing, &self.header, &mut sink, cutter, self.report)?;
        if let Some((verdict, counted, libraries)) = marked {
            let metrics = side_files::duplication(libraries, &verdict.tally, &counted);
            files.write_metrics(self.plan, &metrics)?;
        }
        if let Some(look) = look {
            self.settle(look, &mut files, recalibrated)?;
        }
        sink.finish(self.report)?;
        files.rename()?;
        summary.counts.extend(written.counts);
        summary.written = before + written.records;
        summary.spilled = waiting.spill.written() - known;
        Ok(summary)
    }

    /// All that is left to be merged, behind what is in the output already. If some of it belongs before that, the
    /// output is begun anew.
    fn behind_prefix(
        &self,
        waiting: &Waiting,
        held: &mut Held,
        sink: &mut Sink,
    ) -> Result<(Sources, Prefix)> {
        let mut sources = held.take_sources(waiting)?;
        let mut prefix = std::mem::take(&mut held.prefix);
        if !prefix.is_before(&sources) {
            self.report.stage("taking back", None, true);
            sources.runs.insert(0, prefix::take_back(waiting, &self.header, sink)?);
            held.spilled += 1;
            prefix = Prefix::default();
        }
        if prefix.is_empty() {
            sink.begin(&self.header)?;
        }
        Ok((sources, prefix))
    }

    /// Whether reads may go into the output before all have come: nothing but the order is asked for, and the
    /// output can be begun anew.
    fn may_leave_early(&self, sink: &Sink) -> bool {
        let steps = &self.plan.steps;
        let alone = steps.duplicates.is_none()
            && steps.recalibration.is_none()
            && self.plan.order() != Order::Minhash;
        alone && sink.can_restart()
    }

    /// Says what the run will need, if that is asked for, and refuses what the disk cannot hold.
    fn foretell(
        &self,
        inputs: &mut Inputs,
        waiting: &Waiting,
        noted: Option<&DuplicateEnds>,
        sink: &Sink,
    ) -> Result<()> {
        let explain = self.plan.means.explain;
        let Some(expected) = forecast::forecast(inputs, waiting, noted, self.may_leave_early(sink))?
        else {
            if explain {
                log("  the size of the input is unknown, and so is what will be spilled");
            }
            return Ok(());
        };
        let available = forecast::check_space(&expected, waiting, self.report)?;
        if explain {
            expected.explain(available);
        }
        Ok(())
    }

    /// The only read of the input. What does not fit into the memory becomes sorted runs on disk.
    fn ingest(
        &self,
        waiting: &Waiting,
        feed: &mut Feed,
        noted: Option<&DuplicateEnds>,
        sink: &mut Sink,
    ) -> Result<Held> {
        self.report.stage("reading", feed.intake.inputs.size(), true);
        let writer =
            self.may_leave_early(sink).then(|| sink.writer(&self.header, waiting.crew.in_flight));
        let ingest = Ingest {
            steps: &self.steps,
            waiting,
            ends: noted,
            writer: writer.as_ref(),
            report: self.report,
            readers: feed.readers(),
            buffers: Buffers::new(waiting.crew.in_flight),
        };
        let (mut held, mut held_back) =
            (Held::new(waiting, noted.map_or_else(Ends::default, Ends::new)), 0);
        while ingest.fill(feed, &mut held_back, &mut held, (sink, &self.header))? != Stop::Ended {
            if held.has_too_many_runs(waiting) {
                held.consolidate(waiting)?;
            } else if held.ends.bytes() > 0 {
                held.spill_ends(waiting)?;
            } else {
                return Err(
                    Error::usage("a piece of the input does not fit into the memory").hint("raise -m")
                );
            }
        }
        held.records = feed.link.records();
        Ok(held)
    }

    /// Which templates are duplicates.
    fn judge(
        &self,
        waiting: &Waiting,
        wanted: DuplicateMode,
        noted: &DuplicateEnds,
        (header, cut): (&Header, bool),
        held: &mut Held,
    ) -> Result<Verdict> {
        self.report.stage("marking", None, true);
        let free = waiting.budget.capacity().saturating_sub(waiting.budget.used());
        let largest = held.records.saturating_mul(CANDIDATE_BYTES);
        let optical = self.plan.most_optical_bytes().min(largest);
        if held.ends.any_halves() && free < waiting.budget.capacity() / 4 || free < optical {
            held.spill(waiting)?;
        }
        waiting.budget.release(held.ends.bytes().min(waiting.budget.used()));
        let court = Court {
            crew: waiting.crew,
            budget: &waiting.budget,
            spill: &waiting.spill,
            noted,
            cut,
            report: self.report,
        };
        let ends = std::mem::take(&mut held.ends);
        court.resolve(wanted, header, ends, held.records)
    }
}

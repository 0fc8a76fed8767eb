//! A plan becomes passes: the whole program.

use std::sync::Arc;
use std::time::Instant;

use readmill_engine::Budget;
use readmill_format::source::Source;
use readmill_format::spill::Spill;
use readmill_record::{Error, Header, Kind, Result};
use readmill_steps::filter::{DropUnmapped, ReplaceDictionary, ReplaceReadGroup};
use readmill_steps::markdup::optical::CANDIDATE_BYTES;
use readmill_steps::markdup::verdict::Deepest;
use readmill_steps::markdup::{ApplyMarks, DuplicateEnds, Ends, Mode, Tally, Verdict, Writing};
use readmill_steps::sort::{Framing, Keyer, Merge, Minimise, Order, RunSort, Sources};
use readmill_steps::{Step, sort};

use crate::forecast;
use crate::inputs::{self, Inputs, Rules};
use crate::memory::{self, Memory};
use crate::metrics::{self, MetricsFiles};
use crate::output::Sink;
use crate::pass::duplicates::Court;
use crate::pass::feed::Feed;
use crate::pass::held::Held;
use crate::pass::ingest::{Buffers, Ingest, Stop};
use crate::pass::merge;
use crate::pass::prefix::{self, Prefix};
use crate::pass::waiting::Waiting;
use crate::pass::{duplicates, stream};
use crate::plan::{DuplicateMode, Plan, Unmapped};
use crate::report::{Report, log};
use crate::target;

/// How often the header's text is in memory, at most, in one form or another.
const HEADER_COPIES: u64 = 6;

/// Bytes the header of a dictionary may take.
const MOST_DICTIONARY: usize = 64 << 20;

/// What a run did.
#[derive(Debug, Default)]
pub struct Summary {
    /// Records read.
    pub read: u64,
    /// Records written.
    pub written: u64,
    /// How duplicates were marked.
    pub mode: Option<Mode>,
    /// What the steps counted.
    pub counts: Vec<(&'static str, u64)>,
    /// Bytes spilled.
    pub spilled: u64,
    /// Sorted runs that were spilled.
    pub runs: usize,
}

/// Does what the plan says.
pub fn run(plan: &Plan, report: &Report) -> Result<Summary> {
    let started = Instant::now();
    plan.check()?;
    let memory = Memory::divide(plan)?;
    announce(plan, &memory, report);
    for input in &plan.inputs {
        target::check_distinct(input, &plan.output.path)?;
    }
    let most = (memory.room / 8) as usize;
    let rules = Rules { allow_missing_eof: plan.means.allow_missing_eof, most };
    let inputs = Inputs::open(&plan.inputs, rules)?;
    let mut header = inputs.header().clone();
    let steps = steps(plan, &mut header)?;
    let job = Job { plan, memory, report, header, steps };
    let summary = if plan.holds_everything() { job.hold(inputs) } else { job.pass_through(inputs) };
    report.done();
    let summary = summary.map_err(|error| match (&plan.inputs[..], error.kind) {
        ([one], Kind::Input) => error.file(one), // what is wrong with all of it, not with a record
        _ => error,
    })?;
    conclude(&summary, started, report);
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
    if !plan.output.no_pg {
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
        Sink::create(&self.plan.output, &self.header, sorted, self.report)
    }

    /// The room that headers leave: their text, lines, tables and copies.
    fn room(&self, inputs: &Inputs) -> Result<u64> {
        let header = HEADER_COPIES * inputs.header_bytes() as u64;
        let left = self.memory.room.checked_sub(header).filter(|&left| left >= self.memory.room / 4);
        left.ok_or_else(|| Error::usage("the header leaves no room for reads").hint("raise -m"))
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

    /// Steps alone: nothing is held.
    fn pass_through(self, inputs: Inputs) -> Result<Summary> {
        let mut sink = self.sink()?;
        sink.begin(&self.header)?;
        self.report.stage("reading", inputs.size(), true);
        let crew = self.memory.crew;
        let feed = Feed::new(inputs, self.max_record(), crew);
        let (read, written) =
            stream::to_sink(crew, feed, &self.steps, &self.header, &mut sink, self.report)?;
        sink.finish(self.report)?;
        Ok(Summary { read, written: written.records, counts: written.counts, ..Summary::default() })
    }

    /// Steps that need the whole input: ingest, resolve, merge.
    fn hold(mut self, mut inputs: Inputs) -> Result<Summary> {
        let mut sink = self.sink()?;
        let sort = RunSort::new(Keyer::new(self.plan.order(), &self.header));
        let mut metrics = MetricsFiles::open(self.plan)?;
        let wanted = self.plan.steps.duplicates.as_ref();
        let prepare = |wanted| duplicates::prepare(wanted, &self.header, &mut inputs, self.report);
        let noted = wanted.map(prepare).transpose()?;
        let waiting = Waiting {
            crew: self.memory.crew,
            sort,
            budget: Budget::new(self.room(&inputs)?),
            spill: Arc::new(Spill::new(&self.plan.means.temp_dirs)),
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
            self.tell(&verdict.tally);
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
        summary.runs = held.spilled;
        self.report.stage("writing", Some(read.saturating_sub(prefix.records)), false);
        let (crew, merge) = (waiting.crew, Merge::new(Arc::new(sources)));
        let Prefix { cutter, records: before, .. } = prefix;
        let written = merge::to_sink(crew, merge, &steps, &self.header, &mut sink, cutter, self.report)?;
        if let Some((verdict, counted, libraries)) = marked {
            metrics.write(self.plan, &metrics::duplication(libraries, &verdict.tally, &counted))?;
        }
        sink.finish(self.report)?;
        metrics.rename()?;
        summary.counts.extend(written.counts);
        summary.written = before + written.records;
        summary.spilled = waiting.spill.written();
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
        let alone = self.plan.steps.duplicates.is_none() && self.plan.order() != Order::Minhash;
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

    /// Says what was found.
    fn tell(&self, tally: &Tally) {
        let optical: u64 = tally.libraries.iter().map(|library| library.optical_pairs).sum();
        let optical = match optical + tally.optical_fragments {
            0 => String::new(),
            n => format!(", {n} of them optical"),
        };
        self.report.say(&format!(
            "readmill: {} pairs and {} single reads are duplicates{optical}",
            tally.pairs, tally.fragments
        ));
        if let Some(Deepest { size, ref_id, five_prime }) = tally.deepest {
            let contig = self.header.references().get(ref_id as usize);
            let contig = contig.map_or("*".into(), |contig| String::from_utf8_lossy(&contig.name));
            self.report.warn(&format!(
                "the largest duplicate set has {} templates, at {contig}:{}",
                with_commas(size),
                five_prime + 1
            ));
        }
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

/// A number with a comma after each three digits.
fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let (head, tail) = digits.split_at((digits.len() - 1) % 3 + 1);
    let triples = tail.as_bytes().chunks(3).map(|triple| String::from_utf8_lossy(triple));
    triples.fold(head.to_string(), |text, triple| text + "," + &triple)
}

/// The inputs, in few words.
fn shown_inputs(plan: &Plan) -> String {
    match &plan.inputs[..] {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
    }
}

/// The first line of the log.
fn announce(plan: &Plan, memory: &Memory, report: &Report) {
    let mib = |bytes: u64| bytes >> 20;
    report.say(&format!(
        "readmill {} {}: {} -> {}; {} threads in total, {} MiB of memory in total, temporary files in {}",
        env!("CARGO_PKG_VERSION"),
        plan.command,
        shown_inputs(plan),
        plan.output.path.display(),
        memory.crew.threads,
        mib(plan.means.memory),
        plan.means.temp_dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", "),
    ));
    if plan.means.explain {
        log(&format!("plan: {}", plan.command_line()));
        for (name, bytes) in memory.division.shares() {
            log(&format!("  {:>7} MiB  {name}", mib(*bytes)));
        }
        log(&format!(
            "  {:>7} MiB  reads and duplicate ends that wait; beyond it they are spilled",
            mib(memory.room)
        ));
    }
}

/// The last lines of the log.
fn conclude(summary: &Summary, started: Instant, report: &Report) {
    for (name, n) in &summary.counts {
        report.say(&format!("readmill: {n} {name}"));
    }
    match summary.mode {
        Some(Mode::Template) => report
            .say("readmill: duplicate mode template: every record of a duplicate template is flagged"),
        Some(Mode::Coordinate) => report.say(
            "readmill: duplicate mode coordinate: mapped primary records of duplicates are flagged",
        ),
        None => {}
    }
    report.say(&format!(
        "readmill: {} records read, {} written in {:.1} s; peak memory {} MiB; {} MiB spilled in {} runs",
        summary.read,
        summary.written,
        started.elapsed().as_secs_f64(),
        memory::peak_rss().unwrap_or(0).div_ceil(1 << 20),
        summary.spilled >> 20,
        summary.runs,
    ));
}

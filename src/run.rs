//! A plan becomes passes: the whole program.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use readmill_engine::Budget;
use readmill_format::source::Source;
use readmill_format::spill::Spill;
use readmill_record::{Error, Header, Result};
use readmill_steps::filter::{DropUnmapped, ReplaceDictionary, ReplaceReadGroup};
use readmill_steps::markdup::{ApplyMarks, DuplicateEnds, Marks, Mode};
use readmill_steps::sort::{Merge, RunSort};
use readmill_steps::{Step, sort};

use crate::memory::{self, Memory};
use crate::output::Sink;
use crate::pass::duplicates::Court;
use crate::pass::held::{Held, Waiting};
use crate::pass::ingest::{Feed, Ingest, Pools};
use crate::pass::merge::{self, Merged, Written};
use crate::pass::{self, duplicates, order, stream};
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
    let (input, size) = open(&plan.input)?;
    let in_input = pass::in_file(&plan.input);
    target::check_distinct(&plan.input, &plan.output.path)?;
    let most = (memory.room / 8) as usize;
    let source = Source::open(input, plan.means.allow_missing_eof, most).map_err(&in_input)?;
    let input_header = source.header().clone();
    let mut header = input_header.clone();
    let steps = steps(plan, &mut header)?;
    let job = Job { plan, memory, report, input_header, header, steps, size };
    let summary = if plan.holds_everything() { job.hold(source) } else { job.pass_through(source) };
    report.done();
    let summary = summary.map_err(in_input)?;
    conclude(&summary, started, report);
    Ok(summary)
}

/// The input as a stream, and its size if it has one.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let failed = |e: std::io::Error| Error::io(format!("{} cannot be read", path.display()), &e);
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(Error::usage(format!("{} is a directory", path.display())));
    }
    Ok((Box::new(file), meta.is_file().then_some(meta.len())))
}

/// The steps that are applied while reading, in their fixed order; they edit the header as they are made.
fn steps(plan: &Plan, header: &mut Header) -> Result<Vec<Box<dyn Step>>> {
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if let Some(which) = plan.steps.drop_unmapped {
        steps.push(Box::new(DropUnmapped::new(which == Unmapped::Strict)));
    }
    if let Some(path) = &plan.steps.dictionary {
        let (input, _) = open(path)?;
        let source = Source::open(input, true, MOST_DICTIONARY).map_err(pass::in_file(path))?;
        let step = ReplaceDictionary::new(source.header(), header).map_err(|e| e.file(path))?;
        steps.push(Box::new(step));
    }
    if let Some(group) = &plan.steps.read_group {
        steps.push(Box::new(ReplaceReadGroup::new(group, header)?));
    }
    if plan.steps.sort == Some(sort::Order::Coordinate) {
        header.set_order(b"coordinate", None, None);
    }
    if !plan.output.no_pg {
        header.add_program("readmill", env!("CARGO_PKG_VERSION"), &plan.command_line());
    }
    Ok(steps)
}

/// A run with its input open and its header settled.
struct Job<'a> {
    plan: &'a Plan,
    memory: Memory,
    report: &'a Report,
    input_header: Header,
    header: Header,
    steps: Vec<Box<dyn Step>>,
    size: Option<u64>,
}

impl Job<'_> {
    fn sink(&self) -> Result<Sink> {
        let sorted = self.plan.steps.sort == Some(sort::Order::Coordinate);
        Sink::create(&self.plan.output, &self.header, sorted, self.report)
    }

    /// The room that the header leaves: its text, lines, tables and copies.
    fn room(&self) -> Result<u64> {
        let header = HEADER_COPIES * self.header.to_text().len() as u64;
        let left = self.memory.room.checked_sub(header).filter(|&left| left >= self.memory.room / 4);
        left.ok_or_else(|| Error::usage("the header leaves no room for reads").hint("raise -m"))
    }

    fn max_record(&self) -> usize {
        (self.memory.room / 5).min(1 << 30) as usize
    }

    /// Steps alone: nothing is held.
    fn pass_through(self, source: Source) -> Result<Summary> {
        let mut sink = self.sink()?;
        self.report.stage("reading", self.size, true);
        let crew = self.memory.crew;
        let (read, written) = stream::to_sink(
            crew,
            source,
            self.max_record(),
            &self.steps,
            &self.header,
            &mut sink,
            self.report,
        )?;
        sink.finish(self.report)?;
        Ok(Summary { read, written: written.records, counts: written.counts, ..Summary::default() })
    }

    /// Steps that need the whole input: ingest, resolve, merge.
    fn hold(self, mut source: Source) -> Result<Summary> {
        let mut sink = self.sink()?;
        let sort = RunSort::new(self.plan.order(), self.header.n_ref());
        let (noted, first) = duplicates::prepare(self.plan, &self.header, &mut source)?;
        let waiting = Waiting {
            crew: self.memory.crew,
            sort,
            budget: Budget::new(self.room()?),
            spill: Spill::new(&self.plan.means.temp_dirs),
        };
        let mut feed = Feed::new(source, first, self.max_record());

        let mut held = self.ingest(&waiting, &mut feed, noted.as_ref())?;
        let (read, counts) = (held.records, std::mem::take(&mut held.counts));
        let mut summary = Summary { read, counts, ..Summary::default() };
        let mut steps: Vec<Box<dyn Step>> = Vec::new();
        if let (Some(wanted), Some(noted)) = (self.plan.steps.duplicates, &noted) {
            let clear_dt = held.ends.has_dt;
            let marks = self.judge(&waiting, wanted.mode, noted, feed.cut_templates(), &mut held)?;
            self.report.say(&format!(
                "readmill: {} pairs and {} single reads are duplicates",
                marks.pairs, marks.fragments
            ));
            summary.mode = Some(marks.mode());
            steps.push(Box::new(ApplyMarks::new(Arc::new(marks), wanted.remove, clear_dt)));
        }
        let marks = summary.mode.map_or(0, |_| Marks::bytes(read));
        held.make_room(&waiting, marks)?;
        summary.runs = held.runs.len();
        let written = self.merge(&waiting, held, &steps, &mut sink)?;
        sink.finish(self.report)?;
        summary.counts.extend(written.counts);
        summary.written = written.records;
        summary.spilled = waiting.spill.written();
        Ok(summary)
    }

    /// The only read of the input. Whenever the memory is full, what it holds becomes a sorted run on disk.
    fn ingest(&self, waiting: &Waiting, feed: &mut Feed, noted: Option<&DuplicateEnds>) -> Result<Held> {
        self.report.stage("reading", self.size, true);
        let crew = waiting.crew;
        let wanted = self.plan.steps.duplicates.map(|duplicates| duplicates.mode);
        let ingest = Ingest {
            input_header: &self.input_header,
            steps: &self.steps,
            sort: waiting.sort,
            ends: noted,
            must_be_grouped: wanted == Some(DuplicateMode::Template),
            budget: &waiting.budget,
            report: self.report,
            pools: Pools::new(crew),
        };
        let mut held = Held::new();
        while !feed.ended() {
            held.reserve(waiting.budget.capacity())?;
            ingest.fill(crew, feed, &mut held)?;
            // A chunk found no room because of what others had reserved and since given back, or
            // because the memory is full.
            let (capacity, used) = (waiting.budget.capacity(), waiting.budget.used());
            let wanted = ingest.waiting_for(feed).max(capacity / 4);
            if feed.ended() || capacity.saturating_sub(used) >= wanted {
                continue;
            }
            if held.is_empty() {
                return Err(Error::usage("a chunk of the input does not fit into the memory")
                    .file(&self.plan.input)
                    .hint("raise -m"));
            }
            held.spill(waiting, feed.held())?;
        }
        order::entries(crew, &mut held.run)?;
        held.records = feed.records();
        Ok(held)
    }

    /// Which templates are duplicates.
    fn judge(
        &self,
        waiting: &Waiting,
        wanted: DuplicateMode,
        noted: &DuplicateEnds,
        cut: bool,
        held: &mut Held,
    ) -> Result<Marks> {
        self.report.stage("marking", None, true);
        let free = waiting.budget.capacity().saturating_sub(waiting.budget.used());
        if !held.ends.halves.is_empty() && free < waiting.budget.capacity() / 4 {
            held.spill(waiting, 0)?;
        }
        waiting.budget.release(held.ends.bytes().min(waiting.budget.used()));
        let court = Court {
            crew: waiting.crew,
            budget: &waiting.budget,
            spill: &waiting.spill,
            judged: noted.may_be_grouped(),
            cut,
            report: self.report,
        };
        let ends = std::mem::take(&mut held.ends);
        court.resolve(wanted, &self.input_header, ends, held.records)
    }

    /// Everything in order into the output.
    fn merge(
        &self,
        waiting: &Waiting,
        held: Held,
        steps: &[Box<dyn Step>],
        sink: &mut Sink,
    ) -> Result<Written> {
        self.report.stage("writing", Some(held.records), false);
        let sealed = held.arena.seal();
        let merge = Merge::new(&waiting.spill, &held.runs, held.run.lists(), sealed.bytes())?;
        let from = Merged { arena: sealed.bytes(), spill: &waiting.spill };
        merge::to_sink(waiting.crew, merge, from, steps, &self.header, sink, self.report)
    }
}

/// The first line of the log.
fn announce(plan: &Plan, memory: &Memory, report: &Report) {
    let mib = |bytes: u64| bytes >> 20;
    report.say(&format!(
        "readmill {} {}: {} -> {}; {} threads in total, {} MiB of memory in total, temporary files in {}",
        env!("CARGO_PKG_VERSION"),
        plan.command,
        plan.input.display(),
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

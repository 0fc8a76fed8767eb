//! The log of a run: the first line, and the summary at the end.

use std::path::PathBuf;
use std::time::Instant;

use readmill_markdup::verdict::LargestSet;
use readmill_markdup::{DuplicateCounts, Mode};
use readmill_process::console::{Console, StageShares, write_log_line};
use readmill_process::drawing::{
    Tone, align_table, draw_bar, draw_columns, format_with_commas, style_text,
};
use readmill_process::limit;
use readmill_process::samples::resident_by_time;
use readmill_process::used;
use readmill_record::{Header, Ledger};

use crate::pipeline::StepCounts;
use crate::plan::{Destination, FastqFiles, Plan, SplitNames};
use crate::run::memory::{Memory, count_threads};

#[derive(Debug, Default)]
pub struct RunSummary {
    pub read_records: u64,
    pub written_records: u64,
    pub extra_outputs: Vec<(PathBuf, u64)>,
    /// Which records of duplicate templates were flagged. `None` if duplicates were not marked by
    /// Picard's rules.
    pub mode: Option<Mode>,
    /// Number of records that each step dropped or changed, with the text for the log.
    pub counts: StepCounts,
    pub spilled_bytes: u64,
    pub spilled_runs: usize,
    /// The parts of the main output with their sizes in bytes. Empty if the output is a single
    /// file.
    pub parts: Vec<(PathBuf, u64)>,
}

impl RunSummary {
    pub fn extra_records(&self) -> u64 {
        self.extra_outputs.iter().map(|(_, records)| records).sum()
    }
}

pub fn log_duplicates(tally: &DuplicateCounts, header: &Header, console: &Console) {
    let optical: u64 = tally.libraries.iter().map(|library| library.optical_pairs).sum();
    let optical = match optical + tally.optical_fragments {
        0 => String::new(),
        n => format!(", {n} of them optical"),
    };
    console.write_line(&format!(
        "readmill: {} pairs and {} single reads are duplicates{optical}",
        tally.pairs, tally.fragments
    ));
    if let Some(LargestSet { size, ref_id, five_prime }) = tally.deepest {
        let contig = header.references().get(ref_id as usize);
        let contig = contig.map_or("*".into(), |contig| String::from_utf8_lossy(&contig.name));
        console.write_warning(&format!(
            "the largest duplicate set has {} templates, at {contig}:{}",
            format_with_commas(size),
            five_prime + 1
        ));
    }
}

/// Logs the number of duplicates by samtools' rules, which decide for each read of a pair
/// separately.
pub fn log_samtools_duplicates(tally: &DuplicateCounts, console: &Console) {
    console.write_line(&format!(
        "readmill: {} paired and {} single reads are duplicates according to samtools' rules",
        tally.pairs, tally.fragments
    ));
}

/// Returns the output name for the log: the file of the reads or, without one, the file of the
/// recalibration table or of a report.
fn describe_output(plan: &Plan) -> String {
    let request = plan.steps.recalibration.as_ref().and_then(|it| it.table_request());
    let table = request.and_then(|request| request.table.as_ref());
    let report = plan.reports.add_ons.iter().find_map(|add_on| add_on.shown_output());
    match &plan.destination {
        Destination::Main(output, _) if output.is_in_parts() => {
            format!("{} in {} parts", output.path.display(), output.parts)
        }
        Destination::Main(output, _) => output.path.display().to_string(),
        Destination::Split(split) => match &split.names {
            SplitNames::Prefix(prefix) => format!("{}.*", prefix.display()),
            SplitNames::Pattern(pattern) => pattern.pattern_text().to_string(),
            SplitNames::Table(table) => format!("the files in {}", table.display()),
        },
        Destination::Fastq(fastq) => match &fastq.files {
            FastqFiles::Ends([_, first, _]) => first.display().to_string(),
            FastqFiles::PerReadGroup(pattern) => pattern.pattern_text().to_string(),
        },
        Destination::Nowhere => {
            let path = table.map(|path| &**path).or(report);
            path.map_or("nowhere".into(), |path| path.display().to_string())
        }
    }
}

fn describe_inputs(plan: &Plan) -> String {
    match &plan.inputs[..] {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, _] => format!("{} and 1 other file", first.display()),
        [first, rest @ ..] => format!("{} and {} other files", first.display(), rest.len()),
    }
}

/// Logs the first line of a run: version, files, threads and memory. Logs it only once per console.
/// Warns if `-m` exceeds the memory that the system allows.
pub fn log_start(plan: &Plan, memory: &Memory, console: &Console) {
    if !console.claim_start_line() {
        return;
    }
    let mib = |bytes: u64| bytes >> 20;
    console.write_line(&format!(
        "readmill {} {}: {} -> {}; {} in total, {} MiB of memory in total, temporary files in {}",
        env!("CARGO_PKG_VERSION"),
        plan.command.name(),
        describe_inputs(plan),
        describe_output(plan),
        count_threads(memory.crew.threads),
        mib(plan.resources.memory),
        plan.resources
            .temp_dirs
            .iter()
            .map(|dir| dir.display().to_string())
            .collect::<Vec<_>>()
            .join(", "),
    ));
    if let Some((limit, whose)) =
        limit::available_memory().filter(|(limit, _)| *limit < plan.resources.memory)
    {
        console.write_warning(&format!(
            "-m allows {} MiB, but {whose} only {} MiB; if the run needs more, it may be killed; use a smaller -m",
            mib(plan.resources.memory),
            mib(limit),
        ));
    }
    if plan.resources.explain {
        write_log_line(&format!("plan: {}", plan.command_line()));
        let waiting = "waiting reads and duplicate ends; the rest is spilled";
        log_memory_shares(memory.division.shares(), plan.resources.memory);
        log_memory_shares(&[(waiting, memory.room)], plan.resources.memory);
    }
}

fn log_memory_shares<T: std::fmt::Display>(shares: &[(T, u64)], limit: u64) {
    for (name, bytes) in shares {
        let mib = *bytes as f64 / f64::from(1 << 20);
        let share = *bytes as f64 / limit.max(1) as f64;
        write_log_line(&format!("  {mib:>9.1} MiB  {}  {name}", draw_bar(share, BAR_WIDTH)));
    }
}

const BAR_WIDTH: usize = 24;

pub fn log_time_shares(shares: &StageShares) {
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    let shares = shares.iter().filter(|(_, share)| *share > 0.0);
    for (name, share) in shares {
        let part = share / all;
        write_log_line(&format!("  {:>9.0} %    {}  {name}", part * 100.0, draw_bar(part, BAR_WIDTH)));
    }
}

fn describe_written_records(plan: &Plan, summary: &RunSummary) -> String {
    let (written, extra) = (summary.written_records, summary.extra_records());
    match &plan.destination {
        Destination::Main(_, selected) if selected.is_empty() => format!(", {written} written"),
        Destination::Main(..) => format!(", {written} written, {extra} written to other files"),
        Destination::Split(_) | Destination::Fastq(_) => format!(", {extra} written"),
        Destination::Nowhere => String::new(),
    }
}

/// With more extra outputs than this, the log shows only their number.
const MAX_NAMED_OUTPUTS: usize = 24;

fn log_extra_outputs(others: &[(PathBuf, u64)], console: &Console) {
    let name = |path: &PathBuf| match path.as_os_str() {
        path if path == "-" => "standard output".to_string(),
        path => path.display().to_string(),
    };
    let is_empty_pipe = |(path, reads): &&(PathBuf, u64)| path.as_os_str() == "-" && *reads == 0;
    match others {
        [(first, _), .., (last, _)] if others.len() > MAX_NAMED_OUTPUTS => {
            let reads = || others.iter().map(|(_, reads)| reads);
            console.write_line(&format!(
                "readmill: {} files, {} to {}, have {} to {} reads each",
                others.len(),
                name(first),
                name(last),
                reads().min().unwrap_or(&0),
                reads().max().unwrap_or(&0),
            ));
        }
        _ => others.iter().filter(|other| !is_empty_pipe(other)).for_each(|(path, reads)| {
            console.write_line(&format!("readmill: {} has {reads} reads", name(path)));
        }),
    }
}

/// Warns if the input has records but no output contains any, and names the steps that dropped
/// them.
pub fn warn_if_nothing_written(plan: &Plan, summary: &RunSummary, console: &Console) {
    let writes_reads = !matches!(plan.destination, Destination::Nowhere);
    if !writes_reads
        || summary.read_records == 0
        || summary.written_records + summary.extra_records() > 0
    {
        return;
    }
    let steps: Vec<String> =
        summary.counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect();
    let why = if steps.is_empty() { String::new() } else { format!(" ({})", steps.join(", ")) };
    console
        .write_warning(&format!("none of the {} input records was written{why}", summary.read_records));
}

/// Logs the summary at the end of a run: records read and written, time, peak memory and spill. On
/// a terminal, the summary is a table that also shows memory over time.
pub fn log_summary(
    plan: &Plan,
    ledger: &Ledger,
    summary: &RunSummary,
    started: Instant,
    console: &Console,
) {
    warn_if_nothing_written(plan, summary, console);
    match summary.mode {
        Some(Mode::Template) => console.write_line(
            "readmill: duplicate mode template: every record of a duplicate template is flagged",
        ),
        Some(Mode::Coordinate) => console.write_line(
            "readmill: duplicate mode coordinate: mapped primary records of duplicates are flagged",
        ),
        None => {}
    }
    if plan.resources.explain {
        let users = ledger.users_at_peak();
        let sum: u64 = users.iter().map(|(_, bytes)| bytes).sum();
        write_log_line(&format!("peak memory use, {} MiB:", sum >> 20));
        let users: Vec<_> = users.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
        log_memory_shares(&users, plan.resources.memory);
    }
    if console.is_drawn() {
        return summary_table(plan, summary, started, console)
            .iter()
            .for_each(|line| console.write_line(line));
    }
    for (name, n) in &summary.counts {
        console.write_line(&format!("readmill: {n} {name}"));
    }
    log_extra_outputs(&summary.extra_outputs, console);
    for (path, bytes) in &summary.parts {
        console.write_line(&format!("readmill: {} has {bytes} bytes", path.display()));
    }
    console.write_line(&format!(
        "readmill: {} records read{} in {:.1} s; peak memory {} MiB; {} MiB spilled in {} runs",
        summary.read_records,
        describe_written_records(plan, summary),
        started.elapsed().as_secs_f64(),
        used::peak_resident_bytes().unwrap_or(0).div_ceil(1 << 20),
        summary.spilled_bytes >> 20,
        summary.spilled_runs,
    ));
}

const DIAGRAM_WIDTH: usize = 32;

fn summary_table(plan: &Plan, summary: &RunSummary, started: Instant, console: &Console) -> Vec<String> {
    let mut rows = Vec::new();
    let mut add = |label: &str, value: String, remark: String| {
        rows.push([label.to_string(), value, remark]);
    };
    let share = |n: u64| format!("{:.2} %", n as f64 * 100.0 / summary.read_records.max(1) as f64);
    add("records read", format_with_commas(summary.read_records), describe_inputs(plan));
    for (name, n) in &summary.counts {
        add(name, format_with_commas(*n), share(*n));
    }
    if matches!(plan.destination, Destination::Main(..)) {
        add("records written", format_with_commas(summary.written_records), describe_output(plan));
    }
    match &summary.extra_outputs[..] {
        others if others.len() > MAX_NAMED_OUTPUTS => {
            let what = format!("{} other files", others.len());
            add("records written", format_with_commas(summary.extra_records()), what);
        }
        others => others.iter().for_each(|(path, n)| {
            add("records written", format_with_commas(*n), path.display().to_string());
        }),
    }
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), used::cpu_seconds());
    add("time", format!("{seconds:.1} s"), format!("{cpu:.1} s of CPU"));
    let (limit, samples) = (plan.resources.memory, console.take_samples());
    let resident = resident_by_time(&samples, DIAGRAM_WIDTH);
    let line = draw_columns(&resident, resident.iter().copied().max().unwrap_or(0));
    let peak = used::peak_resident_bytes().unwrap_or(0).div_ceil(1 << 20);
    let of = format!("of {} MiB; over time: {line}", limit >> 20);
    add("peak memory", format!("{peak} MiB"), of);
    if summary.spilled_runs > 0 {
        let spilled = format!("{} MiB", summary.spilled_bytes >> 20);
        add(
            "spilled",
            spilled,
            if summary.spilled_runs == 1 {
                "1 run".to_string()
            } else {
                format!("{} runs", summary.spilled_runs)
            },
        );
    }
    let mut lines = vec![style_text(Tone::Strong, &format!("readmill {}: done", plan.command.name()))];
    lines.extend(align_table(&rows));
    lines
}

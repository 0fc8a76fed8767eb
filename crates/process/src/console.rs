//! Messages on standard error: a start line, notes, warnings, a summary, and progress on a
//! terminal. Messages can be written as JSON lines for other programs.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{
    HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use readmill_engine::Progress;
use readmill_format::spill;
use readmill_record::Header;

use crate::drawing::{Tone, draw_bar, style_text};
use crate::samples::{UsageSample, UsageSamples};
use crate::used;

/// How much a command writes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Only warnings and errors, as with `--quiet`.
    Quiet,
    /// Also a start line, notes and a summary, and progress on a terminal.
    Normal,
    /// Also progress if standard error is not a terminal.
    Verbose,
}

const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of distinct warnings that are written.
const MAX_WARNINGS: usize = 1000;

static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Selects the form of all later messages of this process: JSON lines or text.
pub fn set_json_messages(wanted: bool) {
    AS_JSON.store(wanted, Relaxed);
}

/// Writes a line to standard error. Errors are ignored, because there is nowhere to report them.
pub fn write_log_line(line: &str) {
    let text =
        if AS_JSON.load(Relaxed) { json_message(line).to_string() } else { colour_severity(line) };
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn colour_severity(line: &str) -> String {
    let grave = [("readmill: error: ", Tone::Error), ("readmill: warning: ", Tone::Warning)];
    let found =
        grave.into_iter().find_map(|(start, tone)| Some((start, tone, line.strip_prefix(start)?)));
    match found {
        Some((start, tone, rest)) => style_text(tone, start.trim_end()) + " " + rest,
        None => line.to_string(),
    }
}

/// Returns the message as a JSON object with the time (seconds since 1970), the severity and the
/// text.
fn json_message(line: &str) -> serde_json::Value {
    let text = line.strip_prefix("readmill: ").unwrap_or(line);
    let levels = ["error", "warning", "note"];
    let graded = levels.iter().find_map(|level| {
        let text = text.strip_prefix(level)?.strip_prefix(": ")?;
        Some((*level, text))
    });
    let (level, text) = graded.unwrap_or(("info", text.trim()));
    serde_json::json!({ "time": unix_seconds(), "level": level, "message": text })
}

fn remaining_time_text(left: Duration) -> String {
    format!("about {} left", HumanDuration(left))
}

pub fn unix_seconds() -> f64 {
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    time.as_millis() as f64 / 1e3
}

pub type StageShares = Vec<(&'static str, f64)>;

/// Estimates the remaining time of a run from the progress of its current stage and the shares of
/// all stages.
#[derive(Clone, Copy)]
struct TimeEstimate {
    began: Instant,
    /// Number of this stage, from 1, and the total number of stages in `stages`.
    number: usize,
    stages: usize,
    /// Sum of the shares of earlier stages. `own` is the share of this stage, and `all` the total
    /// of all shares.
    before: f64,
    own: f64,
    all: f64,
}

impl TimeEstimate {
    /// Returns the outlook in stage `name`, or `None` if this stage was not announced.
    fn for_stage(began: Instant, shares: &StageShares, name: &str) -> Option<Self> {
        let at = shares.iter().position(|(stage, _)| *stage == name)?;
        let sum = |stages: &[(&str, f64)]| stages.iter().map(|(_, share)| share).sum();
        let (number, stages) = (at + 1, shares.len());
        let (before, own, all) = (sum(&shares[..at]), shares[at].1, sum(shares));
        Some(TimeEstimate { began, number, stages, before, own, all })
    }

    /// Returns the fraction of the run that is complete when `done` of `total` units of the stage
    /// are done.
    fn done_fraction(&self, done: u64, total: u64) -> f64 {
        let part = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
        (self.before + self.own * part) / self.all
    }

    /// Estimates the time until the end of the run. Returns `None` during the first 1 %, when an
    /// estimate would be unreliable.
    fn time_left(&self, done: u64, total: u64) -> Option<Duration> {
        let share = self.done_fraction(done, total);
        let seconds = self.began.elapsed().as_secs_f64() * (1.0 - share) / share;
        (share > 0.01).then(|| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
    }
}

/// A stage of a run, finished or still running, with the resources it has used.
#[derive(Clone, Debug)]
pub struct StageTime {
    pub name: &'static str,
    /// Seconds from the start of the program to the start of the stage.
    pub began: f64,
    pub seconds: f64,
    /// CPU seconds of all threads.
    pub cpu_seconds: f64,
    pub spilled: u64,
    /// Peak resident memory of the process in bytes, up to the end of the stage. `None` if the
    /// system does not report it.
    pub peak: Option<u64>,
}

fn empty_style() -> ProgressStyle {
    ProgressStyle::with_template("").unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[derive(Clone, Copy)]
struct ResourcesUsed {
    seconds: f64,
    cpu_seconds: f64,
    spilled: u64,
    peak: Option<u64>,
}

#[derive(Default)]
struct History {
    stages: Vec<(&'static str, ResourcesUsed)>,
    warnings: Vec<String>,
}

/// Writes messages and progress of a run for the user. Shared by all threads.
///
/// A run announces its stages, begins each with [`Console::begin_stage`], reports progress with
/// [`Console::advance`], and ends with [`Console::clear_progress`]. The console also keeps warnings
/// and stage times for the `--json` file.
pub struct Console {
    verbosity: Verbosity,
    is_drawn: bool,
    bar: ProgressBar,
    progress: Progress,
    /// The current stage, and the time of the last progress line. `None` if progress is not logged.
    logged: Option<Mutex<(&'static str, Instant)>>,
    began: Instant,
    is_started: AtomicBool,
    shares: Mutex<StageShares>,
    outlook: Mutex<Option<TimeEstimate>>,
    history: Mutex<History>,
    samples: Mutex<UsageSamples>,
}

impl Console {
    pub fn new(verbosity: Verbosity) -> Self {
        let terminal = std::io::stderr().is_terminal() && !AS_JSON.load(Relaxed);
        let drawn = terminal && verbosity != Verbosity::Quiet;
        let target =
            if drawn { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let wanted_in_log = verbosity == Verbosity::Verbose && !terminal;
        Console {
            verbosity,
            is_drawn: drawn,
            bar: ProgressBar::with_draw_target(None, target).with_style(empty_style()),
            progress: Progress::new(),
            logged: wanted_in_log.then(|| Mutex::new(("", Instant::now()))),
            began: Instant::now(),
            is_started: AtomicBool::new(false),
            shares: Mutex::default(),
            outlook: Mutex::default(),
            history: Mutex::default(),
            samples: Mutex::default(),
        }
    }

    pub fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Returns true only on the first call, so that the stages of a job write a single start line.
    pub fn claim_start_line(&self) -> bool {
        !self.is_started.swap(true, Relaxed)
    }

    /// Takes a final sample, and returns all samples of memory, CPU time and spilled bytes.
    pub fn take_samples(&self) -> Vec<UsageSample> {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.take_sample(self.began.elapsed());
        samples.samples().to_vec()
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resources_used(&self) -> ResourcesUsed {
        ResourcesUsed {
            seconds: self.began.elapsed().as_secs_f64(),
            cpu_seconds: used::cpu_seconds(),
            spilled: spill::bytes_spilled_by_process(),
            peak: used::peak_resident_bytes(),
        }
    }

    /// Returns the stages so far, in order. The first one, `starting`, covers the time before the
    /// first call of [`Console::begin_stage`]; the last one ends now.
    pub fn stages(&self) -> Vec<StageTime> {
        let start = ResourcesUsed { seconds: 0.0, cpu_seconds: 0.0, spilled: 0, peak: None };
        let mut borders = vec![("starting", start)];
        borders.extend(self.history().stages.iter().copied());
        borders.push(("", self.resources_used()));
        let stage = |pair: &[(&'static str, ResourcesUsed)]| {
            let [(name, from), (_, to)] = [pair[0], pair[1]];
            StageTime {
                name,
                began: from.seconds,
                seconds: to.seconds - from.seconds,
                cpu_seconds: to.cpu_seconds - from.cpu_seconds,
                spilled: to.spilled - from.spilled,
                peak: to.peak,
            }
        };
        borders.windows(2).map(stage).collect()
    }

    pub fn warnings(&self) -> Vec<String> {
        self.history().warnings.clone()
    }

    pub fn announced_stages(&self) -> StageShares {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Announces the stages of the run and their shares of its time. From then on, the remaining
    /// time is shown for the whole run instead of the current stage.
    pub fn announce_stages(&self, shares: StageShares) {
        *self.shares.lock().unwrap_or_else(PoisonError::into_inner) = shares;
    }

    /// Writes a line, unless messages are turned off (`--quiet`).
    pub fn write_line(&self, line: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.bar.suspend(|| write_log_line(line));
        }
    }

    pub fn write_note(&self, line: &str) {
        self.write_line(&format!("readmill: note: {line}"));
    }

    /// Writes a warning, even with `--quiet`. A repeated warning is omitted, and so is every
    /// warning after the first `MAX_WARNINGS` distinct ones.
    pub fn write_warning(&self, line: &str) {
        let mut history = self.history();
        let said = &history.warnings;
        if said.len() > MAX_WARNINGS || said.iter().any(|said| said == line) {
            return;
        }
        let line = if said.len() < MAX_WARNINGS { line } else { "further warnings are not shown" };
        history.warnings.push(line.to_string());
        drop(history);
        self.bar.suspend(|| write_log_line(&format!("readmill: warning: {line}")));
    }

    /// Warns about repairs in the header of a file, and about lines that other programs will
    /// reject.
    pub fn warn_about_header(&self, path: &Path, header: &Header) {
        for note in header.notes().texts() {
            self.write_warning(&format!("{}: {note}", path.display()));
        }
    }

    /// Begins the stage `name`. `total` counts bytes if `bytes` is set, otherwise reads; `None`
    /// means that it is unknown.
    pub fn begin_stage(&self, name: &'static str, total: Option<u64>, bytes: bool) {
        let used = self.resources_used();
        self.history().stages.push((name, used));
        let unit = if bytes {
            "{bytes}/{total_bytes} {bytes_per_sec}"
        } else {
            "{human_pos}/{human_len} reads"
        };
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let outlook = TimeEstimate::for_stage(self.began, &shares, name);
        drop(shares);
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner) = outlook;
        let template = match (total, outlook) {
            (Some(_), Some(_)) => format!("{{run}} {{msg}} {unit}{{left}}{{spilled}}"),
            (Some(_), None) => format!("{{msg:>8}} [{{bar:30}}] {unit}, {{eta}} left{{spilled}}"),
            (None, _) => "{msg:>8} {bytes} {bytes_per_sec}{spilled}".to_string(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            // Writing to a String cannot fail.
            let run = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let Some(outlook) = outlook else { return };
                let share = outlook.done_fraction(state.pos(), state.len().unwrap_or(0));
                let (number, stages) = (outlook.number, outlook.stages);
                let _ = write!(
                    out,
                    "{} {:>3.0} %, {number} of {stages}:",
                    draw_bar(share, 24),
                    share * 100.0
                );
            };
            let left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let left = outlook.and_then(|it| it.time_left(state.pos(), state.len().unwrap_or(0)));
                let _ = out.write_str(
                    &left.map_or(String::new(), |left| format!(", {}", remaining_time_text(left))),
                );
            };
            let spilled = |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let bytes = spill::bytes_spilled_by_process();
                let _ = if bytes > 0 { write!(out, ", {} spilled", HumanBytes(bytes)) } else { Ok(()) };
            };
            let style = style.with_key("run", run).with_key("left", left).with_key("spilled", spilled);
            // Each call may redraw the bar. The empty style hides the old progress under the new
            // name.
            self.bar.set_style(empty_style());
            self.bar.reset();
            self.bar.set_length(total.unwrap_or(0));
            self.bar.set_message(name);
            self.bar.set_style(style);
        }
        self.progress.restart(total);
        if let Some(logged) = &self.logged {
            *logged.lock().unwrap_or_else(PoisonError::into_inner) = (name, Instant::now());
            self.write_line(&format!("readmill: {name}"));
        }
    }

    /// Adds `n` bytes or reads to the progress of the stage, and samples the resources in use. Any
    /// thread may call this.
    pub fn advance(&self, n: u64) {
        self.bar.inc(n);
        self.progress.add(n);
        if let Ok(mut samples) = self.samples.try_lock() {
            samples.take_sample(self.began.elapsed());
        }
        let Some(logged) = &self.logged else { return };
        let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.1.elapsed() >= LOG_INTERVAL {
            logged.1 = Instant::now();
            let (stage, done) = (logged.0, self.progress.done());
            let outlook = *self.outlook.lock().unwrap_or_else(PoisonError::into_inner);
            let left = outlook.and_then(|it| it.time_left(done, self.progress.total()?));
            if AS_JSON.load(Relaxed) {
                let total = self.progress.total();
                let progress = serde_json::json!({
                    "time": unix_seconds(), "level": "progress", "stage": stage, "done": done, "total": total,
                    "left": left.map(|left| left.as_secs()),
                });
                return self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{progress}")));
            }
            match self.progress.total() {
                Some(total) if total > 0 => {
                    let left =
                        left.map_or(String::new(), |left| format!(", {}", remaining_time_text(left)));
                    let percent = done.saturating_mul(100) / total;
                    self.write_line(&format!("readmill: {stage} {percent} %{left}"));
                }
                _ => self.write_line(&format!("readmill: {stage} {done}")),
            }
        }
    }

    pub fn clear_progress(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_warnings_are_written() {
        let console = Console::new(Verbosity::Quiet);
        (0..3000).for_each(|n| console.write_warning(&format!("warning {}", n % 1500)));
        let warnings = console.warnings();
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert_eq!(warnings[MAX_WARNINGS - 1..], ["warning 999", "further warnings are not shown"]);
    }

    #[test]
    fn the_time_left_is_that_of_the_run() {
        let began = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        let shares: StageShares = vec![("reading", 30.0), ("marking", 10.0), ("writing", 60.0)];
        let reading = TimeEstimate::for_stage(began, &shares, "reading").unwrap();
        assert_eq!(reading.time_left(0, 100), None);
        assert_eq!(reading.time_left(50, 100).unwrap().as_secs(), 170); // 15 of 100 parts in 30 s
        let writing = TimeEstimate::for_stage(began, &shares, "writing").unwrap();
        assert_eq!(writing.time_left(0, 100).unwrap().as_secs(), 45); // 40 of 100 parts in 30 s
        assert_eq!(writing.time_left(100, 100).unwrap().as_secs(), 0);
        assert!(TimeEstimate::for_stage(began, &shares, "known sites").is_none());
    }
}

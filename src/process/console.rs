//! Messages on standard error: a start line, notes, a summary; progress on a terminal only. For programs, each message is
//! a line of JSON.

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

use super::drawing::{Tone, bar, painted};
use super::samples::{Samples, UsageSample};
use super::used;
use crate::plan::Verbosity;

/// The interval of progress lines in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The most different warnings that are written.
const MOST_WARNINGS: usize = 1000;

/// Whether messages are JSON.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Has every message from now on written as a line of JSON, or as text.
pub fn write_json(wanted: bool) {
    AS_JSON.store(wanted, Relaxed);
}

/// Writes a line to standard error; a failure to write is ignored.
pub fn log(line: &str) {
    let text = if AS_JSON.load(Relaxed) { message(line).to_string() } else { toned(line) };
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A message with the word that says how grave it is in its colour.
fn toned(line: &str) -> String {
    let grave = [("readmill: error: ", Tone::Error), ("readmill: warning: ", Tone::Warning)];
    let found =
        grave.into_iter().find_map(|(start, tone)| Some((start, tone, line.strip_prefix(start)?)));
    match found {
        Some((start, tone, rest)) => painted(tone, start.trim_end()) + " " + rest,
        None => line.to_string(),
    }
}

/// A message as JSON: when it was written (seconds since 1970), how grave it is, and its text.
fn message(line: &str) -> serde_json::Value {
    let text = line.strip_prefix("readmill: ").unwrap_or(line);
    let levels = ["error", "warning", "note"];
    let graded = levels.iter().find_map(|level| {
        let text = text.strip_prefix(level)?.strip_prefix(": ")?;
        Some((*level, text))
    });
    let (level, text) = graded.unwrap_or(("info", text.trim()));
    serde_json::json!({ "time": now(), "level": level, "message": text })
}

/// The time to the end of a run, for people.
fn in_words(left: Duration) -> String {
    format!("about {} to the end", HumanDuration(left))
}

/// Seconds since 1970, to milliseconds.
pub fn now() -> f64 {
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    time.as_millis() as f64 / 1e3
}

/// The stages of a run with their shares of its time, in any unit. They are estimates.
pub type Shares = Vec<(&'static str, f64)>;

/// The time that a run has still to go, as a stage of it knows it.
#[derive(Clone, Copy)]
struct Outlook {
    began: Instant,
    /// The number of this stage, from 1, and of all stages.
    number: usize,
    stages: usize,
    /// Shares of the stages before this one, of this one, and of all.
    before: f64,
    own: f64,
    all: f64,
}

impl Outlook {
    /// Returns the outlook in the stage `name` of a run; `None` if the run does not announce that stage.
    fn of(began: Instant, shares: &Shares, name: &str) -> Option<Self> {
        let at = shares.iter().position(|(stage, _)| *stage == name)?;
        let sum = |stages: &[(&str, f64)]| stages.iter().map(|(_, share)| share).sum();
        let (number, stages) = (at + 1, shares.len());
        let (before, own, all) = (sum(&shares[..at]), shares[at].1, sum(shares));
        Some(Outlook { began, number, stages, before, own, all })
    }

    /// The part of the run that is over when `done` of `total` of the stage is done.
    fn share(&self, done: u64, total: u64) -> f64 {
        let part = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
        (self.before + self.own * part) / self.all
    }

    /// Estimates the time to the end of the run when `done` of `total` of the stage is done; `None` at the very start.
    fn left(&self, done: u64, total: u64) -> Option<Duration> {
        let share = self.share(done, total);
        let seconds = self.began.elapsed().as_secs_f64() * (1.0 - share) / share;
        (share > 0.01).then(|| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
    }
}

/// A stage of a run that has ended, or that goes on.
#[derive(Clone, Debug)]
pub struct StageTime {
    /// Its name, as progress shows it.
    pub name: &'static str,
    /// Seconds from the start of the program to its start.
    pub began: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds of CPU of all threads.
    pub cpu_seconds: f64,
    /// Bytes that were spilled.
    pub spilled: u64,
    /// Peak resident memory of the process up to its end, in bytes; `None` where the system does not tell.
    pub peak: Option<u64>,
}

/// The style of a bar that shows nothing.
fn empty() -> ProgressStyle {
    ProgressStyle::with_template("").unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What was used up to a moment.
#[derive(Clone, Copy)]
struct Used {
    seconds: f64,
    cpu_seconds: f64,
    spilled: u64,
    peak: Option<u64>,
}

/// What a run has said and done so far.
#[derive(Default)]
struct History {
    /// Names of stages, and what was used at their starts.
    stages: Vec<(&'static str, Used)>,
    warnings: Vec<String>,
}

/// Writes messages and progress for the user.
pub struct Console {
    verbosity: Verbosity,
    is_drawn: bool,
    bar: ProgressBar,
    progress: Progress,
    /// The stage, and when a line about it was last logged; `None` if progress is not logged.
    logged: Option<Mutex<(&'static str, Instant)>>,
    began: Instant,
    /// Whether the start line was written.
    is_started: AtomicBool,
    shares: Mutex<Shares>,
    outlook: Mutex<Option<Outlook>>,
    history: Mutex<History>,
    samples: Mutex<Samples>,
}

impl Console {
    /// Creates a console with this verbosity.
    pub fn new(verbosity: Verbosity) -> Self {
        let terminal = std::io::stderr().is_terminal() && !AS_JSON.load(Relaxed);
        let drawn = terminal && verbosity != Verbosity::Quiet;
        let target =
            if drawn { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let wanted_in_log = verbosity == Verbosity::Verbose && !terminal;
        Console {
            verbosity,
            is_drawn: drawn,
            bar: ProgressBar::with_draw_target(None, target).with_style(empty()),
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

    /// Whether messages and progress are drawn for people, on a terminal.
    pub fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Returns true the first time: the stages of a job have one start line.
    pub fn begin_log(&self) -> bool {
        !self.is_started.swap(true, Relaxed)
    }

    /// What was used over the time so far.
    pub fn samples(&self) -> Vec<UsageSample> {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.take(self.began.elapsed());
        samples.list().to_vec()
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was used since the start of the program.
    fn used(&self) -> Used {
        Used {
            seconds: self.began.elapsed().as_secs_f64(),
            cpu_seconds: used::cpu_seconds(),
            spilled: spill::written_by_process(),
            peak: used::peak_rss(),
        }
    }

    /// The stages so far, in their order. One before them, `starting`, ends where the first of them begins; the last one
    /// ends now.
    pub fn stages(&self) -> Vec<StageTime> {
        let start = Used { seconds: 0.0, cpu_seconds: 0.0, spilled: 0, peak: None };
        let mut borders = vec![("starting", start)];
        borders.extend(self.history().stages.iter().copied());
        borders.push(("", self.used()));
        let stage = |pair: &[(&'static str, Used)]| {
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

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        self.history().warnings.clone()
    }

    /// The stages that were announced.
    pub fn announced(&self) -> Shares {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Announces the stages of the run: from now on, the time left is that to the end of the run, not of the stage.
    pub fn announce(&self, shares: Shares) {
        *self.shares.lock().unwrap_or_else(PoisonError::into_inner) = shares;
    }

    /// Writes a line, unless quiet.
    pub fn say(&self, line: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.bar.suspend(|| log(line));
        }
    }

    /// Writes a note about a decision of the program.
    pub fn note(&self, line: &str) {
        self.say(&format!("readmill: note: {line}"));
    }

    /// Writes a warning, even when quiet; the same one is written once. After `MOST_WARNINGS` the rest is left out.
    pub fn warn(&self, line: &str) {
        let mut history = self.history();
        let said = &history.warnings;
        if said.len() > MOST_WARNINGS || said.iter().any(|said| said == line) {
            return;
        }
        let line = if said.len() < MOST_WARNINGS { line } else { "further warnings are left out" };
        history.warnings.push(line.to_string());
        drop(history);
        self.bar.suspend(|| log(&format!("readmill: warning: {line}")));
    }

    /// Warns of what was mended in the header of a file, and of what other programs will not accept in it.
    pub fn warn_of_header(&self, path: &Path, header: &Header) {
        for note in header.notes().texts() {
            self.warn(&format!("{}: {note}", path.display()));
        }
    }

    /// Begins a stage of `total` bytes or reads.
    pub fn stage(&self, name: &'static str, total: Option<u64>, bytes: bool) {
        let used = self.used();
        self.history().stages.push((name, used));
        let unit = if bytes {
            "{bytes}/{total_bytes} {bytes_per_sec}"
        } else {
            "{human_pos}/{human_len} reads"
        };
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let outlook = Outlook::of(self.began, &shares, name);
        drop(shares);
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner) = outlook;
        let template = match (total, outlook) {
            (Some(_), Some(_)) => format!("{{run}} {{msg}} {unit}{{left}}{{spilled}}"),
            (Some(_), None) => format!("{{msg:>8}} [{{bar:30}}] {unit}, {{eta}} left{{spilled}}"),
            (None, _) => "{msg:>8} {bytes} {bytes_per_sec}{spilled}".to_string(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            // (A String takes everything that is written to it.)
            let run = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let Some(outlook) = outlook else { return };
                let share = outlook.share(state.pos(), state.len().unwrap_or(0));
                let (number, stages) = (outlook.number, outlook.stages);
                let _ =
                    write!(out, "{} {:>3.0} %, {number} of {stages}:", bar(share, 24), share * 100.0);
            };
            let left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let left = outlook.and_then(|it| it.left(state.pos(), state.len().unwrap_or(0)));
                let _ =
                    out.write_str(&left.map_or(String::new(), |left| format!(", {}", in_words(left))));
            };
            let spilled = |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let bytes = spill::written_by_process();
                let _ = if bytes > 0 { write!(out, ", {} spilled", HumanBytes(bytes)) } else { Ok(()) };
            };
            let style = style.with_key("run", run).with_key("left", left).with_key("spilled", spilled);
            // Each call may draw: the old stage with the new name would be wrong.
            self.bar.set_style(empty());
            self.bar.reset();
            self.bar.set_length(total.unwrap_or(0));
            self.bar.set_message(name);
            self.bar.set_style(style);
        }
        self.progress.restart(total);
        if let Some(logged) = &self.logged {
            *logged.lock().unwrap_or_else(PoisonError::into_inner) = (name, Instant::now());
            self.say(&format!("readmill: {name}"));
        }
    }

    /// Notes progress of the stage.
    pub fn advance(&self, n: u64) {
        self.bar.inc(n);
        self.progress.add(n);
        if let Ok(mut samples) = self.samples.try_lock() {
            samples.take(self.began.elapsed());
        }
        let Some(logged) = &self.logged else { return };
        let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.1.elapsed() >= LOG_INTERVAL {
            logged.1 = Instant::now();
            let (stage, done) = (logged.0, self.progress.done());
            let outlook = *self.outlook.lock().unwrap_or_else(PoisonError::into_inner);
            let left = outlook.and_then(|it| it.left(done, self.progress.total()?));
            if AS_JSON.load(Relaxed) {
                let total = self.progress.total();
                let progress = serde_json::json!({
                    "time": now(), "level": "progress", "stage": stage, "done": done, "total": total,
                    "left": left.map(|left| left.as_secs()),
                });
                return self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{progress}")));
            }
            match self.progress.total() {
                Some(total) if total > 0 => {
                    let left = left.map_or(String::new(), |left| format!(", {}", in_words(left)));
                    let percent = done.saturating_mul(100) / total;
                    self.say(&format!("readmill: {stage} {percent} %{left}"));
                }
                _ => self.say(&format!("readmill: {stage} {done}")),
            }
        }
    }

    /// Removes the progress display.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_warnings_are_written() {
        let console = Console::new(Verbosity::Quiet);
        (0..3000).for_each(|n| console.warn(&format!("warning {}", n % 1500)));
        let warnings = console.warnings();
        assert_eq!(warnings.len(), MOST_WARNINGS + 1);
        assert_eq!(warnings[MOST_WARNINGS - 1..], ["warning 999", "further warnings are left out"]);
    }

    #[test]
    fn the_time_left_is_that_of_the_run() {
        let began = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        let shares: Shares = vec![("reading", 30.0), ("marking", 10.0), ("writing", 60.0)];
        let reading = Outlook::of(began, &shares, "reading").unwrap();
        assert_eq!(reading.left(0, 100), None);
        assert_eq!(reading.left(50, 100).unwrap().as_secs(), 170); // 15 of 100 parts in 30 s
        let writing = Outlook::of(began, &shares, "writing").unwrap();
        assert_eq!(writing.left(0, 100).unwrap().as_secs(), 45); // 40 of 100 parts in 30 s
        assert_eq!(writing.left(100, 100).unwrap().as_secs(), 0);
        assert!(Outlook::of(began, &shares, "known sites").is_none());
    }
}

//! Messages on standard error: a start line, notes, a summary; progress on a terminal only. For programs, each message is
//! a line of JSON.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use readmill_engine::Progress;

use crate::plan::Verbosity;

/// The interval of progress lines in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Whether messages are JSON.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Has every message from now on written as a line of JSON, or as text.
pub fn write_json(wanted: bool) {
    AS_JSON.store(wanted, Relaxed);
}

/// Writes a line to standard error; a failure to write is ignored.
pub fn log(line: &str) {
    let text;
    let line = if AS_JSON.load(Relaxed) {
        text = message(line).to_string();
        &text
    } else {
        line
    };
    let _ = writeln!(std::io::stderr(), "{line}");
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

/// Seconds since 1970, to milliseconds.
fn now() -> f64 {
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    time.as_millis() as f64 / 1e3
}

/// Writes messages and progress for the user.
pub struct Console {
    verbosity: Verbosity,
    bar: ProgressBar,
    progress: Progress,
    /// The stage, and when a line about it was last logged; `None` if progress is not logged.
    logged: Option<Mutex<(&'static str, Instant)>>,
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
            bar: ProgressBar::with_draw_target(None, target),
            progress: Progress::new(),
            logged: wanted_in_log.then(|| Mutex::new(("", Instant::now()))),
        }
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

    /// Writes a warning, even when quiet.
    pub fn warn(&self, line: &str) {
        self.bar.suspend(|| log(&format!("readmill: warning: {line}")));
    }

    /// Begins a stage of `total` bytes or reads.
    pub fn stage(&self, name: &'static str, total: Option<u64>, bytes: bool) {
        let unit = if bytes {
            "{bytes}/{total_bytes} {bytes_per_sec}"
        } else {
            "{human_pos}/{human_len} reads"
        };
        let template = match total {
            Some(_) => format!("{{msg:>8}} [{{bar:30}}] {unit}, {{eta}} left"),
            None => "{msg:>8} {bytes} {bytes_per_sec}".to_string(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            self.bar.set_style(style);
        }
        self.bar.reset();
        self.bar.set_length(total.unwrap_or(0));
        self.bar.set_message(name);
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
        let Some(logged) = &self.logged else { return };
        let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.1.elapsed() >= LOG_INTERVAL {
            logged.1 = Instant::now();
            let (stage, done) = (logged.0, self.progress.done());
            if AS_JSON.load(Relaxed) {
                let total = self.progress.total();
                let progress = serde_json::json!({
                    "time": now(), "level": "progress", "stage": stage, "done": done, "total": total,
                });
                return self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{progress}")));
            }
            match self.progress.total() {
                Some(total) if total > 0 => {
                    self.say(&format!("readmill: {stage} {} %", done.saturating_mul(100) / total));
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

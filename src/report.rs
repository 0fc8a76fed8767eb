//! What is said on standard error: a start line, notes, a summary; progress on a terminal alone.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan::Verbosity;

/// Speaks to the user.
pub struct Report {
    verbosity: Verbosity,
    bar: ProgressBar,
}

impl Report {
    /// A report that says as much as `verbosity` asks for.
    pub fn new(verbosity: Verbosity) -> Self {
        let shown = match verbosity {
            Verbosity::Quiet => false,
            Verbosity::Normal => std::io::stderr().is_terminal(),
            Verbosity::Verbose => true,
        };
        let target =
            if shown { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        Report { verbosity, bar: ProgressBar::with_draw_target(None, target) }
    }

    /// A line for the log, unless quiet.
    pub fn say(&self, line: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.bar.suspend(|| eprintln!("{line}"));
        }
    }

    /// A remark on what the program decided.
    pub fn note(&self, line: &str) {
        self.say(&format!("readmill: note: {line}"));
    }

    /// Something the user should look into; said even when quiet.
    pub fn warn(&self, line: &str) {
        self.bar.suspend(|| eprintln!("readmill: warning: {line}"));
    }

    /// Begins a stage of `total` units, bytes or records.
    pub fn stage(&self, name: &'static str, total: Option<u64>, bytes: bool) {
        let unit = if bytes {
            "{bytes}/{total_bytes} {bytes_per_sec}"
        } else {
            "{human_pos}/{human_len} reads"
        };
        let template = match total {
            Some(_) => format!("{{msg:>8}} [{{bar:30}}] {unit}, {{eta}} left"),
            None => "{msg:>8} {spinner} {bytes} {bytes_per_sec}".to_string(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            self.bar.set_style(style);
        }
        self.bar.reset();
        self.bar.set_length(total.unwrap_or(0));
        self.bar.set_message(name);
    }

    /// Notes progress of the stage.
    pub fn advance(&self, n: u64) {
        self.bar.inc(n);
    }

    /// Takes the progress display away.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

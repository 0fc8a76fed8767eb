//! Prints a line `ok`, `FAIL` or `out` for each comparison, and counts them for the exit status.

use std::time::Instant;

use anyhow::Result;

/// Why CI skips some peers: they are neither system packages nor Maven archives, and building them
/// takes minutes. (samtools 1.24 is built in CI nevertheless, because it defines most sort orders.)
pub const FULL_RUN: &str = "its peer is made from source or by pip, for runs without --quick";

/// Counts comparisons and prints one line for each. A comparison that takes three seconds or more
/// shows its duration.
pub struct Ledger {
    started_at: Instant,
    comparisons: usize,
    skipped: usize,
    failures: usize,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger { started_at: Instant::now(), comparisons: 0, skipped: 0, failures: 0 }
    }
}

impl Ledger {
    /// Prints the heading of a group of comparisons, such as a sample, with the seconds since the
    /// program started.
    pub fn print_heading(&mut self, name: &str, about: &str) {
        println!("-- {name}: {about} (after {} s)", self.started_at.elapsed().as_secs());
    }

    /// Runs one comparison and prints its result with the figures that it returns. Any error counts
    /// as a failed comparison, even if a program could not be started; later comparisons still run.
    pub fn check(&mut self, what: &str, comparison: impl FnOnce() -> Result<String>) {
        self.comparisons += 1;
        let began = Instant::now();
        let outcome = comparison();
        let time = match began.elapsed().as_secs() {
            0..3 => String::new(),
            seconds => format!(" in {seconds} s"),
        };
        match outcome {
            Ok(figures) if figures.is_empty() => println!("ok    {what}{time}"),
            Ok(figures) => println!("ok    {what} ({figures}){time}"),
            Err(error) => {
                self.failures += 1;
                println!("FAIL  {what}: {error:#}{time}");
            }
        }
    }

    /// Prints that comparisons are skipped, and why. They count neither as `ok` nor as `FAIL`.
    pub fn record_skipped(&mut self, what: &str, why: &str) {
        self.skipped += 1;
        println!("out   {what} is skipped: {why}");
    }

    pub fn skipped_count(&self) -> usize {
        self.skipped
    }

    pub fn comparison_count(&self) -> usize {
        self.comparisons
    }

    pub fn failure_count(&self) -> usize {
        self.failures
    }
}

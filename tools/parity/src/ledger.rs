//! The lines `ok`, `FAIL` and `out`, and how many there were.

use std::time::Instant;

use anyhow::Result;

/// The reason why CI skips peers that are neither system packages nor Maven archives: building them takes minutes.
/// (samtools 1.24, whose orders are the reference, is built anyway.)
pub const FULL_RUN: &str = "its peer is made from source or by pip, for runs without --quick";

/// Counts comparisons and prints the result of each, and the time of those that take long.
pub struct Ledger {
    began: Instant,
    comparisons: usize,
    left_out: usize,
    failures: usize,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger { began: Instant::now(), comparisons: 0, left_out: 0, failures: 0 }
    }
}

impl Ledger {
    /// Begins a sample.
    pub fn title(&mut self, name: &str, about: &str) {
        println!("-- {name}: {about} (after {} s)", self.began.elapsed().as_secs());
    }

    /// Makes one comparison, which returns its figures. Any error, also of a program that
    /// fails, is a failure of the comparison.
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

    /// Prints that comparisons are left out, and why; they are neither `ok` nor `FAIL`.
    pub fn left_out(&mut self, what: &str, why: &str) {
        self.left_out += 1;
        println!("out   {what} is left out: {why}");
    }

    /// The number of comparisons that were left out.
    pub fn left_outs(&self) -> usize {
        self.left_out
    }

    /// Comparisons made.
    pub fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Comparisons that failed.
    pub fn failures(&self) -> usize {
        self.failures
    }
}

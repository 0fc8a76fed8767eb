//! The lines `ok`, `FAIL` and `out`, and how many there were.

use anyhow::Result;

/// The reason why CI skips peers that are neither system packages nor Maven archives: building them takes minutes.
/// (samtools 1.24, whose orders are the reference, is built anyway.)
pub const FULL_RUN: &str = "its peer is made from source or by pip, for runs without --quick";

/// Counts comparisons and prints the result of each.
#[derive(Default)]
pub struct Ledger {
    comparisons: usize,
    left_out: usize,
    failures: usize,
}

impl Ledger {
    /// Begins a sample.
    pub fn title(&mut self, name: &str, about: &str) {
        println!("-- {name}: {about}");
    }

    /// Makes one comparison, which returns its figures. Any error, also of a program that
    /// fails, is a failure of the comparison.
    pub fn check(&mut self, what: &str, comparison: impl FnOnce() -> Result<String>) {
        self.comparisons += 1;
        match comparison() {
            Ok(figures) if figures.is_empty() => println!("ok    {what}"),
            Ok(figures) => println!("ok    {what} ({figures})"),
            Err(error) => {
                self.failures += 1;
                println!("FAIL  {what}: {error:#}");
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

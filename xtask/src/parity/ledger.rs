//! The lines `ok` and `FAIL`, and how many there were.

use anyhow::Result;

/// Counts comparisons and says how each ended.
#[derive(Default)]
pub struct Ledger {
    comparisons: usize,
    failures: usize,
}

impl Ledger {
    /// Begins a sample.
    pub fn title(&mut self, name: &str, about: &str) {
        println!("-- {name}: {about}");
    }

    /// Makes one comparison. What it returns are its figures; whatever goes wrong, also a program that
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

    /// Comparisons made.
    pub fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Comparisons that failed.
    pub fn failures(&self) -> usize {
        self.failures
    }
}

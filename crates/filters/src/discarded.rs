//! Reads that a filter drops, where only a share of all may be.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};

/// Reads that are dropped, of all, and the share that may be.
#[derive(Debug, Default)]
pub struct Discarded {
    dropped: AtomicU64,
    all: AtomicU64,
    most: f64,
}

impl Discarded {
    /// Nothing yet; this share of all reads may be dropped.
    pub(crate) fn new(most: f64) -> Self {
        Discarded { most, ..Discarded::default() }
    }

    /// Adds reads: those that are dropped, and all.
    pub(crate) fn note(&self, dropped: u64, all: u64) {
        self.dropped.fetch_add(dropped, Relaxed);
        self.all.fetch_add(all, Relaxed);
    }

    /// Checks the share, once all reads have been seen.
    ///
    /// # Errors
    /// More are dropped than may be.
    pub fn check(&self) -> Result<()> {
        let (dropped, all) = (self.dropped.load(Relaxed), self.all.load(Relaxed));
        let share = dropped as f64 / all.max(1) as f64;
        if share <= self.most {
            return Ok(());
        }
        let percent = |share: f64| format!("{:.3} %", 100.0 * share);
        let what = format!(
            "--whole-templates drops {dropped} of {all} reads ({}), more than {}",
            percent(share),
            percent(self.most)
        );
        Err(Error::input(what).hint("if the rest is worth having, allow more by --max-discarded 1"))
    }
}

//! A limit on the fraction of reads that `--whole-templates` may drop.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};

/// Counts dropped reads over all threads, and fails the run at its end if their fraction is too
/// large, as Picard RevertSam does with `MAX_DISCARD_FRACTION`.
#[derive(Debug, Default)]
pub struct DiscardLimit {
    dropped: AtomicU64,
    all: AtomicU64,
    max_share: f64,
}

impl DiscardLimit {
    /// Creates an empty count. `max_share` is the maximum fraction of reads that may be dropped, 0 to 1.
    pub(crate) fn new(max_share: f64) -> Self {
        DiscardLimit { max_share, ..DiscardLimit::default() }
    }

    pub(crate) fn add_counts(&self, dropped: u64, all: u64) {
        self.dropped.fetch_add(dropped, Relaxed);
        self.all.fetch_add(all, Relaxed);
    }

    /// Checks the fraction. The run calls this after the last read.
    ///
    /// # Errors
    /// More reads were dropped than the limit allows.
    pub fn check_share(&self) -> Result<()> {
        let (dropped, all) = (self.dropped.load(Relaxed), self.all.load(Relaxed));
        let share = dropped as f64 / all.max(1) as f64;
        if share <= self.max_share {
            return Ok(());
        }
        let percent = |share: f64| format!("{:.3} %", 100.0 * share);
        let what = format!(
            "--whole-templates drops {dropped} of {all} reads ({}), more than {}",
            percent(share),
            percent(self.max_share)
        );
        Err(Error::input(what).hint("to accept this, raise --max-discarded; 1 accepts any fraction"))
    }
}

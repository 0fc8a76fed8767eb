//! The progress of a pass, for a display on another thread. The engine itself never prints.
//!
//! Two atomic counters: nothing to bound, to stop or to fail.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The value of `total` while it is not known.
const UNKNOWN: u64 = u64::MAX;

/// Counters that a display may poll, in whatever unit the caller adds.
#[derive(Debug)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// No work done, and no total known.
    pub fn new() -> Self {
        Progress { done: AtomicU64::new(0), total: AtomicU64::new(UNKNOWN) }
    }

    /// Counts `n` more as done.
    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Relaxed);
    }

    /// The work done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Starts again from zero, with a new total if it is known.
    pub fn restart(&self, total: Option<u64>) {
        self.done.store(0, Relaxed);
        self.set_total(total);
    }

    /// Sets the total, if it is known.
    pub fn set_total(&self, total: Option<u64>) {
        self.total.store(total.unwrap_or(UNKNOWN), Relaxed);
    }

    /// The total, if it is known.
    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Relaxed)).filter(|total| *total != UNKNOWN)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_knows_when_the_total_is_unknown() {
        let progress = Progress::default();
        assert_eq!((progress.done(), progress.total()), (0, None));
        progress.add(3);
        progress.add(4);
        progress.set_total(Some(10));
        assert_eq!((progress.done(), progress.total()), (7, Some(10)));
        progress.set_total(None);
        assert_eq!(progress.total(), None);
    }
}

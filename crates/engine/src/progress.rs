//! Reports the progress of a pass to a display on another thread. The engine itself never prints.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The value of `total` while the total is not known.
const UNKNOWN_TOTAL: u64 = u64::MAX;

/// Counters of finished and total work, which a display polls. The caller chooses the unit, such as
/// input bytes.
///
/// ```
/// use readmill_engine::Progress;
///
/// let progress = Progress::new();
/// progress.set_total(Some(200));
/// progress.add(50); // by the worker threads
/// assert_eq!((progress.done(), progress.total()), (50, Some(200)));
/// ```
#[derive(Debug)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub fn new() -> Self {
        Progress { done: AtomicU64::new(0), total: AtomicU64::new(UNKNOWN_TOTAL) }
    }

    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Relaxed);
    }

    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Resets the counter for the next pass, with a new total if it is known.
    pub fn restart(&self, total: Option<u64>) {
        self.done.store(0, Relaxed);
        self.set_total(total);
    }

    pub fn set_total(&self, total: Option<u64>) {
        self.total.store(total.unwrap_or(UNKNOWN_TOTAL), Relaxed);
    }

    pub fn total(&self) -> Option<u64> {
        Some(self.total.load(Relaxed)).filter(|total| *total != UNKNOWN_TOTAL)
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

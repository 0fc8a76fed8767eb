//! Memory as a number: how much may be in use, and how one total is divided.
//!
//! Bounded by `capacity`; nobody ever waits here, a reservation that does not fit is refused at once and the claimer decides
//! what to do about it. There are no errors to travel.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that may be in use at once.
///
/// The claimer reserves an upper bound, in claim order and before it takes a ticket; the bound is settled when the true size
/// is known; whoever frees the memory releases it. The counters order nothing but themselves, the memory travels by other
/// ways, hence the relaxed atomics.
#[derive(Debug)]
pub struct Budget {
    capacity: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes, all of them free.
    pub fn new(capacity: u64) -> Self {
        Budget { capacity, used: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// Bytes in all.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in use or reserved now.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// The most bytes that ever were in use or reserved.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Takes so many bytes if they are free.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.capacity);
        match self.used.fetch_update(Relaxed, Relaxed, fits) {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// Replaces a reservation by the true size. What it was too large is free again; what it was too small is charged even
    /// above the capacity, because the bytes are there already.
    pub fn settle(&self, reserved: u64, actual: u64) {
        if actual <= reserved {
            self.release(reserved - actual);
        } else {
            let more = actual - reserved;
            let before = self.used.fetch_add(more, Relaxed);
            self.peak.fetch_max(before.saturating_add(more), Relaxed);
        }
    }

    /// Gives bytes back.
    pub fn release(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes, but only {before} were in use");
    }
}

/// How one total is divided among named shares; made to be printed.
#[derive(Clone, Debug)]
pub struct Division {
    total: u64,
    shares: Vec<(&'static str, u64)>,
}

impl Division {
    /// A total of which nothing is taken yet.
    pub fn new(total: u64) -> Self {
        Division { total, shares: Vec::new() }
    }

    /// Adds a share. It need not fit: a division that does not add up says by how much.
    pub fn take(&mut self, name: &'static str, bytes: u64) {
        self.shares.push((name, bytes));
    }

    /// What no share has taken; `None` when the shares exceed the total.
    pub fn remainder(&self) -> Option<u64> {
        self.total.checked_sub(self.needed())
    }

    /// The shares, in the order in which they were taken.
    pub fn shares(&self) -> &[(&'static str, u64)] {
        &self.shares
    }

    /// What is divided.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The sum of the shares.
    pub fn needed(&self) -> u64 {
        self.shares.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_fits_or_changes_nothing() {
        let budget = Budget::new(100);
        assert!(budget.try_reserve(60));
        assert!(!budget.try_reserve(41));
        assert!(!budget.try_reserve(u64::MAX));
        assert_eq!(budget.used(), 60);
        assert!(budget.try_reserve(40));
        assert_eq!((budget.used(), budget.peak(), budget.capacity()), (100, 100, 100));
    }

    #[test]
    fn settling_returns_the_rest_or_charges_the_excess() {
        let budget = Budget::new(100);
        assert!(budget.try_reserve(80));
        budget.settle(80, 30);
        assert_eq!(budget.used(), 30);
        budget.settle(30, 130);
        assert_eq!((budget.used(), budget.peak()), (130, 130));
        assert!(!budget.try_reserve(1));
        budget.release(130);
        assert_eq!((budget.used(), budget.peak()), (0, 130));
    }

    #[test]
    fn threads_together_never_exceed_the_capacity() {
        let budget = Budget::new(10);
        std::thread::scope(|scope| {
            for bytes in 1..=4 {
                let budget = &budget;
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        if budget.try_reserve(bytes) {
                            budget.release(bytes);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
        assert!(budget.peak() <= 10);
    }

    #[test]
    fn a_division_adds_up_or_says_that_it_does_not() {
        let mut division = Division::new(100);
        division.take("code", 30);
        division.take("stacks", 60);
        assert_eq!((division.needed(), division.remainder()), (90, Some(10)));
        division.take("arena", 11);
        assert_eq!((division.total(), division.needed(), division.remainder()), (100, 101, None));
        assert_eq!(division.shares(), [("code", 30), ("stacks", 60), ("arena", 11)]);
        division.take("too much", u64::MAX);
        assert_eq!((division.needed(), division.remainder()), (u64::MAX, None));
    }
}

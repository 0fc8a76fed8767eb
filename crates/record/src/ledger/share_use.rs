//! The actual use of memory that was charged in advance, for the summary of a run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Ledger, UserName};

/// Tracks the actual use of a share that was charged in advance for `number` buffers of each of `KINDS`
/// kinds.
///
/// Tickets in flight hold these buffers. Their use is estimated as the sum of the largest buffer of each
/// kind so far, times `number`, and reported to the ledger ([`Ledger::record_used`]).
pub struct ShareUse<const KINDS: usize> {
    ledger: Ledger,
    name: UserName,
    number: u64,
    largest: [AtomicU64; KINDS],
}

impl<const KINDS: usize> ShareUse<KINDS> {
    pub fn new(ledger: &Ledger, name: UserName, number: usize) -> Self {
        let largest = std::array::from_fn(|_| AtomicU64::new(0));
        ShareUse { ledger: ledger.clone(), name, number: number as u64, largest }
    }

    /// Records that a buffer of this kind has `bytes` bytes. This is called for every ticket, so it
    /// locks the ledger only if the buffer is larger than all before it.
    pub fn note_buffer(&self, kind: usize, bytes: u64) {
        if self.largest[kind].fetch_max(bytes, Relaxed) < bytes {
            let sum: u64 = self.largest.iter().map(|largest| largest.load(Relaxed)).sum();
            self.ledger.record_used(self.name, self.number * sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_listed_as_far_as_it_was_used() {
        let ledger = Ledger::with_capacity(100);
        let (_a, _b) = (ledger.charge("a", 60).unwrap(), ledger.charge("b", 20).unwrap());
        let used = ShareUse::<2>::new(&ledger, "a", 3);
        for (kind, bytes) in [(0, 4), (1, 2), (0, 5), (1, 1)] {
            used.note_buffer(kind, bytes);
        }
        assert_eq!(ledger.users_at_peak(), [("a", 3 * (5 + 2)), ("b", 20)]);
        assert_eq!((ledger.used(), ledger.peak()), (80, 80));
        used.note_buffer(1, 50); // never more than the share
        assert_eq!(ledger.users_at_peak()[0], ("a", 60));
    }
}

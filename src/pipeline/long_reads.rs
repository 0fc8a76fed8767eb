//! The memory of long reads and CRAM containers under way.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_input::MAX_CLAIM;
use readmill_record::{Charge, Ledger};

use crate::pipeline::inputs::InputTask;

/// Charges what reads in flight take beyond the share of a batch: CRAM containers, long reads, and records that the
/// link holds back.
///
/// How much a long read takes is known when it is linked, and then it cannot wait. So once there are long reads, a task is
/// claimed only if the next one, and the growth of those that are not linked yet, fit into the free memory; else the
/// claimer claims idle tickets until earlier ones are committed.
pub struct LongReads<'a> {
    ledger: &'a Ledger,
    copies: u64,
    /// The bytes of a batch that has a share of memory.
    usual: u64,
    /// The largest charge of a ticket, and how much one grew when it was linked.
    largest: AtomicU64,
    growth: AtomicU64,
    /// Tickets that were claimed, linked, committed: idle ones do not count.
    claimed: AtomicU64,
    linked: AtomicU64,
    committed: AtomicU64,
}

/// How many copies of a long read are in memory at once: in its batch, in a step, and encoded.
pub const COPIES: u64 = 4;

impl<'a> LongReads<'a> {
    /// The name of the memory.
    pub const NAME: &'static str = "long reads and CRAM containers under way";

    /// Charges reads to `ledger`, of which so many copies are in memory at once, beyond batches of `usual` bytes.
    pub fn new(ledger: &'a Ledger, copies: u64, usual: u64) -> Self {
        let (largest, growth, claimed, linked, committed) = Default::default();
        LongReads { ledger, copies, usual, largest, growth, claimed, linked, committed }
    }

    /// Whether the next task must wait for tickets under way.
    pub fn must_wait(&self) -> bool {
        let (largest, growth) = (self.largest.load(Relaxed), self.growth.load(Relaxed));
        if largest == 0 || !self.any_under_way() {
            return false;
        }
        let unlinked = self.claimed.load(Relaxed) - self.linked.load(Relaxed);
        // Half as much again, for a line of SAM that is not claimed yet.
        self.ledger.free() < largest + largest / 2 + unlinked * growth
    }

    /// Whether tickets are under way, which will release memory.
    pub fn any_under_way(&self) -> bool {
        self.claimed.load(Relaxed) > self.committed.load(Relaxed)
    }

    /// Charges a task that is claimed. The charge of a CRAM container never exceeds the limit for containers, because the
    /// input refuses larger ones.
    pub fn claim(&self, next: &InputTask) -> Charge {
        self.claimed.fetch_add(1, Relaxed);
        let mut charge = self.ledger.empty(LongReads::NAME);
        let bytes = next.bound() + next.working() + next.read_bytes();
        charge.resize(bytes.saturating_sub(3 * MAX_CLAIM as u64));
        self.largest.fetch_max(charge.bytes(), Relaxed);
        charge
    }

    /// Charges the reads that the link has released, and those that it still holds back.
    pub fn link(&self, bytes: u64, waiting: u64, charge: &mut Charge, held_back: &mut Charge) {
        let cost = |bytes: u64| self.copies * bytes.saturating_sub(self.usual);
        let claimed = charge.bytes();
        charge.resize(claimed.max(cost(bytes)));
        held_back.resize(waiting);
        let largest = charge.bytes().max(cost(waiting));
        self.largest.fetch_max(largest, Relaxed);
        self.growth.fetch_max(largest - claimed, Relaxed);
        self.linked.fetch_add(1, Relaxed);
    }

    /// Notes that a ticket was committed.
    pub fn commit(&self) {
        self.committed.fetch_add(1, Relaxed);
    }
}

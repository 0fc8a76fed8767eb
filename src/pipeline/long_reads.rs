//! Limits the memory of long reads and CRAM containers in flight.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_input::MAX_CLAIM_BYTES;
use readmill_record::{Charge, Ledger};

use crate::pipeline::inputs::InputTask;

/// The memory of reads in flight in addition to the usual share of a batch: for CRAM containers,
/// long reads, and records that the linker holds back.
///
/// The size of a long read is known only when it is linked, and by then it cannot wait. So after
/// the first long read, a task is claimed only if free memory suffices for the largest read so far
/// and for the growth of tasks that are claimed but not yet linked. Otherwise, the claimer claims
/// idle tickets until earlier tickets are committed.
pub struct LongReads<'a> {
    ledger: &'a Ledger,
    copies: u64,
    usual_batch_bytes: u64,
    /// Largest charge of a ticket so far. `growth` is the largest increase of a charge when its
    /// ticket was linked.
    largest_charge: AtomicU64,
    largest_growth: AtomicU64,
    /// Numbers of tickets claimed, linked and committed so far, without idle tickets.
    claimed: AtomicU64,
    linked: AtomicU64,
    committed: AtomicU64,
}

/// Copies of a long read in memory at once: in its batch, in a step, and encoded.
pub const LONG_READ_COPIES: u64 = 4;

impl<'a> LongReads<'a> {
    pub const LEDGER_NAME: &'static str = "long reads and CRAM containers in progress";

    /// Creates the limit. Reads in batches of more than `usual` bytes are charged to `ledger`,
    /// `copies` times.
    pub fn new(ledger: &'a Ledger, copies: u64, usual: u64) -> Self {
        let (largest, growth, claimed, linked, committed) = Default::default();
        LongReads {
            ledger,
            copies,
            usual_batch_bytes: usual,
            largest_charge: largest,
            largest_growth: growth,
            claimed,
            linked,
            committed,
        }
    }

    pub fn must_wait(&self) -> bool {
        let (largest, growth) = (self.largest_charge.load(Relaxed), self.largest_growth.load(Relaxed));
        if largest == 0 || !self.has_tickets_in_flight() {
            return false;
        }
        let unlinked = self.claimed.load(Relaxed) - self.linked.load(Relaxed);
        // The factor 1.5 covers a SAM line that is not completely claimed yet.
        self.ledger.free() < largest + largest / 2 + unlinked * growth
    }

    pub fn has_tickets_in_flight(&self) -> bool {
        self.claimed.load(Relaxed) > self.committed.load(Relaxed)
    }

    /// Charges a claimed task. The charge of a CRAM container never exceeds the container limit,
    /// because the inputs reject larger containers.
    pub fn charge_claimed_task(&self, next: &InputTask) -> Charge {
        self.claimed.fetch_add(1, Relaxed);
        let mut charge = self.ledger.empty_charge(LongReads::LEDGER_NAME);
        let bytes = next.max_record_bytes() + next.extra_open_bytes() + next.read_bytes();
        charge.resize(bytes.saturating_sub(3 * MAX_CLAIM_BYTES as u64));
        self.largest_charge.fetch_max(charge.bytes(), Relaxed);
        charge
    }

    /// Adjusts the charges after a task is linked. `bytes` is the size of the records that the
    /// linker passed on; `waiting` is the size of the records that it still holds back.
    pub fn charge_linked_reads(
        &self,
        bytes: u64,
        waiting: u64,
        charge: &mut Charge,
        held_back: &mut Charge,
    ) {
        let cost = |bytes: u64| self.copies * bytes.saturating_sub(self.usual_batch_bytes);
        let claimed = charge.bytes();
        charge.resize(claimed.max(cost(bytes)));
        held_back.resize(waiting);
        let largest = charge.bytes().max(cost(waiting));
        self.largest_charge.fetch_max(largest, Relaxed);
        self.largest_growth.fetch_max(largest - claimed, Relaxed);
        self.linked.fetch_add(1, Relaxed);
    }

    pub fn record_commit(&self) {
        self.committed.fetch_add(1, Relaxed);
    }
}

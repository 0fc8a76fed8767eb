//! Sums over all ledgers of the process, with which debug builds audit themselves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static CHARGED: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// The most bytes that were charged beyond the capacity of a ledger, because they were in use already.
static OVERDRAWN: AtomicU64 = AtomicU64::new(0);

/// Bytes that are charged now.
pub fn sum_charged() -> u64 {
    CHARGED.load(Relaxed)
}

/// Bytes in use of memory mapped for an [`Arena`](crate::Arena), which the allocator does not see.
pub fn sum_mapped() -> u64 {
    MAPPED.load(Relaxed)
}

/// The most bytes that were charged beyond the capacity of a ledger.
pub fn most_overdrawn() -> u64 {
    OVERDRAWN.load(Relaxed)
}

pub(super) fn overdrawn(bytes: u64) {
    if cfg!(debug_assertions) {
        OVERDRAWN.fetch_max(bytes, Relaxed);
    }
}

pub(super) fn charged(bytes: u64) {
    if cfg!(debug_assertions) {
        CHARGED.fetch_add(bytes, Relaxed);
    }
}

pub(super) fn released(bytes: u64) {
    if cfg!(debug_assertions) {
        CHARGED.fetch_sub(bytes, Relaxed);
    }
}

pub(crate) fn mapped(bytes: usize) {
    if cfg!(debug_assertions) {
        MAPPED.fetch_add(bytes as u64, Relaxed);
    }
}

pub(crate) fn unmapped(bytes: usize) {
    if cfg!(debug_assertions) {
        MAPPED.fetch_sub(bytes as u64, Relaxed);
    }
}

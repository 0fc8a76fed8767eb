//! Sums over all ledgers of the process. Debug builds compare them with the memory that the allocator
//! has handed out, so that memory that nobody charged is found by the tests (`readmill::audit`).
//!
//! In release builds nothing is counted, and all sums are 0.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static CHARGED: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// Largest number of bytes charged beyond the capacity of a ledger, for memory that was in use already.
static OVERDRAWN: AtomicU64 = AtomicU64::new(0);

pub fn sum_charged() -> u64 {
    CHARGED.load(Relaxed)
}

/// Returns the bytes of [`Arena`](crate::Arena)s in use. They are mapped directly, so the allocator does
/// not count them.
pub fn sum_mapped() -> u64 {
    MAPPED.load(Relaxed)
}

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

//! Sums over all ledgers of the process. Debug builds compare them with the memory that the allocator
//! has handed out, so that tests detect memory that was not charged (`readmill::audit`).
//!
//! In release builds nothing is counted, and all sums are 0.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static CHARGED: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// Largest number of bytes charged beyond the capacity of a ledger, for memory already in use.
static MAX_OVERDRAFT: AtomicU64 = AtomicU64::new(0);

pub fn sum_charged() -> u64 {
    CHARGED.load(Relaxed)
}

/// Returns the bytes of [`Arena`](crate::Arena)s in use. They are mapped directly, so the allocator does
/// not count them.
pub fn sum_mapped() -> u64 {
    MAPPED.load(Relaxed)
}

pub fn max_overdraft() -> u64 {
    MAX_OVERDRAFT.load(Relaxed)
}

pub(super) fn note_overdraft(bytes: u64) {
    if cfg!(debug_assertions) {
        MAX_OVERDRAFT.fetch_max(bytes, Relaxed);
    }
}

pub(super) fn add_charged(bytes: u64) {
    if cfg!(debug_assertions) {
        CHARGED.fetch_add(bytes, Relaxed);
    }
}

pub(super) fn subtract_charged(bytes: u64) {
    if cfg!(debug_assertions) {
        CHARGED.fetch_sub(bytes, Relaxed);
    }
}

pub(crate) fn add_mapped(bytes: usize) {
    if cfg!(debug_assertions) {
        MAPPED.fetch_add(bytes as u64, Relaxed);
    }
}

pub(crate) fn subtract_mapped(bytes: usize) {
    if cfg!(debug_assertions) {
        MAPPED.fetch_sub(bytes as u64, Relaxed);
    }
}

//! The memory audit of builds with debug assertions: it compares allocated with charged memory.
//!
//! A run promises to stay within `-m`, and its ledger says who uses how much of it. Here an allocator counts what is in
//! fact allocated. A run in which that outruns the charges, the share of code and libraries left out, by more than
//! [`SLACK`], in which more than `OVERDRAFT` is charged beyond `-m` because it was in use before anyone asked
//! (`Charge::resize`), or whose process outgrows `-m`, ends with an error, so that every end-to-end test tests the ledger,
//! too. The count leaves out memory that C and C++ allocate (the aligner); the size of the process includes it.
//! `READMILL_AUDIT=trace` prints where the first allocation too many was made.
#![allow(unsafe_code, reason = "is an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use readmill_record::ledger::audit;
use readmill_record::{Error, Result};

use crate::process::used;
use crate::run::memory;

/// Bytes that may be allocated beyond what is charged: small tables, messages, what several threads free at once. They are
/// part of the program's share.
pub const SLACK: u64 = 4 << 20;

/// Bytes that may be charged beyond `-m` for a moment, and the eighths of `-m` if these are more. Long reads are charged once
/// they have been read, and copies of them before the first charge shrinks: with a field of 10 million numbers the charges
/// were 35 % beyond `-m`, while the process had two thirds of it in use (design note 0005).
const OVERDRAFT: u64 = 16 << 20;
const OVERDRAFT_EIGHTHS: u64 = 3;

static LIVE: AtomicU64 = AtomicU64::new(0);
/// The most bytes beyond the charges.
static EXCESS: AtomicU64 = AtomicU64::new(0);
/// Whether a run has divided its memory, and whether one is under way.
static BEGUN: AtomicBool = AtomicBool::new(false);
static UNDER_WAY: AtomicBool = AtomicBool::new(false);
static TRACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is making a trace, which allocates.
    static TRACING: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which counts.
pub struct CountingAllocator;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= layout.size() {
            allocated(size - layout.size());
        } else {
            freed(layout.size() - size);
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

fn allocated(bytes: usize) {
    let live = LIVE.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    if !UNDER_WAY.load(Relaxed) {
        return;
    }
    let charged = audit::sum_charged();
    let excess = (live + audit::sum_mapped() + memory::PROGRAM).saturating_sub(charged);
    if excess > SLACK {
        EXCESS.fetch_max(excess, Relaxed);
        if !TRACED.load(Relaxed) && !TRACING.replace(true) {
            trace(excess);
            TRACING.set(false);
        }
    }
}

fn freed(bytes: usize) {
    LIVE.fetch_sub(bytes as u64, Relaxed);
}

/// Prints once where uncharged memory was allocated.
fn trace(excess: u64) {
    if !TRACED.swap(true, Relaxed) && std::env::var_os("READMILL_AUDIT").is_some_and(|it| it == "trace")
    {
        eprintln!(
            "{} KiB are allocated beyond what is charged ({} KiB and {} KiB mapped, {} KiB charged), at\n{}",
            excess >> 10,
            LIVE.load(Relaxed) >> 10,
            audit::sum_mapped() >> 10,
            audit::sum_charged() >> 10,
            Backtrace::force_capture()
        );
    }
}

/// An audit under way; it ends when this is dropped, which must be before the charges are given back.
pub struct Audit;

/// Begins the audit of a run, whose memory is divided.
#[must_use]
pub fn begin() -> Audit {
    BEGUN.store(true, Relaxed);
    UNDER_WAY.store(true, Relaxed);
    Audit
}

impl Drop for Audit {
    fn drop(&mut self) {
        UNDER_WAY.store(false, Relaxed);
    }
}

/// Compares allocated with charged memory, and the peak of the process with `-m`.
///
/// # Errors
/// More was used than promised.
pub fn check(limit: u64) -> Result<()> {
    let excess = EXCESS.load(Relaxed);
    if excess > 0 {
        return Err(Error::bug(format!("{} KiB were allocated beyond what was charged", excess >> 10)));
    }
    let overdrawn = audit::most_overdrawn();
    let allowed = OVERDRAFT.max(limit / 8 * OVERDRAFT_EIGHTHS);
    if overdrawn > allowed && BEGUN.load(Relaxed) {
        return Err(Error::bug(format!("{} KiB were charged beyond what -m allows", overdrawn >> 10)));
    }
    match used::peak_rss().filter(|&peak| BEGUN.load(Relaxed) && peak > limit) {
        Some(peak) => Err(Error::bug(format!(
            "{} MiB of memory were used at most, and -m allows {}",
            peak.div_ceil(1 << 20),
            limit >> 20
        ))),
        None => Ok(()),
    }
}

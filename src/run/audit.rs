//! The memory audit in builds with debug assertions: compares allocated memory with the memory
//! charged to the ledger.
//!
//! A run promises to stay within `-m`, and the ledger records how much memory each part of the
//! program uses. The allocator in this module counts all allocations. A run ends with an error if
//! it exceeds one of these limits, so every end-to-end test also tests the ledger:
//!
//! 1. Allocated memory, minus the fixed share of code and libraries, is at most
//!    [`SLACK`] more than the charges.
//! 2. Charges exceed `-m` by at most `MAX_OVERDRAFT_BYTES`. They can exceed `-m` because
//!    `Charge::resize` records memory that is already in use.
//! 3. The peak memory of the process is at most `-m`.
//!
//! The allocator does not count memory that C and C++ code (the aligner) allocates, but the size of
//! the process includes it. With `READMILL_AUDIT=trace`, the first allocation beyond the limit is
//! printed with a backtrace.
#![allow(unsafe_code, reason = "is an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use readmill_process::{limit, used};
use readmill_record::ledger::audit;
use readmill_record::{Error, Result};

/// Bytes that may be allocated without a charge: small tables, messages, and memory that several
/// threads free at the same time. They belong to the fixed share of the program.
pub const SLACK: u64 = 4 << 20;

/// Bytes by which the charges may briefly exceed `-m`. The limit is this or three eighths of `-m`,
/// whichever is larger. Long reads are charged after they have been read, and copies of them are
/// charged before the first charge shrinks: with an optional field of 10 million numbers, the
/// charges were 35 % beyond `-m`, while the process used two thirds of `-m` (design note 0005).
const MAX_OVERDRAFT_BYTES: u64 = 16 << 20;
const MAX_OVERDRAFT_EIGHTHS: u64 = 3;

static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);
/// The peak of allocated bytes beyond the charges, if it exceeded [`SLACK`].
static PEAK_EXCESS_BYTES: AtomicU64 = AtomicU64::new(0);
/// Whether any run has begun, and whether one is being audited now.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static WAS_TRACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is capturing a backtrace. Capturing allocates memory, which must not
    /// start another backtrace.
    static IS_TRACING: Cell<bool> = const { Cell::new(false) };
}

pub struct CountingAllocator;

// SAFETY: all calls are passed to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= layout.size() {
            count_allocation(size - layout.size());
        } else {
            count_release(layout.size() - size);
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count_release(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Counts an allocation. While an audit is active, compares the total with the charges.
fn count_allocation(bytes: usize) {
    let live = ALLOCATED_BYTES.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    if !IS_ACTIVE.load(Relaxed) {
        return;
    }
    let charged = audit::sum_charged();
    let excess = (live + audit::sum_mapped() + limit::PROGRAM_BYTES).saturating_sub(charged);
    if excess > SLACK {
        PEAK_EXCESS_BYTES.fetch_max(excess, Relaxed);
        if !WAS_TRACED.load(Relaxed) && !IS_TRACING.replace(true) {
            print_backtrace(excess);
            IS_TRACING.set(false);
        }
    }
}

fn count_release(bytes: usize) {
    ALLOCATED_BYTES.fetch_sub(bytes as u64, Relaxed);
}

fn print_backtrace(excess: u64) {
    if !WAS_TRACED.swap(true, Relaxed)
        && std::env::var_os("READMILL_AUDIT").is_some_and(|it| it == "trace")
    {
        eprintln!(
            "{} KiB more are allocated than charged ({} KiB and {} KiB mapped, {} KiB charged), at\n{}",
            excess >> 10,
            ALLOCATED_BYTES.load(Relaxed) >> 10,
            audit::sum_mapped() >> 10,
            audit::sum_charged() >> 10,
            Backtrace::force_capture()
        );
    }
}

/// An active audit. It ends when this value is dropped, which must happen before the charges of the
/// run are released.
pub struct Audit;

/// Begins the audit of a run. Called after the memory of the run has been divided.
#[must_use]
pub fn begin_audit() -> Audit {
    HAS_BEGUN.store(true, Relaxed);
    IS_ACTIVE.store(true, Relaxed);
    Audit
}

impl Drop for Audit {
    fn drop(&mut self) {
        IS_ACTIVE.store(false, Relaxed);
    }
}

/// Returns an error if a run has exceeded one of the limits in the module documentation. `limit` is
/// `-m` in bytes.
pub fn check_limits(limit: u64) -> Result<()> {
    let excess = PEAK_EXCESS_BYTES.load(Relaxed);
    if excess > 0 {
        return Err(Error::bug(format!("{} KiB more were allocated than charged", excess >> 10)));
    }
    let overdrawn = audit::max_overdraft();
    let allowed = MAX_OVERDRAFT_BYTES.max(limit / 8 * MAX_OVERDRAFT_EIGHTHS);
    if overdrawn > allowed && HAS_BEGUN.load(Relaxed) {
        return Err(Error::bug(format!("{} KiB more were charged than -m allows", overdrawn >> 10)));
    }
    match used::peak_resident_bytes().filter(|&peak| HAS_BEGUN.load(Relaxed) && peak > limit) {
        Some(peak) => Err(Error::bug(format!(
            "peak memory was {} MiB, but -m allows {} MiB",
            peak.div_ceil(1 << 20),
            limit >> 20
        ))),
        None => Ok(()),
    }
}

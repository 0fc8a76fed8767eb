//! Settings of the C library's allocator that keep resident memory to what is in use.
#![allow(unsafe_code, reason = "sets the allocator of C")]

use std::ffi::c_int;

/// How the allocator serves the threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heaps {
    /// Threads allocate little at once, and large buffers come from arenas: all threads share two heaps, and a buffer
    /// of 128 KiB or more goes back to the system when it is freed (glibc would otherwise learn to keep them).
    Few,
    /// As few heaps, but freed buffers are kept: containers of CRAM and their text take many of them, again and again, and
    /// the system would clear each page for each container.
    FewKept,
    /// This many threads align, and allocate for every read. Each has its own heap, and so has the first thread:
    /// threads that share a heap wait for each other. A batch takes and frees buffers of more than 128 KiB; returned
    /// each time, the system would clear them again, which was 2 % of the cycles of a run.
    Aligning(usize),
}

/// Configures the allocator. Call it before the first thread starts: glibc reads the number of heaps when the first
/// thread allocates, and never again.
pub fn configure(heaps: Heaps) {
    let (count, keep, trim) = match heaps {
        Heaps::Few => (2, 128 << 10, 1 << 20),
        Heaps::FewKept => (2, 32 << 20, 32 << 20),
        Heaps::Aligning(threads) => (threads + 1, 32 << 20, 8 << 20), // 32 MiB is the most that glibc takes
    };
    set(c_int::try_from(count).unwrap_or(c_int::MAX), keep, trim);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(heaps: c_int, keep: c_int, trim: c_int) {
    // SAFETY: `mallopt` only sets parameters of the allocator; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, keep);
        libc::mallopt(libc::M_TRIM_THRESHOLD, trim);
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn set(_: c_int, _: c_int, _: c_int) {}

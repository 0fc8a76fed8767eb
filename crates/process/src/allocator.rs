//! Configures the allocator of the C library, so that resident memory stays close to the memory in
//! use.
#![allow(unsafe_code, reason = "sets the allocator of C")]

use std::ffi::c_int;

/// The number of heaps (glibc arenas) for the threads of a run, and whether they keep freed
/// buffers. More heaps use more memory but reduce waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heaps {
    /// All threads share two heaps. Used if threads allocate little from the heap, because their
    /// large buffers are mapped separately. A buffer of 128 KiB or more is returned to the system
    /// when it is freed (glibc would otherwise learn to keep such buffers).
    Few,
    /// Two heaps that keep freed buffers. Used for `view` and `depth`, whatever the format of the
    /// input is, because containers of CRAM and their text need many large buffers, and the system
    /// would otherwise clear their pages again for each container.
    FewKept,
    /// One heap for each of this many aligning threads, and one for the main thread. Aligners
    /// allocate for every read, so threads that share a heap wait for each other. Freed buffers are
    /// kept: a batch allocates and frees buffers of more than 128 KiB, and clearing their pages
    /// each time took 2 % of the cycles of a run.
    Aligning(usize),
}

/// Configures the allocator. It must be called before the first thread starts, because glibc reads
/// the number of heaps when the first thread allocates, and never again.
pub fn configure_allocator(heaps: Heaps) {
    let (count, keep, trim) = match heaps {
        Heaps::Few => (2, 128 << 10, 1 << 20),
        Heaps::FewKept => (2, 32 << 20, 32 << 20),
        Heaps::Aligning(threads) => (threads + 1, 32 << 20, 8 << 20), // 32 MiB is the maximum in glibc
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

/// Sets up mimalloc, which replaces malloc and free of musl for Rust, C and C++ alike.
///
/// Its arenas keep memory for a second after it is freed, and for other threads. So larger buffers
/// are mapped one by one, and unmapped when they are freed.
#[cfg(target_env = "musl")]
fn set(_: c_int, keep: c_int, _: c_int) {
    /// `mi_option_arena_max_object_size` of mimalloc 3.3, in KiB. The crate has no name for it.
    const ARENA_MAX_OBJECT_SIZE: libmimalloc_sys::mi_option_t = 45;
    const { assert!(libmimalloc_sys::_mi_option_last == 47, "options have other numbers") };
    // SAFETY: it only sets a parameter of the allocator; no other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(ARENA_MAX_OBJECT_SIZE, (keep >> 10).into()) };
}

/// Keeps a system that uses pages of 2 MiB everywhere (`always`) from using them for mimalloc's
/// arenas, in which a few blocks would then hold much memory. Since Linux 6.18, readmill's own
/// arenas still get the pages that they ask for. It must be the first call of the program: pages
/// that exist keep their size. Other allocators than mimalloc need no such call.
#[cfg(target_env = "musl")]
pub fn refuse_huge_pages() {
    const EXCEPT_ADVISED: libc::c_ulong = 1 << 1; // PR_THP_DISABLE_EXCEPT_ADVISED
    let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if mode.is_ok_and(|mode| !mode.contains("[always]")) {
        return;
    }
    let disable = |flags: libc::c_ulong| {
        let (on, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
        // SAFETY: it only sets a flag of this process.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, flags, none, none) == 0 }
    };
    let _ = disable(EXCEPT_ADVISED) || disable(0);
}

#[cfg(not(target_env = "musl"))]
pub fn refuse_huge_pages() {}

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
fn set(_: c_int, _: c_int, _: c_int) {}

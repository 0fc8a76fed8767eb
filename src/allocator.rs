//! Settings of the C library's allocator that keep resident memory to what is in use.

/// Heaps that threads share where little is allocated by several at once.
pub const FEW_HEAPS: usize = 2;

/// Gives every buffer of 128 KiB or more back to the system when it is freed (glibc would learn to keep
/// them), and lets all threads share so many heaps. Call it before the first thread starts: glibc looks at the number
/// of heaps when the first of them allocates, and never again.
pub fn settle(heaps: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` only sets parameters of the allocator; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
        libc::mallopt(libc::M_ARENA_MAX, libc::c_int::try_from(heaps).unwrap_or(libc::c_int::MAX));
    }
}

//! Compares bytes with `memcmp` and `bcmp`, in builds whose C library is musl.
//!
//! Compilers call these functions for each comparison of names, tags and keys. Those of musl read
//! one byte at a time, which took 5 % of the time of `qc`. These read 8 bytes at a time. Their
//! loops must not be the loops that compilers replace by calls of these functions, which would never
//! end.
#![allow(unsafe_code, reason = "defines functions of C")]

use std::ffi::{c_int, c_void};

/// Reads 8 bytes at `at`, which need not be aligned.
///
/// # Safety
/// `start` must be valid for reads of `at + 8` bytes.
#[inline(always)]
unsafe fn read_word(start: *const u8, at: usize) -> u64 {
    // SAFETY: the caller promises it.
    unsafe { start.add(at).cast::<u64>().read_unaligned() }
}

/// Returns the order of the first bytes that differ, as a negative number, 0, or a positive number.
///
/// # Safety
/// `one` and `other` must be valid for reads of `length` bytes.
#[inline(always)]
unsafe fn compare_bytes(one: *const u8, other: *const u8, length: usize) -> c_int {
    // SAFETY: all reads end at `length` at most.
    unsafe {
        if length < 8 {
            let mut at = 0;
            while at < length {
                let (x, y) = (*one.add(at), *other.add(at));
                if x != y {
                    return c_int::from(x) - c_int::from(y);
                }
                at += 1;
            }
            return 0;
        }
        let mut at = 0;
        loop {
            let (x, y) = (read_word(one, at), read_word(other, at));
            if x != y {
                return if x.to_be() < y.to_be() { -1 } else { 1 };
            }
            at += 8;
            if at == length {
                return 0;
            }
            // The last word overlaps the one before it, whose bytes are equal.
            at = at.min(length - 8);
        }
    }
}

/// # Safety
/// As for `memcmp` of C: both pointers must be valid for reads of `length` bytes.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { compare_bytes(one.cast(), other.cast(), length) }
}

/// # Safety
/// As for `memcmp` of C: both pointers must be valid for reads of `length` bytes.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn bcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { compare_bytes(one.cast(), other.cast(), length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_order_of_slices() {
        let text: Vec<u8> = (0..40).map(|i| b"aab\x80\xff"[i * 7 % 5]).collect();
        for length in 0..=24 {
            for one in 0..8 {
                for changed in 0..=length {
                    let mut other = text[one..one + length].to_vec();
                    if let Some(byte) = other.get_mut(changed) {
                        *byte = byte.wrapping_add(100);
                    }
                    let this = &text[one..one + length];
                    // SAFETY: both slices have `length` bytes.
                    let order = unsafe { memcmp(this.as_ptr().cast(), other.as_ptr().cast(), length) };
                    assert_eq!(order.cmp(&0), this.cmp(&other[..]), "{this:?} {other:?}");
                    // SAFETY: both slices have `length` bytes.
                    let differ = unsafe { bcmp(this.as_ptr().cast(), other.as_ptr().cast(), length) };
                    assert_eq!(differ != 0, this != &other[..]);
                }
            }
        }
    }
}

//! Tells C code which instructions the processor has, in builds whose C library is musl.
//!
//! bwa-mem3 chooses its kernels with `__builtin_cpu_supports`, which reads `__cpu_model`. The
//! compiler's library has to define it. That of Zig 0.17 defines it with no features at all, so all
//! processors would use the slowest kernels.
#![allow(unsafe_code, reason = "defines symbols for C")]

use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// `struct __processor_model` of libgcc and of LLVM's compiler-rt.
#[repr(C)]
struct ProcessorModel {
    vendor: c_uint,
    kind: c_uint,
    subtype: c_uint,
    features: AtomicU32,
}

#[unsafe(no_mangle)]
static __cpu_model: ProcessorModel =
    ProcessorModel { vendor: 0, kind: 0, subtype: 0, features: AtomicU32::new(0) };

/// Called by `__builtin_cpu_init`. The bits are the numbers of `enum processor_features`.
#[unsafe(no_mangle)]
extern "C" fn __cpu_indicator_init() -> c_int {
    let has = [
        (2, is_x86_feature_detected!("popcnt")),
        (3, is_x86_feature_detected!("sse")),
        (4, is_x86_feature_detected!("sse2")),
        (5, is_x86_feature_detected!("sse3")),
        (6, is_x86_feature_detected!("ssse3")),
        (7, is_x86_feature_detected!("sse4.1")),
        (8, is_x86_feature_detected!("sse4.2")),
        (9, is_x86_feature_detected!("avx")),
        (10, is_x86_feature_detected!("avx2")),
        (15, is_x86_feature_detected!("avx512f")),
        (20, is_x86_feature_detected!("avx512vl")),
        (21, is_x86_feature_detected!("avx512bw")),
    ];
    let bits = has.into_iter().filter(|(_, has)| *has).fold(0, |bits, (bit, _)| bits | 1 << bit);
    __cpu_model.features.store(bits, Relaxed);
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_the_bits_that_compilers_read() {
        assert_eq!(__cpu_indicator_init(), 0);
        let bits = __cpu_model.features.load(Relaxed);
        assert_eq!(bits >> 4 & 1, 1, "every x86-64 processor has SSE2");
        assert_eq!(bits >> 10 & 1 == 1, is_x86_feature_detected!("avx2"));
    }
}

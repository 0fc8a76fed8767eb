//! Runs a kernel with flush-to-zero: results below the smallest normal number become 0.
//!
//! GKL sets this mode, and its results depend on it: probabilities of improbable alignments shrink
//! until they are subnormal, and the rounding of sums with them differs.
//!
//! Rust assumes that MXCSR always has its default mode, and calls it undefined behaviour to compute in
//! another one (`core::arch::x86_64::_mm_setcsr`). So this relies on what compilers do today: they may
//! compute an operation themselves, or move it over the instructions that change the mode. Both are
//! kept from happening to the operations of a kernel:
//! - they cannot be computed before the program runs, since all operands are in memory whose address
//!   the first instruction receives, so the compiler must assume that this instruction writes them;
//! - they cannot move over the instructions, since they read and write this memory, the compiler must
//!   assume that the instructions do as well, and the kernel is called by a pointer that is unknown.
//!
//! The tests compare kernels in this mode with operations in software that flush.
#![allow(unsafe_code, reason = "writes MXCSR, the mode of floating-point operations")]

use std::arch::asm;
use std::hint::black_box;
use std::ptr::from_mut;

/// All exceptions masked, rounding to nearest, and flush-to-zero.
static FLUSHING: u32 = 0x1f80 | 1 << 15;

/// Restores the mode when the kernel returns or panics.
struct Restore<T> {
    before: u32,
    memory: *mut T,
}

impl<T> Drop for Restore<T> {
    fn drop(&mut self) {
        // SAFETY: loads the mode that was read from the same register. The instruction only reads
        // `before`; `memory` is named so that the compiler keeps the kernel's writes before it.
        unsafe {
            asm!("/* {memory} */", "ldmxcsr [{mode}]", mode = in(reg) &raw const self.before,
                memory = in(reg) self.memory, options(nostack));
        }
    }
}

/// Calls `kernel` with `memory`, which must hold all its operands and results, in flush-to-zero mode.
pub(super) fn run_flushing<T>(memory: &mut T, kernel: fn(&mut T)) {
    let mut before = 0_u32;
    let pointer = from_mut(memory);
    // SAFETY: stores the mode in `before`, and loads one that masks all exceptions. `Restore` loads
    // the former mode again before this function returns.
    unsafe {
        asm!("/* {memory} */", "stmxcsr [{before}]", "ldmxcsr [{mode}]",
            before = in(reg) &raw mut before, mode = in(reg) &raw const FLUSHING,
            memory = in(reg) pointer, options(nostack));
    }
    let _restore = Restore { before, memory: pointer };
    // SAFETY: the pointer is that of `memory`, which nothing else uses until the function returns.
    black_box(kernel)(unsafe { &mut *pointer });
}

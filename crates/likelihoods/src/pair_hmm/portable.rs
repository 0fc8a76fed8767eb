//! Kernels for every processor: arrays, which the compiler turns into the vectors that it may use.
//!
//! On x86-64, the mode of the processor flushes results to zero. On other processors, the kernels look
//! at products one by one if one of them is so small, because the modes of these processors decide
//! before rounding what is too small.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "runs instructions of AVX"))]

use std::array::from_fn;

use super::kernel::Group;
use super::lanes::{Lanes, Real};
use super::soft_fma::{fuse_f32, fuse_f64, fuse_to_odd};

/// Whether `mul_add` is one instruction.
const HAS_FUSED_INSTRUCTION: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// Whether this processor's mode flushes to zero like GKL.
const HAS_FLUSHING_MODE: bool = cfg!(target_arch = "x86_64");

/// 8 `f32`, and 4 `f64`. On processors other than x86-64, they flush by themselves.
pub(super) type F32s = Portable<f32, 8, { !HAS_FLUSHING_MODE }>;
pub(super) type F64s = Portable<f64, 4, { !HAS_FLUSHING_MODE }>;

/// `N` numbers. With `FLUSH`, operations flush to zero without a mode of the processor.
#[derive(Clone, Copy)]
pub(super) struct Portable<T, const N: usize, const FLUSH: bool>([T; N]);

/// The numbers of [`Portable`].
pub(super) trait Element: Real {
    /// An unsigned integer of the same size, for the bits of a base.
    type Base: Copy;

    fn base(bits: u8) -> Self::Base;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, factor: Self) -> Self;

    /// Returns `self · factor + addend`, rounded once.
    fn multiply_add(self, factor: Self, addend: Self) -> Self;

    /// Returns the same, or 0 if it is below the smallest normal number.
    fn multiply_add_flushing(self, factor: Self, addend: Self) -> Self;

    /// Returns whether a result is the smallest normal number or is subnormal, so that it may have to
    /// be flushed.
    fn may_be_flushed(self) -> bool;

    fn select_match(read: Self::Base, haplotype: Self::Base, matched: Self, mismatched: Self) -> Self;
}

macro_rules! implement_element {
    ($real:ty, $base:ty, $fuse:expr, $fuse_flushing:expr) => {
        impl Element for $real {
            type Base = $base;

            fn base(bits: u8) -> $base {
                bits.into()
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn multiply(self, factor: Self) -> Self {
                self * factor
            }

            #[inline(always)]
            fn multiply_add(self, factor: Self, addend: Self) -> Self {
                if HAS_FUSED_INSTRUCTION {
                    self.mul_add(factor, addend)
                } else {
                    $fuse(self, factor, addend)
                }
            }

            fn multiply_add_flushing(self, factor: Self, addend: Self) -> Self {
                $fuse_flushing(self, factor, addend)
            }

            #[inline(always)]
            fn may_be_flushed(self) -> bool {
                self <= Self::MIN_POSITIVE && self != 0.0
            }

            #[inline(always)]
            fn select_match(read: $base, haplotype: $base, matched: Self, mismatched: Self) -> Self {
                let is_match = <$base>::from(read & haplotype != 0).wrapping_neg();
                Self::from_bits(matched.to_bits() & is_match | mismatched.to_bits() & !is_match)
            }
        }
    };
}

implement_element!(f32, u32, |a, b, c| fuse_to_odd(a, b, c) as f32, fuse_f32);
implement_element!(f64, u64, fuse_f64, fuse_f64);

impl<T: Element, const N: usize, const FLUSH: bool> Lanes for Portable<T, N, FLUSH> {
    type Real = T;
    type Array = [T; N];
    type Base = T::Base;
    type Bases = [T::Base; N];

    const COUNT: usize = N;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Portable([value; N])
    }

    fn splat_array(value: T) -> Self::Array {
        [value; N]
    }

    #[inline(always)]
    fn load(array: &Self::Array) -> Self {
        Portable(*array)
    }

    #[inline(always)]
    fn store(self, array: &mut Self::Array) {
        *array = self.0;
    }

    fn base(bits: u8) -> T::Base {
        T::base(bits)
    }

    fn splat_bases(base: T::Base) -> Self::Bases {
        [base; N]
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // Sums of normal numbers are not below them.
        Portable(from_fn(|i| self.0[i].add(other.0[i])))
    }

    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        Portable(from_fn(|i| self.0[i].subtract(other.0[i])))
    }

    #[inline(always)]
    fn multiply(self, factor: Self) -> Self {
        let product: [T; N] = from_fn(|i| self.0[i].multiply(factor.0[i]));
        if FLUSH && product.iter().any(|it| it.may_be_flushed()) {
            return Portable(from_fn(|i| self.0[i].multiply_add_flushing(factor.0[i], T::ZERO)));
        }
        Portable(product)
    }

    #[inline(always)]
    fn divide(self, divisor: Self) -> Self {
        Portable(from_fn(|i| self.0[i].divide(divisor.0[i])))
    }

    #[inline(always)]
    fn multiply_add(self, factor: Self, addend: Self) -> Self {
        let sum: [T; N] = from_fn(|i| self.0[i].multiply_add(factor.0[i], addend.0[i]));
        if FLUSH && sum.iter().any(|it| it.may_be_flushed()) {
            return Portable(from_fn(|i| self.0[i].multiply_add_flushing(factor.0[i], addend.0[i])));
        }
        Portable(sum)
    }

    #[inline(always)]
    fn select_match(
        read: &Self::Bases,
        haplotype: &Self::Bases,
        matched: Self,
        mismatched: Self,
    ) -> Self {
        Portable(from_fn(|i| T::select_match(read[i], haplotype[i], matched.0[i], mismatched.0[i])))
    }

    #[inline(always)]
    fn keep_up_to(self, column: Self, last: Self) -> Self {
        Portable(from_fn(|i| if column.0[i] <= last.0[i] { self.0[i] } else { T::ZERO }))
    }
}

/// Computes the likelihoods of a group with the instructions of every processor.
pub(super) fn run<V: Lanes>(group: &mut Group<V>, is_fused: bool) {
    let kernel: fn(&mut Group<V>) =
        if is_fused { |group| group.compute::<true>() } else { |group| group.compute::<false>() };
    #[cfg(target_arch = "x86_64")]
    super::flush::run_flushing(group, kernel);
    #[cfg(not(target_arch = "x86_64"))]
    kernel(group);
}

#[cfg(target_arch = "x86_64")]
pub(super) fn is_avx_available() -> bool {
    is_x86_feature_detected!("avx")
}

#[cfg(target_arch = "x86_64")]
super::vectors::define_run!(run_avx, "avx", is_avx_available);

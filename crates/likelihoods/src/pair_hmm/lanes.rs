//! What a kernel needs of vectors, and of their elements.

use crate::glibc;
use crate::tables::{F32, F64, Tables};

/// The numbers with which a kernel computes: `f32` or `f64`.
pub(super) trait Real: Copy + PartialOrd + 'static {
    const ZERO: Self;

    /// The sum of probabilities before the first base, which keeps the others from underflowing.
    const INITIAL: Self;

    fn tables() -> &'static Tables<Self>;

    fn from_length(length: usize) -> Self;

    fn divide(self, divisor: Self) -> Self;

    /// Returns the decimal logarithm of a likelihood that was multiplied by [`Real::INITIAL`].
    fn log10_likelihood(self) -> f64;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const INITIAL: Self = f32::from_bits((127 + 120) << 23);

    fn tables() -> &'static Tables<Self> {
        &F32
    }

    fn from_length(length: usize) -> Self {
        length as f32
    }

    fn divide(self, divisor: Self) -> Self {
        self / divisor
    }

    fn log10_likelihood(self) -> f64 {
        f64::from(glibc::log10_f32(self) - glibc::log10_f32(Self::INITIAL))
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const INITIAL: Self = f64::from_bits((1023 + 1020) << 52);

    fn tables() -> &'static Tables<Self> {
        &F64
    }

    fn from_length(length: usize) -> Self {
        length as f64
    }

    fn divide(self, divisor: Self) -> Self {
        self / divisor
    }

    fn log10_likelihood(self) -> f64 {
        glibc::log10(self) - glibc::log10(Self::INITIAL)
    }
}

/// Bits of a base: two bases match if they share a bit. `N` matches all. GKL takes every other byte
/// for `A`.
pub(super) fn base_bits(base: u8) -> u8 {
    match base {
        b'C' => 2,
        b'G' => 4,
        b'T' => 8,
        b'N' => 15,
        _ => 1,
    }
}

/// A vector of numbers, one for each pair of a read and a haplotype.
///
/// Values of a type that needs instructions exist only in kernels that run after these were detected.
pub(super) trait Lanes: Copy {
    type Real: Real;

    /// One element for each lane.
    type Array: Copy + AsRef<[Self::Real]> + AsMut<[Self::Real]>;

    /// The bits of a base in a form that [`Lanes::select_match`] compares fast.
    type Base: Copy;
    type Bases: Copy + AsMut<[Self::Base]>;

    const COUNT: usize;

    fn splat(value: Self::Real) -> Self;
    fn splat_array(value: Self::Real) -> Self::Array;
    fn load(array: &Self::Array) -> Self;
    fn store(self, array: &mut Self::Array);

    fn base(bits: u8) -> Self::Base;
    fn splat_bases(base: Self::Base) -> Self::Bases;

    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, factor: Self) -> Self;
    fn divide(self, divisor: Self) -> Self;

    /// Returns `self · factor + addend`, rounded once.
    fn multiply_add(self, factor: Self, addend: Self) -> Self;

    /// Returns `matched` in lanes in which the bases share a bit, and `mismatched` in the others.
    fn select_match(
        read: &Self::Bases,
        haplotype: &Self::Bases,
        matched: Self,
        mismatched: Self,
    ) -> Self;

    /// Returns `self` in lanes whose `column` is not after `last`, and 0 in the others.
    fn keep_up_to(self, column: Self, last: Self) -> Self;
}

//! Kernels with AVX2 and FMA: vectors of 8 `f32` or 4 `f64`.
#![allow(unsafe_code, reason = "runs instructions that not every processor has")]

use std::arch::x86_64::*;

use super::lanes::Lanes;
use super::vectors::{define_run, implement_lanes};

#[derive(Clone, Copy)]
pub(super) struct F32x8(__m256);

#[derive(Clone, Copy)]
pub(super) struct F64x4(__m256d);

implement_lanes!(
    F32x8: 8 of f32, bases u32 where u32::from,
    _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps
    _mm256_fmadd_ps select_match_f32 keep_up_to_f32
);
implement_lanes!(
    F64x4: 4 of f64, bases u64 where u64::from,
    _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd
    _mm256_fmadd_pd select_match_f64 keep_up_to_f64
);

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

define_run!(run, "avx2,fma", is_available);

/// Returns the bits that are in both bases.
#[inline]
#[target_feature(enable = "avx2")]
fn load_shared_bits<T>(read: &T, haplotype: &T) -> __m256i {
    const { assert!(size_of::<T>() == 32) };
    // SAFETY: the references are to 32 bytes.
    let [read, haplotype] =
        [read, haplotype].map(|it| unsafe { _mm256_loadu_si256(std::ptr::from_ref(it).cast()) });
    _mm256_and_si256(read, haplotype)
}

#[inline]
#[target_feature(enable = "avx2")]
fn select_match_f32(
    read: &[u32; 8],
    haplotype: &[u32; 8],
    matched: __m256,
    mismatched: __m256,
) -> __m256 {
    let shared = load_shared_bits(read, haplotype);
    let mismatches = _mm256_cmpeq_epi32(shared, _mm256_setzero_si256());
    _mm256_blendv_ps(matched, mismatched, _mm256_castsi256_ps(mismatches))
}

#[inline]
#[target_feature(enable = "avx2")]
fn select_match_f64(
    read: &[u64; 4],
    haplotype: &[u64; 4],
    matched: __m256d,
    mismatched: __m256d,
) -> __m256d {
    let shared = load_shared_bits(read, haplotype);
    let mismatches = _mm256_cmpeq_epi64(shared, _mm256_setzero_si256());
    _mm256_blendv_pd(matched, mismatched, _mm256_castsi256_pd(mismatches))
}

#[inline]
#[target_feature(enable = "avx2")]
fn keep_up_to_f32(value: __m256, column: __m256, last: __m256) -> __m256 {
    _mm256_and_ps(value, _mm256_cmp_ps::<_CMP_LE_OQ>(column, last))
}

#[inline]
#[target_feature(enable = "avx2")]
fn keep_up_to_f64(value: __m256d, column: __m256d, last: __m256d) -> __m256d {
    _mm256_and_pd(value, _mm256_cmp_pd::<_CMP_LE_OQ>(column, last))
}

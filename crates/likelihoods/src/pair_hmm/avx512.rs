//! Kernels with AVX-512: vectors of 16 `f32` or 8 `f64`.
#![allow(unsafe_code, reason = "runs instructions that not every processor has")]

use std::arch::x86_64::*;

use super::lanes::Lanes;
use super::vectors::{define_run, implement_lanes};

#[derive(Clone, Copy)]
pub(super) struct F32x16(__m512);

#[derive(Clone, Copy)]
pub(super) struct F64x8(__m512d);

implement_lanes!(
    F32x16: 16 of f32, bases u8 where std::convert::identity,
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps
    _mm512_fmadd_ps select_match_f32 keep_up_to_f32
);
implement_lanes!(
    F64x8: 8 of f64, bases u8 where std::convert::identity,
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd
    _mm512_fmadd_pd select_match_f64 keep_up_to_f64
);

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

define_run!(run, "avx512f,avx512bw,avx512vl", is_available);

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn select_match_f32(
    read: &[u8; 16],
    haplotype: &[u8; 16],
    matched: __m512,
    mismatched: __m512,
) -> __m512 {
    // SAFETY: the references are to 16 bytes.
    let [read, haplotype] = [read, haplotype].map(|it| unsafe { _mm_loadu_si128(it.as_ptr().cast()) });
    _mm512_mask_blend_ps(_mm_test_epi8_mask(read, haplotype), mismatched, matched)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn select_match_f64(
    read: &[u8; 8],
    haplotype: &[u8; 8],
    matched: __m512d,
    mismatched: __m512d,
) -> __m512d {
    // SAFETY: the references are to 8 bytes.
    let [read, haplotype] = [read, haplotype].map(|it| unsafe { _mm_loadl_epi64(it.as_ptr().cast()) });
    _mm512_mask_blend_pd(_mm_test_epi8_mask(read, haplotype) as u8, mismatched, matched)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn keep_up_to_f32(value: __m512, column: __m512, last: __m512) -> __m512 {
    _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(column, last), value)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn keep_up_to_f64(value: __m512d, column: __m512d, last: __m512d) -> __m512d {
    _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(column, last), value)
}

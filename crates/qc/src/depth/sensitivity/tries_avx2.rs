//! Computes blocks of tries with AVX2, four at a time. The result is the same as from
//! [`Tries::fill_next_block`].

#![allow(unsafe_code, reason = "AVX2 reads and writes states through pointers")]

use std::arch::x86_64::*;

use super::tries::{BIN_BITS, LANES, STRIDE, Tries, WORD};

const WIDTH: usize = 4;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Computes the next block, see [`Tries::fill_next_block`]. Must only be called if the processor has AVX2.
pub(super) fn fill_next_block(tries: &mut Tries, bins: u64) {
    debug_assert!(is_available());
    // SAFETY: the processor has AVX2.
    unsafe { fill_by_vectors(tries, bins) }
}

#[target_feature(enable = "avx2")]
fn fill_by_vectors(tries: &mut Tries, bins: u64) {
    let Tries { states, candidates, next } = tries;
    let all = |value: u64| _mm256_set1_epi64x(value as i64);
    let (low, high, more) =
        (all(STRIDE.factor & 0xffff_ffff), all(STRIDE.factor >> 32), all(STRIDE.more));
    // Shifting left by the bin moves the bit of the bin to the top.
    let (bins, mask) = (all(bins.reverse_bits()), all((1 << BIN_BITS) - 1));
    let mut lanes = [_mm256_setzero_si256(); LANES / WIDTH];
    for (lane, four) in lanes.iter_mut().zip(next.as_chunks::<WIDTH>().0) {
        // SAFETY: `four` has 32 bytes.
        *lane = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
    }
    for (candidates, states) in candidates.iter_mut().zip(states.as_chunks_mut::<WORD>().0) {
        *candidates = 0;
        for (i, four) in states.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            let state = lanes[i % lanes.len()];
            // SAFETY: `four` has 32 bytes.
            unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), state) };
            let bin = _mm256_and_si256(_mm256_srli_epi64::<{ 48 - BIN_BITS as i32 }>(state), mask);
            let set = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_sllv_epi64(bins, bin)));
            *candidates |= (set as u64) << (WIDTH * i);
            // Computes a 64-bit product from 32-bit products.
            let crossed = _mm256_add_epi64(
                _mm256_mul_epu32(_mm256_srli_epi64::<32>(state), low),
                _mm256_mul_epu32(state, high),
            );
            lanes[i % lanes.len()] = _mm256_add_epi64(
                _mm256_add_epi64(_mm256_mul_epu32(state, low), more),
                _mm256_slli_epi64::<32>(crossed),
            );
        }
    }
    for (lane, four) in lanes.iter().zip(next.as_chunks_mut::<WIDTH>().0) {
        // SAFETY: `four` has 32 bytes.
        unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), *lane) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::tries::tests::blocks_follow_each_other;
    use super::*;

    #[test]
    fn blocks_follow_each_other_with_vectors() {
        if is_available() {
            blocks_follow_each_other(fill_next_block);
        }
    }
}

//! Decodes rANS Nx16 with 32 states using AVX2, eight states per vector.
//!
//! The result is the same as that of the scalar code in `nx16`, which takes over when too few coded
//! bytes are left for all states.

#![allow(unsafe_code, reason = "AVX2 reads tables and bytes through pointers")]

use std::arch::x86_64::*;

use super::rans::{LOW_OF_NX16 as LOW, Slot};

/// Number of states, and the maximum number of coded bytes that they read for one symbol each.
const STATES: usize = 32;
const MAX_CODED_BYTES: usize = 2 * STATES;

pub fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// For each mask of lanes that read a word: the index of the 16-bit word that each lane reads.
static WORD_INDEXES_BY_MASK: [[u8; 8]; 256] = {
    let mut words = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut taken) = (0, 0);
        while lane < 8 {
            words[set][lane] = taken;
            taken += (set >> lane & 1) as u8;
            lane += 1;
        }
        set += 1;
    }
    words
};

struct States<'a> {
    lanes: [__m256i; 4],
    coded: &'a [u8],
    at: usize,
    bits: __m128i,
    mask: __m256i,
}

impl<'a> States<'a> {
    #[target_feature(enable = "avx2")]
    fn new(states: &[u32; STATES], coded: &'a [u8], at: usize, bits: u32) -> Self {
        let mut lanes = [_mm256_setzero_si256(); 4];
        for (lane, eight) in lanes.iter_mut().zip(states.chunks_exact(8)) {
            // SAFETY: `eight` has 32 bytes.
            *lane = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
        }
        let mask = _mm256_set1_epi32((1 << bits) - 1);
        States { lanes, coded, at, bits: _mm_cvtsi32_si128(bits as i32), mask }
    }

    #[inline(always)]
    fn has_enough_bytes(&self) -> bool {
        self.coded.len() - self.at >= MAX_CODED_BYTES
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn table_indexes(&self, lane: usize) -> __m256i {
        _mm256_and_si256(self.lanes[lane], self.mask)
    }

    /// Advances eight states by their table entries. At least 16 coded bytes must be left.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn advance_states(&mut self, lane: usize, entries: __m256i) {
        let frequency = _mm256_and_si256(_mm256_srli_epi32::<8>(entries), _mm256_set1_epi32(0xfff));
        let frequency = _mm256_add_epi32(frequency, _mm256_set1_epi32(1));
        let high = _mm256_srl_epi32(self.lanes[lane], self.bits);
        let next =
            _mm256_add_epi32(_mm256_mullo_epi32(frequency, high), _mm256_srli_epi32::<20>(entries));
        let low = _mm256_min_epu32(next, _mm256_set1_epi32(LOW as i32 - 1));
        let takes = _mm256_cmpeq_epi32(low, next);
        let set = _mm256_movemask_ps(_mm256_castsi256_ps(takes)) as u32;
        let words = &self.coded[self.at..self.at + 16];
        // SAFETY: `words` has 16 bytes, each row of WORDS has 8.
        let (words, order) = unsafe {
            let row = &WORD_INDEXES_BY_MASK[set as usize & 0xff];
            (_mm_loadu_si128(words.as_ptr().cast()), _mm_loadl_epi64(row.as_ptr().cast()))
        };
        let words =
            _mm256_permutevar8x32_epi32(_mm256_cvtepu16_epi32(words), _mm256_cvtepu8_epi32(order));
        let renewed = _mm256_or_si256(_mm256_slli_epi32::<16>(next), words);
        self.lanes[lane] = _mm256_blendv_epi8(next, renewed, takes);
        self.at += 2 * set.count_ones() as usize;
    }

    #[target_feature(enable = "avx2")]
    fn store_states(&self, states: &mut [u32; STATES]) {
        for (lane, eight) in self.lanes.iter().zip(states.chunks_exact_mut(8)) {
            // SAFETY: `eight` has 32 bytes.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), *lane) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn entry_symbols(entries: [__m256i; 4]) -> [u8; STATES] {
    let [a, b, c, d] = entries.map(|it| _mm256_and_si256(it, _mm256_set1_epi32(0xff)));
    let pairs = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    let bytes = _mm256_permutevar8x32_epi32(pairs, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    let mut out = [0; STATES];
    // SAFETY: `out` has 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) };
    out
}

/// Decodes rows of 32 symbols into `out` with a single table. Returns the number of bytes written.
///
/// The processor must have AVX2.
pub fn decode_order_0(
    (coded, at): (&[u8], &mut usize),
    table: &[Slot; 1 << 12],
    states: &mut [u32; STATES],
    out: &mut [u8],
) -> usize {
    #[target_feature(enable = "avx2")]
    fn decode_rows(states: &mut States<'_>, table: &[Slot; 1 << 12], out: &mut [u8]) -> usize {
        let mut written = 0;
        for row in out.chunks_exact_mut(STATES) {
            if !states.has_enough_bytes() {
                break;
            }
            let mut entries = [_mm256_setzero_si256(); 4];
            for (lane, entries) in entries.iter_mut().enumerate() {
                // SAFETY: 12 bits are less than the entries of the table.
                *entries = unsafe {
                    _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), states.table_indexes(lane))
                };
                states.advance_states(lane, *entries);
            }
            row.copy_from_slice(&entry_symbols(entries));
            written += STATES;
        }
        written
    }
    debug_assert!(is_available());
    // SAFETY: the processor has AVX2.
    unsafe {
        let mut now = States::new(states, coded, *at, 12);
        let written = decode_rows(&mut now, table, out);
        now.store_states(states);
        *at = now.at;
        written
    }
}

/// Decodes symbols of the 32 equal parts of `out`, each with the table of the symbol before it.
/// Returns the number of symbols decoded in each part.
///
/// `starts` holds the index in `tables` at which the table of each symbol starts. Each table has an
/// entry for every value of `bits` bits. The processor must have AVX2.
pub fn decode_order_1(
    (coded, at): (&[u8], &mut usize),
    (starts, tables): (&[u32; 256], &[Slot]),
    bits: u32,
    (states, last): (&mut [u32; STATES], &mut [u8; STATES]),
    out: &mut [u8],
) -> usize {
    #[target_feature(enable = "avx2")]
    fn decode_parts(
        states: &mut States<'_>,
        (starts, tables): (&[u32; 256], &[Slot]),
        last: &mut [u8; STATES],
        out: &mut [u8],
    ) -> usize {
        let part = out.len() / STATES;
        let mut before = [_mm256_setzero_si256(); 4];
        for i in 0..part {
            if !states.has_enough_bytes() {
                return i;
            }
            for (lane, entries) in before.iter_mut().enumerate() {
                let symbols = _mm256_and_si256(*entries, _mm256_set1_epi32(0xff));
                // SAFETY: there are 256 starts, and after each start there are entries for all
                // values that the bits of a state can have.
                *entries = unsafe {
                    let start = _mm256_i32gather_epi32::<4>(starts.as_ptr().cast(), symbols);
                    let place = _mm256_add_epi32(start, states.table_indexes(lane));
                    _mm256_i32gather_epi32::<4>(tables.as_ptr().cast(), place)
                };
                states.advance_states(lane, *entries);
            }
            *last = entry_symbols(before);
            for (part, &symbol) in out.chunks_exact_mut(part).zip(&*last) {
                part[i] = symbol;
            }
        }
        part
    }
    debug_assert!(is_available());
    assert!(starts.iter().all(|&start| start as usize + (1 << bits) <= tables.len()));
    // SAFETY: the processor has AVX2, and the assertion holds.
    unsafe {
        let mut now = States::new(states, coded, *at, bits);
        let done = decode_parts(&mut now, (starts, tables), last, out);
        now.store_states(states);
        *at = now.at;
        done
    }
}

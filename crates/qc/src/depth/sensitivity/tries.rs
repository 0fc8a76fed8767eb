//! Blocks of tries of a wheel: where each begins, and whether the first bits of its first number leave it a chance.

use super::random::{JavaRandom, Jump};

/// Steps of java.util.Random for a try: two numbers of two halves each.
pub(super) const STEPS: u32 = 4;

/// Tries that are looked at beside each other, and tries of a block.
pub(super) const LANES: usize = 16;
pub(super) const BLOCK: usize = 8 * WORD;
pub(super) const WORD: usize = u64::BITS as usize;

/// Steps from a try to the next one of its lane.
pub(super) const STRIDE: Jump = Jump::of(STEPS * LANES as u32);

/// Bits of a first number, the upper ones, that the bins of [`Tries::fill`] tell apart.
pub(super) const BIN_BITS: u32 = 6;

/// Consecutive tries.
pub(super) struct Tries {
    /// The state behind the first half of the first number, for each try; bits above the 48th mean nothing.
    pub(super) states: [u64; BLOCK],
    /// A bit for each try, from the lowest one of the first word on: whether its first number is in a bin that counts.
    pub(super) candidates: [u64; BLOCK / WORD],
    /// The states of the tries behind the block.
    pub(super) next: [u64; LANES],
}

impl Tries {
    /// An empty block before the first try.
    pub(super) fn before(seed: u64) -> Self {
        let first = JavaRandom::new(seed).0;
        let next = std::array::from_fn(|lane| Jump::of(STEPS * lane as u32 + 1).from(first));
        Tries { states: [0; BLOCK], candidates: [0; BLOCK / WORD], next }
    }

    /// Goes to the next block. `bins` has a bit for each value of the upper bits of a first number, set where it counts.
    pub(super) fn fill(&mut self, bins: u64) {
        for (candidates, states) in self.candidates.iter_mut().zip(self.states.as_chunks_mut::<WORD>().0)
        {
            *candidates = 0;
            for (row, states) in states.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                *states = self.next;
                for (lane, state) in self.next.iter_mut().enumerate() {
                    let bin = *state >> (48 - BIN_BITS) & ((1 << BIN_BITS) - 1);
                    *candidates |= (bins >> bin & 1) << (row * LANES + lane);
                    *state = STRIDE.over(*state);
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fills some blocks, and compares each try with one that is reached step by step.
    pub(in super::super) fn blocks_follow_each_other(fill: impl Fn(&mut Tries, u64)) {
        let (mut tries, mut state) = (Tries::before(51), JavaRandom::new(51).0);
        for bins in [0, 1, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX] {
            fill(&mut tries, bins);
            for i in 0..BLOCK {
                let first = Jump::of(1).from(state);
                assert_eq!(tries.states[i] & JavaRandom::MASK, first, "{bins:x}: {i}");
                let candidate = tries.candidates[i / WORD] >> (i % WORD) & 1;
                assert_eq!(candidate, bins >> (first >> 42) & 1, "{bins:x}: {i}");
                state = Jump::of(STEPS).from(state);
            }
        }
    }

    #[test]
    fn blocks_follow_each_other_without_vectors() {
        blocks_follow_each_other(Tries::fill);
    }
}

//! Computes blocks of tries in advance: the random state of each try, and whether its first bits
//! can lead to a quality.

use super::random::{JavaRandom, Jump};

/// Steps of java.util.Random in a try: two numbers with two halves each.
pub(super) const STEPS: u32 = 4;

/// Number of tries that are computed side by side, and number of tries in a block.
pub(super) const LANES: usize = 16;
pub(super) const BLOCK: usize = 8 * WORD;
pub(super) const WORD: usize = u64::BITS as usize;

/// The jump from a try to the next try of the same lane.
pub(super) const STRIDE: Jump = Jump::over_steps(STEPS * LANES as u32);

/// Number of upper bits of a first number that the bins of [`Tries::fill_next_block`] distinguish.
pub(super) const BIN_BITS: u32 = 6;

/// A block of consecutive tries.
pub(super) struct Tries {
    /// For each try, the state after the first half of its first number. Bits above the 48th are
    /// arbitrary.
    pub(super) states: [u64; BLOCK],
    /// One bit for each try, from the lowest bit of the first word: whether its first number is in
    /// a bin that can lead to a quality.
    pub(super) candidates: [u64; BLOCK / WORD],
    /// The states of the first tries after the block.
    pub(super) next: [u64; LANES],
}

impl Tries {
    /// Returns an empty block. The first call of [`Tries::fill_next_block`] computes the tries that begin at
    /// `seed`.
    pub(super) fn start_at_seed(seed: u64) -> Self {
        let first = JavaRandom::new(seed).0;
        let next = std::array::from_fn(|lane| Jump::over_steps(STEPS * lane as u32 + 1).apply(first));
        Tries { states: [0; BLOCK], candidates: [0; BLOCK / WORD], next }
    }

    /// Computes the next block. `bins` has one bit for each value of the upper bits of a first
    /// number, which is set if a quality is possible.
    pub(super) fn fill_next_block(&mut self, bins: u64) {
        for (candidates, states) in self.candidates.iter_mut().zip(self.states.as_chunks_mut::<WORD>().0)
        {
            *candidates = 0;
            for (row, states) in states.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                *states = self.next;
                for (lane, state) in self.next.iter_mut().enumerate() {
                    let bin = *state >> (48 - BIN_BITS) & ((1 << BIN_BITS) - 1);
                    *candidates |= (bins >> bin & 1) << (row * LANES + lane);
                    *state = STRIDE.apply_unmasked(*state);
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fills several blocks, and compares each try with a generator that takes single steps.
    pub(in super::super) fn blocks_follow_each_other(fill: impl Fn(&mut Tries, u64)) {
        let (mut tries, mut state) = (Tries::start_at_seed(51), JavaRandom::new(51).0);
        for bins in [0, 1, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX] {
            fill(&mut tries, bins);
            for i in 0..BLOCK {
                let first = Jump::over_steps(1).apply(state);
                assert_eq!(tries.states[i] & JavaRandom::MASK, first, "{bins:x}: {i}");
                let candidate = tries.candidates[i / WORD] >> (i % WORD) & 1;
                assert_eq!(candidate, bins >> (first >> 42) & 1, "{bins:x}: {i}");
                state = Jump::over_steps(STEPS).apply(state);
            }
        }
    }

    #[test]
    fn blocks_follow_each_other_without_vectors() {
        blocks_follow_each_other(Tries::fill_next_block);
    }
}

//! Draws random qualities in proportion to their frequency, as Picard does.

use super::random::{FIRST_HALF, JavaRandom, Jump};
use super::tries::{BIN_BITS, BLOCK, STEPS, Tries, WORD};
#[cfg(target_arch = "x86_64")]
use super::tries_avx2 as avx2;

const SEED: u64 = 51;

/// Maximum number of tries to draw a quality. If all are rejected, the quality is 0.
const MAX_TRIES: usize = 600;

/// Memory of a [`Wheel`] in bytes, excluding a few small fields.
pub(super) const BYTES: u64 =
    (size_of::<[u32; BINS]>() + size_of::<Tries>() + size_of::<[Chance; BLOCK]>()) as u64;

/// Number of upper bits of a first number that select the threshold for the second number.
const LOOKED_AT: u32 = 12;
const BINS: usize = 1 << LOOKED_AT;

/// The jump from the state of a try to its second number.
const SECOND: Jump = Jump::over_steps(STEPS / 2);

/// A try that may lead to a quality: its index in the block and its state.
type Chance = (usize, u64);

/// A source of random qualities that uses rejection sampling: a try picks one of the qualities at
/// random, and accepts it with the probability of its frequency relative to the most frequent
/// quality. After a rejection, the next try follows.
///
/// Each try uses two random numbers, whether its quality is accepted or not. So the state at the
/// beginning of each try is known, and a whole block of tries can be examined in advance: a few
/// bits of both numbers are enough to reject most of them.
pub(super) struct Wheel {
    /// For each quality, its frequency divided by the frequency of the most frequent quality. NaN
    /// if there are no bases.
    shares: Vec<f64>,
    /// By the upper bits of the first number: the smallest first half of the second number with
    /// which no quality is accepted.
    hopeless: Box<[u32; BINS]>,
    /// By fewer upper bits of the first number: one bit that is set if a quality may be accepted.
    bins: u64,
    tries: Box<Tries>,
    /// The tries of the block that may lead to a quality.
    chances: Box<[Chance; BLOCK]>,
    /// The number of chances in the block, and the index of the next one.
    count: usize,
    next: usize,
    /// The index in the block of the first try that was not used yet.
    place: usize,
}

impl Wheel {
    pub(super) fn new(quals: &[u64]) -> Self {
        let all: f64 = quals.iter().map(|&count| count as f64).sum();
        let shares: Vec<f64> = quals.iter().map(|&count| count as f64 / all).collect();
        let max_share = shares
            .iter()
            .copied()
            .fold(shares[0], |max_share, it| if it > max_share { it } else { max_share });
        let shares: Vec<f64> = shares.into_iter().map(|share| share / max_share).collect();
        let hopeless_from = |bin: usize| {
            let first = shares.len() * bin / BINS;
            let last = (shares.len() * (bin + 1) / BINS).min(shares.len() - 1);
            let greatest = shares[first..=last].iter().copied().fold(0.0, f64::max);
            (greatest * f64::from(1 << FIRST_HALF)).ceil() as u32
        };
        let mut hopeless = Box::new([0; BINS]);
        hopeless.iter_mut().enumerate().for_each(|(bin, from)| *from = hopeless_from(bin));
        let mut bins = 0;
        for (bin, hopeless) in hopeless.chunks(BINS >> BIN_BITS).enumerate() {
            bins |= u64::from(hopeless.iter().any(|&from| from > 0)) << bin;
        }
        Wheel {
            shares,
            hopeless,
            bins,
            tries: Box::new(Tries::start_at_seed(SEED)),
            chances: Box::new([(0, 0); BLOCK]),
            count: 0,
            next: 0,
            place: BLOCK,
        }
    }

    pub(super) fn draw_quality(&mut self) -> usize {
        let mut left = if self.shares[0].is_nan() { 0 } else { MAX_TRIES };
        loop {
            while let Some(&(place, state)) = self.chances[..self.count].get(self.next) {
                if place >= self.place + left {
                    break;
                }
                self.next += 1;
                if let Some(qual) = self.accepted_quality(state) {
                    self.place = place + 1;
                    return qual;
                }
            }
            let rest = BLOCK - self.place;
            if rest >= left {
                self.place += left;
                return 0;
            }
            left -= rest;
            self.collect_chances();
        }
    }

    /// Returns the quality that a try accepts, or `None` if it rejects it. `state` is the state
    /// after the first half of its first number.
    #[inline]
    fn accepted_quality(&self, state: u64) -> Option<usize> {
        let mut random = JavaRandom(state & JavaRandom::MASK);
        let first = random.finish_double(random.0 >> (48 - FIRST_HALF));
        let qual = (self.shares.len() as f64 * first) as usize;
        (random.next_double() < self.shares[qual]).then_some(qual)
    }

    /// Computes the next block of tries, with AVX2 if the processor has it.
    fn fill_tries(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if avx2::is_available() {
            return avx2::fill_next_block(&mut self.tries, self.bins);
        }
        self.tries.fill_next_block(self.bins);
    }

    /// Collects the tries of the next block that may lead to a quality.
    fn collect_chances(&mut self) {
        self.fill_tries();
        // Without a branch on the second number: a try without a chance is written, too, and the
        // next one overwrites it.
        let mut count = 0;
        for (word, mut candidates) in self.tries.candidates.into_iter().enumerate() {
            while candidates != 0 {
                let place = word * WORD + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let state = self.tries.states[place];
                let bin = (state >> (48 - LOOKED_AT)) as usize % BINS;
                let second = SECOND.apply(state) >> (48 - FIRST_HALF);
                self.chances[count % BLOCK] = (place, state);
                count += usize::from(second < self.hopeless[bin].into());
            }
        }
        (self.count, self.next, self.place) = (count, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws like Picard, one number at a time.
    fn draw_plainly(shares: &[f64], random: &mut JavaRandom) -> usize {
        for _ in 0..MAX_TRIES {
            let qual = (shares.len() as f64 * random.next_double()) as usize;
            if random.next_double() < shares[qual] {
                return qual;
            }
        }
        0
    }

    #[test]
    fn tries_without_a_chance_are_passed_over() {
        let lists: [&[(usize, u64)]; 5] = [
            &[(30, 1)],
            &[(2, 5), (11, 100), (25, 900), (37, 10_000)],
            &[(3, 1), (126, 1_000_000)],
            &[(0, 1), (126, 1)],
            &[(60, 1), (61, 1_000_000_000)],
        ];
        for list in lists {
            let mut quals = vec![0; 127];
            list.iter().for_each(|&(qual, count)| quals[qual] = count);
            let (mut wheel, mut random) = (Wheel::new(&quals), JavaRandom::new(SEED));
            for number in 0..20_000 {
                assert_eq!(
                    wheel.draw_quality(),
                    draw_plainly(&wheel.shares, &mut random),
                    "{list:?} {number}"
                );
            }
        }
    }
}

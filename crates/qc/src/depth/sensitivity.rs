//! HET_SNP_SENSITIVITY: the share of heterozygous SNPs that would be called with these depths and qualities.
//!
//! Picard (3.4.0, `TheoreticalSensitivity`) draws sums of qualities at random, with java.util.Random and a fixed seed. So do we.

/// The seed.
const SEED: u64 = 51;

/// The greatest depth that is considered.
const MOST_DEPTH: usize = 1_000;

/// Draws after which a quality is 0.
const MOST_DRAWS: usize = 600;

/// The logarithm of the odds at which a SNP is called.
const LOG_ODDS: f64 = 3.0;

/// Bytes of memory for positions by so many depths.
pub(crate) fn bytes(depths: u64) -> u64 {
    let depths = depths.min(MOST_DEPTH as u64 + 1) + 1;
    // A table of counts, two rows of probabilities, the sums, and what is known of numbers.
    4 * depths * depths + 32 * depths + 2 * 128 * depths + (4 << LOOKED_AT) + 16 * BLOCK as u64
}

/// Returns the sensitivity for positions by depth and bases by quality, from `samples` sums of each number of qualities.
pub(crate) fn het_snp_sensitivity(depths: &[u64], quals: &[u64], samples: u32) -> f64 {
    let n = depths.len().min(MOST_DEPTH + 1);
    let above = sums_above(quals, n, samples);
    let all: f64 = depths.iter().map(|&count| count as f64).sum();
    let (mut sensitivity, mut share, mut before) = (0.0, Vec::new(), Vec::new());
    for (depth, &count) in depths[..n].iter().enumerate() {
        binomial(depth, &before, &mut share);
        for (alt, share) in share.iter().enumerate() {
            let likely = f64::from(above[alt * (n + 1) + depth]) / f64::from(samples);
            sensitivity += count as f64 / all * share * likely;
        }
        std::mem::swap(&mut before, &mut share);
    }
    sensitivity
}

/// Returns the Phred score of a sensitivity; -1 where all would be called, as in Picard.
pub(crate) fn phred(sensitivity: f64) -> f64 {
    let score = -10.0 * (1.0 - sensitivity).log10();
    match score {
        score if score.is_nan() => 0.0,
        score if score == f64::INFINITY => -1.0,
        score => (score + 0.5).floor(),
    }
}

/// The probabilities that 0 to `depth` reads of so many have an allele; `before` are those of one read less.
fn binomial(depth: usize, before: &[f64], share: &mut Vec<f64>) {
    share.clear();
    share.push(0.5_f64.powi(depth as i32));
    for alt in 1..depth {
        share.push(depth as f64 * 0.5 / alt as f64 * before[alt - 1]);
    }
    if depth > 0 {
        share.push(share[0]);
    }
}

/// For each number of reads with an allele (up to `n`), and each depth: how many sums of their qualities reach the threshold
/// of the depth.
fn sums_above(quals: &[u64], n: usize, samples: u32) -> Vec<u32> {
    let threshold = |depth: usize| 10.0 * (depth as f64 * std::f64::consts::LOG10_2 + LOG_ODDS);
    // The number of depths whose threshold a sum reaches: they are the first ones.
    let most = quals.len() * n;
    let (mut reached, mut depth) = (Vec::with_capacity(most + 1), 0_u16);
    for sum in 0..=most {
        while usize::from(depth) < n && threshold(depth.into()) <= sum as f64 {
            depth += 1;
        }
        reached.push(depth);
    }
    let mut wheel = Wheel::new(quals);
    let mut above = vec![0; n * (n + 1)];
    for _ in 0..samples {
        let mut sum = 0;
        for counts in above.chunks_exact_mut(n + 1) {
            if let Some(last) = usize::from(reached[sum]).checked_sub(1) {
                counts[last] += 1;
            }
            sum += wheel.draw();
        }
    }
    for counts in above.chunks_exact_mut(n + 1) {
        let mut sum = 0;
        counts.iter_mut().rev().for_each(|count| {
            sum += *count;
            *count = sum;
        });
    }
    above
}

/// Draws qualities: one that looks likely is taken as often as its share of the most frequent one says, and drawn again
/// otherwise.
///
/// Each try uses two random numbers, whether its quality is taken or not. So the state at which each try begins is known, and
/// a block of them is tested at once: a few bits of both numbers show for most tries that their quality is not taken.
struct Wheel {
    /// The shares of the qualities of that of the most frequent one; not numbers if there are no bases.
    shares: Vec<f64>,
    /// By the upper bits of the first number: the first half of the second number from which on no try is taken.
    hopeless: Box<[u32; BINS]>,
    /// The states of the next tries; bits above the 48th are to be ignored.
    lanes: [u64; LANES],
    /// The tries of a block that may be taken: their places in it and their states.
    tries: Box<[(usize, u64); BLOCK]>,
    /// How many there are, and the next one.
    count: usize,
    next: usize,
    /// The place in the block behind the tries that are used up.
    place: usize,
}

/// Upper bits of a number that are looked at, and all that its first half has.
const LOOKED_AT: u32 = 12;
const BINS: usize = 1 << LOOKED_AT;
const FIRST_HALF: u32 = 26;

/// Steps of java.util.Random for a try: two numbers of two halves each.
const STEPS: u32 = 4;

/// Tries of a block: so many beside each other, so many times.
const LANES: usize = 8;
const BLOCK: usize = 64 * LANES;

/// Steps from a try to its second number, and to the one behind it in its lane.
const SECOND: Jump = Jump::of(STEPS / 2);
const LANE: Jump = Jump::of(STEPS * LANES as u32);

impl Wheel {
    fn new(quals: &[u64]) -> Self {
        let all: f64 = quals.iter().map(|&count| count as f64).sum();
        let shares: Vec<f64> = quals.iter().map(|&count| count as f64 / all).collect();
        let most = shares.iter().copied().fold(shares[0], |most, it| if it > most { it } else { most });
        let shares: Vec<f64> = shares.into_iter().map(|share| share / most).collect();
        let hopeless_from = |bin: usize| {
            let first = shares.len() * bin / BINS;
            let last = (shares.len() * (bin + 1) / BINS).min(shares.len() - 1);
            let greatest = shares[first..=last].iter().copied().fold(0.0, f64::max);
            (greatest * f64::from(1 << FIRST_HALF)).ceil() as u32
        };
        let mut hopeless = Box::new([0; BINS]);
        hopeless.iter_mut().enumerate().for_each(|(bin, from)| *from = hopeless_from(bin));
        let seed = JavaRandom::new(SEED).0;
        let lanes = std::array::from_fn(|lane| Jump::of(STEPS * lane as u32 + 1).from(seed));
        Wheel {
            shares,
            hopeless,
            lanes,
            tries: Box::new([(0, 0); BLOCK]),
            count: 0,
            next: 0,
            place: BLOCK,
        }
    }

    fn draw(&mut self) -> usize {
        let mut left = if self.shares[0].is_nan() { 0 } else { MOST_DRAWS };
        loop {
            while let Some(&(place, state)) = self.tries[..self.count].get(self.next) {
                if place >= self.place + left {
                    break;
                }
                self.next += 1;
                if let Some(qual) = self.taken(state) {
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
            self.fill();
        }
    }

    /// The quality of a try whose first half left this state, if it is taken.
    #[inline]
    fn taken(&self, state: u64) -> Option<usize> {
        let mut random = JavaRandom(state & JavaRandom::MASK);
        let first = random.double(random.0 >> (48 - FIRST_HALF));
        let qual = (self.shares.len() as f64 * first) as usize;
        (random.next_double() < self.shares[qual]).then_some(qual)
    }

    /// Looks at the next block.
    fn fill(&mut self) {
        // Without a branch: a try that cannot be taken is written, too, and the next one over it.
        let mut count = 0;
        for row in (0..BLOCK).step_by(LANES) {
            for (lane, state) in self.lanes.iter_mut().enumerate() {
                self.tries[count % BLOCK] = (row + lane, *state);
                let bin = (*state >> (48 - LOOKED_AT)) as usize % BINS;
                let second = SECOND.from(*state) >> (48 - FIRST_HALF);
                count += usize::from(second < self.hopeless[bin].into());
                *state = LANE.over(*state);
            }
        }
        (self.count, self.next, self.place) = (count, 0, 0);
    }
}

/// java.util.Random: 48 bits.
struct JavaRandom(u64);

/// Some steps of it at once: a factor and what is added.
#[derive(Clone, Copy)]
struct Jump {
    factor: u64,
    more: u64,
}

impl Jump {
    /// So many steps.
    const fn of(steps: u32) -> Self {
        let (mut factor, mut more, mut i) = (1_u64, 0_u64, 0);
        while i < steps {
            factor = factor.wrapping_mul(JavaRandom::FACTOR) & JavaRandom::MASK;
            more =
                more.wrapping_mul(JavaRandom::FACTOR).wrapping_add(JavaRandom::MORE) & JavaRandom::MASK;
            i += 1;
        }
        Jump { factor, more }
    }

    /// The state so many steps behind one.
    #[inline]
    fn from(self, state: u64) -> u64 {
        self.over(state) & JavaRandom::MASK
    }

    /// The same, with bits above the 48th that mean nothing.
    #[inline]
    fn over(self, state: u64) -> u64 {
        state.wrapping_mul(self.factor).wrapping_add(self.more)
    }
}

impl JavaRandom {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    const MORE: u64 = 0xB;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        JavaRandom((seed ^ Self::FACTOR) & Self::MASK)
    }

    #[inline]
    fn next(&mut self, bits: u32) -> u64 {
        self.0 = Jump { factor: Self::FACTOR, more: Self::MORE }.from(self.0);
        self.0 >> (48 - bits)
    }

    /// A number from 0 to below 1.
    #[inline]
    fn next_double(&mut self) -> f64 {
        let first_half = self.next(FIRST_HALF);
        self.double(first_half)
    }

    /// The same, with the first half that was drawn.
    #[inline]
    fn double(&mut self, first_half: u64) -> f64 {
        ((first_half << 27) + self.next(27)) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_java() {
        let mut random = JavaRandom::new(0);
        assert_eq!(random.next_double(), 0.730_967_787_376_657);
        assert_eq!(random.next_double(), 0.240_536_415_671_485_87);
    }

    /// Draws as Picard does, number by number.
    fn draw_plainly(shares: &[f64], random: &mut JavaRandom) -> usize {
        for _ in 0..MOST_DRAWS {
            let qual = (shares.len() as f64 * random.next_double()) as usize;
            if random.next_double() < shares[qual] {
                return qual;
            }
        }
        0
    }

    #[test]
    fn numbers_without_hope_are_passed_over() {
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
                assert_eq!(wheel.draw(), draw_plainly(&wheel.shares, &mut random), "{list:?} {number}");
            }
        }
    }

    #[test]
    fn deep_positions_of_good_qualities_are_sensitive() {
        let mut quals = vec![0; 127];
        quals[30] = 100;
        let mut depths = vec![0; 251];
        depths[60] = 1;
        assert!(het_snp_sensitivity(&depths, &quals, 100) > 0.99);
        depths = vec![0; 251];
        depths[1] = 1;
        assert_eq!(het_snp_sensitivity(&depths, &quals, 100), 0.0);
        assert_eq!(het_snp_sensitivity(&depths, &[0; 127], 10), 0.0, "no base has a quality");
        assert_eq!([0.0, 0.9, 1.0, 1.1].map(phred), [0.0, 10.0, -1.0, 0.0]);
    }
}

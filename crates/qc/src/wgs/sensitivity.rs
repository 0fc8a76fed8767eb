//! HET_SNP_SENSITIVITY: the share of heterozygous SNPs that would be called with these depths and qualities.
//!
//! Picard (3.4.0, `TheoreticalSensitivity`) draws sums of qualities at random, with java.util.Random and a fixed seed. So do we.

/// The seed.
const SEED: u64 = 51;

/// The greatest depth that is considered.
const MOST_DEPTH: usize = 1_000;

/// Draws after which a quality is 0.
const MOST_DRAWS: u32 = 600;

/// The logarithm of the odds at which a SNP is called.
const LOG_ODDS: f64 = 3.0;

/// Bytes of memory for positions by so many depths.
pub(super) fn bytes(depths: u64) -> u64 {
    let depths = depths.min(MOST_DEPTH as u64 + 1) + 1;
    // A table of counts, two rows of probabilities, and the sums.
    4 * depths * depths + 32 * depths + 2 * 128 * depths
}

/// Returns the sensitivity for positions by depth and bases by quality, from `samples` sums of each number of qualities.
pub(super) fn het_snp_sensitivity(depths: &[u64], quals: &[u64], samples: u32) -> f64 {
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
pub(super) fn phred(sensitivity: f64) -> f64 {
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

/// Draws qualities.
struct Wheel {
    /// The shares of the qualities of that of the most frequent one; not numbers if there are no bases.
    shares: Vec<f64>,
    random: JavaRandom,
}

impl Wheel {
    fn new(quals: &[u64]) -> Self {
        let all: f64 = quals.iter().map(|&count| count as f64).sum();
        let shares: Vec<f64> = quals.iter().map(|&count| count as f64 / all).collect();
        let most = shares.iter().copied().fold(shares[0], |most, it| if it > most { it } else { most });
        let shares = shares.into_iter().map(|share| share / most).collect();
        Wheel { shares, random: JavaRandom::new(SEED) }
    }

    #[inline]
    fn draw(&mut self) -> usize {
        let draws = if self.shares[0].is_nan() { 0 } else { MOST_DRAWS };
        for _ in 0..draws {
            let qual = (self.shares.len() as f64 * self.random.next_double()) as usize;
            if self.random.next_double() < self.shares[qual] {
                return qual;
            }
        }
        0
    }
}

/// java.util.Random.
struct JavaRandom(u64);

impl JavaRandom {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        JavaRandom((seed ^ Self::FACTOR) & Self::MASK)
    }

    #[inline]
    fn next(&mut self, bits: u32) -> u64 {
        self.0 = self.0.wrapping_mul(Self::FACTOR).wrapping_add(0xB) & Self::MASK;
        self.0 >> (48 - bits)
    }

    /// A number from 0 to below 1.
    #[inline]
    fn next_double(&mut self) -> f64 {
        let upper = self.next(26) << 27;
        (upper + self.next(27)) as f64 * (1.0 / (1_u64 << 53) as f64)
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

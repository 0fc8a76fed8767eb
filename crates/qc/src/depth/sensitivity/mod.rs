//! HET_SNP_SENSITIVITY: the share of heterozygous SNPs that would be called with these depths and qualities.
//!
//! Picard (3.4.0, `TheoreticalSensitivity`) draws sums of qualities at random, with java.util.Random and a fixed seed. So do we.
//!
//! | subject | module |
//! |---|---|
//! | the random numbers of Java | `random` |
//! | blocks of tries of a draw | `tries`, with AVX2 `tries_avx2` |
//! | drawing qualities | `wheel` |

mod random;
mod tries;
#[cfg(target_arch = "x86_64")]
mod tries_avx2;
mod wheel;

use wheel::Wheel;

/// The greatest depth that is considered.
const MAX_DEPTH: usize = 1_000;

/// The logarithm of the odds at which a SNP is called.
const LOG_ODDS: f64 = 3.0;

/// Bytes of memory for positions by so many depths.
pub(crate) fn bytes(depths: u64) -> u64 {
    let depths = depths.min(MAX_DEPTH as u64 + 1) + 1;
    // A table of counts, two rows of probabilities, the sums, and the wheel.
    4 * depths * depths + 32 * depths + 2 * 128 * depths + wheel::BYTES
}

/// Returns the sensitivity for positions by depth and bases by quality, from `samples` sums of each number of qualities.
pub(crate) fn het_snp_sensitivity(depths: &[u64], quals: &[u64], samples: u32) -> f64 {
    let n = depths.len().min(MAX_DEPTH + 1);
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

#[cfg(test)]
mod tests {
    use super::*;

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

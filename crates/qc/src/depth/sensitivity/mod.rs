//! HET_SNP_SENSITIVITY: the fraction of heterozygous SNPs that would be called with these depths
//! and qualities.
//!
//! Picard 3.4.0 (`TheoreticalSensitivity`) draws random qualities and sums them up, with
//! java.util.Random and a fixed seed. This module draws the same numbers, so that the result is the
//! same to the last digit.
//!
//! | task | module |
//! |---|---|
//! | the random numbers of Java | `random` |
//! | compute the random state of many tries in advance | `tries`, with AVX2 `tries_avx2` |
//! | draw a quality | `wheel` |

mod random;
mod tries;
#[cfg(target_arch = "x86_64")]
mod tries_avx2;
mod wheel;

use wheel::Wheel;

/// Maximum depth for which SNPs are considered. Deeper positions contribute nothing to the
/// sensitivity.
const MAX_DEPTH: usize = 1_000;

/// Minimum log10 odds at which a SNP is called, as in Picard.
const LOG_ODDS: f64 = 3.0;

/// Returns the memory in bytes that the computation takes for depths below `depths`.
pub(crate) fn memory_bytes(depths: u64) -> u64 {
    let depths = depths.min(MAX_DEPTH as u64 + 1) + 1;
    // A table of counts, two rows of probabilities, the sums, and the wheel.
    4 * depths * depths + 32 * depths + 2 * 128 * depths + wheel::BYTES
}

/// Returns the sensitivity. `depths` is the number of positions by depth, `quals` the number of
/// bases by quality, and `samples` the number of random sums for each number of qualities (Picard's
/// SAMPLE_SIZE).
pub(crate) fn het_snp_sensitivity(depths: &[u64], quals: &[u64], samples: u32) -> f64 {
    let n = depths.len().min(MAX_DEPTH + 1);
    let above = sums_above(quals, n, samples);
    let all: f64 = depths.iter().map(|&count| count as f64).sum();
    let (mut sensitivity, mut share, mut before) = (0.0, Vec::new(), Vec::new());
    for (depth, &count) in depths[..n].iter().enumerate() {
        fill_binomial_row(depth, &before, &mut share);
        for (alt, share) in share.iter().enumerate() {
            let likely = f64::from(above[alt * (n + 1) + depth]) / f64::from(samples);
            sensitivity += count as f64 / all * share * likely;
        }
        std::mem::swap(&mut before, &mut share);
    }
    sensitivity
}

/// Returns the Phred score of a sensitivity. As in Picard, it is -1 if all SNPs would be called.
pub(crate) fn phred_score(sensitivity: f64) -> f64 {
    let score = -10.0 * (1.0 - sensitivity).log10();
    match score {
        score if score.is_nan() => 0.0,
        score if score == f64::INFINITY => -1.0,
        score => (score + 0.5).floor(),
    }
}

/// Computes, for each number of reads from 0 to `depth`, the probability that this number of
/// `depth` reads has one of the two alleles. `before` are the probabilities for a depth that is
/// smaller by 1.
fn fill_binomial_row(depth: usize, before: &[f64], share: &mut Vec<f64>) {
    share.clear();
    share.push(0.5_f64.powi(depth as i32));
    for alt in 1..depth {
        share.push(depth as f64 * 0.5 / alt as f64 * before[alt - 1]);
    }
    if depth > 0 {
        share.push(share[0]);
    }
}

/// Returns, for each number of reads with the allele (below `n`) and each depth, how many of the
/// random sums of this number of qualities reach the threshold of the depth.
fn sums_above(quals: &[u64], n: usize, samples: u32) -> Vec<u32> {
    let threshold = |depth: usize| 10.0 * (depth as f64 * std::f64::consts::LOG10_2 + LOG_ODDS);
    // The number of depths whose threshold a sum reaches. They are always the smallest depths.
    let max_sum = quals.len() * n;
    let (mut reached, mut depth) = (Vec::with_capacity(max_sum + 1), 0_u16);
    for sum in 0..=max_sum {
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
            sum += wheel.draw_quality();
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
        assert_eq!([0.0, 0.9, 1.0, 1.1].map(phred_score), [0.0, 10.0, -1.0, 0.0]);
    }
}

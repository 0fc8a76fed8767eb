//! The rank sum test that GATK applies to reads of the alternate and of the reference allele.

use readmill_jmath::JavaMath;

use super::erf::normal_quantile;

/// Size of a series from which the normal approximation is used.
const MIN_NORMAL_SIZE: usize = 10;

/// Returns the Z-score of the hypothesis that `first` has lower values than `second`, or `None` if
/// a series is empty, like `MannWhitneyU.test` of GATK 4.6.2.0 with `FIRST_DOMINATES`. Sorts both.
///
/// Up to 9 values in each series, the test is exact: GATK lists all arrangements of the values, and
/// this function counts them by their sum of ranks.
///
/// ```
/// use readmill_genotypes::annotations::rank_sum_test;
/// use readmill_jmath::JavaMath;
///
/// let math = JavaMath::of_this_processor();
/// let score = rank_sum_test(math, &mut [20.0, 22.0], &mut [30.0, 31.0, 37.0]).ok_or("no value")?;
/// assert_eq!(format!("{score:.3}"), "-1.645");
/// assert_eq!(rank_sum_test(math, &mut [], &mut [30.0]), None);
/// # Ok::<(), &str>(())
/// ```
pub fn rank_sum_test(math: JavaMath, first: &mut [f64], second: &mut [f64]) -> Option<f64> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    first.sort_unstable_by(f64::total_cmp);
    second.sort_unstable_by(f64::total_cmp);
    let ranks = RankedValues::new(first, second);
    let is_large = first.len() >= MIN_NORMAL_SIZE || second.len() >= MIN_NORMAL_SIZE;
    let z = if is_large {
        ranks.approximate_z(math, first.len(), second.len())
    } else {
        normal_quantile(ranks.exact_p(first.len()))
    };
    (!z.is_nan()).then_some(z)
}

/// The values of both series in ascending order.
struct RankedValues {
    /// Rank of each value, the first 1: a mean if values are equal. GATK computes with `float`.
    ranks: Vec<f32>,
    /// Whether each value is of the first series.
    is_first: Vec<bool>,
    /// Number of values of each run of equal ones.
    ties: Vec<usize>,
}

impl RankedValues {
    fn new(first: &[f64], second: &[f64]) -> Self {
        let total = first.len() + second.len();
        let (mut values, mut is_first) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let (mut i, mut j) = (0, 0);
        while values.len() < total {
            let take_first = j == second.len() || (i < first.len() && first[i] <= second[j]);
            values.push(if take_first { first[i] } else { second[j] });
            is_first.push(take_first);
            if take_first { i += 1 } else { j += 1 }
        }
        let mut ranks: Vec<f32> = (1..=total).map(|rank| rank as f32).collect();
        let (mut ties, mut start) = (Vec::new(), 0);
        while start < total {
            let equal = values[start..].iter().take_while(|&&value| value == values[start]).count();
            let run = &mut ranks[start..start + equal.max(1)];
            if equal > 1 {
                let mean = run[1..].iter().fold(run[0], |sum, rank| sum + rank) / equal as f32;
                run.fill(mean);
                ties.push(equal);
            }
            start += equal.max(1);
        }
        RankedValues { ranks, is_first, ties }
    }

    /// Returns U of the first series.
    fn u(&self, size: usize) -> f64 {
        let mut sum = 0_f32;
        for (rank, _) in self.ranks.iter().zip(&self.is_first).filter(|&(_, &is_first)| is_first) {
            sum += rank;
        }
        let size = size as f64;
        f64::from(sum) - (size * (size + 1.0)) / 2.0
    }

    /// Returns the Z-score of the normal approximation. The correction for continuity is made only if
    /// there are ties, and not if all values are equal. Products are of 32-bit integers, as in GATK.
    fn approximate_z(&self, math: JavaMath, first: usize, second: usize) -> f64 {
        let cubes = self.ties.iter().filter(|&&count| count != self.ranks.len());
        let ties = cubes.fold(0.0, |sum, &count| sum + (math.pow(count as f64, 3.0) - count as f64));
        let (first_size, second_size) = (first as i32, second as i32);
        let product = f64::from(first_size.wrapping_mul(second_size));
        let total = first_size.wrapping_add(second_size);
        let pairs = f64::from(total.wrapping_mul(total.wrapping_sub(1)));
        let correction = if ties == 0.0 { 0.0 } else { -0.5 };
        let variance = (product / 12.0) * (f64::from(total.wrapping_add(1)) - ties / pairs);
        (self.u(first) - product / 2.0 - correction) / variance.sqrt()
    }

    /// Returns the probability that an arrangement of the values has a smaller U, half of those with
    /// the same U included. Twice a rank is a whole number.
    fn exact_p(&self, first: usize) -> f64 {
        let doubled: Vec<usize> = self.ranks.iter().map(|&rank| (2.0 * rank) as usize).collect();
        let limit = doubled.iter().sum::<usize>() + 1;
        let mut counts = vec![0_u64; (first + 1) * limit];
        counts[0] = 1;
        for rank in &doubled {
            for taken in (0..first).rev() {
                for sum in 0..limit - rank {
                    counts[(taken + 1) * limit + sum + rank] += counts[taken * limit + sum];
                }
            }
        }
        let of_first = doubled.iter().zip(&self.is_first).filter(|&(_, &is_first)| is_first);
        let observed: usize = of_first.map(|(rank, _)| rank).sum();
        let arrangements = &counts[first * limit..];
        let smaller: u64 = arrangements[..observed].iter().sum();
        let all: u64 = arrangements.iter().sum();
        (arrangements[observed] as f64 / 2.0 + smaller as f64) / all as f64
    }
}

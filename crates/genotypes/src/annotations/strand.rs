//! Strand bias: Fisher's exact test (`FS`) and the symmetric odds ratio (`SOR`).

use readmill_jmath::Log10Sums;

use super::hypergeometric::Hypergeometric;

/// Informative reads by allele and strand: reference forward, reference reverse, alternate forward,
/// alternate reverse.
pub type StrandCounts = [i32; 4];

/// Sum of a table above which it is scaled, and the sum that it is scaled to.
const MAX_TABLE_SUM: i32 = 400;
const SCALED_TABLE_SUM: f64 = 200.0;

/// Tables whose probability is at most that of the observed one times this are as extreme. GATK
/// applies it to the logarithm.
const TOLERANCE: f64 = 1.0 - 10e-7;

/// Smallest p-value, so that its logarithm is finite.
const MIN_P: f64 = 1e-320;

/// Returns `FS`: the Phred-scaled p-value of Fisher's exact test for strand bias, like
/// `FisherStrand` of GATK 4.6.2.0.
///
/// ```
/// use readmill_genotypes::annotations::fisher_strand;
/// use readmill_jmath::{JavaMath, Log10Sums};
///
/// let sums = Log10Sums::new(JavaMath::of_this_processor());
/// assert_eq!(fisher_strand(&sums, [10, 10, 5, 5]), 0.0);
/// assert!(fisher_strand(&sums, [20, 0, 0, 20]) > 100.0);
/// ```
pub fn fisher_strand(sums: &Log10Sums, table: StrandCounts) -> f64 {
    let p = fisher_p(sums, scale_table(table));
    (-10.0 * sums.math().log10(if p > MIN_P { p } else { MIN_P })).abs()
}

/// Scales a large table. Fractions of counts are dropped.
fn scale_table(table: StrandCounts) -> StrandCounts {
    let sum: i32 = table.iter().sum();
    if sum <= MAX_TABLE_SUM {
        return table;
    }
    let factor = f64::from(sum) / SCALED_TABLE_SUM;
    table.map(|count| (f64::from(count) / factor) as i32)
}

/// Returns the two-sided p-value of Fisher's exact test, like `FisherExactTest.twoSidedPValue`.
fn fisher_p(sums: &Log10Sums, [a, b, c, d]: StrandCounts) -> f64 {
    let (reference, alternate, forward) = (a + b, c + d, a + c);
    let first = (forward - alternate).max(0);
    let last = forward.min(reference);
    if last <= first {
        return 1.0;
    }
    let distribution =
        Hypergeometric { population: reference + alternate, successes: reference, draws: forward };
    let logs: Vec<f64> = (first..=last).map(|count| distribution.log_probability(count)).collect();
    let threshold = logs[(a - first) as usize] * TOLERANCE;
    let log10_e = sums.math().log10(std::f64::consts::E);
    let extreme: Vec<f64> =
        logs.iter().filter(|&&log| log <= threshold).map(|log| log * log10_e).collect();
    let p = sums.math().pow(10.0, sums.sum(&extreme));
    if p > 1.0 { 1.0 } else { p }
}

/// Returns `SOR`: the logarithm of the symmetric odds ratio of strands, with 1 added to each count,
/// like `StrandOddsRatio` of GATK 4.6.2.0.
///
/// ```
/// use readmill_genotypes::annotations::strand_odds_ratio;
/// use readmill_jmath::JavaMath;
///
/// let math = JavaMath::of_this_processor();
/// assert_eq!(format!("{:.3}", strand_odds_ratio(math, [10, 10, 5, 5])), "0.693");
/// ```
pub fn strand_odds_ratio(math: readmill_jmath::JavaMath, table: StrandCounts) -> f64 {
    let [t00, t01, t10, t11] = table.map(|count| f64::from(count) + 1.0);
    let ratio = (t00 / t01) * (t11 / t10) + (t01 / t00) * (t10 / t11);
    let evenness = |a: f64, b: f64| a.min(b) / a.max(b);
    math.log(ratio) + math.log(evenness(t00, t01)) - math.log(evenness(t10, t11))
}

//! Sums of probabilities that are given as decimal logarithms, as GATK's `MathUtils` computes them.

use crate::JavaMath;
use crate::rounding::fast_round;

/// Step of the table of approximate sums, and its inverse as Java computes it.
const STEP: f64 = 0.0001;
const STEPS_IN_1: f64 = 1.0 / STEP;
/// Largest difference of two logarithms for which the smaller one counts.
const MAX_DIFFERENCE: f64 = 8.0;
const ROWS: usize = 80_001;

/// Functions on decimal logarithms, with GATK's table log10(1 + 10^-d) of approximate sums.
///
/// The table has 80,001 rows. It is computed when this is created, since its last bits depend on
/// the processor that [`JavaMath`] stands for.
///
/// ```
/// use readmill_jmath::{CpuMaker, JavaMath, Log10Sums};
///
/// let sums = Log10Sums::new(JavaMath::of_maker(CpuMaker::Intel)?);
/// assert_eq!(sums.add_approximately(-3.0, f64::NEG_INFINITY), -3.0);
/// assert!((sums.add(-1.0, -1.0) - 0.2_f64.log10()).abs() < 1e-15);
/// # Ok::<(), readmill_jmath::MissingTable>(())
/// ```
#[derive(Clone, Debug)]
pub struct Log10Sums {
    math: JavaMath,
    table: Vec<f64>,
}

impl Log10Sums {
    /// Computes the table, which takes some milliseconds.
    pub fn new(math: JavaMath) -> Self {
        let row = |k: usize| math.log10(1.0 + math.pow(10.0, -(k as f64) * STEP));
        Log10Sums { math, table: (0..ROWS).map(row).collect() }
    }

    /// Returns the functions with which the table was made.
    pub fn math(&self) -> JavaMath {
        self.math
    }

    /// Returns the rows log10(1 + 10^(-k/10000)) of GATK's Jacobian table, by k.
    pub fn table(&self) -> &[f64] {
        &self.table
    }

    /// Returns about log10(10^`a` + 10^`b`), like `approximateLog10SumLog10`.
    pub fn add_approximately(&self, a: f64, b: f64) -> f64 {
        let (small, large) = if a > b { (b, a) } else { (a, b) };
        if small == f64::NEG_INFINITY {
            return large;
        }
        let difference = large - small;
        if difference < MAX_DIFFERENCE {
            large + self.table[fast_round(difference * STEPS_IN_1) as usize]
        } else {
            large
        }
    }

    /// Returns log10(10^`a` + 10^`b`), like `log10SumLog10` of two values.
    pub fn add(&self, a: f64, b: f64) -> f64 {
        if a > b {
            a + self.math.log10(1.0 + self.math.pow(10.0, b - a))
        } else {
            b + self.math.log10(1.0 + self.math.pow(10.0, a - b))
        }
    }

    /// Returns the logarithm of the sum of all powers, like `log10SumLog10` of an array: from left
    /// to right, relative to the first maximum. Returns -∞ if there is no value.
    pub fn sum(&self, values: &[f64]) -> f64 {
        let Some(at) = find_max(values) else {
            return f64::NEG_INFINITY;
        };
        let max = values[at];
        if max == f64::NEG_INFINITY {
            return max;
        }
        let mut sum = 1.0;
        for (i, &value) in values.iter().enumerate() {
            if i != at && value != f64::NEG_INFINITY {
                sum += self.math.pow(10.0, value - max);
            }
        }
        max + if sum == 1.0 { 0.0 } else { self.math.log10(sum) }
    }

    /// Subtracts the logarithm of their sum from all values, so that the sum of probabilities is 1,
    /// like `normalizeLog10`.
    pub fn normalize(&self, values: &mut [f64]) {
        let sum = self.sum(values);
        values.iter_mut().for_each(|value| *value -= sum);
    }
}

/// Returns the index of the first maximum, like `maxElementIndex`, or `None` if there is no value.
pub fn find_max(values: &[f64]) -> Option<usize> {
    let mut max = 0;
    for (i, &value) in values.iter().enumerate() {
        if value > values[max] {
            max = i;
        }
    }
    (!values.is_empty()).then_some(max)
}

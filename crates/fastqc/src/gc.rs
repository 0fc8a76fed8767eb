//! The module "Per sequence GC content": the GC content of each read, spread over whole percents.
//!
//! A read of n bases, k of them G or C, may represent any GC content between (k - 1/2) / n and (k +
//! 1/2) / n. FastQC counts it in all whole percents of this range. Each percent gets 1 divided by
//! the number of different k that reach it, so that the curve is smooth for short reads as well.

use std::collections::HashMap;

use readmill_record::java;

use crate::module::{Module, Status};

const PERCENT_CLASSES: usize = 101;

/// Limits of the sum of deviations from a normal distribution, in percent of the reads: a warning
/// above the first, a failure above the second.
const DEVIATION_LIMITS: [f64; 2] = [15.0, 30.0];

/// Maximum read length for which the percents of each k are stored. For longer reads, they are
/// computed each time.
const MAX_TABLE_LENGTH: usize = 1000;

/// Returns the number of bases of a read that are used: the length rounded down to a multiple of
/// 100 (1000 for reads of more than 1000 bases). This limits the number of distinct lengths,
/// because each length has a table.
pub(crate) fn used_bases(length: usize) -> usize {
    match length {
        1001.. => length / 1000 * 1000,
        101.. => length / 100 * 100,
        _ => length,
    }
}

/// Counts G and C in blocks of 255 bases, whose count fits in a byte.
#[inline]
pub(crate) fn count_gc(bases: &[u8]) -> u32 {
    let few = |bases: &[u8]| {
        bases.iter().fold(0_u8, |sum, &base| sum.wrapping_add(u8::from(base == b'G' || base == b'C')))
    };
    bases.chunks(usize::from(u8::MAX)).map(|bases| u32::from(few(bases))).sum()
}

struct Spread {
    shares: [f64; PERCENT_CLASSES],
    percents: Vec<[u8; 2]>,
}

impl Spread {
    fn new(length: usize) -> Self {
        let mut claims = [0_u32; PERCENT_CLASSES];
        let mut percents = Vec::with_capacity(if length <= MAX_TABLE_LENGTH { length + 1 } else { 0 });
        for gc in 0..=length {
            let [low, high] = percent_range(gc, length);
            claims[usize::from(low)..=usize::from(high)].iter_mut().for_each(|claims| *claims += 1);
            if length <= MAX_TABLE_LENGTH {
                percents.push([low, high]);
            }
        }
        Spread { shares: claims.map(|claims| 1.0 / f64::from(claims)), percents }
    }
}

/// Returns the first and last percent that a read of `length` bases, `gc` of them G or C, may
/// represent.
fn percent_range(gc: usize, length: usize) -> [u8; 2] {
    let (gc, length) = (gc as f64, length as f64);
    [gc - 0.5, gc + 0.5].map(|gc| round_half_up(gc.clamp(0.0, length) * 100.0 / length))
}

/// Rounds to the nearest integer, with halves rounded up as in Java's `Math.round`.
fn round_half_up(number: f64) -> u8 {
    let whole = number.floor();
    (whole + f64::from(u8::from(number - whole >= 0.5))) as u8
}

pub(crate) struct GcCounts {
    counts: [f64; PERCENT_CLASSES],
    by_length: HashMap<u32, Spread>,
    /// The table for the length of the previous read. Consecutive reads often have the same length,
    /// so it is kept outside the map.
    last: Option<(u32, Box<Spread>)>,
}

impl Default for GcCounts {
    fn default() -> Self {
        GcCounts { counts: [0.0; PERCENT_CLASSES], by_length: HashMap::new(), last: None }
    }
}

impl GcCounts {
    /// Maximum memory in bytes, for tables of all lengths up to 100, of hundreds up to 1,000, and
    /// of thousands for reads of a few million bases.
    pub const BYTES: u64 = 3 << 20;

    /// Adds a read of `length` bases, `gc` of them G or C. Reads must be added in file order,
    /// because the last digits of floating-point sums depend on it.
    #[inline]
    pub fn add_read(&mut self, length: u32, gc: u32) {
        let spread = match &mut self.last {
            Some((last, spread)) if *last == length => &**spread,
            last => {
                if let Some((length, spread)) = last.take() {
                    self.by_length.insert(length, *spread);
                }
                let spread =
                    self.by_length.remove(&length).unwrap_or_else(|| Spread::new(length as usize));
                &*last.insert((length, Box::new(spread))).1
            }
        };
        let kept = spread.percents.get(gc as usize).copied();
        let [low, high] =
            kept.unwrap_or_else(|| percent_range(gc as usize, length as usize)).map(usize::from);
        for (count, share) in self.counts[low..=high].iter_mut().zip(&spread.shares[low..=high]) {
            *count += share;
        }
    }

    pub fn make_module(&self) -> Module {
        let rows = self.counts.iter().enumerate();
        Module {
            name: "Per sequence GC content",
            status: Status::from_limits(self.normal_deviation(), DEVIATION_LIMITS),
            deduplicated: None,
            columns: vec!["GC Content".into(), "Count".into()],
            rows: rows
                .map(|(percent, &count)| vec![percent.to_string(), java::format_double(count)])
                .collect(),
        }
    }

    /// Returns the sum of the differences between the counts and a normal distribution around their
    /// mode, in percent of the reads. NaN if there are no reads.
    fn normal_deviation(&self) -> f64 {
        let total: f64 = self.counts.iter().sum();
        let mode = self.mode_of_counts();
        let squares = self.counts.iter().enumerate();
        let squares = squares.fold(0.0, |sum, (at, count)| sum + (at as f64 - mode).powi(2) * count);
        let deviation = (squares / (total - 1.0)).sqrt();
        let scale = 1.0 / (2.0 * std::f64::consts::PI * deviation * deviation).sqrt();
        let expected = |at: usize| {
            let exponent = (at as f64 - mode).powi(2) / (2.0 * deviation * deviation);
            scale * std::f64::consts::E.powf(-exponent) * total
        };
        let all = self.counts.iter().enumerate();
        all.fold(0.0, |sum, (at, count)| sum + (expected(at) - count).abs()) / total * 100.0
    }

    /// Returns the mean of the adjacent percents whose counts are more than 90 % of the highest
    /// count. If they reach 0 or 100, returns the percent with the highest count.
    fn mode_of_counts(&self) -> f64 {
        let counts = &self.counts;
        let mut first = 0;
        for (at, &count) in counts.iter().enumerate() {
            if count > counts[first] {
                first = at;
            }
        }
        let is_high = |count: &f64| *count > counts[first] - counts[first] / 10.0;
        let above = counts[first..].iter().take_while(|count| is_high(count)).count();
        let below = counts[..first].iter().rev().take_while(|count| is_high(count)).count();
        if first + above == PERCENT_CLASSES || below == first {
            return first as f64;
        }
        let sum: usize = (first - below..first + above).sum();
        sum as f64 / (above + below) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_spread_over_the_percents_it_may_stand_for() {
        assert_eq!(
            [0, 100, 101, 199, 200, 1000, 1001, 2500].map(used_bases),
            [0, 100, 100, 100, 200, 1000, 1000, 2000]
        );
        assert_eq!(percent_range(0, 1), [0, 50]);
        assert_eq!(percent_range(1, 1), [50, 100]);
        assert_eq!(percent_range(50, 100), [50, 51], "49.5 and 50.5 are rounded up");
        assert_eq!(percent_range(100, 100), [100, 100]);
        let mut counts = GcCounts::default();
        counts.add_read(1, 0);
        counts.add_read(100, 100);
        assert_eq!((counts.counts[0], counts.counts[50], counts.counts[100]), (1.0, 0.5, 0.5));
        counts.add_read(1, 1);
        assert_eq!((counts.counts[50], counts.counts[51], counts.counts[100]), (1.0, 1.0, 1.5));
        assert_eq!(count_gc(&[b'G'; 1000]), 1000);
        assert_eq!(count_gc(b"ACGTNGC"), 4);
    }

    #[test]
    fn the_mode_is_the_middle_of_the_top() {
        let mut counts = GcCounts::default();
        assert_eq!(counts.mode_of_counts(), 0.0);
        assert!(counts.normal_deviation().is_nan());
        (counts.counts[40], counts.counts[41], counts.counts[42], counts.counts[43]) =
            (80.0, 95.0, 100.0, 91.0);
        assert_eq!(counts.mode_of_counts(), 42.0);
        counts.counts[0..42].fill(99.0);
        assert_eq!(counts.mode_of_counts(), 42.0, "it reaches the end");
    }
}

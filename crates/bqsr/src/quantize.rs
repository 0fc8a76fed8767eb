//! Reduces the number of distinct qualities by merging adjacent ones, as GATK's QualQuantizer does.
//!
//! Every quality starts as its own interval. The two adjacent intervals with the lowest penalty are
//! merged until at most the requested number of intervals remains.

use super::covariates::QUALITIES;
use readmill_record::exact::{log10, power_of_ten};

const MAX_FREE_QUALITY: usize = 6;

/// Maps each quality (Phred, 0 to 93) to one of at most `levels` qualities. `counts` has the number
/// of bases with each quality.
pub fn quantize_qualities(counts: &[u64; QUALITIES], levels: usize) -> [u8; QUALITIES] {
    let mut intervals: Vec<QualityInterval> =
        (0..QUALITIES).map(|quality| QualityInterval::of_quality(quality, counts[quality])).collect();
    while intervals.len() > levels.max(1) {
        merge_cheapest(&mut intervals);
    }
    let mut map = [0; QUALITIES];
    for interval in &intervals {
        map[interval.first..=interval.last].fill(interval.written_quality());
    }
    map
}

/// Counts the runs of equal qualities in a map. GATK uses this count as the number of levels.
pub fn count_levels(map: &[u8; QUALITIES]) -> usize {
    map.chunk_by(|a, b| a == b).count()
}

/// Merges the two adjacent intervals with the lowest penalty, or the first such pair if penalties
/// are equal.
fn merge_cheapest(intervals: &mut Vec<QualityInterval>) {
    let mut cheapest: Option<(usize, f64)> = None;
    for (at, pair) in intervals.windows(2).enumerate() {
        let penalty = compute_merge_penalty(&pair[0], &pair[1]);
        if cheapest.is_none_or(|(_, min_penalty)| penalty < min_penalty) {
            cheapest = Some((at, penalty));
        }
    }
    let Some((at, _)) = cheapest else { return };
    let right = intervals.remove(at + 1);
    let left = std::mem::replace(&mut intervals[at], QualityInterval::of_quality(0, 0));
    intervals[at] = left.merge_with(right);
}

/// Returns the penalty of merging two intervals: the change in log10 of the error rate, summed over
/// all bases.
fn compute_merge_penalty(left: &QualityInterval, right: &QualityInterval) -> f64 {
    let rate = compute_error_rate(
        left.observations.saturating_add(right.observations),
        left.errors + right.errors,
    );
    if rate == 0.0 {
        return 0.0;
    }
    let rate = log10(rate);
    left.penalty_at_rate(rate) + right.penalty_at_rate(rate)
}

/// Returns the error rate with one pseudo-error and one pseudo-observation, or 0 if there are no
/// bases.
fn compute_error_rate(observations: u64, errors: u64) -> f64 {
    if observations == 0 { 0.0 } else { (errors + 1) as f64 / observations.saturating_add(1) as f64 }
}

/// A range of adjacent quality scores that share one written quality.
struct QualityInterval {
    first: usize,
    last: usize,
    observations: u64,
    errors: u64,
    /// log10 of the error rate. Used only for an interval of a single quality.
    rate: f64,
    /// The two intervals that were merged, or `None` for a single quality.
    parts: Option<Box<(QualityInterval, QualityInterval)>>,
}

impl QualityInterval {
    fn of_quality(quality: usize, observations: u64) -> Self {
        let rate = power_of_ten(quality as f64 / -10.0);
        // GATK stores the number of errors in a Java int.
        let errors = ((observations as f64 * rate).floor() as u64).min(i32::MAX as u64);
        QualityInterval {
            first: quality,
            last: quality,
            observations,
            errors,
            rate: log10(rate),
            parts: None,
        }
    }

    fn merge_with(self, other: QualityInterval) -> QualityInterval {
        QualityInterval {
            first: self.first,
            last: other.last,
            observations: self.observations.saturating_add(other.observations),
            errors: self.errors + other.errors,
            rate: 0.0,
            parts: Some(Box::new((self, other))),
        }
    }

    /// Returns the penalty of the interval's bases if log10 of their error rate becomes `rate`.
    ///
    /// The sum follows the order of merges, because a different order would change the last bits.
    fn penalty_at_rate(&self, rate: f64) -> f64 {
        match &self.parts {
            Some(parts) => parts.0.penalty_at_rate(rate) + parts.1.penalty_at_rate(rate),
            None if self.last <= MAX_FREE_QUALITY => 0.0,
            None => (self.rate - rate).abs() * self.observations as f64,
        }
    }

    fn written_quality(&self) -> u8 {
        if self.parts.is_none() {
            return self.first as u8;
        }
        let quality = -10.0 * log10(compute_error_rate(self.observations, self.errors));
        (quality + 0.5).floor().clamp(1.0, 93.0) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of GATK 4.6.2.0.
    const GATK_QUANTIZED: &str = include_str!("../../../tests/oracles/gatk/recalibration/quantized.tsv");

    #[test]
    fn gatk_s_quantized_qualities() {
        let numbers = |text: &str| {
            text.split(',').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<_>>()
        };
        for line in GATK_QUANTIZED.lines().filter(|line| !line.starts_with('#')) {
            let [wanted, counts, map] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let counts: [u64; QUALITIES] = numbers(counts).try_into().unwrap();
            let found = quantize_qualities(&counts, wanted.parse().unwrap());
            assert_eq!(found.map(u64::from).to_vec(), numbers(map), "{line}");
        }
    }

    #[test]
    fn as_many_levels_as_qualities_change_nothing() {
        let identity = std::array::from_fn(|quality| quality as u8);
        assert_eq!(quantize_qualities(&[1; QUALITIES], QUALITIES), identity);
        assert_eq!(count_levels(&identity), QUALITIES);
        // Separately merged intervals may get equal qualities.
        assert!(count_levels(&quantize_qualities(&[5; QUALITIES], 7)) <= 7);
    }
}

//! The modules about whole sequences: duplication levels and overrepresented sequences.
//!
//! Only the first 100,000 distinct sequences are tracked, in all reads. The number of untracked
//! sequences of each frequency is extrapolated from the probability that none of their reads was
//! among the first.

use readmill_record::java;

use crate::contaminants;
use crate::distinct::DistinctSequences;
use crate::module::{Module, Status};
use crate::totals::Totals;

/// Limits of the percentage of reads that would remain after deduplication: a warning below the
/// first, a failure below the second.
const REMAINING_LIMITS: [f64; 2] = [70.0, 50.0];

/// Limits of the percentage of reads with the same sequence. Sequences above the first are listed
/// with a warning; one above the second is a failure.
const OVERREPRESENTED_LIMITS: [f64; 2] = [0.1, 1.0];

const DUPLICATION_LEVELS: [(&str, u64); 16] = [
    ("1", 1),
    ("2", 2),
    ("3", 3),
    ("4", 4),
    ("5", 5),
    ("6", 6),
    ("7", 7),
    ("8", 8),
    ("9", 9),
    (">10", 50),
    (">50", 100),
    (">100", 500),
    (">500", 1000),
    (">1k", 5000),
    (">5k", 10_000),
    (">10k+", u64::MAX),
];

pub(crate) fn make_modules(totals: &Totals, sequences: &DistinctSequences) -> [Module; 2] {
    let buckets = java::bucket_count(sequences.len());
    let mut order = Vec::from_iter(0..sequences.len() as u32);
    // FastQC iterates over a Java HashMap, whose order determines floating-point sums and the order
    // of equally frequent sequences.
    let bucket = |&number: &u32| {
        java::bucket_index(java::string_hash(sequences.sequence(number as usize)), buckets) as u32
    };
    order.sort_by_cached_key(bucket);
    [make_duplication_module(totals, &order), make_overrepresented_module(totals, sequences, &order)]
}

fn make_duplication_module(totals: &Totals, order: &[u32]) -> Module {
    let [mut different, mut all] = [[0.0; DUPLICATION_LEVELS.len()]; 2];
    let [mut sum_of_different, mut sum_of_all] = [0.0; 2];
    for (times, sequences) in count_frequencies(order.iter().map(|&number| totals.seen[number as usize]))
    {
        let count = estimate_sequence_count(totals.reads_at_limit, totals.reads, times, sequences);
        let level = DUPLICATION_LEVELS
            .iter()
            .position(|(_, max_times)| times <= *max_times)
            .unwrap_or(DUPLICATION_LEVELS.len() - 1);
        let reads = count * times as f64;
        sum_of_different += count;
        sum_of_all += reads;
        different[level] += count;
        all[level] += reads;
    }
    let left = if sum_of_all == 0.0 { 100.0 } else { sum_of_different / sum_of_all * 100.0 };
    let percent = |part: f64, sum: f64| java::format_double(part / sum * 100.0);
    let row = |((name, _), (different, all)): (&(&str, _), (&f64, &f64))| {
        vec![name.to_string(), percent(*different, sum_of_different), percent(*all, sum_of_all)]
    };
    let columns = ["Duplication Level", "Percentage of deduplicated", "Percentage of total"];
    Module {
        name: "Sequence Duplication Levels",
        status: Status::from_warns_and_fails(left < REMAINING_LIMITS[0], left < REMAINING_LIMITS[1]),
        deduplicated: Some(java::format_double(left)),
        columns: columns.map(String::from).into(),
        rows: DUPLICATION_LEVELS.iter().zip(different.iter().zip(&all)).map(row).collect(),
    }
}

/// Returns how many sequences have each number of reads, as pairs of read count and sequence count,
/// in the order of a Java HashMap.
fn count_frequencies(seen: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut places = std::collections::HashMap::new();
    let mut frequencies: Vec<(u64, u64)> = Vec::new();
    for times in seen {
        let place = *places.entry(times).or_insert(frequencies.len());
        if place == frequencies.len() {
            frequencies.push((times, 0));
        }
        frequencies[place].1 += 1;
    }
    let buckets = java::bucket_count(frequencies.len());
    frequencies.sort_by_key(|(times, _)| java::bucket_index(*times as u32, buckets));
    frequencies
}

/// Estimates how many sequences of the file have `times` reads each, if `found` of the tracked
/// sequences do.
///
/// `limit` is the number of reads up to the last new tracked sequence, `reads` the number of all
/// reads. A sequence was missed if none of its reads was among the first `limit`.
fn estimate_sequence_count(limit: u64, reads: u64, times: u64, found: u64) -> f64 {
    let known = found as f64;
    if limit == reads || reads - found < limit {
        return known;
    }
    // The probability that a sequence is missed. FastQC stops below a probability that would change
    // the result by less than 0.01 sequences.
    let (mut missed, min_missed) = (1.0, 1.0 - known / (known + 0.01));
    for read in 0..limit {
        let left = reads - read;
        missed *= (left as f64 - times as f64) / left as f64;
        if missed < min_missed {
            missed = 0.0;
            break;
        }
    }
    known / (1.0 - missed)
}

fn make_overrepresented_module(totals: &Totals, sequences: &DistinctSequences, order: &[u32]) -> Module {
    let percent = |number: u32| totals.seen[number as usize] as f64 / totals.reads as f64 * 100.0;
    let often = order.iter().copied().filter(|&number| percent(number) > OVERREPRESENTED_LIMITS[0]);
    let mut often = Vec::from_iter(often);
    often.sort_by_key(|&number| std::cmp::Reverse(totals.seen[number as usize]));
    let row = |&number: &u32| {
        let sequence = sequences.sequence(number as usize);
        vec![
            String::from_utf8_lossy(sequence).into_owned(),
            totals.seen[number as usize].to_string(),
            java::format_double(percent(number)),
            contaminants::find_source(sequence).unwrap_or_else(|| "No Hit".into()),
        ]
    };
    let max_percent = often.first().map_or(0.0, |&number| percent(number));
    let columns = ["Sequence", "Count", "Percentage", "Possible Source"];
    Module {
        name: "Overrepresented sequences",
        status: Status::from_warns_and_fails(!often.is_empty(), max_percent > OVERREPRESENTED_LIMITS[1]),
        deduplicated: None,
        columns: if often.is_empty() { Vec::new() } else { columns.map(String::from).into() },
        rows: often.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_that_were_missed_are_inferred() {
        assert_eq!(estimate_sequence_count(10, 10, 2, 5), 5.0, "all are known");
        assert_eq!(estimate_sequence_count(8, 10, 1, 3), 3.0, "no more can be hidden");
        assert_eq!(estimate_sequence_count(1, 4, 1, 1), 1.0 / (1.0 - 3.0 / 4.0));
        assert_eq!(estimate_sequence_count(2, 4, 1, 1), 1.0 / (1.0 - 3.0 / 4.0 * (2.0 / 3.0)));
        assert_eq!(estimate_sequence_count(100_000, 1_000_000, 1000, 7), 7.0);
    }

    #[test]
    fn frequencies_are_in_the_order_of_java() {
        assert_eq!(
            count_frequencies([17, 1, 2, 17, 33].into_iter()),
            [(17, 2), (1, 1), (33, 1), (2, 1)]
        );
    }
}

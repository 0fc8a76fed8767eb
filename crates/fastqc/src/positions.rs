//! The modules that report a value per position: qualities, base content, N content and adapters.

use readmill_record::java;

use crate::adapters::{self, ADAPTERS};
use crate::groups::{Group, make_groups};
use crate::module::{FastqcEncoding, Module, Status};
use crate::pages::FastqcPosition;
use crate::totals::Totals;
use crate::{MIN_QUAL_CHAR, QUAL_COUNT};

/// Phred limits of the lower quartile and of the median at a position: a warning below the first, a
/// failure below the second.
const QUARTILE_LIMITS: [f64; 2] = [10.0, 5.0];
const MEDIAN_LIMITS: [f64; 2] = [25.0, 20.0];

/// Limits of |G - C| and |A - T| at a position, in percent: a warning above the first, a failure
/// above the second.
const LETTER_LIMITS: [f64; 2] = [10.0, 20.0];

const N_LIMITS: [f64; 2] = [5.0, 20.0];

const ADAPTER_LIMITS: [f64; 2] = [5.0, 10.0];

/// Minimum number of qualities at a position for percentiles. Below that, FastQC reports none.
const MIN_QUALITIES: u64 = 101;

/// Creates the module "Per base sequence quality". `None` if no read has qualities.
pub(crate) fn make_quality_module(totals: &Totals, no_group: bool) -> Option<Module> {
    let length = totals.positions.lengths[1];
    if length == 0 {
        return None;
    }
    let skipped = usize::from(FastqcEncoding::from_min_char(totals.lowest).offset - MIN_QUAL_CHAR);
    let positions = Vec::from_iter(totals.positions.iter().take(length));
    let (mut rows, mut warns, mut fails) = (Vec::new(), false, false);
    for group in make_groups(length, no_group) {
        let of_group = &positions[group.range()];
        let percentile = |percent| {
            mean_of(of_group.iter().filter_map(|at| quality_percentile(&at.quals, skipped, percent)))
        };
        let mean =
            mean_of(of_group.iter().filter_map(|at| mean_quality(&at.quals, skipped))).unwrap_or(0.0);
        let [median, lower, upper, lowest, highest] =
            [50, 25, 75, 10, 90].map(|percent| percentile(percent).unwrap_or(f64::NAN));
        if !lower.is_nan() {
            warns |= lower < QUARTILE_LIMITS[0] || median < MEDIAN_LIMITS[0];
            fails |= lower < QUARTILE_LIMITS[1] || median < MEDIAN_LIMITS[1];
        }
        rows.push(format_row(group, [mean, median, lower, upper, lowest, highest]));
    }
    let columns = [
        "Base",
        "Mean",
        "Median",
        "Lower Quartile",
        "Upper Quartile",
        "10th Percentile",
        "90th Percentile",
    ];
    Some(Module {
        name: "Per base sequence quality",
        status: Status::from_warns_and_fails(warns, fails),
        deduplicated: None,
        columns: columns.map(String::from).into(),
        rows,
    })
}

fn format_row<const N: usize>(group: Group, numbers: [f64; N]) -> Vec<String> {
    std::iter::once(group.name()).chain(numbers.map(java::format_double)).collect()
}

fn mean_of(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the mean Phred score at a position, or `None` if it has no qualities. `skipped` is the
/// number of quality characters below Phred 0 of the encoding: 0 for Phred+33, 31 for Phred+64.
fn mean_quality(quals: &[u64; QUAL_COUNT], skipped: usize) -> Option<f64> {
    let all = quals.iter().skip(skipped);
    let (sum, count) =
        (0..).zip(all).fold((0, 0), |(sum, count), (qual, n)| (sum + qual * n, count + n));
    (count > 0).then(|| sum as f64 / count as f64)
}

/// Returns the lowest Phred score that at least `percent` of the reads do not exceed, or `None` if
/// there are too few qualities. The number of reads is rounded down, as in FastQC's integer
/// arithmetic.
fn quality_percentile(quals: &[u64; QUAL_COUNT], skipped: usize, percent: u64) -> Option<f64> {
    let total: u64 = quals.iter().sum();
    if total < MIN_QUALITIES {
        return None;
    }
    let (wanted, mut count) = (total * percent / 100, 0);
    let reaches = |n: &u64| {
        count += n;
        count >= wanted
    };
    quals.iter().skip(skipped).position(reaches).map(|qual| qual as f64)
}

pub(crate) fn make_base_module(totals: &Totals, no_group: bool) -> Module {
    let length = totals.positions.lengths[0];
    let positions = Vec::from_iter(totals.positions.iter().take(length));
    let (mut rows, mut max_difference) = (Vec::new(), 0.0_f64);
    for group in make_groups(length, no_group) {
        let sum = |letter| {
            positions[group.range()].iter().map(|at: &&FastqcPosition| at.letters[letter]).sum()
        };
        let counts: [u64; 4] = [0, 1, 2, 3].map(sum);
        let total: u64 = counts.iter().sum();
        let [a, c, g, t] = counts.map(|count| (count as f64 / total as f64) * 100.0);
        max_difference = max_difference.max((c - g).abs()).max((t - a).abs());
        rows.push(format_row(group, [g, a, t, c]));
    }
    Module {
        name: "Per base sequence content",
        status: Status::from_limits(max_difference, LETTER_LIMITS),
        deduplicated: None,
        columns: ["Base", "G", "A", "T", "C"].map(String::from).into(),
        rows,
    }
}

pub(crate) fn make_n_module(totals: &Totals, no_group: bool) -> Module {
    let length = totals.positions.lengths[0];
    // The number of reads that reach each position, summed up from the longest reads.
    let mut reads = vec![0; length + 1];
    for at in (0..length).rev() {
        reads[at] = reads[at + 1] + totals.lengths.get(at + 1).copied().unwrap_or(0);
    }
    let n = Vec::from_iter(totals.positions.iter().take(length).map(|at| at.letters[4]));
    let (mut rows, mut max_percent) = (Vec::new(), 0.0_f64);
    for group in make_groups(length, no_group) {
        let [count, total]: [u64; 2] = [&n, &reads].map(|counts| counts[group.range()].iter().sum());
        let percent = 100.0 * (count as f64 / total as f64);
        max_percent = max_percent.max(percent);
        rows.push(format_row(group, [percent]));
    }
    Module {
        name: "Per base N content",
        status: Status::from_limits(max_percent, N_LIMITS),
        deduplicated: None,
        columns: ["Base", "N-Count"].map(String::from).into(),
        rows,
    }
}

/// Creates the module "Adapter Content": for each position, the percentage of reads in which an
/// adapter starts at or before it. If no read is longer than the 12 bases of an adapter, the module
/// is a warning without a table.
pub(crate) fn make_adapter_module(totals: &Totals, no_group: bool) -> Module {
    let longest = totals.adapters.longest as usize;
    let name = "Adapter Content";
    if longest == 0 {
        // No read is long enough to contain an adapter.
        return Module {
            name,
            status: Status::Warn,
            deduplicated: None,
            columns: Vec::new(),
            rows: Vec::new(),
        };
    }
    let groups = make_groups(longest - adapters::ADAPTER_BASES + 1, no_group);
    let (mut rows, mut max_percent) =
        (Vec::from_iter(groups.iter().map(|group| vec![group.name()])), 0.0_f64);
    for starts in &totals.adapters.starts {
        let mut started = 0;
        for (group, row) in groups.iter().zip(&mut rows) {
            let mut percent = 0.0;
            for at in group.range() {
                started += starts.get(at).copied().unwrap_or(0);
                percent += (started as f64 * 100.0) / totals.reads as f64;
            }
            percent /= group.range().len() as f64;
            max_percent = max_percent.max(percent);
            row.push(java::format_double(percent));
        }
    }
    let columns = std::iter::once("Position").chain(ADAPTERS.iter().map(|(name, _)| *name));
    Module {
        name,
        status: Status::from_limits(max_percent, ADAPTER_LIMITS),
        deduplicated: None,
        columns: columns.map(String::from).collect(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_whole_reads() {
        let mut quals = [0; QUAL_COUNT];
        (quals[2], quals[40]) = (50, 50);
        assert_eq!(quality_percentile(&quals, 0, 50), None, "of too few");
        quals[40] = 51;
        assert_eq!(
            [10, 49, 50, 75].map(|percent| quality_percentile(&quals, 0, percent)),
            [2.0, 2.0, 2.0, 40.0].map(Some)
        );
        quals[2] = 0;
        quals[60] = 50;
        assert_eq!(quality_percentile(&quals, 31, 25), Some(9.0));
        assert_eq!(mean_quality(&quals, 31), Some((51.0 * 9.0 + 50.0 * 29.0) / 101.0));
        assert_eq!(mean_quality(&[0; QUAL_COUNT], 0), None);
    }
}

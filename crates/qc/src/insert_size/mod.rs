//! CollectInsertSizeMetrics: the distribution of insert sizes (TLEN), for each orientation of
//! pairs.

pub(crate) mod options;

use std::sync::Arc;

use readmill_format::metrics::{HistogramColumn, MetricsRow};
use readmill_format::report::ReportContents;
use readmill_record::Result;
use serde::{Deserialize, Serialize};

use self::options::InsertSizeOptions;
use crate::collector::ByGroup;
use crate::counts::{KeyCounts, SortedCounts};
use crate::levels::{Levels, MetricsUnit};
use crate::read::Orientation;
use crate::{MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd};

pub(crate) struct InsertSize {
    options: InsertSizeOptions,
    include_duplicates: bool,
    levels: Arc<Levels>,
}

/// The columns of the table. [`make_row`] pushes its values in the same order.
const COLUMNS: [&str; 23] = [
    "MEDIAN_INSERT_SIZE",
    "MODE_INSERT_SIZE",
    "MEDIAN_ABSOLUTE_DEVIATION",
    "MIN_INSERT_SIZE",
    "MAX_INSERT_SIZE",
    "MEAN_INSERT_SIZE",
    "STANDARD_DEVIATION",
    "READ_PAIRS",
    "PAIR_ORIENTATION",
    "WIDTH_OF_10_PERCENT",
    "WIDTH_OF_20_PERCENT",
    "WIDTH_OF_30_PERCENT",
    "WIDTH_OF_40_PERCENT",
    "WIDTH_OF_50_PERCENT",
    "WIDTH_OF_60_PERCENT",
    "WIDTH_OF_70_PERCENT",
    "WIDTH_OF_80_PERCENT",
    "WIDTH_OF_90_PERCENT",
    "WIDTH_OF_95_PERCENT",
    "WIDTH_OF_99_PERCENT",
    "SAMPLE",
    "LIBRARY",
    "READ_GROUP",
];

/// The fractions of pairs whose width around the median is reported (WIDTH_OF_10_PERCENT and so
/// on).
const SHARES: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// Histograms of insert sizes, one for each orientation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InsertSizes([KeyCounts; 3]);

impl ReadMetric for InsertSize {
    const PROGRAM: PicardProgram =
        PicardProgram { name: "CollectInsertSizeMetrics", endings: &[".insert_size_metrics"] };
    type Counts = ByGroup<InsertSizes>;

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(InsertSize {
            options: setup.options().insert_size.clone(),
            include_duplicates: setup.options().include_duplicates,
            levels: Arc::clone(&setup.levels),
        })
    }

    /// Counts a pair when its second read is seen, so that it is counted once. Pairs on two contigs
    /// have no insert size, whatever their TLEN is.
    fn count_read(
        &self,
        counts: &mut ByGroup<InsertSizes>,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let size = read.record.tlen().unsigned_abs();
        let is_left_out = !read.is_mapped_pair()
            || read.flags.is_first()
            || (read.flags.is_duplicate() && !self.include_duplicates)
            || size == 0
            || size > i32::MAX.unsigned_abs();
        if is_left_out {
            return Ok(());
        }
        match read.orientation() {
            Some(orientation) => counts.group_counts(read.group, context)?.0[orientation as usize]
                .count_key(size, context.room),
            None => Ok(()),
        }
    }

    fn merge_counts(&self, into: &mut ByGroup<InsertSizes>, from: ByGroup<InsertSizes>) {
        into.merge_groups(from, InsertSizes::merge);
    }

    fn make_reports(
        &self,
        total: ByGroup<InsertSizes>,
        end: &RunEnd<'_>,
    ) -> Result<Vec<ReportContents>> {
        let (units, options) = (total.sum_by_unit(&self.levels, InsertSizes::merge), &self.options);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (unit, sizes) in &units {
            let all: Vec<SortedCounts> = sizes.0.iter().map(KeyCounts::bins).collect();
            let total: u64 = all.iter().map(SortedCounts::count).sum();
            for ((_, name), mut bins) in Orientation::NAMED.into_iter().zip(all) {
                let enough = total as f64 * f64::from(options.minimum_pct.unwrap_or(0.05));
                if total == 0 || (bins.count() as f64) < enough {
                    continue;
                }
                rows.push(make_row(unit, name, &mut bins, options));
                let label =
                    [unit.histogram_label(), b".", name.to_lowercase().as_bytes(), b"_count"].concat();
                columns.push(HistogramColumn { label, bins: bins.to_histogram_bins() });
            }
        }
        Ok(end.make_files(&Self::PROGRAM, |[file]| {
            file.set_table("picard.analysis.InsertSizeMetrics", &COLUMNS, rows);
            file.set_histograms("java.lang.Integer", "insert_size", columns);
        }))
    }
}

impl InsertSizes {
    fn merge(&mut self, from: &InsertSizes) {
        self.0.iter_mut().zip(&from.0).for_each(|(into, from)| into.merge(from));
    }
}

/// Returns the row of one orientation, with one value for each of [`COLUMNS`], in this order.
/// Removes insert sizes above the histogram width from `bins`, because Picard computes mean and
/// standard deviation without them.
fn make_row(
    unit: &MetricsUnit,
    orientation: &str,
    bins: &mut SortedCounts,
    options: &InsertSizeOptions,
) -> MetricsRow {
    let (median, deviation, count) = (bins.median(), bins.median_absolute_deviation(), bins.count());
    let mut row = MetricsRow::default();
    row.push_decimal(median).push_decimal(bins.mode()).push_decimal(deviation);
    row.push_integer(bins.min()).push_integer(bins.max());
    let widths = find_widths(bins, median);
    let calculated = (median + options.deviations.unwrap_or(10.0) * deviation) as i32;
    let calculated =
        options.min_histogram_width.map_or(calculated, |min_width| calculated.max(min_width));
    bins.remove_keys_above(options.histogram_width.unwrap_or(calculated).into());
    let [mean, sd] = if bins.is_empty() { [0.0; 2] } else { [bins.mean(), bins.standard_deviation()] };
    row.push_decimal(mean).push_decimal(sd).push_integer(count).push_text(orientation.as_bytes());
    widths.into_iter().for_each(|width| _ = row.push_integer(width));
    unit.column_values().into_iter().for_each(|name| _ = row.push_optional(name));
    row
}

/// Returns, for each of [`SHARES`], the smallest odd width around the median that contains this
/// fraction of pairs. As in Picard, the width grows by one base on both sides; a median between two
/// sizes is rounded down first.
fn find_widths(bins: &SortedCounts, median: f64) -> [i32; SHARES.len()] {
    let (middle, total) = (median as i64, bins.count() as f64);
    let mut steps: Vec<(u64, u64)> =
        bins.0.iter().map(|&(key, count)| (key.abs_diff(middle), count)).collect();
    steps.sort_unstable();
    let mut widths = [0; SHARES.len()];
    let (mut covered, mut at) = (0, 0);
    while let Some(&(step, _)) = steps.get(at) {
        while let Some(&(_, count)) = steps.get(at).filter(|next| next.0 == step) {
            covered += count;
            at += 1;
        }
        let width = i32::try_from(2 * step).unwrap_or(i32::MAX).wrapping_add(1);
        for (share, into) in SHARES.into_iter().zip(&mut widths) {
            if *into == 0 && covered as f64 / total >= share {
                *into = width;
            }
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_grow_from_the_median() {
        let bins = SortedCounts(vec![(10, 1), (12, 4), (13, 4), (20, 1)]);
        assert_eq!(bins.median(), 12.5);
        assert_eq!(find_widths(&bins, 12.5), [1, 1, 1, 1, 3, 3, 3, 3, 5, 17, 17]);
        assert_eq!(find_widths(&SortedCounts::default(), 0.0), [0; 11]);
    }
}

//! Writes the two files of CollectGcBiasMetrics, details and summary.

use readmill_format::metrics::{MetricsFile, MetricsRow};

use super::bins::{BINS, GcCounts, GcReads};
use super::options::GcBiasOptions;
use super::scan::GcWindows;
use crate::counts::error_rate_to_phred;
use crate::levels::MetricsUnit;

/// Columns of the details, before the columns of the level.
const DETAILS: [&str; 8] = [
    "ACCUMULATION_LEVEL",
    "READS_USED",
    "GC",
    "WINDOWS",
    "READ_STARTS",
    "MEAN_BASE_QUALITY",
    "NORMALIZED_COVERAGE",
    "ERROR_BAR_WIDTH",
];

/// Columns of the summary, before the columns of the level.
const SUMMARY: [&str; 12] = [
    "ACCUMULATION_LEVEL",
    "READS_USED",
    "WINDOW_SIZE",
    "TOTAL_CLUSTERS",
    "ALIGNED_READS",
    "AT_DROPOUT",
    "GC_DROPOUT",
    "GC_NC_0_19",
    "GC_NC_20_39",
    "GC_NC_40_59",
    "GC_NC_60_79",
    "GC_NC_80_100",
];

const UNIT: [&str; 3] = ["SAMPLE", "LIBRARY", "READ_GROUP"];

/// The ranges of GC percentages in the summary, with exclusive ends.
const RANGES: [(usize, usize); 5] = [(0, 20), (20, 40), (40, 60), (60, 80), (80, BINS)];

/// Maximum GC percentage that contributes to AT_DROPOUT. Larger percentages contribute to
/// GC_DROPOUT.
const MAX_AT: usize = 50;

/// Fills the files of the details and the summary. Each unit has rows for all reads and, on request,
/// for non-duplicates. Units without aligned reads have no rows.
pub(super) fn fill(
    [details, summary]: &mut [MetricsFile; 2],
    units: &[(&MetricsUnit, GcReads)],
    windows: &GcWindows,
    options: &GcBiasOptions,
) {
    let (mut detail_rows, mut summary_rows) = (Vec::new(), Vec::new());
    for (unit, counts) in units {
        let [unique, duplicates] = &counts.0;
        let mut all = unique.clone();
        all.merge(duplicates);
        let unique = options.also_ignore_duplicates.then_some(("UNIQUE", unique));
        for (used, counts) in [("ALL", &all)].into_iter().chain(unique) {
            if counts.aligned > 0 {
                let part = GcBiasUnit { unit, used, counts, windows };
                detail_rows.extend((0..BINS).map(|gc| part.detail_row(gc)));
                summary_rows.push(part.summary_row(options.scan_window_size()));
            }
        }
    }
    let columns = [&DETAILS[..], &UNIT].concat();
    details.set_table("picard.analysis.GcBiasDetailMetrics", &columns, detail_rows);
    let columns = [&SUMMARY[..], &UNIT].concat();
    summary.set_table("picard.analysis.GcBiasSummaryMetrics", &columns, summary_rows);
}

/// The reads of one row of the summary: a unit, with or without duplicates.
struct GcBiasUnit<'a> {
    unit: &'a MetricsUnit,
    used: &'static str,
    counts: &'a GcCounts,
    windows: &'a GcWindows,
}

impl GcBiasUnit<'_> {
    fn reads_in_bin(&self, gc: usize) -> u64 {
        self.counts.bins.get(gc).map_or(0, |bin| bin.reads)
    }

    fn all_reads(&self) -> f64 {
        self.counts.bins.iter().map(|bin| bin.reads).sum::<u64>() as f64
    }

    fn all_windows(&self) -> f64 {
        self.windows.0.iter().sum::<u64>() as f64
    }

    fn reads_per_window(&self) -> f64 {
        self.all_reads() / self.all_windows()
    }

    fn begin_row(&self) -> MetricsRow {
        let level = match self.unit.column_values() {
            [_, _, Some(_)] => "Read Group",
            [_, Some(_), None] => "Library",
            [Some(_), None, None] => "Sample",
            [None, None, None] => "All Reads",
        };
        let mut row = MetricsRow::default();
        row.push_text(level.as_bytes()).push_text(self.used.as_bytes());
        row
    }

    /// Completes a row with the columns of the level. As in Picard, only the column of the level
    /// itself has a name.
    fn finish_row(&self, mut row: MetricsRow) -> MetricsRow {
        let names = self.unit.column_values();
        let last = names.iter().rposition(Option::is_some);
        let names = names.into_iter().enumerate();
        names.for_each(|(n, name)| _ = row.push_optional(name.filter(|_| Some(n) == last)));
        row
    }

    fn detail_row(&self, gc: usize) -> MetricsRow {
        let bin = self.counts.bins.get(gc).copied().unwrap_or_default();
        let windows = self.windows.0[gc];
        let quality = match bin.errors {
            0 => 0,
            errors => error_rate_to_phred(errors as f64 / bin.bases as f64),
        };
        let relative = |reads: f64| match windows {
            0 => 0.0,
            windows => reads / windows as f64 / self.reads_per_window(),
        };
        let mut row = self.begin_row();
        row.push_integer(gc as u64).push_integer(windows).push_integer(bin.reads).push_integer(quality);
        row.push_decimal(relative(bin.reads as f64)).push_decimal(relative((bin.reads as f64).sqrt()));
        self.finish_row(row)
    }

    fn summary_row(&self, window: u32) -> MetricsRow {
        let mut row = self.begin_row();
        row.push_integer(window).push_integer(self.counts.clusters).push_integer(self.counts.aligned);
        self.dropouts().into_iter().for_each(|dropout| _ = row.push_decimal(dropout));
        for (from, to) in RANGES {
            let bins = || (from..to).filter(|&gc| self.windows.0[gc] > 0);
            let windows: u64 = bins().map(|gc| self.windows.0[gc]).sum();
            let reads = bins().map(|gc| self.reads_in_bin(gc)).sum::<u64>() as f64;
            row.push_decimal(match windows {
                0 => 0.0,
                windows => reads / (windows as f64 * self.reads_per_window()),
            });
        }
        self.finish_row(row)
    }

    /// Returns AT_DROPOUT and GC_DROPOUT in percent. Each is the sum of the amounts by which bins
    /// have a smaller fraction of reads than of windows, over bins up to 50 % GC and over the other
    /// bins.
    fn dropouts(&self) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for (gc, &windows) in self.windows.0.iter().enumerate() {
            let reads = self.reads_in_bin(gc) as f64 / self.all_reads();
            let dropout = (windows as f64 / self.all_windows() - reads) * 100.0;
            if dropout > 0.0 {
                sums[usize::from(gc > MAX_AT)] += dropout;
            }
        }
        sums
    }
}

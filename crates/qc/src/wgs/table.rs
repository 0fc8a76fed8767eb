//! Writes the files of the three programs for whole genomes.

use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};

use super::join::WgsTotals;
use super::rules::{NON_ZERO, RAW};
use crate::counts::{SortedCounts, divide_or_zero};
use crate::depth::sensitivity;
use crate::options::QcOptions;
use crate::selection::PicardProgram;

/// Columns before the fractions of positions by depth.
const FIRST_COLUMNS: [&str; 13] = [
    "GENOME_TERRITORY",
    "MEAN_COVERAGE",
    "SD_COVERAGE",
    "MEDIAN_COVERAGE",
    "MAD_COVERAGE",
    "PCT_EXC_ADAPTER",
    "PCT_EXC_MAPQ",
    "PCT_EXC_DUPE",
    "PCT_EXC_UNPAIRED",
    "PCT_EXC_BASEQ",
    "PCT_EXC_OVERLAP",
    "PCT_EXC_CAPPED",
    "PCT_EXC_TOTAL",
];

/// Minimum depths of the columns PCT_1X to PCT_100X.
const DEPTHS: [usize; 14] = [1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100];

/// Columns after the fractions of positions by depth.
const LAST_COLUMNS: [&str; 5] = [
    "FOLD_80_BASE_PENALTY",
    "FOLD_90_BASE_PENALTY",
    "FOLD_95_BASE_PENALTY",
    "HET_SNP_SENSITIVITY",
    "HET_SNP_Q",
];

/// Percentiles of the depth. The penalties FOLD_80, FOLD_90 and FOLD_95 are the mean depth divided
/// by these.
const PERCENTILES: [f64; 3] = [0.2, 0.1, 0.05];

/// Fills the file of `program`. `territory` is the number of positions that can be covered; those
/// without any base are not in `totals`.
pub(super) fn fill(
    file: &mut MetricsFile,
    program: &PicardProgram,
    totals: &WgsTotals,
    territory: u64,
    options: &QcOptions,
) {
    let mut all = totals.clone();
    all.good[0] = territory - totals.good.iter().sum::<u64>() + totals.good[0];
    all.called[0] = territory - totals.called.iter().sum::<u64>() + totals.called[0];
    let with_zero = histogram_column("high_quality_coverage_count", &all.good, 0);
    let (class, categories, mut columns) = match *program {
        NON_ZERO => (
            "picard.analysis.CollectWgsMetricsWithNonZeroCoverage$WgsMetricsWithNonZeroCoverage",
            &["WHOLE_GENOME", "NON_ZERO_REGIONS"][..],
            vec![
                histogram_column("count_WHOLE_GENOME", &all.good, 0),
                histogram_column("count_NON_ZERO_REGIONS", &all.good, 1),
            ],
        ),
        RAW => ("picard.analysis.CollectRawWgsMetrics$RawWgsMetrics", &[][..], vec![with_zero]),
        _ => ("picard.analysis.WgsMetrics", &[][..], vec![with_zero]),
    };
    let shares: Vec<String> = DEPTHS.iter().map(|depth| format!("PCT_{depth}X")).collect();
    let mut names: Vec<&str> = FIRST_COLUMNS.to_vec();
    names.extend(shares.iter().map(String::as_str));
    names.extend(LAST_COLUMNS);
    let rows = if categories.is_empty() {
        vec![make_row(&all, None, options)]
    } else {
        names.insert(0, "CATEGORY");
        let whole = make_row(&all, categories.first(), options);
        (all.good[0], all.called[0]) = (0, 0);
        vec![whole, make_row(&all, categories.last(), options)]
    };
    file.set_table(class, &names, rows);
    if options.wgs.include_bq_histogram {
        columns.push(histogram_column("unfiltered_baseq_count", &all.quals, 0));
    }
    file.set_histograms("java.lang.Integer", "coverage", columns);
}

/// Returns a histogram whose keys are the indices of `counts`, from `first`.
fn histogram_column(label: &str, counts: &[u64], first: usize) -> HistogramColumn {
    let bins = (0..).zip(counts).skip(first).map(|(key, &count)| (key, count as f64)).collect();
    HistogramColumn { label: label.as_bytes().to_vec(), bins }
}

fn make_row(totals: &WgsTotals, category: Option<&&str>, options: &QcOptions) -> MetricsRow {
    let bins = SortedCounts((0..).zip(totals.good.iter().copied()).collect());
    let territory = bins.count();
    let mut row = MetricsRow::default();
    if let Some(category) = category {
        row.push_text(category.as_bytes());
    }
    row.push_integer(territory).push_decimal(bins.mean()).push_decimal(bins.standard_deviation());
    // If there is only one position, Picard computes the median and the deviation as 0.
    let (median, deviation) =
        if territory == 1 { (0.0, 0.0) } else { (bins.median(), bins.median_absolute_deviation()) };
    row.push_decimal(median).push_decimal(deviation);
    put_excluded(&mut row, totals, bins.sum());
    for depth in DEPTHS {
        let deep: u64 = totals.good.iter().skip(depth).sum();
        row.push_decimal(deep as f64 / territory as f64);
    }
    for percentile in PERCENTILES {
        let fold = match territory {
            0 => 0.0,
            _ => bins.mean() / bins.percentile(percentile),
        };
        row.push_decimal(fold);
    }
    let (depths, quals) = (&totals.called, &totals.quals);
    let sensitivity = sensitivity::het_snp_sensitivity(depths, quals, options.sample_size());
    row.push_decimal(sensitivity).push_decimal(sensitivity::phred_score(sensitivity));
    row
}

/// Appends the fractions of excluded bases, by reason. `counted` is the number of bases that count.
fn put_excluded(row: &mut MetricsRow, totals: &WgsTotals, counted: f64) {
    let excluded = &totals.excluded;
    let low = totals.counted - totals.good_bases - totals.overlap;
    let numbers = [
        excluded.adapter,
        excluded.mapq,
        excluded.duplicates,
        excluded.unpaired,
        low,
        totals.overlap,
        totals.capped,
    ];
    let all = counted + numbers.iter().sum::<u64>() as f64;
    for number in numbers {
        row.push_decimal(divide_or_zero(number as f64, all));
    }
    row.push_decimal(divide_or_zero(all - counted, all));
}

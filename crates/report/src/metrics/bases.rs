//! Metrics of bases and fragments: quality, uncalled bases, insert size and oxidation.

use super::reads::alignment_row;
use crate::run::{NumberRule, Quantity, RunPart};

/// Paths of Picard's histograms, which have one list for each column.
pub const INSERT_HISTOGRAM: &str = "reports/insert_size_metrics/histograms/0";

pub const QUALITY_HISTOGRAM: &str = "reports/quality_distribution_metrics/histograms/0";

pub const CYCLE_HISTOGRAM: &str = "reports/quality_by_cycle_metrics/histograms/0";

/// Returns the row of Picard's insert size metrics for the most frequent pair orientation of all
/// reads. Picard writes it first.
pub fn insert_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    run.first_row_of_all("insert_size_metrics", |_| true)
}

/// Returns the sum of the counts whose key is less than `below`, and the sum of all counts. `keys`
/// and `counts` name columns of the histogram.
fn count_below(histogram: &RunPart<'_>, keys: &str, counts: &str, below: f64) -> (f64, f64) {
    let (keys, counts) = (histogram.column(keys), histogram.column(counts));
    let low = keys.iter().zip(&counts).filter(|(key, _)| **key < below).map(|(_, count)| count);
    (low.sum(), counts.iter().sum())
}

pub(super) fn short_insert_share(run: &RunPart<'_>) -> Option<Quantity> {
    let below = alignment_row(run)?.value("MEDIAN_READ_LENGTH")?;
    let orientation = insert_row(run)?.text("PAIR_ORIENTATION").to_lowercase();
    let counts = format!("All_Reads.{orientation}_count");
    let histogram = run.part(INSERT_HISTOGRAM)?;
    let (short, all) = count_below(&histogram, "insert_size", &counts, below);
    let rule = NumberRule::Bins { is: "below", keys: histogram.pointer("insert_size"), below };
    (all > 0.0).then(|| Quantity::new(short / all, histogram.pointer(&counts), rule))
}

pub(super) fn q30_share(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |name: &str| run.number(&format!("reports/quality_yield_metrics/rows/0/{name}"));
    Quantity::share(of("Q30_BASES"), of("TOTAL_BASES")).or_else(|| {
        let histogram = run.part(QUALITY_HISTOGRAM)?;
        let (low, all) = count_below(&histogram, "QUALITY", "COUNT_OF_Q", 30.0);
        let rule = NumberRule::Bins { is: "from", keys: histogram.pointer("QUALITY"), below: 30.0 };
        (all > 0.0).then(|| Quantity::new((all - low) / all, histogram.pointer("COUNT_OF_Q"), rule))
    })
}

pub(super) fn worst_cycle(run: &RunPart<'_>) -> Option<Quantity> {
    let means = run.part(CYCLE_HISTOGRAM)?.part("MEAN_QUALITY")?;
    let min_mean = means.column("").into_iter().min_by(f64::total_cmp)?;
    Some(Quantity::new(min_mean, means.pointer(""), NumberRule::Function { is: "min", key: None }))
}

/// Returns the row of Picard's base distribution by cycle with the highest N percentage, and that
/// percentage.
pub(super) fn max_n_row<'a>(run: &RunPart<'a>) -> Option<(RunPart<'a>, f64)> {
    let rows = run.rows("base_distribution_by_cycle_metrics", |row| row.value("PCT_N").is_some());
    let with_percent = rows.into_iter().filter_map(|row| Some((row.clone(), row.value("PCT_N")?)));
    with_percent.max_by(|a, b| a.1.total_cmp(&b.1))
}

pub(super) fn max_n_percent(run: &RunPart<'_>) -> Option<Quantity> {
    let rows = "/reports/base_distribution_by_cycle_metrics/rows";
    let rule = NumberRule::Function { is: "max", key: Some("PCT_N") };
    Some(Quantity::new(max_n_row(run)?.1, rows, rule))
}

pub(super) fn oxidation_score(run: &RunPart<'_>) -> Option<Quantity> {
    let is_oxidation = |row: &RunPart<'_>| row.text("REF_BASE") == "G" && row.text("ALT_BASE") == "T";
    let rows = run.rows("pre_adapter_summary_metrics", is_oxidation);
    let scores = rows.iter().filter_map(|row| row.number("TOTAL_QSCORE"));
    scores.min_by(|a, b| a.value.total_cmp(&b.value))
}

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
    let share = Quantity::new(short / all, histogram.pointer(&counts), rule);
    (all > 0.0).then(|| share.with_count(Some(short)))
}

/// Returns the fraction of bases with a quality of at least `min_quality`, which is 20 or 30.
pub(super) fn quality_share(run: &RunPart<'_>, min_quality: u8) -> Option<Quantity> {
    let of = |name: &str| run.number(&format!("reports/quality_yield_metrics/rows/0/{name}"));
    let good = of(&format!("Q{min_quality}_BASES"));
    Quantity::share(good, of("TOTAL_BASES")).or_else(|| {
        let histogram = run.part(QUALITY_HISTOGRAM)?;
        let below = f64::from(min_quality);
        let (low, all) = count_below(&histogram, "QUALITY", "COUNT_OF_Q", below);
        let rule = NumberRule::Bins { is: "from", keys: histogram.pointer("QUALITY"), below };
        let share = Quantity::new((all - low) / all, histogram.pointer("COUNT_OF_Q"), rule);
        (all > 0.0).then(|| share.with_count(Some(all - low)))
    })
}

pub(super) fn worst_cycle(run: &RunPart<'_>) -> Option<Quantity> {
    let means = run.part(CYCLE_HISTOGRAM)?.part("MEAN_QUALITY")?;
    let min_mean = means.column("").into_iter().min_by(f64::total_cmp)?;
    Some(Quantity::new(min_mean, means.pointer(""), NumberRule::Function { is: "min", key: None }))
}

/// Returns the mean qualities of read 1 or 2, by cycle of this read. Picard numbers the cycles of read 2
/// after those of read 1.
pub fn cycle_qualities(run: &RunPart<'_>, read: u32) -> Vec<(f64, f64)> {
    let Some(histogram) = run.part(CYCLE_HISTOGRAM) else { return Vec::new() };
    let first = first_cycle_of_read_2(run);
    let points = histogram.column("CYCLE").into_iter().zip(histogram.column("MEAN_QUALITY"));
    match read {
        1 => points.filter(|(cycle, _)| *cycle < first).collect(),
        _ => points
            .filter(|(cycle, _)| *cycle >= first)
            .map(|(cycle, mean)| (cycle + 1.0 - first, mean))
            .collect(),
    }
}

/// Returns the rows of Picard's base distribution of read 1 or 2, each with its cycle in this read.
pub fn base_rows<'a>(run: &RunPart<'a>, read: u32) -> Vec<(f64, RunPart<'a>)> {
    let of_read = |row: &RunPart<'_>| row.value("READ_END") == Some(f64::from(read));
    let before = if read == 1 { 0.0 } else { first_cycle_of_read_2(run) - 1.0 };
    let rows = run.rows("base_distribution_by_cycle_metrics", of_read).into_iter();
    rows.filter_map(|row| Some((row.value("CYCLE")? - before, row))).collect()
}

/// Returns the number of the first cycle of read 2; infinity if there is no read 2.
fn first_cycle_of_read_2(run: &RunPart<'_>) -> f64 {
    let rows = run.rows("base_distribution_by_cycle_metrics", |row| row.value("READ_END") == Some(2.0));
    let known = rows.first().and_then(|row| row.value("CYCLE"));
    let paired = alignment_row(run).filter(|row| row.text("CATEGORY") == "PAIR");
    let from_length = paired.and_then(|row| row.value("MEDIAN_READ_LENGTH")).map(|length| length + 1.0);
    known.or(from_length).unwrap_or(f64::INFINITY)
}

/// Returns the name of a cycle that Picard's histogram numbers `cycle`, such as "read 2, cycle 17".
pub(super) fn cycle_name(run: &RunPart<'_>, cycle: f64) -> String {
    match first_cycle_of_read_2(run) {
        first if cycle >= first => format!("read 2, cycle {}", cycle + 1.0 - first),
        first if first.is_finite() => format!("read 1, cycle {cycle}"),
        _ => format!("cycle {cycle}"),
    }
}

/// Returns the fraction of G and C in the reads: before trimming, or the mean over all cycles of the
/// called bases, or the mean of the reads in FastQC's module.
pub(super) fn gc_content(run: &RunPart<'_>) -> Option<Quantity> {
    let trimmed = || run.number("trimming/summary/before_filtering/gc_content");
    let of_cycles = || {
        let rows = run.rows("base_distribution_by_cycle_metrics", |row| row.value("PCT_A").is_some());
        let sum = |keys: &[&str]| -> f64 {
            rows.iter().flat_map(|row| keys.iter().filter_map(|key| row.value(key))).sum()
        };
        let (part, whole) = (sum(&["PCT_G", "PCT_C"]), sum(&["PCT_A", "PCT_C", "PCT_G", "PCT_T"]));
        let rule = NumberRule::Function { is: "gc-of-cycles", key: None };
        let pointer = "/reports/base_distribution_by_cycle_metrics/rows";
        (whole > 0.0).then(|| Quantity::new(part / whole, pointer, rule))
    };
    let of_fastqc = || {
        let (mut part, mut whole) = (0.0, 0.0);
        for file in run.items("reports/fastqc") {
            let module = file.items("modules").find(|it| it.text("name") == "Per sequence GC content");
            let Some(columns) = module.and_then(|it| it.part("columns")) else { continue };
            for (gc, count) in columns.column("GC Content").into_iter().zip(columns.column("Count")) {
                part += gc * count;
                whole += count;
            }
        }
        let rule = NumberRule::Function { is: "gc-of-fastqc", key: None };
        (whole > 0.0).then(|| Quantity::new(part / whole / 100.0, "/reports/fastqc", rule))
    };
    trimmed().or_else(of_cycles).or_else(of_fastqc)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_gc_content_is_from_the_first_report_that_has_it() {
        let row = |c: f64, n: f64| json!({"READ_END": 1, "CYCLE": 1, "PCT_A": 30, "PCT_C": c, "PCT_G": 20, "PCT_T": 30, "PCT_N": n});
        let mut run = json!({"reports": {"fastqc": [{"modules": [
            {"name": "Per sequence GC content", "columns": {"GC Content": [40, 60], "Count": [3, 1]}},
        ]}]}});
        let gc = |run: &serde_json::Value| gc_content(&RunPart::new(run)).map(|it| it.value);
        assert_eq!(gc(&run), Some(0.45));
        run["reports"]["base_distribution_by_cycle_metrics"] =
            json!({"rows": [row(20.0, 0.0), row(10.0, 10.0)]});
        assert_eq!(gc(&run), Some(70.0 / 190.0));
        run["trimming"] = json!({"summary": {"before_filtering": {"gc_content": 0.41}}});
        assert_eq!(gc(&run), Some(0.41));
        assert_eq!(gc(&json!({})), None);
    }

    #[test]
    fn the_cycles_of_each_read_begin_with_1() {
        let rows = json!([{"READ_END": 1, "CYCLE": 1}, {"READ_END": 2, "CYCLE": 3}, {"READ_END": 2, "CYCLE": 4}]);
        let run = json!({"reports": {
            "quality_by_cycle_metrics": {"histograms": [{"CYCLE": [1, 2, 3, 4], "MEAN_QUALITY": [30, 31, 32, 33]}]},
            "base_distribution_by_cycle_metrics": {"rows": rows},
        }});
        let run = RunPart::new(&run);
        assert_eq!(cycle_qualities(&run, 1), [(1.0, 30.0), (2.0, 31.0)]);
        assert_eq!(cycle_qualities(&run, 2), [(1.0, 32.0), (2.0, 33.0)]);
        assert_eq!(
            (&*cycle_name(&run, 2.0), &*cycle_name(&run, 4.0)),
            ("read 1, cycle 2", "read 2, cycle 2")
        );
    }
}

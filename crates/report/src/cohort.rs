//! Comparison of several samples: a table of their metrics, outlier samples, and lanes that may
//! belong to another sample.
//!
//! ```text
//! runs ─► metric_column      for each metric: values of all samples, median, outliers
//!      ├─► sample_table       a row for each sample, with grades and outlier marks
//!      ├─► draw_metric_plots  a plot for each metric, with a dot for each sample
//!      └─► lanes_section      lanes that resemble another sample more than their own
//! ```

use maud::{Markup, html};

use crate::lanes::{SortedValues, collect_lanes, median};
use crate::limits::{Assay, Limits};
use crate::metrics::{METRICS, Metric};
use crate::names::sample_name;
use crate::options::PageOptions;
use crate::plot::{Axes, COLORS, Figure, draw_dots, legend_list};
use crate::rules::find_unmet_need;
use crate::run::{Quantity, RunPart};
use crate::table::{Cell, table_of_sample_cells, wrap_scrollable};
use crate::text::{NumberFormat, join_words};
use crate::verdict::{Judgement, MetricOutcome, SampleStatus, SampleVerdict, judge_sample};

/// The values of one metric in all samples.
///
/// A sample is an outlier if its distance from the median is more than [`MAX_ROBUST_Z`] scaled median
/// absolute deviations, and more than a minimum distance; see docs/report.md.
struct MetricColumn {
    metric: &'static Metric,
    /// One per sample; `None` if the sample lacks the metric.
    values: Vec<Option<Quantity>>,
    median: f64,
    outliers: Vec<usize>,
}

impl MetricColumn {
    /// Returns `("high", "higher")` or `("low", "lower")` if the sample is an outlier.
    fn side(&self, run: usize) -> Option<(&'static str, &'static str)> {
        let value = self.values.get(run)?.as_ref()?.value;
        let side = if value > self.median { ("high", "higher") } else { ("low", "lower") };
        self.outliers.contains(&run).then_some(side)
    }
}

const MIN_COMPARED_SAMPLES: usize = 5;

/// Robust z-score above which a sample is an outlier (Iglewicz and Hoaglin).
const MAX_ROBUST_Z: f64 = 3.5;

/// Minimum distance of an outlier from the median, as a fraction of the median. Without a minimum,
/// tiny differences between nearly equal samples would be reported.
const MIN_RELATIVE_DISTANCE: f64 = 0.1;
/// Minimum distance for metrics that are fractions, relative to the distance from the median to 0
/// or 1, whichever is nearer.
const MIN_SHARE_DISTANCE: f64 = 0.25;

const NOT_COMPARED: [&str; 1] = ["oxidation"];

pub fn cohort_html(runs: &[RunPart<'_>], options: &PageOptions) -> Markup {
    let columns: Vec<MetricColumn> =
        METRICS.iter().filter_map(|metric| metric_column(metric, runs)).collect();
    let colors = SampleColors::for_samples(runs, options);
    let limits: Vec<Limits> = runs.iter().map(|run| options.limits_of(run)).collect();
    let verdicts: Vec<SampleVerdict> =
        runs.iter().zip(&limits).map(|(run, limits)| judge_sample(run, limits)).collect();
    html! {
        div id="cohort" {
            header {
                p class="eyebrow" { "readmill report" }
                h1 { (runs.len()) " samples" }
                p class="summary" { (summarize_samples(&verdicts)) }
                p class="note" { (thresholds_note(&limits)) }
            }
            (sample_table(runs, &columns, &verdicts, &colors, options))
            (draw_metric_plots(runs, &columns, &colors))
            (lanes_section(runs))
        }
    }
}

fn summarize_samples(verdicts: &[SampleVerdict]) -> String {
    let count = |status| verdicts.iter().filter(|it| it.status() == status).count();
    let named = [
        (Some(SampleStatus::Fail), "failed", true),
        (Some(SampleStatus::Warn), "with warnings", true),
        (Some(SampleStatus::Pass), "passed", true),
        (
            Some(SampleStatus::Incomplete),
            "passed what was measured, but essential metrics are missing",
            false,
        ),
        (None, "not judged", false),
    ];
    let counts = named.into_iter().map(|(status, text, always)| (count(status), text, always));
    let shown = counts.filter(|(count, _, always)| *always || *count > 0);
    let texts: Vec<String> = shown.map(|(count, text, _)| format!("{count} {text}")).collect();
    format!("{}.", texts.join(", "))
}

/// Returns a sentence that names the assays whose thresholds were used.
fn thresholds_note(limits: &[Limits]) -> String {
    let mut texts = Vec::new();
    for (_, assay) in Assay::ALL {
        let count = limits.iter().filter(|it| it.assay == assay).count();
        let samples = if count == 1 { "sample" } else { "samples" };
        if count == limits.len() {
            return format!("Thresholds for {}.", assay.title());
        }
        if count > 0 {
            texts.push(format!("{} ({count} {samples})", assay.title()));
        }
    }
    format!("Each sample has the thresholds of its assay: {}.", join_words(&texts))
}

fn metric_column(metric: &'static Metric, runs: &[RunPart<'_>]) -> Option<MetricColumn> {
    let values: Vec<Option<Quantity>> = runs.iter().map(|run| (metric.find)(run)).collect();
    // A value from too little data is shown, but not compared.
    let compared = |(run, value): (&RunPart<'_>, &Option<Quantity>)| {
        value.clone().filter(|_| find_unmet_need(metric.key, run).is_none())
    };
    let compared: Vec<Option<Quantity>> = runs.iter().zip(&values).map(compared).collect();
    let numbers = |values: &[Option<Quantity>]| values.iter().flatten().map(|it| it.value).collect();
    let known: Vec<f64> = numbers(&compared);
    let middle = median(known.clone()).or_else(|| median(numbers(&values)))?;
    let near = match metric.form {
        NumberFormat::Share => MIN_SHARE_DISTANCE * middle.min(1.0 - middle).abs(),
        _ => MIN_RELATIVE_DISTANCE * middle.abs(),
    };
    let is_compared = known.len() >= MIN_COMPARED_SAMPLES && !NOT_COMPARED.contains(&metric.key);
    let outliers = if is_compared { find_outliers(&compared, &known, middle, near) } else { Vec::new() };
    Some(MetricColumn { metric, outliers, values, median: middle })
}

/// Returns the indexes of the outlier samples. `known` are the values of the samples that have the
/// metric, `middle` is their median, and `near` is the minimum distance of an outlier.
fn find_outliers(values: &[Option<Quantity>], known: &[f64], middle: f64, near: f64) -> Vec<usize> {
    let distances = known.iter().map(|value| (value - middle).abs()).collect();
    let deviation = 1.4826 * median(distances).unwrap_or(0.0);
    let stands_out = |value: f64| {
        let distance = (value - middle).abs();
        distance > MAX_ROBUST_Z * deviation && distance > near
    };
    let values = values.iter().enumerate();
    values.filter(|(_, it)| it.as_ref().is_some_and(|it| stands_out(it.value))).map(|(i, _)| i).collect()
}

fn sample_table(
    runs: &[RunPart<'_>],
    columns: &[MetricColumn],
    verdicts: &[SampleVerdict],
    colors: &SampleColors,
    options: &PageOptions,
) -> Markup {
    let names: &[String] = options.sheet.as_ref().map_or(&[], |sheet| sheet.field_names());
    let titles = ["Sample", "Verdict"].into_iter().chain(names.iter().map(String::as_str));
    let titles = titles.chain(columns.iter().map(|it| it.metric.name));
    let row = |(i, run): (usize, &RunPart<'_>)| {
        let verdict = verdicts.get(i);
        let own = verdict.map_or(&[][..], |verdict| &verdict.outcomes);
        let status = verdict.and_then(SampleVerdict::status);
        html! {
            tr data-run=(i) {
                th scope="row" {
                    i class={ "swatch s" (colors.of_run(i)) } {}
                    a href={ "#s" (i) } { (sample_name(run)) }
                }
                td data-sort=(status.map_or(0, |it| it as u8 + 1))
                    title=(verdict.map_or_else(String::new, SampleVerdict::summary)) {
                    span class={ "grade " (status.map_or("", SampleStatus::css_class)) } {
                        @if let Some(status) = status { (status.to_html()) } @else { "–" }
                    }
                }
                @for name in names { td { (options.sheet_field(run, name).unwrap_or("–")) } }
                @for column in columns { (sample_cell(column, i, own)) }
            }
        }
    };
    let table = html! {
        table class="sortable" {
            caption { "Key metrics of all samples. Click a column heading to sort." }
            thead {
                tr {
                    @for title in titles {
                        th scope="col" aria-sort="none" { button type="button" { (title) } }
                    }
                }
            }
            tbody { @for run in runs.iter().enumerate() { (row(run)) } }
        }
    };
    let outliers: Vec<Markup> =
        runs.iter().enumerate().filter_map(|(i, run)| outlier_item(columns, i, run)).collect();
    html! {
        section aria-labelledby="samples-h" {
            h2 id="samples-h" { "Samples" }
            p class="filter" {
                label {
                    "Filter samples " input type="search" id="filter" placeholder="Text";
                }
                span id="shown" role="status" {}
            }
            (wrap_scrollable("Key metrics of all samples", &table))
            @if !outliers.is_empty() {
                h3 { "Outlier samples" }
                ul class="findings" { @for item in outliers { (item) } }
            }
        }
    }
}

/// Returns a table cell: the sample's value, coloured by its grade, and a mark if the sample is an
/// outlier.
fn sample_cell(column: &MetricColumn, run: usize, outcomes: &[MetricOutcome]) -> Markup {
    let Some(Some(source)) = column.values.get(run) else {
        return html! { td data-sort="" { "–" } };
    };
    let outcome = outcomes.iter().find(|it| it.metric.key == column.metric.key);
    let judgement = outcome.map(|it| &it.judgement);
    let class = judgement.map_or("", Judgement::css_class);
    let class = if class == "good" { "" } else { class };
    let reason = judgement.and_then(Judgement::reason);
    html! {
        td class=(class) data-sort=(source.value) title=[reason] {
            (source.to_html(column.metric.form))
            @if let Some(judgement) = judgement.filter(|_| !class.is_empty()) {
                span class="sr" { " " (judgement.to_html()) }
            }
            @if let Some((side, word)) = column.side(run) {
                " " span class="out" title={ (word) " than the other samples" } { (side) }
            }
        }
    }
}

/// Returns a list item with the metrics for which a sample is an outlier. `None` if there are none.
fn outlier_item(columns: &[MetricColumn], i: usize, run: &RunPart<'_>) -> Option<Markup> {
    let of = |column: &MetricColumn| {
        let ((side, _), source) = (column.side(i)?, column.values.get(i)?.as_ref()?);
        Some(html! {
            (column.metric.name) " " (source.to_html(column.metric.form)) " "
            span class="out" { (side) } " (median " (column.metric.form.format_number(column.median)) ")"
        })
    };
    let own: Vec<Markup> = columns.iter().filter_map(of).collect();
    (!own.is_empty()).then(|| {
        html! {
            li data-run=(i) {
                a href={ "#s" (i) } { (sample_name(run)) } ": "
                @for (n, text) in own.iter().enumerate() { @if n > 0 { "; " } (text) }
                "."
            }
        }
    })
}

/// The colour of each sample, by its value of a sample sheet field.
///
/// Without a sheet or a suitable field, all samples have the first colour.
struct SampleColors {
    field: Option<String>,
    /// Distinct values of the field, sorted. The index of a value is its colour.
    values: Vec<String>,
    /// Index in `values` of each sample's value.
    of: Vec<usize>,
}

impl SampleColors {
    fn for_samples(runs: &[RunPart<'_>], options: &PageOptions) -> Self {
        let none = || SampleColors { field: None, values: Vec::new(), of: vec![0; runs.len()] };
        let Some(sheet) = &options.sheet else { return none() };
        let by = |name: &String| {
            let own: Vec<&str> =
                runs.iter().map(|run| options.sheet_field(run, name).unwrap_or("–")).collect();
            let mut values: Vec<String> = own.iter().map(|it| (*it).to_string()).collect();
            values.sort();
            values.dedup();
            let of = own.iter().map(|it| values.iter().position(|value| value == it).unwrap_or(0));
            SampleColors { field: Some(name.clone()), of: of.collect(), values }
        };
        match &options.color_by {
            Some(name) => by(name),
            None => {
                let mut all = sheet.field_names().iter().map(by);
                all.find(|it| (2..=COLORS).contains(&it.values.len())).unwrap_or_else(none)
            }
        }
    }

    fn of_run(&self, run: usize) -> usize {
        self.of.get(run).copied().unwrap_or(0) % COLORS
    }

    fn legend_html(&self) -> Markup {
        html! {
            @if let Some(field) = &self.field {
                p class="lead" { "Coloured by the field " (field) ":" }
                (legend_list(&self.values, false))
            }
        }
    }
}

fn draw_metric_plots(runs: &[RunPart<'_>], columns: &[MetricColumn], colors: &SampleColors) -> Markup {
    let size = if runs.len() > 60 { 3.0 } else { 5.0 };
    let plot = |column: &MetricColumn| {
        let known: Vec<(f64, usize)> = column
            .values
            .iter()
            .enumerate()
            .filter_map(|(i, it)| Some((it.as_ref()?.value, colors.of_run(i))))
            .collect();
        let first = known.first()?.0;
        if known.iter().all(|it| it.0 == first) {
            return None;
        }
        let (factor, unit) = match column.metric.form {
            NumberFormat::Share => (100.0, "%"),
            NumberFormat::Points => (100.0, "percentage points"),
            NumberFormat::Decimal(_, unit) => (1.0, unit.trim()),
            _ => (1.0, ""),
        };
        let names =
            column.outliers.iter().filter_map(|i| runs.get(*i)).map(|run| sample_name(run).to_string());
        let names = join_words(&names.collect::<Vec<_>>());
        let alt = format!(
            "A dot for each of {} samples; the median is {}.{}",
            known.len(),
            column.metric.form.format_number(column.median),
            if names.is_empty() { String::new() } else { format!(" Outliers: {names}.") }
        );
        let scaled = known.into_iter().map(|(value, i)| (factor * value, i)).collect();
        let axes = Axes { x: unit, ..Axes::default() };
        let figure = Figure {
            id: format!("cohort-{}", column.metric.key),
            title: column.metric.name,
            reading: if names.is_empty() { String::new() } else { format!("Outliers: {names}.") },
            alt,
            svg: draw_dots(&axes, scaled, size),
            ..Figure::default()
        };
        Some(figure.to_html())
    };
    html! {
        section aria-labelledby="dots-h" {
            h2 id="dots-h" { "Key metrics" }
            (colors.legend_html())
            div class="figures small" { @for figure in columns.iter().filter_map(plot) { (figure) } }
            p class="note" { "Each dot is a sample; the table above has the values." }
        }
    }
}

/// A lane of one of the samples.
struct PlacedLane {
    /// Index of the sample.
    run: usize,
    name: String,
    /// Median insert size, and mean GC as a fraction.
    values: [f64; 2],
}

/// A lane that resembles another sample more than its own.
struct Swap {
    /// Index of the lane.
    lane: usize,
    /// Index of the sample that the lane resembles.
    other: usize,
}

/// Units that make distances in insert size and in GC comparable: a tenth of the insert size, and
/// two percentage points of GC.
const DISTANCE_UNITS: [f64; 2] = [0.1, 0.02];

/// Returns a section with a table of all lanes, and a sentence about each lane that may belong to
/// another sample.
fn lanes_section(runs: &[RunPart<'_>]) -> Markup {
    let (mut placed, mut rows, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for (run, of) in runs.iter().enumerate() {
        for lane in collect_lanes(of) {
            samples.push(run);
            rows.push(vec![
                Cell::Text(html! { a href={ "#s" (run) } { (sample_name(of)) } }),
                Cell::code(&lane.name),
                Cell::number(lane.insert.as_ref(), NumberFormat::Decimal(0, " bases")),
                Cell::number(lane.gc.as_ref(), NumberFormat::Share),
            ]);
            if let (Some(insert), Some(gc), true) = (&lane.insert, &lane.gc, lane.has_enough_reads()) {
                placed.push(PlacedLane { run, name: lane.name, values: [insert.value, gc.value] });
            }
        }
    }
    if rows.is_empty() {
        return Markup::default();
    }
    let swaps = find_swaps(&placed);
    let swaps: Vec<(&PlacedLane, usize)> =
        swaps.iter().filter_map(|swap| Some((placed.get(swap.lane)?, swap.other))).collect();
    let name = |run: usize| runs.get(run).map_or("", |run| sample_name(run));
    let titles = ["Sample", "Lane", "Median insert size", "Mean GC at read starts"];
    let table = table_of_sample_cells("Lanes of all samples", &titles, &rows, &samples);
    html! {
        section aria-labelledby="lanes-h" {
            h2 id="lanes-h" { "Lanes" }
            @if swaps.is_empty() {
                p class="lead" { "No lane matches another sample better than its own." }
            } @else {
                ul class="findings" {
                    @for (lane, other) in &swaps {
                        li {
                            "Lane " code { (lane.name) } " of " (name(lane.run))
                            " matches the insert size and GC content of " (name(*other))
                            " better than those of its own sample."
                        }
                    }
                }
            }
            (wrap_scrollable("Lanes of all samples", &table))
        }
    }
}

/// Finds lanes that are far from the other lanes of their sample, and more than three times nearer
/// to the lanes of another sample.
fn find_swaps(lanes: &[PlacedLane]) -> Vec<Swap> {
    let run_count = lanes.iter().map(|lane| lane.run + 1).max().unwrap_or(0);
    let mut of_runs: Vec<Vec<&PlacedLane>> = vec![Vec::new(); run_count];
    lanes.iter().for_each(|lane| of_runs.get_mut(lane.run).into_iter().for_each(|it| it.push(lane)));
    let sorted = |which: usize| -> Vec<SortedValues> {
        let value = |lane: &&PlacedLane| lane.values.get(which).copied();
        of_runs.iter().map(|lanes| SortedValues::from_values(lanes.iter().filter_map(value))).collect()
    };
    let [inserts, gcs] = [sorted(0), sorted(1)];
    let middle = |run: usize, without: Option<[f64; 2]>| {
        let of = |values: &[SortedValues], own: Option<f64>| values.get(run)?.median_without(own);
        let [insert, gc] = [without.map(|it| it[0]), without.map(|it| it[1])];
        Some([of(&inserts, insert)?, of(&gcs, gc)?])
    };
    let middles: Vec<Option<[f64; 2]>> = (0..run_count).map(|run| middle(run, None)).collect();
    let distance = |lane: &PlacedLane, middle: [f64; 2]| {
        let [insert, gc] = lane.values;
        let apart = [(insert - middle[0]).abs() / middle[0].max(1.0), (gc - middle[1]).abs()];
        (apart[0] / DISTANCE_UNITS[0]).max(apart[1] / DISTANCE_UNITS[1])
    };
    let mut found = Vec::new();
    for (i, lane) in lanes.iter().enumerate() {
        let own = middle(lane.run, Some(lane.values)).map(|middle| distance(lane, middle));
        let Some(own) = own else { continue };
        let others = middles.iter().enumerate().filter(|(run, _)| *run != lane.run);
        let others = others.filter_map(|(run, middle)| Some((run, distance(lane, (*middle)?))));
        let nearest = others.min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((other, _)) = nearest.filter(|(_, distance)| own > 1.0 && *distance < own / 3.0) {
            found.push(Swap { lane: i, other });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::NumberRule;

    #[test]
    fn samples_that_stand_out_are_those_far_from_the_median() {
        let values = [1.0, 1.1, 0.9, 1.0, 1.05, 3.0];
        let sources: Vec<Option<Quantity>> =
            values.iter().map(|it| Some(Quantity::new(*it, "", NumberRule::Sum))).collect();
        assert_eq!(find_outliers(&sources, &values, 1.025, 0.1), [5]);
        assert!(find_outliers(&sources, &values, 1.025, 2.0).is_empty(), "all are near");
    }

    #[test]
    fn each_sample_has_the_thresholds_of_its_assay() {
        let duplicates = |assay: &str| {
            let row = serde_json::json!({
                "READ_PAIRS_EXAMINED": 9000, "UNPAIRED_READS_EXAMINED": 0, "PERCENT_DUPLICATION": 0.45,
            });
            serde_json::json!({"sample": assay, "assay": assay, "reports": {"duplicates": {"rows": [row]}}})
        };
        let values = ["wgs", "panel", "panel"].map(duplicates);
        let runs: Vec<RunPart<'_>> = values.iter().map(RunPart::new).collect();
        let text = cohort_html(&runs, &PageOptions::default()).into_string();
        let note = "Each sample has the thresholds of its assay: whole genomes (1 sample) and panels (2 samples).";
        assert!(text.contains(note), "{text}");
        let summary = "1 failed, 0 with warnings, 0 passed, 2 passed what was measured, but essential metrics are missing.";
        assert!(text.contains(summary), "{text}");
        let all = PageOptions { assay: Some(Assay::Wgs), ..PageOptions::default() };
        let text = cohort_html(&runs, &all).into_string();
        assert!(text.contains("3 failed") && text.contains("Thresholds for whole genomes."), "{text}");
    }

    #[test]
    fn a_lane_of_another_sample_is_found() {
        let lane = |run: usize, insert: f64, gc: f64| PlacedLane {
            run,
            name: String::new(),
            values: [insert, gc],
        };
        let mut lanes = vec![
            lane(0, 350.0, 0.41),
            lane(0, 352.0, 0.41),
            lane(0, 351.0, 0.41),
            lane(1, 480.0, 0.46),
            lane(1, 478.0, 0.46),
            lane(1, 482.0, 0.46),
        ];
        assert!(find_swaps(&lanes).is_empty());
        lanes[2].values = [481.0, 0.46];
        let found = find_swaps(&lanes);
        assert_eq!(found.iter().map(|it| (it.lane, it.other)).collect::<Vec<_>>(), [(2, 1)]);
    }
}

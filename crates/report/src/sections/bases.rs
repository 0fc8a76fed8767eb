//! The sections "Qualities and bases" and "GC bias", from Picard's metrics of base qualities, bases
//! by cycle and GC.

use serde_json::Value;

use crate::metrics::{CYCLE, CYCLE_QUALITY, QUALITY, QUALITY_COUNTS, gc_row};
use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::run::{RowLevel, row_level};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{table_of_columns, table_of_rows, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// Builds the section of qualities: mean by cycle, distribution, bases by cycle, and reported
/// against empirical quality.
pub fn make_quality_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let cycles = run.column(CYCLE);
    let means = run.column(CYCLE_QUALITY);
    let mut list = Vec::new();
    if !cycles.is_empty() {
        let least = cycles.iter().zip(&means).min_by(|a, b| a.1.total_cmp(b.1));
        let (cycle, least) = least.map_or((0.0, 0.0), |(cycle, mean)| (*cycle, *mean));
        let limit = sample.limits.limit("worst_cycle").and_then(|limit| limit.look);
        let levels = limit.map(|limit| (limit, "limit".to_string())).into_iter().collect();
        let most = means.iter().copied().fold(41.0, f64::max);
        let axes = Axes {
            x: "Cycle",
            y: "Mean quality",
            y_range: Some((0.0, most + 1.0)),
            levels,
            marks: second_read_mark(sample),
            ..Axes::default()
        };
        list.push(
            Figure {
                has_lines: true,
                id: sample.element_id("cycles-plot"),
                title: "Mean quality by cycle".into(),
                reading: "Cycles of the second read follow those of the first. A slow fall is \
                    usual; a notch is a cycle that failed."
                    .into(),
                alt: format!(
                    "Line of mean quality by cycle. The lowest is {least:.1}, in cycle \
                    {}.",
                    plain_number(cycle)
                ),
                legend: Vec::new(),
                svg: draw_lines(&axes, vec![cycles.iter().copied().zip(means).collect()]),
                table: table_of_columns(
                    run,
                    "/reports/quality_by_cycle_metrics/histograms/0",
                    "Mean quality by cycle",
                    &[("CYCLE", "Cycle"), ("MEAN_QUALITY", "Mean quality")],
                ),
            }
            .to_html(),
        );
    }
    let qualities = run.column(QUALITY);
    if !qualities.is_empty() {
        let counts = run.column(QUALITY_COUNTS);
        let most =
            qualities.iter().zip(&counts).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0.0, |it| *it.0);
        let columns =
            qualities.iter().zip(counts).map(|(quality, n)| (plain_number(*quality), n)).collect();
        list.push(
            Figure {
                has_lines: false,
                id: sample.element_id("qualities-plot"),
                title: "Distribution of qualities".into(),
                reading: "Bases by their quality. Q20 is one error in 100 bases, Q30 one in 1,000."
                    .into(),
                alt: format!(
                    "Bars of the number of bases by quality; most have quality {}.",
                    plain_number(most)
                ),
                legend: Vec::new(),
                svg: draw_bars(&Axes { x: "Quality", y: "Bases", ..Axes::default() }, columns),
                table: table_of_columns(
                    run,
                    "/reports/quality_distribution_metrics/histograms/0",
                    "Distribution of qualities",
                    &[("QUALITY", "Quality"), ("COUNT_OF_Q", "Bases")],
                ),
            }
            .to_html(),
        );
    }
    list.extend(base_content_figure(sample));
    list.extend(recalibration_figure(sample));
    let body = wrap_figures(&list);
    (!list.is_empty()).then_some(PageSection { id: "qualities", title: "Qualities and bases", body })
}

/// Returns a mark at the first cycle of the second read. Picard numbers its cycles after those of
/// the first read.
fn second_read_mark(sample: &PageSample<'_>) -> Vec<(f64, String)> {
    let rows = sample.run.rows("base_distribution_by_cycle_metrics", |row| {
        row.get("READ_END").and_then(Value::as_u64) == Some(2)
    });
    let cycle = rows.first().and_then(|(_, row)| row.get("CYCLE")?.as_f64());
    cycle.map(|cycle| (cycle, "second read".to_string())).into_iter().collect()
}

const RECALIBRATION_TABLES: [(&str, &str); 2] = [
    ("recalibration table", "before recalibration"),
    ("recalibration table of new qualities", "after recalibration"),
];

fn recalibration_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let (mut series, mut names, mut table) = (Vec::new(), Vec::new(), String::new());
    for (report, name) in RECALIBRATION_TABLES {
        let list = format!("/reports/{report}/qualities");
        let rows = run.list(&list);
        if rows.is_empty() {
            continue;
        }
        series.push(mean_empirical_qualities(rows));
        names.push(name.to_string());
        let rows: Vec<(String, &Value)> =
            rows.iter().enumerate().map(|(i, row)| (format!("{list}/{i}"), row)).collect();
        let columns = [
            ("read_group", "Read group"),
            ("reported", "Reported"),
            ("empirical", "Empirical"),
            ("observations", "Bases"),
            ("errors", "Mismatches"),
        ];
        table += &table_of_rows(&rows, &format!("Qualities {name}"), &columns);
    }
    let most = series.iter().flatten().map(|(x, y): &(f64, f64)| x.max(*y)).fold(0.0, f64::max);
    if series.is_empty() {
        return None;
    }
    series.push(vec![(0.0, 0.0), (most, most)]);
    names.push("as reported".into());
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("recalibration-plot"),
        title: "Reported against empirical quality".into(),
        reading: "Empirical quality is that of mismatches where no variant is known, of all read \
            groups together. On the diagonal, qualities say the truth."
            .into(),
        alt: "Lines of empirical quality by reported quality, with the diagonal.".into(),
        legend: names,
        svg: draw_lines(
            &Axes { x: "Reported quality", y: "Empirical quality", ..Axes::default() },
            series,
        ),
        table,
    };
    Some(figure.to_html())
}

/// Returns pairs of reported and mean empirical quality. Each read group has the weight of its
/// number of bases.
fn mean_empirical_qualities(rows: &[Value]) -> Vec<(f64, f64)> {
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let mut sums: Vec<(f64, f64, f64)> = Vec::new();
    for row in rows {
        let (reported, bases) = (number(row, "reported"), number(row, "observations"));
        let weighted = bases * number(row, "empirical");
        match sums.iter_mut().find(|sum| sum.0 == reported) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + bases, sum.2 + weighted),
            None => sums.push((reported, bases, weighted)),
        }
    }
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    sums.into_iter()
        .filter(|sum| sum.1 > 0.0)
        .map(|(reported, bases, sum)| (reported, sum / bases))
        .collect()
}

fn base_content_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let rows = run.rows("base_distribution_by_cycle_metrics", |_| true);
    if rows.is_empty() {
        return None;
    }
    let keys = ["PCT_A", "PCT_C", "PCT_G", "PCT_T", "PCT_N"];
    let line = |key: &str| {
        let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64);
        rows.iter().filter_map(|(_, row)| Some((number(row, "CYCLE")?, number(row, key)?))).collect()
    };
    let series: Vec<Vec<(f64, f64)>> = keys.iter().map(|key| line(key)).collect();
    let most = series.iter().flatten().map(|it| it.1).fold(40.0, f64::max);
    let axes = Axes {
        x: "Cycle",
        y: "Bases (%)",
        y_range: Some((0.0, most)),
        marks: second_read_mark(sample),
        ..Axes::default()
    };
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("bases-plot"),
        title: "Bases by cycle".into(),
        reading: "Lines should be flat and close in pairs: A with T, C with G. Waves at the \
            start are primers or fragmentation; a drift at the end is adapter."
            .into(),
        alt: "Lines of the share of A, C, G, T and N by cycle.".into(),
        legend: ["A", "C", "G", "T", "N"].map(String::from).to_vec(),
        svg: draw_lines(&axes, series),
        table: table_of_rows(
            &rows,
            "Bases by cycle, in percent",
            &[
                ("READ_END", "Read"),
                ("CYCLE", "Cycle"),
                ("PCT_A", "A"),
                ("PCT_C", "C"),
                ("PCT_G", "G"),
                ("PCT_T", "T"),
                ("PCT_N", "N"),
            ],
        ),
    };
    Some(figure.to_html())
}

/// Minimum fraction of all reference windows that a GC value needs to be drawn. Coverage from few
/// windows is noise.
const MIN_WINDOW_SHARE: f64 = 0.002;

pub fn make_gc_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    gc_row(run)?;
    let rows = run.rows("gc_bias.detail_metrics", |row| {
        row_level(row) == RowLevel::All && row.get("READS_USED").is_none_or(|used| used == "ALL")
    });
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64);
    let line = |key: &str, scale: f64| -> Vec<(f64, f64)> {
        rows.iter()
            .filter_map(|(_, row)| Some((number(row, "GC")?, number(row, key)? * scale)))
            .collect()
    };
    let windows = line("WINDOWS", 1.0);
    let all: f64 = windows.iter().map(|it| it.1).sum();
    let most = windows.iter().map(|it| it.1).fold(1.0, f64::max);
    let is_common = |gc: f64| windows.iter().any(|it| it.0 == gc && it.1 >= MIN_WINDOW_SHARE * all);
    let coverage: Vec<(f64, f64)> =
        line("NORMALIZED_COVERAGE", 1.0).into_iter().filter(|it| is_common(it.0)).collect();
    let axes = Axes {
        x: "GC of the window (%)",
        y: "Coverage",
        y_range: Some((0.0, coverage.iter().map(|it| it.1).fold(1.5, f64::max))),
        x_range: Some((0.0, 100.0)),
        levels: vec![(1.0, String::new())],
        ..Axes::default()
    };
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("gc-plot"),
        title: "Coverage by GC".into(),
        reading: "Coverage relative to the mean, where the reference has enough windows of this \
            GC. A flat line at 1 has no bias."
            .into(),
        alt: "Line of relative coverage by the GC of windows of 100 bases, with the number of \
            windows."
            .into(),
        legend: vec!["relative coverage".into(), "windows of the reference".into()],
        svg: draw_lines(&axes, vec![coverage, line("WINDOWS", 1.0 / most)]),
        table: table_of_rows(
            &rows,
            "Coverage by GC",
            &[
                ("GC", "GC (%)"),
                ("WINDOWS", "Windows"),
                ("READ_STARTS", "Reads"),
                ("MEAN_BASE_QUALITY", "Mean quality"),
                ("NORMALIZED_COVERAGE", "Relative coverage"),
            ],
        ),
    };
    let all = |row: &Value| row_level(row) == RowLevel::All;
    let summary = run.rows("gc_bias.summary_metrics", all);
    let title = |row: &Value| match row.get("READS_USED").and_then(Value::as_str) {
        Some("UNIQUE") => "Without duplicates".to_string(),
        _ => "All reads".to_string(),
    };
    let columns: Vec<(String, String)> =
        summary.into_iter().map(|(pointer, row)| (title(row), pointer)).collect();
    let table = transposed_table(run, "GC bias", &columns, GC_FIELDS);
    Some(PageSection { id: "gc", title: "GC bias", body: wrap_figures(&[figure.to_html(), table]) })
}

const GC_FIELDS: &[(&str, &str, NumberFormat)] = &[
    ("ALIGNED_READS", "Aligned reads", NumberFormat::Plain),
    ("AT_DROPOUT", "AT dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_DROPOUT", "GC dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_NC_0_19", "Coverage at 0–19 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_20_39", "Coverage at 20–39 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_40_59", "Coverage at 40–59 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_60_79", "Coverage at 60–79 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_80_100", "Coverage at 80–100 % GC", NumberFormat::Decimal(2, "")),
    ("WINDOW_SIZE", "Bases of a window", NumberFormat::Plain),
];

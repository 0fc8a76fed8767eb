//! The sections about base quality and content, and about GC bias, from Picard's metrics and
//! recalibration tables.

use maud::{Markup, html};
use serde::Deserialize;

use crate::lanes::has_all_reads;
use crate::metrics::{CYCLE_HISTOGRAM, QUALITY_HISTOGRAM, cycle_qualities, gc_row};
use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{TableField, table_of_columns, table_of_rows, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// Returns the section about base quality and content: mean quality by cycle, quality distribution,
/// base content by cycle, and reported against empirical quality.
pub fn make_quality_section(sample: &PageSample<'_>) -> Option<Markup> {
    let figures = [
        cycle_quality_figure(sample),
        quality_figure(sample),
        base_content_figure(sample),
        recalibration_figure(sample),
    ];
    figures.iter().any(Option::is_some).then(|| wrap_figures(figures, []))
}

fn cycle_quality_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let histogram = sample.run.part(CYCLE_HISTOGRAM)?;
    let reads = [("read 1", 1), ("read 2", 2)]
        .map(|(name, read)| (name.to_string(), cycle_qualities(&sample.run, read)));
    let (names, series): (Vec<String>, Vec<_>) =
        reads.into_iter().filter(|(_, points)| !points.is_empty()).unzip();
    let max_quality = series.iter().flatten().map(|it| it.1).fold(41.0, f64::max);
    let lowest = |(name, points): (&String, &Vec<(f64, f64)>)| {
        let (cycle, quality) = points.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("The lowest of {name} is {quality:.1}, in cycle {}.", plain_number(*cycle)))
    };
    let lowest: Vec<String> = names.iter().zip(&series).filter_map(lowest).collect();
    if lowest.is_empty() {
        return None;
    }
    let limit = sample.limits.limit("worst_cycle").and_then(|limit| limit.look);
    let axes = Axes {
        x: "Cycle of the read",
        y: "Mean quality (Phred)",
        y_range: Some((0.0, max_quality + 1.0)),
        levels: limit.map(|limit| (limit, "threshold".to_string())).into_iter().collect(),
        ..Axes::default()
    };
    Some(Figure {
        has_lines: true,
        id: sample.element_id("cycles-plot"),
        title: "Mean quality by cycle",
        reading:
            "A slow decline is normal; a sudden dip indicates a failed cycle. Read 2 usually has lower \
            qualities than read 1. In the data table, the cycles of read 2 follow those of read 1."
                .into(),
        alt: format!("Lines of mean quality by cycle, one for each read. {}", lowest.join(" ")),
        legend: names,
        svg: draw_lines(&axes, series),
        table: table_of_columns(
            &histogram,
            "Mean quality by cycle",
            &[("CYCLE", "Cycle"), ("MEAN_QUALITY", "Mean quality")],
        ),
    })
}

fn quality_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let histogram = sample.run.part(QUALITY_HISTOGRAM)?;
    let (qualities, counts) = (histogram.column("QUALITY"), histogram.column("COUNT_OF_Q"));
    if qualities.is_empty() {
        return None;
    }
    let commonest_quality =
        qualities.iter().zip(&counts).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0.0, |it| *it.0);
    let bars = qualities.iter().zip(counts).map(|(quality, n)| (plain_number(*quality), n)).collect();
    Some(Figure {
        id: sample.element_id("qualities-plot"),
        title: "Base quality distribution",
        reading: "Bases by quality. Q20 means 1 error in 100 bases, Q30 1 error in 1,000.".into(),
        alt: format!(
            "Bars of the number of bases by quality; the most frequent quality is {}.",
            plain_number(commonest_quality)
        ),
        svg: draw_bars(&Axes { x: "Base quality (Phred)", y: "Bases", ..Axes::default() }, bars),
        table: table_of_columns(
            &histogram,
            "Base quality distribution",
            &[("QUALITY", "Quality"), ("COUNT_OF_Q", "Bases")],
        ),
        ..Figure::default()
    })
}

/// Returns a mark at the first cycle of read 2. Picard numbers the cycles of read 2 after those of
/// read 1.
fn second_read_mark(sample: &PageSample<'_>) -> Vec<(f64, String)> {
    let rows =
        sample.run.rows("base_distribution_by_cycle_metrics", |row| row.value("READ_END") == Some(2.0));
    let cycle = rows.first().and_then(|row| row.value("CYCLE"));
    cycle.map(|cycle| (cycle, "read 2".to_string())).into_iter().collect()
}

const RECALIBRATION_TABLES: [(&str, &str); 2] = [
    ("recalibration table", "before recalibration"),
    ("recalibration table of new qualities", "after recalibration"),
];

/// The empirical quality of one reported quality in one read group.
#[derive(Deserialize)]
struct QualityBin {
    reported: f64,
    empirical: f64,
    observations: f64,
}

fn recalibration_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let (mut series, mut names, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for (report, name) in RECALIBRATION_TABLES {
        let rows: Vec<RunPart<'_>> = sample.run.items(&format!("reports/{report}/qualities")).collect();
        if rows.is_empty() {
            continue;
        }
        let bins: Vec<QualityBin> = rows.iter().filter_map(|row| row.read("")).collect();
        series.push(mean_empirical_qualities(&bins));
        names.push(name.to_string());
        let columns = [
            ("read_group", "Read group"),
            ("reported", "Reported"),
            ("empirical", "Empirical"),
            ("observations", "Bases"),
            ("errors", "Mismatches"),
        ];
        tables.push(table_of_rows(&rows, &format!("Base quality {name}"), &columns));
    }
    let max_quality = series.iter().flatten().map(|(x, y): &(f64, f64)| x.max(*y)).fold(0.0, f64::max);
    if series.is_empty() {
        return None;
    }
    series.push(vec![(0.0, 0.0), (max_quality, max_quality)]);
    names.push("well calibrated".into());
    Some(Figure {
        has_lines: true,
        id: sample.element_id("recalibration-plot"),
        title: "Reported and empirical quality",
        reading: "Empirical quality is computed from mismatches outside known variants, averaged over \
            all read groups. Points on the diagonal are well calibrated."
            .into(),
        alt: "Lines of empirical quality by reported quality, with the diagonal.".into(),
        legend: names,
        svg: draw_lines(
            &Axes { x: "Reported quality (Phred)", y: "Empirical quality (Phred)", ..Axes::default() },
            series,
        ),
        table: html! { @for table in tables { (table) } },
    })
}

/// Returns pairs of reported and mean empirical quality. The mean over read groups is weighted by
/// their numbers of bases.
fn mean_empirical_qualities(bins: &[QualityBin]) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64, f64)> = Vec::new();
    for &QualityBin { reported, empirical, observations: bases } in bins {
        match sums.iter_mut().find(|sum| sum.0 == reported) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + bases, sum.2 + bases * empirical),
            None => sums.push((reported, bases, bases * empirical)),
        }
    }
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    sums.into_iter()
        .filter(|sum| sum.1 > 0.0)
        .map(|(reported, bases, sum)| (reported, sum / bases))
        .collect()
}

fn base_content_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let rows = sample.run.rows("base_distribution_by_cycle_metrics", |_| true);
    if rows.is_empty() {
        return None;
    }
    let keys = ["PCT_A", "PCT_C", "PCT_G", "PCT_T", "PCT_N"];
    let series = keys.map(|key| points_of_rows(&rows, "CYCLE", key)).to_vec();
    let max_percent = series.iter().flatten().map(|it| it.1).fold(40.0, f64::max);
    let axes = Axes {
        x: "Cycle",
        y: "Bases (%)",
        y_range: Some((0.0, max_percent)),
        marks: second_read_mark(sample),
        ..Axes::default()
    };
    Some(Figure {
        has_lines: true,
        id: sample.element_id("bases-plot"),
        title: "Base content by cycle",
        reading:
            "Lines should be flat. Picard counts the bases of aligned reads on the forward strand of the \
            reference: A is close to T, and C close to G, if the reference has about as many of each. \
            Waves at the start come from priming or fragmentation; a drift at the end indicates adapter \
            sequence."
                .into(),
        alt: "Lines of the percentage of A, C, G, T and N by cycle.".into(),
        legend: ["A", "C", "G", "T", "N"].map(String::from).to_vec(),
        svg: draw_lines(&axes, series),
        table: table_of_rows(
            &rows,
            "Base content by cycle (%)",
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
    })
}

/// Minimum fraction of all reference windows that must have a GC value for the plot to show it. The
/// coverage of only a few windows is noise.
const MIN_WINDOW_SHARE: f64 = 0.002;

pub fn make_gc_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    gc_row(run)?;
    let rows = run.rows("gc_bias.detail_metrics", |row| row.is_of_all() && has_all_reads(row));
    let mut windows = points_of_rows(&rows, "GC", "WINDOWS");
    let all: f64 = windows.iter().map(|it| it.1).sum();
    let max_windows = windows.iter().map(|it| it.1).fold(1.0, f64::max);
    let is_common = |gc: f64| windows.iter().any(|it| it.0 == gc && it.1 >= MIN_WINDOW_SHARE * all);
    let mut coverage = points_of_rows(&rows, "GC", "NORMALIZED_COVERAGE");
    coverage.retain(|it| is_common(it.0));
    windows.iter_mut().for_each(|it| it.1 *= 1.0 / max_windows);
    let axes = Axes {
        x: "GC content of the window (%)",
        y: "Relative coverage",
        y_range: Some((0.0, coverage.iter().map(|it| it.1).fold(1.5, f64::max))),
        x_range: Some((0.0, 100.0)),
        levels: vec![(1.0, String::new())],
        ..Axes::default()
    };
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("gc-plot"),
        title: "Coverage by GC content",
        reading: "Coverage relative to the mean, for GC contents with enough reference windows. A flat \
            line at 1 means no bias. The second line shows the number of reference windows, scaled to a \
            maximum of 1."
            .into(),
        alt: "Line of relative coverage by the GC content of reference windows, with the number of \
            windows."
            .into(),
        legend: vec!["relative coverage".into(), "reference windows".into()],
        svg: draw_lines(&axes, vec![coverage, windows]),
        table: table_of_rows(
            &rows,
            "Coverage by GC content",
            &[
                ("GC", "GC (%)"),
                ("WINDOWS", "Windows"),
                ("READ_STARTS", "Read starts"),
                ("MEAN_BASE_QUALITY", "Mean base quality"),
                ("NORMALIZED_COVERAGE", "Relative coverage"),
            ],
        ),
    };
    let summary = run.rows("gc_bias.summary_metrics", RunPart::is_of_all);
    let title = |row: &RunPart<'_>| match row.text("READS_USED") {
        "UNIQUE" => "Without duplicates",
        _ => "All reads",
    };
    let columns: Vec<(&str, RunPart<'_>)> = summary.into_iter().map(|row| (title(&row), row)).collect();
    let table = transposed_table("GC bias summary", &columns, GC_FIELDS);
    Some(wrap_figures([Some(figure)], [table]))
}

/// Returns the fields `x` and `y` of each row as a point. Skips rows that lack one of them.
fn points_of_rows(rows: &[RunPart<'_>], x: &str, y: &str) -> Vec<(f64, f64)> {
    rows.iter().filter_map(|row| Some((row.value(x)?, row.value(y)?))).collect()
}

const GC_FIELDS: &[TableField<'_>] = &[
    ("ALIGNED_READS", "Aligned reads", NumberFormat::Plain),
    ("AT_DROPOUT", "AT dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_DROPOUT", "GC dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_NC_0_19", "Relative coverage at 0–19 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_20_39", "Relative coverage at 20–39 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_40_59", "Relative coverage at 40–59 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_60_79", "Relative coverage at 60–79 % GC", NumberFormat::Decimal(2, "")),
    ("GC_NC_80_100", "Relative coverage at 80–100 % GC", NumberFormat::Decimal(2, "")),
    ("WINDOW_SIZE", "Window size (bases)", NumberFormat::Plain),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::{Value, json};

    fn cycles(run: &Value) -> Figure {
        let limits = Limits::for_assay(Assay::Wgs);
        let sample = PageSample { run: RunPart::new(run), prefix: "s0-".into(), limits: &limits };
        cycle_quality_figure(&sample).unwrap()
    }

    #[test]
    fn each_read_has_a_curve_with_a_label() {
        let mut run = json!({"reports": {
            "quality_by_cycle_metrics": {"histograms": [{"CYCLE": [1, 2, 3, 4], "MEAN_QUALITY": [36, 35, 34, 20]}]},
            "base_distribution_by_cycle_metrics": {"rows": [{"READ_END": 1, "CYCLE": 1}, {"READ_END": 2, "CYCLE": 3}]},
        }});
        let figure = cycles(&run);
        assert_eq!(figure.legend, ["read 1", "read 2"]);
        assert!(figure.alt.ends_with("The lowest of read 2 is 20.0, in cycle 2."), "{}", figure.alt);
        let page = figure.to_html().into_string();
        // The second curve and its label have the same dashes.
        assert_eq!(page.matches("stroke-dasharray=\"8 4\"").count(), 2, "{page}");
        // Single reads have one curve, which needs no label.
        run["reports"]["base_distribution_by_cycle_metrics"] = json!({"rows": []});
        assert_eq!(cycles(&run).legend, ["read 1"]);
        assert!(!cycles(&run).to_html().into_string().contains("legend"));
    }
}

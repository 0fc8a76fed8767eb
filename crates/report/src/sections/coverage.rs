//! The section "Coverage": cumulative and plain distribution of depth, mean depth by contig,
//! Picard's metrics of targets and genomes, and the deepest windows.

use serde_json::Value;

use crate::metrics::mosdepth_row;
use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{table_of_cells, table_of_columns, table_of_rows, transposed_table, wrap_scrollable};
use crate::text::{NumberFormat, escape_html, plain_number};

const MAX_CONTIGS: usize = 30;

/// Rows of the table of Picard's hybrid selection and whole-genome metrics. A field that the report
/// does not have is omitted.
const FIELDS: &[(&str, &str, NumberFormat)] = &[
    ("GENOME_TERRITORY", "Bases of the genome", NumberFormat::Plain),
    ("TARGET_TERRITORY", "Bases of targets", NumberFormat::Plain),
    ("PCT_SELECTED_BASES", "Bases on or near baits", NumberFormat::Share),
    ("FOLD_ENRICHMENT", "Fold enrichment", NumberFormat::Decimal(1, "")),
    ("MEAN_TARGET_COVERAGE", "Mean", NumberFormat::Decimal(1, "×")),
    ("MEDIAN_TARGET_COVERAGE", "Median", NumberFormat::Decimal(0, "×")),
    ("MEAN_COVERAGE", "Mean", NumberFormat::Decimal(1, "×")),
    ("SD_COVERAGE", "Standard deviation", NumberFormat::Decimal(1, "×")),
    ("MEDIAN_COVERAGE", "Median", NumberFormat::Decimal(0, "×")),
    ("ZERO_CVG_TARGETS_PCT", "Targets without coverage", NumberFormat::Share),
    ("PCT_TARGET_BASES_10X", "At least 10×", NumberFormat::Share),
    ("PCT_TARGET_BASES_20X", "At least 20×", NumberFormat::Share),
    ("PCT_TARGET_BASES_30X", "At least 30×", NumberFormat::Share),
    ("PCT_TARGET_BASES_100X", "At least 100×", NumberFormat::Share),
    ("PCT_10X", "At least 10×", NumberFormat::Share),
    ("PCT_20X", "At least 20×", NumberFormat::Share),
    ("PCT_30X", "At least 30×", NumberFormat::Share),
    ("FOLD_80_BASE_PENALTY", "Fold-80 penalty", NumberFormat::Decimal(2, "")),
    ("PCT_EXC_TOTAL", "Bases left out", NumberFormat::Share),
    ("PCT_EXC_DUPE", "Of duplicates", NumberFormat::Share),
    ("PCT_EXC_MAPQ", "Of low mapping quality", NumberFormat::Share),
    ("PCT_EXC_BASEQ", "Of low quality", NumberFormat::Share),
    ("PCT_EXC_OVERLAP", "Of overlapping mates", NumberFormat::Share),
    ("PCT_EXC_OFF_TARGET", "Off target", NumberFormat::Share),
    ("AT_DROPOUT", "AT dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_DROPOUT", "GC dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("HET_SNP_SENSITIVITY", "Sensitivity to heterozygous SNPs", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let mut list = Vec::new();
    list.extend(cumulative_coverage_figure(sample));
    list.extend(depth_histogram_figure(sample));
    list.extend(contig_figure(sample));
    for (report, title) in [
        ("hs_metrics", "Coverage of targets, as Picard counts it"),
        ("wgs_metrics", "Coverage of the genome, as Picard counts it"),
    ] {
        let rows = run.rows(report, |_| true);
        let columns: Vec<(String, String)> =
            rows.into_iter().take(1).map(|(pointer, _)| (String::new(), pointer)).collect();
        if !columns.is_empty() {
            list.push(transposed_table(run, title, &columns, FIELDS));
        }
    }
    list.extend(deepest_windows_table(sample));
    (!list.is_empty()).then(|| PageSection {
        id: "coverage",
        title: "Coverage",
        body: wrap_figures(&list),
    })
}

fn deepest_windows_table(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let rows = run.rows("deepest_windows", |_| true);
    let mean = mosdepth_row(run, "total").map(|row| format!("{row}/mean"));
    let fold = |pointer: &str| run.share(&[format!("{pointer}/mean_depth")], &[mean.clone()?]);
    let cells = |(pointer, row): &(String, &Value)| {
        let number = |name: &str| row.get(name).and_then(Value::as_u64).unwrap_or(0);
        let contig = row.get("contig").and_then(Value::as_str).unwrap_or("");
        // The JSON is 0-based and half-open; genome browsers expect 1-based, closed intervals.
        let place = format!(
            "{contig}:{}-{}",
            plain_number((number("start") + 1) as f64),
            plain_number(number("end") as f64)
        );
        vec![
            format!("<code>{}</code>", escape_html(&place)),
            run.number_html(&format!("{pointer}/mean_depth"), NumberFormat::Decimal(1, "×")),
            run.number_html(&format!("{pointer}/max_depth"), NumberFormat::Plain),
            fold(pointer).map_or("–".into(), |fold| fold.to_html(NumberFormat::Decimal(1, ""))),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let titles = ["Place", "Mean depth", "Greatest", "Times the mean of all"];
    let caption = "The deepest windows of 1,000 bases";
    (!rows.is_empty()).then(|| wrap_scrollable(caption, &table_of_cells(caption, &titles, &rows)))
}

type Points = Vec<(f64, f64)>;

/// Draws the fraction of bases that have at least a given depth, for the genome and for targets
/// (mosdepth's files `.dist.txt`).
fn cumulative_coverage_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let of = |report: &str| -> Vec<(f64, f64)> {
        let at = |field: &str| run.column(&format!("/reports/{report}/{field}"));
        let mut points: Vec<(f64, f64)> = at("depth").into_iter().zip(at("share")).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let reports = [("mosdepth.global.dist.txt", "genome"), ("mosdepth.region.dist.txt", "targets")];
    let found: Vec<(&str, &str, Points)> = reports
        .into_iter()
        .map(|(report, name)| (report, name, of(report)))
        .filter(|it| !it.2.is_empty())
        .collect();
    // The plot ends where less than 1 % of the bases is deeper, plus some margin.
    let end =
        found.iter().flat_map(|it| &it.2).filter(|it| it.1 >= 0.01).map(|it| it.0).fold(0.0, f64::max);
    let end = (end * 1.2).max(5.0);
    found.first()?;
    let legend: Vec<String> = found.iter().map(|it| it.1.to_string()).collect();
    let table = found.iter().map(|(report, name, _)| {
        let title = format!("Share of bases of the {name} that are at least so deep");
        table_of_columns(
            run,
            &format!("/reports/{report}"),
            &title,
            &[("depth", "Depth"), ("share", "Share")],
        )
    });
    let table = table.collect::<String>();
    let series =
        found.into_iter().map(|it| it.2.into_iter().filter(|it| it.0 <= end).collect()).collect();
    let axes = Axes {
        x: "Depth at least",
        y: "Share of bases",
        y_range: Some((0.0, 1.0)),
        x_range: Some((0.0, end)),
        percent: true,
        marks: if end >= 20.0 { vec![(20.0, "20×".to_string())] } else { Vec::new() },
        ..Axes::default()
    };
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("shares-plot"),
        title: "Bases by least depth".into(),
        reading:
            "The share of bases that are covered at least so deep, as --coverage counts. Picard counts \
                  fewer: it leaves uncertain reads and bases out. A steep fall means even coverage."
                .into(),
        alt: "Falling lines: the share of bases covered at least so deep.".into(),
        legend,
        svg: draw_lines(&axes, series),
        table,
    };
    Some(figure.to_html())
}

fn depth_histogram_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let (report, pointer) =
        ["hs_metrics", "wgs_metrics", "raw_wgs_metrics"].into_iter().find_map(|report| {
            let pointer = format!("/reports/{report}/histograms/0");
            run.at(&pointer).map(|_| (report, pointer))
        })?;
    let columns = run.at(&pointer)?.as_object()?;
    let is_depth = |name: &&String| name.contains("coverage") && !name.contains("count");
    let depth = columns.keys().find(is_depth)?;
    let count = columns.keys().find(|name| name.contains("count"))?;
    let points: Vec<(f64, f64)> = run
        .column(&format!("{pointer}/{depth}"))
        .into_iter()
        .zip(run.column(&format!("{pointer}/{count}")))
        .collect();
    let total: f64 = points.iter().map(|it| it.1).sum();
    let mut rest = total;
    let shown: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .take_while(|it| {
            let is_shown = rest > 0.002 * total;
            rest -= it.1;
            is_shown
        })
        .collect();
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("depths-plot"),
        title: "Distribution of depth".into(),
        reading: "Bases by their depth, of reads and bases that count for variants. A second \
            hump or a wall at 0 is a loss of regions."
            .into(),
        alt: "Curve of the number of bases by depth.".into(),
        legend: Vec::new(),
        svg: draw_lines(&Axes { x: "Depth", y: "Bases", ..Axes::default() }, vec![shown]),
        table: table_of_columns(
            run,
            &pointer,
            &format!("Depths of {report}"),
            &[(depth, "Depth"), (count, "Bases")],
        ),
    };
    Some(figure.to_html())
}

fn contig_figure(sample: &PageSample<'_>) -> Option<String> {
    let list = "/reports/mosdepth.summary.txt";
    let lines = sample.run.list(list).iter().enumerate();
    let rows: Vec<(String, &Value)> = lines.map(|(i, row)| (format!("{list}/{i}"), row)).collect();
    let name = |row: &Value| row.get("chrom").and_then(Value::as_str).unwrap_or("").to_string();
    let is_whole = |row: &Value| !name(row).ends_with("_region") && name(row) != "total";
    let mut bars_of: Vec<(String, f64, f64)> = rows
        .iter()
        .filter(|(_, row)| is_whole(row))
        .filter_map(|(_, row)| {
            Some((name(row), row.get("mean")?.as_f64()?, row.get("length")?.as_f64()?))
        })
        .collect();
    if bars_of.is_empty() {
        return None;
    }
    let all = bars_of.len();
    if all > MAX_CONTIGS {
        // Keeps the longest contigs, in the order of the file.
        let mut lengths: Vec<f64> = bars_of.iter().map(|it| it.2).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        let least = lengths.get(MAX_CONTIGS - 1).copied().unwrap_or(0.0);
        bars_of.retain(|it| it.2 >= least);
        bars_of.truncate(MAX_CONTIGS);
    }
    let shown = bars_of.len();
    let reading = if all > shown {
        format!("The mean depth of the {shown} longest of {all} contigs.")
    } else {
        "The mean depth of each contig.".into()
    };
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("contigs-plot"),
        title: "Coverage by contig".into(),
        reading,
        alt: "Bars of the mean depth by contig.".into(),
        legend: Vec::new(),
        svg: draw_bars(
            &Axes { x: "", y: "Mean depth", ..Axes::default() },
            bars_of.into_iter().map(|it| (it.0, it.1)).collect(),
        ),
        table: table_of_rows(
            &rows,
            "Coverage by contig; _region is that of its targets",
            &[
                ("chrom", "Contig"),
                ("length", "Bases"),
                ("bases", "Bases of reads"),
                ("mean", "Mean"),
                ("min", "Least"),
                ("max", "Greatest"),
            ],
        ),
    };
    Some(figure.to_html())
}

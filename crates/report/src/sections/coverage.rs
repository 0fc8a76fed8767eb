//! The section "Coverage": cumulative coverage, depth distribution, mean depth by contig, Picard's
//! target and whole-genome metrics, and the deepest windows.

use maud::{Markup, html};
use serde::Deserialize;

use crate::metrics::{
    CONTIGS, DepthHistogram, depth_histogram, find_metric, metric_title, mosdepth_mean,
};
use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::run::{Quantity, RunPart};
use crate::section::{PageSample, wrap_figures};
use crate::table::{
    Cell, TableField, scrollable_table, table_of_columns, table_of_rows, transposed_table,
};
use crate::text::{NumberFormat, plain_number};

const MAX_CONTIGS: usize = 30;

/// Rows of the tables of Picard's HsMetrics and WgsMetrics. Each table omits the fields that its
/// report lacks.
const FIELDS: &[TableField<'static>] = &[
    ("GENOME_TERRITORY", "Genome territory (bases)", NumberFormat::Plain),
    ("TARGET_TERRITORY", "Target territory (bases)", NumberFormat::Plain),
    ("PCT_SELECTED_BASES", "Bases on or near baits", NumberFormat::Share),
    ("FOLD_ENRICHMENT", "Fold enrichment", NumberFormat::Decimal(1, "")),
    ("MEAN_TARGET_COVERAGE", "Mean target coverage", NumberFormat::Decimal(1, "×")),
    ("MEDIAN_TARGET_COVERAGE", "Median target coverage", NumberFormat::Decimal(0, "×")),
    ("MEAN_COVERAGE", "Mean coverage", NumberFormat::Decimal(1, "×")),
    ("SD_COVERAGE", "Standard deviation of coverage", NumberFormat::Decimal(1, "×")),
    ("MEDIAN_COVERAGE", "Median coverage", NumberFormat::Decimal(0, "×")),
    ("ZERO_CVG_TARGETS_PCT", "Targets without coverage", NumberFormat::Share),
    ("PCT_TARGET_BASES_10X", "Target bases covered ≥ 10×", NumberFormat::Share),
    ("PCT_TARGET_BASES_20X", "Target bases covered ≥ 20×", NumberFormat::Share),
    ("PCT_TARGET_BASES_30X", "Target bases covered ≥ 30×", NumberFormat::Share),
    ("PCT_TARGET_BASES_100X", "Target bases covered ≥ 100×", NumberFormat::Share),
    ("PCT_10X", "Bases covered ≥ 10×", NumberFormat::Share),
    ("PCT_20X", "Bases covered ≥ 20×", NumberFormat::Share),
    ("PCT_30X", "Bases covered ≥ 30×", NumberFormat::Share),
    ("FOLD_80_BASE_PENALTY", "Fold-80 penalty", NumberFormat::Decimal(2, "")),
    ("PCT_EXC_TOTAL", "Excluded bases", NumberFormat::Share),
    ("PCT_EXC_DUPE", "Excluded: duplicates", NumberFormat::Share),
    ("PCT_EXC_MAPQ", "Excluded: low mapping quality", NumberFormat::Share),
    ("PCT_EXC_BASEQ", "Excluded: low base quality", NumberFormat::Share),
    ("PCT_EXC_OVERLAP", "Excluded: overlapping mates", NumberFormat::Share),
    ("PCT_EXC_OFF_TARGET", "Excluded: off target", NumberFormat::Share),
    ("AT_DROPOUT", "AT dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("GC_DROPOUT", "GC dropout", NumberFormat::Decimal(2, "\u{a0}%")),
    ("HET_SNP_SENSITIVITY", "Heterozygous SNP sensitivity", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let figures =
        [cumulative_coverage_figure(sample), depth_histogram_figure(sample), contig_figure(sample)];
    let table_of_picard = |report: &str, title: &str| {
        let row = sample.run.part(&format!("reports/{report}/rows/0"))?;
        Some(transposed_table(title, &[("", row)], &name_fields(report, &sample.run)))
    };
    let tables = [
        table_of_picard("hs_metrics", "Target coverage (Picard HsMetrics)"),
        table_of_picard("wgs_metrics", "Genome coverage (Picard WgsMetrics)"),
        deepest_windows_table(&sample.run),
    ];
    let has_some = figures.iter().any(Option::is_some) || tables.iter().any(Option::is_some);
    has_some.then(|| wrap_figures(figures, tables.into_iter().flatten()))
}

/// Returns the fields of a table of Picard's coverage metrics. The targets and the genome have a fold-80
/// penalty each, which have different names if the run has targets.
fn name_fields(report: &str, run: &RunPart<'_>) -> Vec<TableField<'static>> {
    let is_renamed = |key: &str| find_metric(key).is_some_and(|it| metric_title(it, run) != it.name);
    let fold_80 = match report {
        "hs_metrics" => "Target fold-80 penalty",
        _ if is_renamed("mean_coverage") => "Genome fold-80 penalty",
        _ => "Fold-80 penalty",
    };
    let name = |field: &TableField<'static>| match field.0 {
        "FOLD_80_BASE_PENALTY" => (field.0, fold_80, field.2),
        _ => *field,
    };
    FIELDS.iter().map(name).collect()
}

/// A reference window, 0-based and half-open.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WindowPlace<'a> {
    contig: &'a str,
    start: u64,
    end: u64,
}

fn deepest_windows_table(run: &RunPart<'_>) -> Option<Markup> {
    let mean = mosdepth_mean(run, "total");
    let cells = |row: &RunPart<'_>| {
        let WindowPlace { contig, start, end } = row.read("").unwrap_or_default();
        // Genome browsers expect 1-based, closed intervals.
        let [first, last] = [start + 1, end].map(|position| plain_number(position as f64));
        let fold = Quantity::share(row.number("mean_depth"), mean.clone());
        vec![
            Cell::code(&format!("{contig}:{first}-{last}")),
            row.cell("mean_depth", NumberFormat::Decimal(1, "×")),
            row.cell("max_depth", NumberFormat::Plain),
            Cell::number(fold.as_ref(), NumberFormat::Decimal(1, "×")),
        ]
    };
    let rows: Vec<Vec<Cell>> = run.rows("deepest_windows", |_| true).iter().map(cells).collect();
    let titles = ["Region", "Mean depth", "Maximum depth", "Ratio to mean depth"];
    (!rows.is_empty()).then(|| scrollable_table("Deepest 1,000-base windows", &titles, &rows))
}

type Points = Vec<(f64, f64)>;

/// Draws the percentage of bases covered at each depth or deeper, for the genome and for targets
/// (mosdepth's `.dist.txt` files).
fn cumulative_coverage_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let read = |(report, name): (&str, &'static str)| {
        let report = sample.run.part(&format!("reports/{report}"))?;
        let mut points: Points =
            report.column("depth").into_iter().zip(report.column("share")).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!points.is_empty()).then_some((report, name, points))
    };
    let regions = if sample.run.has_coverage_windows() { "windows" } else { "targets" };
    let reports = [("mosdepth.global.dist.txt", "genome"), ("mosdepth.region.dist.txt", regions)];
    let found: Vec<(RunPart<'_>, &str, Points)> = reports.into_iter().filter_map(read).collect();
    // The x axis ends 20 % after the last depth that at least 1 % of the bases reach.
    let end =
        found.iter().flat_map(|it| &it.2).filter(|it| it.1 >= 0.01).map(|it| it.0).fold(0.0, f64::max);
    let end = (end * 1.2).max(5.0);
    found.first()?;
    let legend: Vec<String> = found.iter().map(|it| it.1.to_string()).collect();
    let columns = [("depth", "Depth"), ("share", "Fraction of bases")];
    let table = html! {
        @for (report, name, _) in &found {
            @let title = format!("Cumulative coverage of the {name}");
            (table_of_columns(report, &title, &columns))
        }
    };
    let series =
        found.into_iter().map(|it| it.2.into_iter().filter(|it| it.0 <= end).collect()).collect();
    let axes = Axes {
        x: "Minimum depth (×)",
        y: "Percentage of bases",
        y_range: Some((0.0, 1.0)),
        x_range: Some((0.0, end)),
        percent: true,
        marks: if end >= 20.0 { vec![(20.0, "20×".to_string())] } else { Vec::new() },
        ..Axes::default()
    };
    Some(Figure {
        has_lines: true,
        id: sample.element_id("shares-plot"),
        title: "Cumulative coverage",
        reading:
            "Percentage of bases with at least each depth, from the --coverage files. Picard reports \
            lower values because it excludes low-quality reads and bases. A steep drop means even \
            coverage."
                .into(),
        alt: "Falling lines: percentage of bases with at least each depth.".into(),
        legend,
        svg: draw_lines(&axes, series),
        table,
    })
}

fn depth_histogram_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let DepthHistogram { report, histogram, depth_key: depth, count_key: count } =
        depth_histogram(&sample.run)?;
    let points: Points = histogram.column(depth).into_iter().zip(histogram.column(count)).collect();
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
    Some(Figure {
        has_lines: true,
        id: sample.element_id("depths-plot"),
        title: "Depth distribution",
        reading: format!(
            "Bases by depth, after Picard's read and base filters. A spike at 0 indicates regions that were \
            not captured or amplified; a second peak can be a sex chromosome or a copy-number \
            change.{}",
            coverage_cap_note(&sample.run, report, &points)
        ),
        alt: "Curve of the number of bases by depth.".into(),
        svg: draw_lines(&Axes { x: "Depth (×)", y: "Bases", ..Axes::default() }, vec![shown]),
        table: table_of_columns(
            &histogram,
            &format!("Depth distribution ({report})"),
            &[(depth, "Depth"), (count, "Bases")],
        ),
        ..Figure::default()
    })
}

/// Returns a sentence about Picard's coverage cap if bases reach it, and nothing otherwise.
fn coverage_cap_note(run: &RunPart<'_>, report: &str, points: &[(f64, f64)]) -> String {
    let default = match report {
        "hs_metrics" => 200.0,
        "raw_wgs_metrics" => 100_000.0,
        _ => 250.0,
    };
    let words: Vec<&str> = run.read("command/arguments").unwrap_or_default();
    let given = words.iter().position(|word| *word == "--coverage-cap");
    let given = given.and_then(|at| words.get(at + 1)?.parse::<f64>().ok());
    let attached = words.iter().find_map(|word| word.strip_prefix("--coverage-cap=")?.parse().ok());
    let cap = given.or(attached).unwrap_or(default);
    match points.iter().any(|(depth, count)| *depth == cap && *count > 0.0) {
        true => format!(" Greater depths count as {}×, Picard's coverage cap.", plain_number(cap)),
        false => String::new(),
    }
}

/// A row of `mosdepth.summary.txt`.
struct ContigDepth {
    chrom: String,
    length: f64,
    mean: f64,
}

fn contig_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let rows: Vec<RunPart<'_>> = sample.run.items(CONTIGS).collect();
    let depth = |row: &RunPart<'_>| {
        let chrom = row.name("chrom");
        Some(ContigDepth { chrom, length: row.value("length")?, mean: row.value("mean")? })
    };
    let mut contigs: Vec<ContigDepth> = rows.iter().filter_map(depth).collect();
    contigs.retain(|it| !it.chrom.ends_with("_region") && it.chrom != "total");
    if contigs.is_empty() {
        return None;
    }
    let all = contigs.len();
    if all > MAX_CONTIGS {
        // Keeps the longest contigs, in the order of the file.
        let mut lengths: Vec<f64> = contigs.iter().map(|it| it.length).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        let min_length = lengths.get(MAX_CONTIGS - 1).copied().unwrap_or(0.0);
        contigs.retain(|it| it.length >= min_length);
        contigs.truncate(MAX_CONTIGS);
    }
    let shown = contigs.len();
    let reading = if all > shown {
        format!("Mean depth of the {shown} longest of {all} contigs.")
    } else {
        "Mean depth of each contig.".into()
    };
    Some(Figure {
        id: sample.element_id("contigs-plot"),
        title: "Coverage by contig",
        reading,
        alt: "Bars of the mean depth by contig.".into(),
        svg: draw_bars(
            &Axes { x: "", y: "Mean depth (×)", ..Axes::default() },
            contigs.into_iter().map(|it| (it.chrom, it.mean)).collect(),
        ),
        table: table_of_rows(
            &rows,
            &format!(
                "Coverage by contig (rows ending in _region count only {})",
                if sample.run.has_coverage_windows() { "windows" } else { "target regions" }
            ),
            &[
                ("chrom", "Contig"),
                ("length", "Length (bases)"),
                ("bases", "Aligned bases"),
                ("mean", "Mean depth"),
                ("min", "Minimum depth"),
                ("max", "Maximum depth"),
            ],
        ),
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::{Value, json};

    fn section(run: &Value) -> String {
        let limits = Limits::for_assay(Assay::Wgs);
        let sample = PageSample { run: RunPart::new(run), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).unwrap().into_string()
    }

    #[test]
    fn the_fold_80_penalty_says_what_it_is_of() {
        let title = |run: &Value| metric_title(find_metric("fold_80").unwrap(), &RunPart::new(run));
        let mut run = json!({"reports": {"wgs_metrics": {"rows": [{"FOLD_80_BASE_PENALTY": 1.2}]}}});
        assert_eq!(title(&run), "Fold-80 penalty");
        assert!(section(&run).contains("Fold-80 penalty"));
        run["reports"]["mosdepth.summary.txt"] = json!([{"chrom": "total_region", "mean": 9}]);
        assert_eq!(title(&run), "Genome fold-80 penalty");
        assert!(section(&run).contains("Genome fold-80 penalty"));
        run["reports"]["hs_metrics"] =
            json!({"rows": [{"FOLD_80_BASE_PENALTY": 1.5, "MEAN_TARGET_COVERAGE": 8.0}]});
        assert_eq!(title(&run), "Target fold-80 penalty");
        let text = section(&run);
        assert!(
            text.contains("Target fold-80 penalty") && text.contains("Genome fold-80 penalty"),
            "{text}"
        );
        assert!(text.contains("Mean target coverage"), "{text}");
    }

    #[test]
    fn the_depth_distribution_names_the_cap_if_it_is_reached() {
        let page = |arguments: Value, count: u32| {
            let histogram =
                json!({"coverage": [0, 150, 250], "high_quality_coverage_count": [5, 90, count]});
            section(&json!({
                "command": {"arguments": arguments},
                "reports": {"wgs_metrics": {"rows": [{}], "histograms": [histogram]}},
            }))
        };
        assert!(page(json!([]), 7).contains("Greater depths count as 250×, Picard's coverage cap."));
        assert!(!page(json!([]), 0).contains("coverage cap"));
        let text = page(json!(["prep", "--coverage-cap", "150"]), 0);
        assert!(text.contains("Greater depths count as 150×"), "{text}");
        assert!(!page(json!(["prep", "--coverage-cap=300"]), 7).contains("coverage cap"));
    }

    #[test]
    fn only_values_of_targets_are_called_so() {
        let title = |run: &Value, key: &str| metric_title(find_metric(key).unwrap(), &RunPart::new(run));
        let contigs = json!([{"chrom": "total", "mean": 10}, {"chrom": "total_region", "mean": 10}]);
        let mut run = json!({"reports": {
            "mosdepth.summary.txt": contigs, "mosdepth.region.dist.txt": {"depth": [20, 2], "share": [0.1, 1]},
        }});
        let titles =
            |run: &Value| ["mean_coverage", "bases_at_20x", "even_coverage"].map(|key| title(run, key));
        let wanted =
            ["Mean target coverage", "Target bases covered ≥ 20×", "Target bases covered ≥ 0.2× mean"];
        assert_eq!(titles(&run), wanted);
        run["command"]["arguments"] = json!(["prep", "--coverage-by", "500"]);
        assert_eq!(title(&run, "mean_coverage"), "Mean coverage");
        // The evenness is of the genome, though the run has target metrics.
        let run = json!({"reports": {
            "hs_metrics": {"rows": [{"MEAN_TARGET_COVERAGE": 9.0}]}, "mosdepth.summary.txt": [{"chrom": "total", "mean": 10}],
            "mosdepth.global.dist.txt": {"depth": [20, 2], "share": [0.1, 1]},
        }});
        let wanted = ["Mean target coverage", "Bases covered ≥ 20×", "Bases covered ≥ 0.2× mean"];
        assert_eq!(titles(&run), wanted);
    }
}

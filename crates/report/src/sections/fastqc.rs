//! The section "FastQC": the status of all modules by file, and plots of modules whose data no other
//! section shows.

use maud::{Markup, html};
use serde_json::Value;

use crate::metrics::CYCLE_HISTOGRAM;
use crate::plot::{Axes, COLORS, Figure, draw_grouped_bars, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{Cell, scrollable_table, table_of_cells, table_of_columns};
use crate::text::{NumberFormat, cell_text, join_words};

const MAX_SEQUENCES: usize = 10;

struct FastqcFile<'a> {
    name: &'a str,
    modules: Vec<RunPart<'a>>,
}

impl<'a> FastqcFile<'a> {
    fn new(file: &RunPart<'a>) -> Self {
        FastqcFile { name: file.text("file"), modules: file.items("modules").collect() }
    }

    /// Finds a module by its FastQC name.
    fn find_module(&self, name: &str) -> Option<&RunPart<'a>> {
        self.modules.iter().find(|module| module.text("name") == name)
    }

    /// Returns the columns of a module. `None` if the module was not run or has no table.
    fn module_columns(&self, name: &str) -> Option<RunPart<'a>> {
        self.find_module(name)?.part("columns").filter(|columns| columns.keys().next().is_some())
    }
}

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let files: Vec<FastqcFile<'_>> =
        sample.run.items("reports/fastqc").map(|file| FastqcFile::new(&file)).collect();
    // With more lines than colours, lines could not be distinguished.
    let drawn = files.get(..files.len().min(COLORS))?;
    if drawn.is_empty() {
        return None;
    }
    let has_cycles = sample.run.at(&format!("{CYCLE_HISTOGRAM}/CYCLE")).is_some();
    let figures = [
        gc_figure(sample, drawn),
        duplication_figure(sample, drawn),
        adapter_figure(sample, drawn),
        mean_quality_figure(sample, drawn),
        length_figure(sample, drawn),
        if has_cycles { None } else { position_quality_figure(sample, drawn) },
    ];
    let left = files.len() - drawn.len();
    Some(html! {
        (status_table(&files))
        (wrap_figures(figures, []))
        @if left > 0 {
            p class="note" {
                "Plots show the first " (COLORS) " files; the JSON file also has the "
                @if left == 1 { "other file." } @else { "other " (left) "." }
            }
        }
        @for file in drawn {
            @if let Some(table) = frequent_sequence_table(file) { (table) }
        }
    })
}

fn status_table(files: &[FastqcFile<'_>]) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    for name in files.iter().flat_map(|file| &file.modules).map(|module| module.text("name")) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let verdict = |file: &FastqcFile<'_>, name: &str| {
        let status = file.find_module(name).map_or("", |module| module.text("status"));
        let (class, sign) = match status {
            "pass" => ("good", "✓"),
            "warn" => ("look", "▲"),
            "fail" => ("bad", "✕"),
            _ => return Cell::text("not run"),
        };
        Cell::Text(html! {
            span class={ "grade " (class) } { i aria-hidden="true" { (sign) } " " (status) }
        })
    };
    let row = |name: &&str| {
        let cells = files.iter().map(|file| verdict(file, name));
        std::iter::once(Cell::text(*name)).chain(cells).collect()
    };
    let rows: Vec<Vec<Cell>> = names.iter().map(row).collect();
    let titles: Vec<&str> =
        std::iter::once("Module").chain(files.iter().map(|file| file.name)).collect();
    scrollable_table("Module status by file", &titles, &rows)
}

type Points = Vec<(f64, f64)>;

/// Parses a position in the read. FastQC groups the positions of long reads, such as `10-14`; the
/// result is then the middle of the group.
fn parse_position(value: &Value) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok();
    match value {
        Value::String(text) => match text.split_once('-') {
            Some((first, last)) => Some((number(first)? + number(last)?) / 2.0),
            None => number(text),
        },
        other => other.as_f64(),
    }
}

fn parse_positions(columns: &RunPart<'_>, name: &str) -> Vec<f64> {
    columns.list(name).iter().map(|value| parse_position(value).unwrap_or(0.0)).collect()
}

/// Returns the columns `x` and `y` as points of a line. `x` may contain groups of positions.
fn column_points(columns: &RunPart<'_>, x: &str, y: &str) -> Points {
    parse_positions(columns, x).into_iter().zip(columns.column(y)).collect()
}

fn to_shares(points: Points) -> Points {
    let all: f64 = points.iter().map(|it| it.1).sum();
    let share = |(x, count): (f64, f64)| (x, if all > 0.0 { count / all } else { 0.0 });
    points.into_iter().map(share).collect()
}

/// A line plot of one FastQC module, with one line for each file.
struct LineFigure<'a> {
    id: &'a str,
    title: &'static str,
    reading: &'a str,
    module: &'a str,
    axes: Axes<'a>,
    columns: &'a [(&'a str, &'a str)],
}

impl LineFigure<'_> {
    /// Draws the plot. `line` computes the points of a file from the module's columns. `None` if no
    /// file has data of the module.
    fn draw_for_files(
        &self,
        sample: &PageSample<'_>,
        files: &[FastqcFile<'_>],
        line: impl Fn(&RunPart<'_>) -> Points,
    ) -> Option<Figure> {
        let (mut legend, mut series, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            let Some(columns) = file.module_columns(self.module) else { continue };
            legend.push(file.name.to_string());
            series.push(line(&columns));
            let caption = format!("{}: {}", self.title, file.name);
            tables.push(table_of_columns(&columns, &caption, self.columns));
        }
        if series.iter().all(Vec::is_empty) {
            return None;
        }
        Some(Figure {
            has_lines: true,
            id: sample.element_id(self.id),
            title: self.title,
            reading: self.reading.into(),
            alt: format!(
                "One line per file ({}): {} by {}.",
                join_words(&legend),
                self.axes.y,
                self.axes.x
            ),
            legend,
            svg: draw_lines(&self.axes, series),
            table: html! { @for table in tables { (table) } },
        })
    }
}

fn gc_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let figure = LineFigure {
        id: "read-gc-plot",
        title: "GC content per read",
        reading: "Reads by GC content. A single smooth peak is normal; sharp peaks indicate adapters, and a \
            second broad peak indicates another species.",
        module: "Per sequence GC content",
        axes: Axes {
            x: "GC content (%)",
            y: "Percentage of reads",
            x_range: Some((0.0, 100.0)),
            percent: true,
            ..Axes::default()
        },
        columns: &[("GC Content", "GC content (%)"), ("Count", "Reads")],
    };
    figure.draw_for_files(sample, files, |columns| {
        to_shares(column_points(columns, "GC Content", "Count"))
    })
}

/// Draws the adapter content by position. The line of a file is the maximum over all adapters.
fn adapter_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let module = "Adapter Content";
    let first = files.iter().find_map(|file| file.module_columns(module))?;
    let names: Vec<&str> = first.keys().map(String::as_str).filter(|name| *name != "Position").collect();
    let columns: Vec<(&str, &str)> =
        std::iter::once("Position").chain(names.iter().copied()).map(|name| (name, name)).collect();
    let line = |columns: &RunPart<'_>| {
        let mut max_points: Points =
            parse_positions(columns, "Position").into_iter().map(|at| (at, 0.0)).collect();
        for name in &names {
            let percents = columns.column(name);
            for (point, percent) in max_points.iter_mut().zip(percents) {
                point.1 = point.1.max(percent / 100.0);
            }
        }
        max_points
    };
    let modules = files.iter().filter_map(|file| file.module_columns(module));
    let max_share = modules.flat_map(|columns| line(&columns)).map(|it| it.1).fold(0.05, f64::max);
    let figure = LineFigure {
        id: "adapters-plot",
        title: "Adapter content",
        reading: "Percentage of reads in which an adapter starts at or before each position. The line shows the \
            most frequent adapter at each position; the table lists all adapters.",
        module,
        axes: Axes {
            x: "Position in read (bases)",
            y: "Percentage of reads",
            y_range: Some((0.0, max_share)),
            percent: true,
            ..Axes::default()
        },
        columns: &columns,
    };
    figure.draw_for_files(sample, files, line)
}

fn mean_quality_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let figure = LineFigure {
        id: "means-plot",
        title: "Mean quality per read",
        reading: "Reads by mean base quality. A peak at low quality means that part of the flow cell or of the run \
            failed.",
        module: "Per sequence quality scores",
        axes: Axes {
            x: "Mean quality (Phred)",
            y: "Percentage of reads",
            percent: true,
            ..Axes::default()
        },
        columns: &[("Quality", "Mean quality"), ("Count", "Reads")],
    };
    figure.draw_for_files(sample, files, |columns| to_shares(column_points(columns, "Quality", "Count")))
}

/// Draws the read length distribution. `None` if within each file all reads have the same length.
fn length_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let module = "Sequence Length Distribution";
    let differ = |file: &FastqcFile<'_>| {
        let columns = file.module_columns(module);
        columns.is_some_and(|columns| columns.list("Length").len() > 1)
    };
    if !files.iter().any(differ) {
        return None;
    }
    let figure = LineFigure {
        id: "lengths-plot",
        title: "Read length distribution",
        reading: "Reads by length, before any trimming.",
        module,
        axes: Axes { x: "Read length (bases)", y: "Reads", ..Axes::default() },
        columns: &[("Length", "Read length (bases)"), ("Count", "Reads")],
    };
    figure.draw_for_files(sample, files, |columns| column_points(columns, "Length", "Count"))
}

/// Draws mean quality by position. The caller uses it only if the run lacks Picard's quality by
/// cycle, which shows the same.
fn position_quality_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let module = "Per base sequence quality";
    let line = |columns: &RunPart<'_>| column_points(columns, "Base", "Mean");
    let all =
        files.iter().filter_map(|file| file.module_columns(module)).flat_map(|columns| line(&columns));
    let max_quality = all.map(|it| it.1).fold(41.0, f64::max);
    let figure = LineFigure {
        id: "positions-plot",
        title: "Mean quality by position",
        reading: "A slow decline is normal; a sudden dip indicates a failed cycle.",
        module,
        axes: Axes {
            x: "Position in read (bases)",
            y: "Mean quality (Phred)",
            y_range: Some((0.0, max_quality + 1.0)),
            ..Axes::default()
        },
        columns: &[
            ("Base", "Position"),
            ("Mean", "Mean"),
            ("Median", "Median"),
            ("Lower Quartile", "Lower quartile"),
            ("Upper Quartile", "Upper quartile"),
        ],
    };
    figure.draw_for_files(sample, files, line)
}

const JOINED_LEVELS: [&str; 3] = [">500", ">5k", ">10k+"];

/// Draws the percentage of reads by duplication level. The table also has the percentage of reads
/// that deduplication would keep.
fn duplication_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<Figure> {
    let module = "Sequence Duplication Levels";
    let (level, share) = ("Duplication Level", "Percentage of total");
    let known: Vec<(&FastqcFile<'_>, RunPart<'_>)> =
        files.iter().filter_map(|file| Some((file, file.module_columns(module)?))).collect();
    let names = known.first()?.1.list(level).iter();
    let values: Vec<Vec<f64>> = known.iter().map(|(_, columns)| columns.column(share)).collect();
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for (i, name) in names.enumerate() {
        let name = name.as_str().map_or_else(|| name.to_string(), str::to_string);
        let of_files = values.iter().map(|list| list.get(i).copied().unwrap_or(0.0) / 100.0);
        match groups.last_mut() {
            // The highest levels share a bar, so that all labels fit.
            Some((_, sums)) if JOINED_LEVELS.contains(&name.as_str()) => {
                sums.iter_mut().zip(of_files).for_each(|(sum, share)| *sum += share);
            }
            _ => groups.push((name, of_files.collect())),
        }
    }
    let left = |file: &FastqcFile<'_>| {
        let left = file.find_module(module)?.number("deduplicated_percentage")?;
        let form = NumberFormat::Decimal(1, "\u{a0}%");
        Some(vec![Cell::text(file.name), Cell::number(Some(&left), form)])
    };
    let left: Vec<Vec<Cell>> = known.iter().filter_map(|(file, _)| left(file)).collect();
    let titles = [
        (level, "Duplication level"),
        (share, "Reads (%)"),
        ("Percentage of deduplicated", "Distinct sequences (%)"),
    ];
    let axes = Axes {
        x: "Sequence duplication level",
        y: "Percentage of reads",
        percent: true,
        ..Axes::default()
    };
    Some(Figure {
        id: sample.element_id("levels-plot"),
        title: "Sequence duplication levels",
        reading: "Reads by how often their sequence occurs in the file. Only sequences are compared, not alignments. \
            Deep or targeted sequencing also produces repeated sequences; this is not a fault."
            .into(),
        alt: match known.len() {
            1 => "Bars of reads by sequence duplication level, for one file.".into(),
            files => format!("Bars of reads by sequence duplication level, for {files} files."),
        },
        legend: known.iter().map(|(file, _)| file.name.to_string()).collect(),
        svg: draw_grouped_bars(&axes, groups),
        table: html! {
            (table_of_cells("Reads remaining after deduplication", &["File", "Percentage"], &left))
            @for (file, columns) in &known {
                (table_of_columns(columns, &format!("Sequence duplication levels: {}", file.name), &titles))
            }
        },
        ..Figure::default()
    })
}

fn frequent_sequence_table(file: &FastqcFile<'_>) -> Option<Markup> {
    let columns = file.module_columns("Overrepresented sequences")?;
    let sequences = columns.list("Sequence");
    let row = |(i, sequence): (usize, &Value)| {
        let source = columns.at(&format!("Possible Source/{i}"));
        vec![
            Cell::code(&cell_text(sequence)),
            columns.cell(&format!("Count/{i}"), NumberFormat::Plain),
            columns.cell(&format!("Percentage/{i}"), NumberFormat::Decimal(2, "\u{a0}%")),
            source.map_or_else(Cell::dash, |source| Cell::text(cell_text(source))),
        ]
    };
    let rows: Vec<Vec<Cell>> = sequences.iter().enumerate().take(MAX_SEQUENCES).map(row).collect();
    let more = match sequences.len().saturating_sub(MAX_SEQUENCES) {
        0 => String::new(),
        _ => format!(" (first {MAX_SEQUENCES} of {})", sequences.len()),
    };
    let caption = format!("Overrepresented sequences: {}{more}", file.name);
    Some(scrollable_table(&caption, &["Sequence", "Reads", "Percentage", "Possible source"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use serde_json::json;

    fn body(value: &Value) -> Option<String> {
        let limits = Limits::default();
        let sample = PageSample { run: RunPart::new(value), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(Markup::into_string)
    }

    fn file(name: &str) -> Value {
        let sequences = (0..12).map(|i| format!("ACGT{i}")).collect::<Vec<_>>();
        json!({"file": name, "modules": [
            {"name": "Basic Statistics", "status": "pass", "columns": {}},
            {"name": "Per sequence GC content", "status": "fail",
             "columns": {"GC Content": [0, 1], "Count": [0.0, 4.0]}},
            {"name": "Sequence Duplication Levels", "status": "warn", "deduplicated_percentage": 61.5,
             "columns": {"Duplication Level": [1, ">10k+"], "Percentage of total": [50.0, "NaN"]}},
            {"name": "Overrepresented sequences", "status": "warn", "columns": {
                "Sequence": sequences, "Count": vec![7; 12], "Percentage": vec![0.5; 12], "Possible Source": vec!["No Hit"; 12]}},
            {"name": "Adapter Content", "status": "pass", "columns": {
                "Position": [1, "2-5"], "Illumina": [0.0, 20.0], "Nextera": [1.0, 2.0]}},
        ]})
    }

    #[test]
    fn verdicts_and_numbers_are_those_of_the_report() {
        let body = body(&json!({"reports": {"fastqc": [file("<1>.fq"), file("2.fq")]}})).unwrap();
        let fail = "<span class=\"grade bad\"><i aria-hidden=\"true\">✕</i> fail</span>";
        assert_eq!(body.matches(fail).count(), 2, "{body}");
        for wanted in [
            "&lt;1&gt;.fq",
            "data-columns=\"/reports/fastqc/1/modules/1/columns\"",
            "<data value=\"61.5\" data-json=\"/reports/fastqc/0/modules/2/deduplicated_percentage\">",
            "<data value=\"0.5\" data-json=\"/reports/fastqc/1/modules/3/columns/Percentage/9\">",
            "(first 10 of 12)",
        ] {
            assert!(body.contains(wanted), "{wanted}\n{body}");
        }
        assert!(!body.contains("columns/Percentage/10") && !body.contains("<1>"), "{body}");
    }

    #[test]
    fn many_files_have_verdicts_but_not_all_figures() {
        let files: Vec<Value> = (0..9).map(|i| file(&format!("{i}.fq"))).collect();
        let body = body(&json!({"reports": {"fastqc": files}})).unwrap();
        assert!(
            body.contains("first 7 files; the JSON file also has the other 2.") && body.contains("8.fq"),
            "{body}"
        );
        assert!(!body.contains("Overrepresented sequences: 8.fq"), "{body}");
        assert_eq!(super::tests::body(&json!({"reports": {}})), None);
    }

    #[test]
    fn a_group_of_positions_is_at_its_middle() {
        let at = [json!(7), json!("10-14"), json!("x")].map(|value| parse_position(&value));
        assert_eq!(at, [Some(7.0), Some(12.0), None]);
    }
}

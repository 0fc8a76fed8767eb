//! The section "FastQC": status of all modules by file, and plots of the modules that no other
//! section covers.

use serde_json::Value;

use crate::metrics::CYCLE;
use crate::plot::{Axes, COLORS, Figure, draw_grouped_bars, draw_lines};
use crate::run::RunDescription;
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{table_of_cells, table_of_columns, wrap_scrollable};
use crate::text::{NumberFormat, cell_text, escape_html, join_words};

const FILES: &str = "/reports/fastqc";

const MAX_SEQUENCES: usize = 10;

struct FastqcFile<'a> {
    name: String,
    pointer: String,
    modules: &'a [Value],
}

impl<'a> FastqcFile<'a> {
    /// Finds a module by FastQC's name for it. Returns its pointer and its JSON.
    fn find_module(&self, name: &str) -> Option<(String, &'a Value)> {
        let at =
            self.modules.iter().position(|module| module.get("name").is_some_and(|it| it == name))?;
        Some((format!("{}/modules/{at}", self.pointer), self.modules.get(at)?))
    }

    /// Returns the pointer of a module's columns; `None` if the module was not run or its table is
    /// empty.
    fn module_columns(&self, name: &str) -> Option<String> {
        let (pointer, module) = self.find_module(name)?;
        let has_some = module.get("columns")?.as_object().is_some_and(|columns| !columns.is_empty());
        has_some.then(|| format!("{pointer}/columns"))
    }
}

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let files = fastqc_files(run);
    // More lines than colours could not be distinguished.
    let drawn = files.get(..files.len().min(COLORS))?;
    if drawn.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    list.extend(gc_figure(sample, drawn));
    list.extend(duplication_figure(sample, drawn));
    list.extend(adapter_figure(sample, drawn));
    list.extend(mean_quality_figure(sample, drawn));
    list.extend(length_figure(sample, drawn));
    if run.at(CYCLE).is_none() {
        list.extend(position_quality_figure(sample, drawn));
    }
    let note = match files.len() - drawn.len() {
        0 => String::new(),
        left => format!(
            "<p class=\"note\">Figures are of the first {COLORS} files; {left} more are in the JSON.</p>"
        ),
    };
    let body = format!(
        "{}{}{note}{}",
        status_table(&files),
        wrap_figures(&list),
        frequent_sequence_tables(run, drawn)
    );
    Some(PageSection { id: "fastqc", title: "FastQC", body })
}

fn fastqc_files<'a>(run: &RunDescription<'a>) -> Vec<FastqcFile<'a>> {
    let file = |(i, value): (usize, &'a Value)| FastqcFile {
        name: value.get("file").and_then(Value::as_str).unwrap_or("").to_string(),
        pointer: format!("{FILES}/{i}"),
        modules: value.get("modules").and_then(Value::as_array).map_or(&[], Vec::as_slice),
    };
    run.list(FILES).iter().enumerate().map(file).collect()
}

fn status_table(files: &[FastqcFile<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for module in files.iter().flat_map(|file| file.modules) {
        let name = module.get("name").and_then(Value::as_str).unwrap_or("");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let verdict = |file: &FastqcFile<'_>, name: &str| {
        let status = file.find_module(name).and_then(|(_, module)| module.get("status")?.as_str());
        let (class, sign) = match status {
            Some("pass") => ("good", "✓"),
            Some("warn") => ("look", "▲"),
            Some("fail") => ("bad", "✕"),
            _ => return "not counted".to_string(),
        };
        let word = status.unwrap_or("");
        format!("<span class=\"grade {class}\"><i aria-hidden=\"true\">{sign}</i> {word}</span>")
    };
    let row = |name: &&str| {
        let cells = files.iter().map(|file| verdict(file, name));
        std::iter::once(escape_html(name)).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = names.iter().map(row).collect();
    let titles: Vec<&str> =
        std::iter::once("Module").chain(files.iter().map(|file| file.name.as_str())).collect();
    let caption = "Verdicts of the modules by file";
    wrap_scrollable(caption, &table_of_cells(caption, &titles, &rows))
}

type Points = Vec<(f64, f64)>;

/// Parses a position. FastQC groups positions of long reads, such as `10-14`; a group is plotted at
/// its middle.
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

fn parse_positions(run: &RunDescription<'_>, pointer: &str) -> Vec<f64> {
    run.list(pointer).iter().map(|value| parse_position(value).unwrap_or(0.0)).collect()
}

/// Returns two columns as points of a line. Positions in `x` may be groups.
fn column_points(run: &RunDescription<'_>, columns: &str, x: &str, y: &str) -> Points {
    let xs = parse_positions(run, &format!("{columns}/{x}"));
    xs.into_iter().zip(run.column(&format!("{columns}/{y}"))).collect()
}

fn to_shares(points: Points) -> Points {
    let all: f64 = points.iter().map(|it| it.1).sum();
    let share = |(x, count): (f64, f64)| (x, if all > 0.0 { count / all } else { 0.0 });
    points.into_iter().map(share).collect()
}

/// A line plot of one FastQC module, with one line for each file.
///
/// The functions below fill it for GC content, adapters, mean quality, lengths and quality by
/// position.
struct LineFigure<'a> {
    id: &'a str,
    title: &'a str,
    reading: &'a str,
    module: &'a str,
    axes: Axes<'a>,
    columns: &'a [(&'a str, &'a str)],
}

impl LineFigure<'_> {
    /// Draws the lines. `line` turns the pointer of a file's columns into points. `None` if no file
    /// has the module.
    fn draw_for_files(
        &self,
        sample: &PageSample<'_>,
        files: &[FastqcFile<'_>],
        line: impl Fn(&str) -> Points,
    ) -> Option<String> {
        let (mut legend, mut series, mut table) = (Vec::new(), Vec::new(), String::new());
        for file in files {
            let Some(columns) = file.module_columns(self.module) else { continue };
            legend.push(file.name.clone());
            series.push(line(&columns));
            let caption = format!("{} of {}", self.title, file.name);
            table += &table_of_columns(&sample.run, &columns, &caption, self.columns);
        }
        if series.iter().all(Vec::is_empty) {
            return None;
        }
        let figure = Figure {
            has_lines: true,
            id: sample.element_id(self.id),
            title: self.title.into(),
            reading: self.reading.into(),
            alt: format!(
                "A line for each of {}: {} by {}.",
                join_words(&legend),
                self.axes.y,
                self.axes.x
            ),
            legend,
            svg: draw_lines(&self.axes, series),
            table,
        };
        Some(figure.to_html())
    }
}

fn gc_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let figure = LineFigure {
        id: "read-gc-plot",
        title: "GC of reads",
        reading: "Reads by the share of G and C of their bases. One smooth hump is usual; sharp peaks are \
            adapters, a second hump is another species.",
        module: "Per sequence GC content",
        axes: Axes {
            x: "GC of the read (%)",
            y: "Share of reads",
            x_range: Some((0.0, 100.0)),
            percent: true,
            ..Axes::default()
        },
        columns: &[("GC Content", "GC (%)"), ("Count", "Reads")],
    };
    figure.draw_for_files(sample, files, |columns| {
        to_shares(column_points(&sample.run, columns, "GC Content", "Count"))
    })
}

/// Draws the adapter content by position. Each file has one line: the maximum over all adapters.
fn adapter_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let run = &sample.run;
    let module = "Adapter Content";
    let first = files.iter().find_map(|file| file.module_columns(module))?;
    let names: Vec<&String> =
        run.at(&first)?.as_object()?.keys().filter(|name| *name != "Position").collect();
    let columns: Vec<(&str, &str)> = std::iter::once(("Position", "Position"))
        .chain(names.iter().map(|name| (name.as_str(), name.as_str())))
        .collect();
    let line = |columns: &str| {
        let mut most: Points = parse_positions(run, &format!("{columns}/Position"))
            .into_iter()
            .map(|at| (at, 0.0))
            .collect();
        for name in &names {
            let percents = run.column(&format!("{columns}/{name}"));
            for (point, percent) in most.iter_mut().zip(percents) {
                point.1 = point.1.max(percent / 100.0);
            }
        }
        most
    };
    let most = files.iter().filter_map(|file| file.module_columns(module));
    let most = most.flat_map(|columns| line(&columns)).map(|it| it.1).fold(0.05, f64::max);
    let figure = LineFigure {
        id: "adapters-plot",
        title: "Adapter by position",
        reading: "The share of reads in which an adapter begins at this position or before, of the adapter \
            that is seen most. The table has each.",
        module,
        axes: Axes {
            x: "Position in the read",
            y: "Share of reads",
            y_range: Some((0.0, most)),
            percent: true,
            ..Axes::default()
        },
        columns: &columns,
    };
    figure.draw_for_files(sample, files, line)
}

fn mean_quality_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let figure = LineFigure {
        id: "means-plot",
        title: "Mean quality of reads",
        reading: "Reads by the mean of their qualities. A hump at the left is a part of the flow cell, or of the \
            run, that failed.",
        module: "Per sequence quality scores",
        axes: Axes { x: "Mean quality", y: "Share of reads", percent: true, ..Axes::default() },
        columns: &[("Quality", "Mean quality"), ("Count", "Reads")],
    };
    figure.draw_for_files(sample, files, |columns| {
        to_shares(column_points(&sample.run, columns, "Quality", "Count"))
    })
}

/// Draws the lengths of reads. `None` if all reads of each file have the same length.
fn length_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let module = "Sequence Length Distribution";
    let differ = |file: &FastqcFile<'_>| {
        let columns = file.module_columns(module);
        columns.is_some_and(|columns| sample.run.list(&format!("{columns}/Length")).len() > 1)
    };
    if !files.iter().any(differ) {
        return None;
    }
    let figure = LineFigure {
        id: "lengths-plot",
        title: "Lengths of reads",
        reading: "Reads by their length, before anything is cut off.",
        module,
        axes: Axes { x: "Length (bases)", y: "Reads", ..Axes::default() },
        columns: &[("Length", "Length"), ("Count", "Reads")],
    };
    figure
        .draw_for_files(sample, files, |columns| column_points(&sample.run, columns, "Length", "Count"))
}

/// Draws mean quality by position. The caller uses it only if Picard's quality by cycle was not
/// counted.
fn position_quality_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let module = "Per base sequence quality";
    let line = |columns: &str| column_points(&sample.run, columns, "Base", "Mean");
    let all =
        files.iter().filter_map(|file| file.module_columns(module)).flat_map(|columns| line(&columns));
    let most = all.map(|it| it.1).fold(41.0, f64::max);
    let figure = LineFigure {
        id: "positions-plot",
        title: "Mean quality by position",
        reading: "A slow fall is usual; a notch is a cycle that failed.",
        module,
        axes: Axes {
            x: "Position in the read",
            y: "Mean quality",
            y_range: Some((0.0, most + 1.0)),
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

/// Draws the fraction of reads by duplication level, and the percentage that would be left after
/// deduplication.
fn duplication_figure(sample: &PageSample<'_>, files: &[FastqcFile<'_>]) -> Option<String> {
    let run = &sample.run;
    let module = "Sequence Duplication Levels";
    let (level, share) = ("Duplication Level", "Percentage of total");
    let known: Vec<(&FastqcFile<'_>, String)> =
        files.iter().filter_map(|file| Some((file, file.module_columns(module)?))).collect();
    let names = run.list(&format!("{}/{level}", known.first()?.1)).iter();
    let values: Vec<Vec<f64>> =
        known.iter().map(|(_, columns)| run.column(&format!("{columns}/{share}"))).collect();
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for (i, name) in names.enumerate() {
        let name = name.as_str().map_or_else(|| name.to_string(), str::to_string);
        let of_files = values.iter().map(|list| list.get(i).copied().unwrap_or(0.0) / 100.0);
        match groups.last_mut() {
            // Rare levels share a bar, so that the labels of the others fit.
            Some((_, sums)) if JOINED_LEVELS.contains(&name.as_str()) => {
                sums.iter_mut().zip(of_files).for_each(|(sum, share)| *sum += share);
            }
            _ => groups.push((name, of_files.collect())),
        }
    }
    let left: Vec<Vec<String>> = known
        .iter()
        .filter_map(|(file, _)| {
            let pointer = format!("{}/deduplicated_percentage", file.find_module(module)?.0);
            let left = run.number(&pointer)?;
            Some(vec![escape_html(&file.name), left.to_html(NumberFormat::Decimal(1, "\u{a0}%"))])
        })
        .collect();
    let mut table = table_of_cells("Reads left without duplicates", &["File", "Share"], &left);
    for (file, columns) in &known {
        let titles = [
            (level, "Times seen"),
            (share, "Reads (%)"),
            ("Percentage of deduplicated", "Different sequences (%)"),
        ];
        table +=
            &table_of_columns(run, columns, &format!("Repeated sequences of {}", file.name), &titles);
    }
    let axes = Axes { x: "Times seen", y: "Share of reads", percent: true, ..Axes::default() };
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("levels-plot"),
        title: "Repeated sequences".into(),
        reading: "Reads by how often their sequence is seen in the file, by the bases alone. Deep or targeted \
            sequencing repeats sequences without any fault."
            .into(),
        alt: format!("Bars of reads by how often their sequence is seen, of {} files.", known.len()),
        legend: known.iter().map(|(file, _)| file.name.clone()).collect(),
        svg: draw_grouped_bars(&axes, groups),
        table,
    };
    Some(figure.to_html())
}

fn frequent_sequence_tables(run: &RunDescription<'_>, files: &[FastqcFile<'_>]) -> String {
    let mut tables = String::new();
    for file in files {
        let Some(columns) = file.module_columns("Overrepresented sequences") else { continue };
        let list = |name: &str| run.list(&format!("{columns}/{name}"));
        let sequences = list("Sequence");
        let row = |(i, sequence): (usize, &Value)| {
            let shown =
                |name: &str, form: NumberFormat| run.number_html(&format!("{columns}/{name}/{i}"), form);
            vec![
                format!("<code>{}</code>", cell_text(sequence)),
                shown("Count", NumberFormat::Plain),
                shown("Percentage", NumberFormat::Decimal(2, "\u{a0}%")),
                list("Possible Source").get(i).map_or("–".into(), cell_text),
            ]
        };
        let rows: Vec<Vec<String>> = sequences.iter().enumerate().take(MAX_SEQUENCES).map(row).collect();
        let more = match sequences.len().saturating_sub(MAX_SEQUENCES) {
            0 => String::new(),
            _ => format!(", the first {MAX_SEQUENCES} of {}", sequences.len()),
        };
        let caption = format!("Frequent sequences of {}{more}", file.name);
        let titles = ["Sequence", "Reads", "Share", "Possible source"];
        tables += &wrap_scrollable(&caption, &table_of_cells(&caption, &titles, &rows));
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use serde_json::json;

    fn body(value: &Value) -> Option<String> {
        let limits = Limits::default();
        let sample =
            PageSample { run: RunDescription::new(value), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(|section| section.body)
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
            "the first 10 of 12",
        ] {
            assert!(body.contains(wanted), "{wanted}\n{body}");
        }
        assert!(!body.contains("columns/Percentage/10") && !body.contains("<1>"), "{body}");
    }

    #[test]
    fn many_files_have_verdicts_but_not_all_figures() {
        let files: Vec<Value> = (0..9).map(|i| file(&format!("{i}.fq"))).collect();
        let body = body(&json!({"reports": {"fastqc": files}})).unwrap();
        assert!(body.contains("first 7 files; 2 more") && body.contains("8.fq"), "{body}");
        assert!(!body.contains("Frequent sequences of 8.fq"), "{body}");
        assert_eq!(super::tests::body(&json!({"reports": {}})), None);
    }

    #[test]
    fn a_group_of_positions_is_at_its_middle() {
        let at = [json!(7), json!("10-14"), json!("x")].map(|value| parse_position(&value));
        assert_eq!(at, [Some(7.0), Some(12.0), None]);
    }
}

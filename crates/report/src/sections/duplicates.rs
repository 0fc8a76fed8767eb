//! The section "Duplicates": sizes of duplicate sets, library complexity, and optical duplicates by
//! tile.

use serde_json::Value;

use super::tiles;
use crate::metrics::{SET_HISTOGRAM, has_set_sizes, library_rows, set_size_key};
use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{row_table, table_of_columns};
use crate::text::{NumberFormat, plain_number};

const FIELDS: &[(&str, &str, NumberFormat)] = &[
    ("LIBRARY", "Library", NumberFormat::Plain),
    ("READ_PAIRS_EXAMINED", "Pairs", NumberFormat::Plain),
    ("READ_PAIR_DUPLICATES", "Duplicate pairs", NumberFormat::Plain),
    ("READ_PAIR_OPTICAL_DUPLICATES", "Of these optical", NumberFormat::Plain),
    ("UNPAIRED_READS_EXAMINED", "Single reads", NumberFormat::Plain),
    ("UNPAIRED_READ_DUPLICATES", "Duplicate single reads", NumberFormat::Plain),
    ("PERCENT_DUPLICATION", "Duplicates", NumberFormat::Share),
    ("ESTIMATED_LIBRARY_SIZE", "Library size", NumberFormat::Plain),
];

/// Maximum number of bars of set sizes. Larger sets share one further bar.
const MAX_SET_BARS: usize = 15;

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let rows = library_rows(run);
    if rows.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    list.extend(set_size_figure(sample));
    list.extend(saturation_figure(sample, &rows));
    list.extend(tiles::tile_figure(sample));
    let table = row_table(run, "Duplicates by library", &rows, FIELDS);
    Some(PageSection {
        id: "duplicates",
        title: "Duplicates",
        body: format!("{}{table}", wrap_figures(&list)),
    })
}

fn set_size_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    if !has_set_sizes(run) {
        return None;
    }
    let key = set_size_key(run);
    let (sizes, sets) = (
        run.column(&format!("{SET_HISTOGRAM}/{key}")),
        run.column(&format!("{SET_HISTOGRAM}/all_sets")),
    );
    let known: Vec<(f64, f64)> = sizes.into_iter().zip(sets).collect();
    let largest = known.iter().filter(|(_, sets)| *sets > 0.0).map(|it| it.0).fold(1.0, f64::max);
    let shown = known.iter().filter(|(size, _)| *size <= largest).take(MAX_SET_BARS);
    let mut columns: Vec<(String, f64)> =
        shown.map(|(size, sets)| (plain_number(*size), *sets)).collect();
    let larger: f64 = known.iter().skip(MAX_SET_BARS).map(|it| it.1).sum();
    if larger > 0.0 {
        columns.push(("more".into(), larger));
    }
    let titles = [
        (key, "Templates"),
        ("all_sets", "Sets"),
        ("non_optical_sets", "Without optical duplicates"),
        ("optical_sets", "Optical"),
    ];
    let titles: Vec<(&str, &str)> = titles
        .into_iter()
        .filter(|(key, _)| run.at(&format!("{SET_HISTOGRAM}/{key}")).is_some())
        .collect();
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("sets-plot"),
        title: "Sizes of duplicate sets".into(),
        reading: "A set of 1 is a molecule that was seen once. A long tail means that few \
            molecules were copied often."
            .into(),
        alt: format!(
            "Bars of the number of duplicate sets by their size; the largest set has {} templates.",
            plain_number(largest)
        ),
        legend: Vec::new(),
        svg: draw_bars(&Axes { x: "Templates in a set", y: "Sets", ..Axes::default() }, columns),
        table: table_of_columns(run, SET_HISTOGRAM, "Sizes of duplicate sets", &titles),
    };
    Some(figure.to_html())
}

/// Draws the number of distinct pairs that more sequencing is expected to give, for each library.
///
/// After `x` sequenced pairs from a library of `size` molecules, the Lander-Waterman equation
/// expects `size * (1 - exp(-x / size))` distinct ones.
fn saturation_figure(sample: &PageSample<'_>, rows: &[(String, &Value)]) -> Option<String> {
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64);
    let mut libraries = Vec::new();
    for (_, row) in rows {
        let size = number(row, "ESTIMATED_LIBRARY_SIZE").filter(|size| *size > 0.0);
        let pairs = number(row, "READ_PAIRS_EXAMINED")?
            - number(row, "READ_PAIR_OPTICAL_DUPLICATES").unwrap_or(0.0);
        let name = row.get("LIBRARY").and_then(Value::as_str).unwrap_or("").to_string();
        libraries.extend(size.filter(|_| pairs > 0.0).map(|size| (name, size, pairs)));
    }
    let (names, series): (Vec<String>, Vec<Vec<(f64, f64)>>) = libraries
        .into_iter()
        .take(crate::plot::COLORS)
        .map(|(name, size, pairs)| {
            let points = (0..=80).map(|i| {
                let x = pairs * f64::from(i) / 20.0;
                (x, size * (1.0 - (-x / size).exp()))
            });
            (name, points.collect())
        })
        .unzip();
    let first = rows.first().and_then(|(_, row)| number(row, "READ_PAIRS_EXAMINED"))?;
    if series.is_empty() {
        return None;
    }
    let marks = if rows.len() == 1 { vec![(first, "now".into())] } else { Vec::new() };
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("saturation-plot"),
        title: "What more sequencing would give".into(),
        reading: "Different pairs by pairs sequenced, up to four times as many as now, from the \
            estimated library size. Where the curve is flat, more sequencing gives duplicates."
            .into(),
        alt: "Curves of the expected number of different pairs by the number of pairs sequenced.".into(),
        legend: names,
        svg: draw_lines(
            &Axes { x: "Pairs sequenced", y: "Different pairs", marks, ..Axes::default() },
            series,
        ),
        table: String::new(),
    };
    Some(figure.to_html())
}

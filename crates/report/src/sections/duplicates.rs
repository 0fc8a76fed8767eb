//! The section "Duplicates": sizes of duplicate sets, library complexity, and optical duplicates by
//! tile.

use serde_json::Value;

use super::tiles;
use crate::metrics::{SETS, counts_sets, libraries, set_key};
use crate::plot::{Axes, Figure, bars, lines};
use crate::section::{Sample, Section, figures};
use crate::table::{listed, of_columns};
use crate::text::{Form, plain};

const FIELDS: &[(&str, &str, Form)] = &[
    ("LIBRARY", "Library", Form::Plain),
    ("READ_PAIRS_EXAMINED", "Pairs", Form::Plain),
    ("READ_PAIR_DUPLICATES", "Duplicate pairs", Form::Plain),
    ("READ_PAIR_OPTICAL_DUPLICATES", "Of these optical", Form::Plain),
    ("UNPAIRED_READS_EXAMINED", "Single reads", Form::Plain),
    ("UNPAIRED_READ_DUPLICATES", "Duplicate single reads", Form::Plain),
    ("PERCENT_DUPLICATION", "Duplicates", Form::Share),
    ("ESTIMATED_LIBRARY_SIZE", "Library size", Form::Plain),
];

/// Maximum number of bars of set sizes. Larger sets share one further bar.
const MOST_SIZES: usize = 15;

pub fn section(sample: &Sample<'_>) -> Option<Section> {
    let run = &sample.run;
    let rows = libraries(run);
    if rows.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    list.extend(sets(sample));
    list.extend(saturation(sample, &rows));
    list.extend(tiles::figure(sample));
    let table = listed(run, "Duplicates by library", &rows, FIELDS);
    Some(Section { id: "duplicates", title: "Duplicates", body: format!("{}{table}", figures(&list)) })
}

fn sets(sample: &Sample<'_>) -> Option<String> {
    let run = &sample.run;
    if !counts_sets(run) {
        return None;
    }
    let key = set_key(run);
    let (sizes, sets) = (run.column(&format!("{SETS}/{key}")), run.column(&format!("{SETS}/all_sets")));
    let known: Vec<(f64, f64)> = sizes.into_iter().zip(sets).collect();
    let largest = known.iter().filter(|(_, sets)| *sets > 0.0).map(|it| it.0).fold(1.0, f64::max);
    let shown = known.iter().filter(|(size, _)| *size <= largest).take(MOST_SIZES);
    let mut columns: Vec<(String, f64)> = shown.map(|(size, sets)| (plain(*size), *sets)).collect();
    let larger: f64 = known.iter().skip(MOST_SIZES).map(|it| it.1).sum();
    if larger > 0.0 {
        columns.push(("more".into(), larger));
    }
    let titles = [
        (key, "Templates"),
        ("all_sets", "Sets"),
        ("non_optical_sets", "Without optical duplicates"),
        ("optical_sets", "Optical"),
    ];
    let titles: Vec<(&str, &str)> =
        titles.into_iter().filter(|(key, _)| run.at(&format!("{SETS}/{key}")).is_some()).collect();
    let figure = Figure {
        has_lines: false,
        id: sample.id("sets-plot"),
        title: "Sizes of duplicate sets".into(),
        reading: "A set of 1 is a molecule that was seen once. A long tail means that few \
            molecules were copied often."
            .into(),
        alt: format!(
            "Bars of the number of duplicate sets by their size; the largest set has {} templates.",
            plain(largest)
        ),
        legend: Vec::new(),
        svg: bars(&Axes { x: "Templates in a set", y: "Sets", ..Axes::default() }, columns),
        table: of_columns(run, SETS, "Sizes of duplicate sets", &titles),
    };
    Some(figure.html())
}

/// Draws the number of distinct pairs that more sequencing is expected to give, for each library.
///
/// After `x` sequenced pairs from a library of `size` molecules, the Lander-Waterman equation
/// expects `size * (1 - exp(-x / size))` distinct ones.
fn saturation(sample: &Sample<'_>, rows: &[(String, &Value)]) -> Option<String> {
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
        id: sample.id("saturation-plot"),
        title: "What more sequencing would give".into(),
        reading: "Different pairs by pairs sequenced, up to four times as many as now, from the \
            estimated library size. Where the curve is flat, more sequencing gives duplicates."
            .into(),
        alt: "Curves of the expected number of different pairs by the number of pairs sequenced.".into(),
        legend: names,
        svg: lines(
            &Axes { x: "Pairs sequenced", y: "Different pairs", marks, ..Axes::default() },
            series,
        ),
        table: String::new(),
    };
    Some(figure.html())
}

//! The section "Duplicates": duplicate set sizes, library complexity, and optical duplicates by
//! tile.

use maud::{Markup, html};

use super::tiles;
use crate::metrics::{library_rows, set_histogram, set_size_key};
use crate::plot::{Axes, COLORS, Figure, draw_bars, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{TableField, row_table, table_of_columns};
use crate::text::{NumberFormat, plain_number};

const FIELDS: &[TableField<'_>] = &[
    ("LIBRARY", "Library", NumberFormat::Plain),
    ("READ_PAIRS_EXAMINED", "Read pairs", NumberFormat::Plain),
    ("READ_PAIR_DUPLICATES", "Duplicate pairs", NumberFormat::Plain),
    ("READ_PAIR_OPTICAL_DUPLICATES", "Optical duplicate pairs", NumberFormat::Plain),
    ("UNPAIRED_READS_EXAMINED", "Unpaired reads", NumberFormat::Plain),
    ("UNPAIRED_READ_DUPLICATES", "Duplicate unpaired reads", NumberFormat::Plain),
    ("PERCENT_DUPLICATION", "Duplicates", NumberFormat::Share),
    ("ESTIMATED_LIBRARY_SIZE", "Estimated library size", NumberFormat::Plain),
];

/// Maximum number of set sizes with their own bar. One more bar counts all larger sets.
const MAX_SET_BARS: usize = 15;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let rows = library_rows(&sample.run);
    if rows.is_empty() {
        return None;
    }
    let figures =
        [set_size_figure(sample), saturation_figure(sample, &rows), tiles::tile_figure(sample)];
    Some(html! { (wrap_figures(figures, [])) (row_table("Duplicates by library", &rows, FIELDS)) })
}

fn set_size_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let histogram = set_histogram(&sample.run)?;
    let key = set_size_key(&histogram);
    let known: Vec<(f64, f64)> =
        histogram.column(key).into_iter().zip(histogram.column("all_sets")).collect();
    let largest = known.iter().filter(|(_, sets)| *sets > 0.0).map(|it| it.0).fold(1.0, f64::max);
    let shown = known.iter().filter(|(size, _)| *size <= largest).take(MAX_SET_BARS);
    let mut columns: Vec<(String, f64)> =
        shown.map(|(size, sets)| (plain_number(*size), *sets)).collect();
    let larger: f64 = known.iter().skip(MAX_SET_BARS).map(|it| it.1).sum();
    if larger > 0.0 {
        columns.push(("larger".into(), larger));
    }
    let titles = [
        (key, "Set size"),
        ("all_sets", "Duplicate sets"),
        ("non_optical_sets", "Non-optical sets"),
        ("optical_sets", "Optical sets"),
    ];
    let titles: Vec<(&str, &str)> =
        titles.into_iter().filter(|(key, _)| histogram.at(key).is_some()).collect();
    Some(Figure {
        id: sample.element_id("sets-plot"),
        title: "Duplicate set sizes",
        reading:
            "A duplicate set has all read pairs that are copies of the same molecule. A set of one \
            pair has no duplicates. A long tail means that PCR amplified a few molecules many times."
                .into(),
        alt: format!(
            "Bars of the number of duplicate sets by size; the largest set has {} read pairs.",
            plain_number(largest)
        ),
        svg: draw_bars(
            &Axes { x: "Read pairs in a set", y: "Duplicate sets", ..Axes::default() },
            columns,
        ),
        table: table_of_columns(&histogram, "Duplicate set sizes", &titles),
        ..Figure::default()
    })
}

/// Draws the expected number of unique pairs by the number of sequenced pairs, one curve for each
/// library.
///
/// The Lander-Waterman equation gives `size * (1 - exp(-x / size))` unique pairs after sequencing `x`
/// pairs from a library of `size` molecules.
fn saturation_figure(sample: &PageSample<'_>, rows: &[RunPart<'_>]) -> Option<Figure> {
    let mut libraries = Vec::new();
    for row in rows {
        let size = row.value("ESTIMATED_LIBRARY_SIZE").filter(|size| *size > 0.0);
        let pairs =
            row.value("READ_PAIRS_EXAMINED")? - row.value("READ_PAIR_OPTICAL_DUPLICATES").unwrap_or(0.0);
        let name = row.name("LIBRARY");
        libraries.extend(size.filter(|_| pairs > 0.0).map(|size| (name, size, pairs)));
    }
    let (names, series): (Vec<String>, Vec<Vec<(f64, f64)>>) = libraries
        .into_iter()
        .take(COLORS)
        .map(|(name, size, pairs)| {
            let points = (0..=80).map(|i| {
                let x = pairs * f64::from(i) / 20.0;
                (x, size * (1.0 - (-x / size).exp()))
            });
            (name, points.collect())
        })
        .unzip();
    let first = rows.first()?.value("READ_PAIRS_EXAMINED")?;
    if series.is_empty() {
        return None;
    }
    let marks = if rows.len() == 1 { vec![(first, "current".into())] } else { Vec::new() };
    Some(Figure {
        has_lines: true,
        id: sample.element_id("saturation-plot"),
        title: "Expected yield of more sequencing",
        reading: "Expected number of unique read pairs, up to four times the current number of \
            sequenced pairs, from the estimated library size. Where the curve is flat, more sequencing \
            yields mostly duplicates."
            .into(),
        alt: "Curves of the expected number of unique read pairs by sequenced read pairs.".into(),
        legend: names,
        svg: draw_lines(
            &Axes { x: "Sequenced read pairs", y: "Unique read pairs", marks, ..Axes::default() },
            series,
        ),
        ..Figure::default()
    })
}

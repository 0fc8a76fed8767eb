//! Writes a report as text: a GATKReport whose columns are as wide as their content, with numbers
//! aligned right.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

use super::rows::{Covariate, CovariateRow, QualityRow, Report};
use crate::counters::{Event, context_bases};
use crate::covariates::QUALITIES;
use crate::java::{self, fixed};
use crate::recal_datum::RecalDatum;

const ARGUMENTS: TableHead = TableHead {
    name: "Arguments",
    description: "Recalibration argument collection values used in this run",
    columns: &[("Argument", "%s"), ("Value", "%s")],
};
const QUANTIZED: TableHead = TableHead {
    name: "Quantized",
    description: "Quality quantization map",
    columns: &[("QualityScore", "%d"), ("Count", "%d"), ("QuantizedScore", "%d")],
};
const GROUPS: TableHead = TableHead {
    name: "RecalTable0",
    description: "",
    columns: &[
        ("ReadGroup", "%s"),
        ("EventType", "%s"),
        ("EmpiricalQuality", "%.4f"),
        ("EstimatedQReported", "%.4f"),
        ("Observations", "%d"),
        ("Errors", "%.2f"),
    ],
};
const REPORTED: TableHead = TableHead {
    name: "RecalTable1",
    description: "",
    columns: &[
        ("ReadGroup", "%s"),
        ("QualityScore", "%d"),
        ("EventType", "%s"),
        ("EmpiricalQuality", "%.4f"),
        ("Observations", "%d"),
        ("Errors", "%.2f"),
    ],
};
const COVARIATES: TableHead = TableHead {
    name: "RecalTable2",
    description: "",
    columns: &[
        ("ReadGroup", "%s"),
        ("QualityScore", "%d"),
        ("CovariateValue", "%s"),
        ("CovariateName", "%s"),
        ("EventType", "%s"),
        ("EmpiricalQuality", "%.4f"),
        ("Observations", "%d"),
        ("Errors", "%.2f"),
    ],
};

pub(super) fn report(report: &Report) -> Vec<u8> {
    let mut out = b"#:GATKReport.v1.1:5\n".to_vec();
    table(&mut out, &ARGUMENTS, &report.stated, |(name, value), cells| {
        put(&mut cells[0], name);
        put(&mut cells[1], value);
    });
    let qualities: Vec<usize> = (0..QUALITIES).collect();
    table(&mut out, &QUANTIZED, &qualities, |&quality, cells| {
        put(&mut cells[0], quality);
        put(&mut cells[1], report.quantization.counts[quality]);
        put(&mut cells[2], report.quantization.map[quality]);
    });
    groups(&mut out, report);
    reported(&mut out, report);
    covariates(&mut out, report);
    out
}

fn put(cell: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to memory cannot fail.
    let _ = write!(cell, "{value}");
}

fn put_counts(cells: &mut [Vec<u8>], recal_datum: &RecalDatum) {
    put(&mut cells[0], recal_datum.observations);
    put(&mut cells[1], fixed(recal_datum.errors(), 2));
}

/// Returns a sort key: reports list events by letter (D, I, M), the reverse of [`Event`]'s order.
fn alphabetical(event: Event) -> Reverse<Event> {
    Reverse(event)
}

fn groups(out: &mut Vec<u8>, report: &Report) {
    let mut rows = Vec::new();
    for group in &report.groups {
        for event in Event::ALL.into_iter().rev() {
            if let Some(recal_datum) = &group.events[event.index()] {
                rows.push((&group.name, event, recal_datum.empirical(), recal_datum));
            }
        }
    }
    table(out, &GROUPS, &rows, |(name, event, empirical, recal_datum), cells| {
        cells[0].extend_from_slice(name);
        put(&mut cells[1], event.letter());
        put(&mut cells[2], format_args!("{empirical}.0000"));
        put(&mut cells[3], fixed(recal_datum.reported, 4));
        put_counts(&mut cells[4..], recal_datum);
    });
}

fn reported(out: &mut Vec<u8>, report: &Report) {
    let mut rows: Vec<(&Vec<u8>, u8, &QualityRow)> = Vec::new();
    for group in &report.groups {
        let from = rows.len();
        rows.extend(group.qualities.iter().map(|row| (&group.name, row.recal_datum.empirical(), row)));
        rows[from..].sort_by_key(|(_, _, row)| (row.quality, alphabetical(row.event)));
    }
    table(out, &REPORTED, &rows, |(name, empirical, row), cells| {
        cells[0].extend_from_slice(name);
        put(&mut cells[1], row.quality);
        put(&mut cells[2], row.event.letter());
        put(&mut cells[3], format_args!("{empirical}.0000"));
        put_counts(&mut cells[4..], &row.recal_datum);
    });
}

fn covariates(out: &mut Vec<u8>, report: &Report) {
    let words = TextOrder::of(report);
    let mut rows: Vec<(&Vec<u8>, u8, &CovariateRow)> = Vec::new();
    for group in &report.groups {
        let from = rows.len();
        rows.extend(group.covariates.iter().map(|row| (&group.name, row.recal_datum.empirical(), row)));
        rows[from..].sort_by_cached_key(|(_, _, row)| {
            (row.quality, words.place(row.covariate), alphabetical(row.event))
        });
    }
    table(out, &COVARIATES, &rows, |(name, empirical, row), cells| {
        cells[0].extend_from_slice(name);
        put(&mut cells[1], row.quality);
        cells[2].extend_from_slice(&text(row.covariate));
        put(&mut cells[3], covariate_name(row.covariate));
        put(&mut cells[4], row.event.letter());
        put(&mut cells[5], format_args!("{empirical}.0000"));
        put_counts(&mut cells[6..], &row.recal_datum);
    });
}

pub(crate) fn text(covariate: Covariate) -> Vec<u8> {
    match covariate {
        Covariate::Context { size, code } => context_bases(code as usize, usize::from(size)),
        Covariate::Cycle(cycle) => cycle.to_string().into_bytes(),
    }
}

pub(crate) fn covariate_name(covariate: Covariate) -> &'static str {
    match covariate {
        Covariate::Context { .. } => "Context",
        Covariate::Cycle(_) => "Cycle",
    }
}

/// The order of contexts and cycles as text, in which -10 precedes 1, and 10 precedes 2.
struct TextOrder(BTreeMap<Covariate, usize>);

impl TextOrder {
    fn of(report: &Report) -> Self {
        let rows = report.groups.iter().flat_map(|group| &group.covariates);
        let mut places: BTreeMap<Covariate, usize> = rows.map(|row| (row.covariate, 0)).collect();
        let mut sorted: Vec<Covariate> = places.keys().copied().collect();
        sorted.sort_by_cached_key(|&covariate| text(covariate));
        for (place, covariate) in sorted.into_iter().enumerate() {
            places.insert(covariate, place);
        }
        TextOrder(places)
    }

    fn place(&self, covariate: Covariate) -> usize {
        self.0.get(&covariate).copied().unwrap_or(0)
    }
}

pub(super) struct TableHead {
    pub name: &'static str,
    pub description: &'static str,
    pub columns: &'static [(&'static str, &'static str)],
}

struct ColumnFormat {
    width: usize,
    right: bool,
}

/// Appends a table. `fill` writes the texts of a row into empty cells. It is called twice for each
/// row: first to measure the column widths, then to write.
pub(super) fn table<R>(
    out: &mut Vec<u8>,
    head: &TableHead,
    rows: &[R],
    fill: impl Fn(&R, &mut [Vec<u8>]),
) {
    let formats: String = head.columns.iter().map(|(_, format)| format!(":{format}")).collect();
    let sizes = format!("#:GATKTable:{}:{}{formats}:;\n", head.columns.len(), rows.len());
    out.extend_from_slice(sizes.as_bytes());
    out.extend_from_slice(format!("#:GATKTable:{}:{}\n", head.name, head.description).as_bytes());

    let mut columns: Vec<ColumnFormat> =
        head.columns.iter().map(|(name, _)| ColumnFormat { width: name.len(), right: true }).collect();
    let mut cells = vec![Vec::new(); columns.len()];
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.fit(cell));
    }
    let names = head.columns.iter().zip(&columns);
    line(
        out,
        names.map(|((name, _), column)| {
            (name.as_bytes(), ColumnFormat { width: column.width, right: false })
        }),
    );
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        let cells = cells.iter().zip(&columns);
        line(
            out,
            cells.map(|(cell, column)| {
                (cell.as_slice(), ColumnFormat { width: column.width, right: column.right })
            }),
        );
    }
    out.push(b'\n');
}

impl ColumnFormat {
    fn fit(&mut self, cell: &[u8]) {
        self.width = self.width.max(java::length(cell));
        self.right = self.right && (cell.is_empty() || java::aligns_right(cell));
    }
}

fn line<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = (&'a [u8], ColumnFormat)>) {
    for (at, (cell, column)) in cells.enumerate() {
        if at > 0 {
            out.extend_from_slice(b"  ");
        }
        let padding = column.width - java::length(cell);
        let (before, after) = if column.right { (padding, 0) } else { (0, padding) };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend_from_slice(cell);
        out.extend(std::iter::repeat_n(b' ', after));
    }
    out.push(b'\n');
}

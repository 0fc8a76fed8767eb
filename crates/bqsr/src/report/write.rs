//! Writes a report as text: a GATKReport whose columns are as wide as their content, with numbers
//! right-aligned.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

use readmill_format::report::cell_value;
use serde_json::{Value, json};

use super::rows::{Covariate, CovariateRow, QualityRow, RecalReport};
use crate::counters::{ErrorEvent, decode_context};
use crate::covariates::QUALITIES;
use crate::java::{self, format_fixed};
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

pub(super) fn format_report(report: &RecalReport) -> Vec<u8> {
    let mut out = b"#:GATKReport.v1.1:5\n".to_vec();
    write_table(&mut out, &ARGUMENTS, &report.printed_arguments, |(name, value), cells| {
        write_value(&mut cells[0], name);
        write_value(&mut cells[1], value);
    });
    let qualities: Vec<usize> = (0..QUALITIES).collect();
    write_table(&mut out, &QUANTIZED, &qualities, |&quality, cells| {
        write_value(&mut cells[0], quality);
        write_value(&mut cells[1], report.quantization.counts[quality]);
        write_value(&mut cells[2], report.quantization.map[quality]);
    });
    write_groups(&mut out, report);
    write_reported_qualities(&mut out, report);
    write_covariates(&mut out, report);
    out
}

fn write_value(cell: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to memory cannot fail.
    let _ = write!(cell, "{value}");
}

fn put_counts(cells: &mut [Vec<u8>], recal_datum: &RecalDatum) {
    write_value(&mut cells[0], recal_datum.observations);
    write_value(&mut cells[1], format_fixed(recal_datum.errors(), 2));
}

/// Returns the sort key of an event. Reports list events by letter (D, I, M), the reverse of
/// [`ErrorEvent`]'s order.
fn event_sort_key(event: ErrorEvent) -> Reverse<ErrorEvent> {
    Reverse(event)
}

fn write_groups(out: &mut Vec<u8>, report: &RecalReport) {
    let mut rows = Vec::new();
    for group in &report.groups {
        for event in ErrorEvent::ALL.into_iter().rev() {
            if let Some(recal_datum) = &group.events[event.index()] {
                rows.push((&group.name, event, recal_datum.empirical(), recal_datum));
            }
        }
    }
    write_table(out, &GROUPS, &rows, |(name, event, empirical, recal_datum), cells| {
        cells[0].extend_from_slice(name);
        write_value(&mut cells[1], event.letter());
        write_value(&mut cells[2], format_args!("{empirical}.0000"));
        write_value(&mut cells[3], format_fixed(recal_datum.reported, 4));
        put_counts(&mut cells[4..], recal_datum);
    });
}

/// Returns the rows of RecalTable1, each with its read group and its empirical quality.
fn sorted_quality_rows(report: &RecalReport) -> Vec<(&Vec<u8>, u8, &QualityRow)> {
    let mut rows = Vec::new();
    for group in &report.groups {
        let from = rows.len();
        rows.extend(group.qualities.iter().map(|row| (&group.name, row.recal_datum.empirical(), row)));
        rows[from..].sort_by_key(|(_, _, row)| (row.quality, event_sort_key(row.event)));
    }
    rows
}

/// Returns the rows of RecalTable1 about substitutions.
pub(super) fn reported_value(report: &RecalReport) -> Value {
    let rows =
        sorted_quality_rows(report).into_iter().filter(|(_, _, row)| row.event == ErrorEvent::Mismatch);
    let value = |(name, empirical, row): (&Vec<u8>, u8, &QualityRow)| {
        json!({
            "read_group": String::from_utf8_lossy(name),
            "reported": row.quality,
            "empirical": f64::from(empirical),
            "observations": row.recal_datum.observations,
            "errors": cell_value(&format_fixed(row.recal_datum.errors(), 2)),
        })
    };
    rows.map(value).collect()
}

fn write_reported_qualities(out: &mut Vec<u8>, report: &RecalReport) {
    write_table(out, &REPORTED, &sorted_quality_rows(report), |(name, empirical, row), cells| {
        cells[0].extend_from_slice(name);
        write_value(&mut cells[1], row.quality);
        write_value(&mut cells[2], row.event.letter());
        write_value(&mut cells[3], format_args!("{empirical}.0000"));
        put_counts(&mut cells[4..], &row.recal_datum);
    });
}

fn write_covariates(out: &mut Vec<u8>, report: &RecalReport) {
    let words = TextOrder::from_report(report);
    let mut rows: Vec<(&Vec<u8>, u8, &CovariateRow)> = Vec::new();
    for group in &report.groups {
        let from = rows.len();
        rows.extend(group.covariates.iter().map(|row| (&group.name, row.recal_datum.empirical(), row)));
        rows[from..].sort_by_cached_key(|(_, _, row)| {
            (row.quality, words.place(row.covariate), event_sort_key(row.event))
        });
    }
    write_table(out, &COVARIATES, &rows, |(name, empirical, row), cells| {
        cells[0].extend_from_slice(name);
        write_value(&mut cells[1], row.quality);
        cells[2].extend_from_slice(&covariate_value(row.covariate));
        write_value(&mut cells[3], covariate_name(row.covariate));
        write_value(&mut cells[4], row.event.letter());
        write_value(&mut cells[5], format_args!("{empirical}.0000"));
        put_counts(&mut cells[6..], &row.recal_datum);
    });
}

pub(crate) fn covariate_value(covariate: Covariate) -> Vec<u8> {
    match covariate {
        Covariate::Context { size, code } => decode_context(code as usize, usize::from(size)),
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
    fn from_report(report: &RecalReport) -> Self {
        let rows = report.groups.iter().flat_map(|group| &group.covariates);
        let mut places: BTreeMap<Covariate, usize> = rows.map(|row| (row.covariate, 0)).collect();
        let mut sorted: Vec<Covariate> = places.keys().copied().collect();
        sorted.sort_by_cached_key(|&covariate| covariate_value(covariate));
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
    align_right: bool,
}

/// Appends a table. `fill` writes the values of a row into empty cells. It is called twice for each
/// row: first to measure the column widths, then to write the row.
pub(super) fn write_table<R>(
    out: &mut Vec<u8>,
    head: &TableHead,
    rows: &[R],
    fill: impl Fn(&R, &mut [Vec<u8>]),
) {
    let formats: String = head.columns.iter().map(|(_, format)| format!(":{format}")).collect();
    let sizes = format!("#:GATKTable:{}:{}{formats}:;\n", head.columns.len(), rows.len());
    out.extend_from_slice(sizes.as_bytes());
    out.extend_from_slice(format!("#:GATKTable:{}:{}\n", head.name, head.description).as_bytes());

    let mut columns: Vec<ColumnFormat> = head
        .columns
        .iter()
        .map(|(name, _)| ColumnFormat { width: name.len(), align_right: true })
        .collect();
    let mut cells = vec![Vec::new(); columns.len()];
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.widen_to(cell));
    }
    let names = head.columns.iter().zip(&columns);
    write_line(
        out,
        names.map(|((name, _), column)| {
            (name.as_bytes(), ColumnFormat { width: column.width, align_right: false })
        }),
    );
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        let cells = cells.iter().zip(&columns);
        write_line(
            out,
            cells.map(|(cell, column)| {
                (cell.as_slice(), ColumnFormat { width: column.width, align_right: column.align_right })
            }),
        );
    }
    out.push(b'\n');
}

impl ColumnFormat {
    fn widen_to(&mut self, cell: &[u8]) {
        self.width = self.width.max(java::utf16_length(cell));
        self.align_right = self.align_right && (cell.is_empty() || java::aligns_right(cell));
    }
}

fn write_line<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = (&'a [u8], ColumnFormat)>) {
    for (at, (cell, column)) in cells.enumerate() {
        if at > 0 {
            out.extend_from_slice(b"  ");
        }
        let padding = column.width - java::utf16_length(cell);
        let (before, after) = if column.align_right { (padding, 0) } else { (0, padding) };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend_from_slice(cell);
        out.extend(std::iter::repeat_n(b' ', after));
    }
    out.push(b'\n');
}

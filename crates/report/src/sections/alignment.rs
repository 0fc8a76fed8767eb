//! The section "Alignment": Picard's alignment summary and the mapping qualities of samtools stats.

use serde_json::Value;

use crate::metrics::alignment_row;
use crate::plot::{Axes, Figure, draw_bars};
use crate::run::{RowLevel, row_level};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{table_of_cells, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// Rows of the summary table: Picard's column, title, number format. The section about lanes shows
/// the same ones.
pub const FIELDS: &[(&str, &str, NumberFormat)] = &[
    ("TOTAL_READS", "Reads", NumberFormat::Plain),
    ("PCT_PF_READS_ALIGNED", "Aligned", NumberFormat::Share),
    ("PF_MISMATCH_RATE", "Mismatches", NumberFormat::Share),
    ("PF_INDEL_RATE", "Indels", NumberFormat::Share),
    ("MEAN_READ_LENGTH", "Mean length", NumberFormat::Decimal(1, "")),
    ("PCT_CHIMERAS", "Chimeras", NumberFormat::Share),
    ("PCT_ADAPTER", "Unaligned reads that are adapter", NumberFormat::Share),
    ("PCT_SOFTCLIP", "Soft-clipped", NumberFormat::Share),
    ("STRAND_BALANCE", "Forward strand", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let summary = alignment_row(run).map(|_| {
        let rows = run.rows("alignment_summary_metrics", |row| row_level(row) == RowLevel::All);
        let title = |row: &Value| match row.get("CATEGORY").and_then(Value::as_str) {
            Some("FIRST_OF_PAIR") => "First reads".to_string(),
            Some("SECOND_OF_PAIR") => "Second reads".to_string(),
            Some("PAIR") => "Pairs".to_string(),
            Some("UNPAIRED") => "Single reads".to_string(),
            other => other.unwrap_or_default().to_string(),
        };
        let columns: Vec<(String, String)> =
            rows.into_iter().map(|(pointer, row)| (title(row), pointer)).collect();
        transposed_table(run, "Alignment summary", &columns, FIELDS)
    });
    let mapping = mapping_quality_figure(sample);
    if summary.is_none() && mapping.is_none() {
        return None;
    }
    let body = wrap_figures(&mapping.into_iter().chain(summary).collect::<Vec<_>>());
    Some(PageSection { id: "alignment", title: "Alignment", body })
}

/// Draws primary reads by mapping quality. `None` if the run did not write samtools' statistics.
fn mapping_quality_figure(sample: &PageSample<'_>) -> Option<String> {
    let list = "/reports/stats/MAPQ";
    let lines = sample.run.list(list);
    let number = |line: usize, column: usize| sample.run.number(&format!("{list}/{line}/{column}"));
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for line in 0..lines.len() {
        let (quality, reads) = (number(line, 0)?, number(line, 1)?);
        rows.push(vec![quality.to_html(NumberFormat::Plain), reads.to_html(NumberFormat::Plain)]);
        columns.push((quality.value, reads.value));
    }
    let all: f64 = columns.iter().map(|it| it.1).sum();
    let zero = columns.iter().find(|it| it.0 == 0.0).map_or(0.0, |it| it.1);
    if columns.is_empty() || all <= 0.0 {
        return None;
    }
    // Aligners use only a few of the values, so each bar combines several.
    const BINS: [(&str, f64); 8] = [
        ("0", 0.0),
        ("1–9", 9.0),
        ("10–19", 19.0),
        ("20–29", 29.0),
        ("30–39", 39.0),
        ("40–49", 49.0),
        ("50–59", 59.0),
        ("60 and more", f64::INFINITY),
    ];
    let mut least = -1.0;
    let bars_of = BINS.map(|(name, most)| {
        let is_own = |quality: f64| quality > least && quality <= most;
        let reads: f64 = columns.iter().filter(|it| is_own(it.0)).map(|it| it.1).sum();
        least = most;
        (name.to_string(), reads)
    });
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("mapq-plot"),
        title: "Mapping qualities".into(),
        reading: "Primary reads by mapping quality. Those of 0 fit several places equally well.".into(),
        alt: format!("Bars of reads by mapping quality; {} have mapping quality 0.", plain_number(zero)),
        legend: Vec::new(),
        svg: draw_bars(&Axes { x: "Mapping quality", y: "Reads", ..Axes::default() }, bars_of.to_vec()),
        table: table_of_cells("Mapping qualities", &["Mapping quality", "Reads"], &rows),
    };
    Some(figure.to_html())
}

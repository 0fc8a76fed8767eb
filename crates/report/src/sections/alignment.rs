//! The section "Alignment": Picard's alignment summary, and mapping qualities from samtools stats.

use maud::Markup;

use crate::metrics::alignment_row;
use crate::plot::{Axes, Figure, draw_bars};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{TableField, table_of_cells, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// Rows of the summary table: Picard's column, title, number format. `lanes` shows the same fields
/// as columns.
pub const FIELDS: &[TableField<'_>] = &[
    ("TOTAL_READS", "Reads", NumberFormat::Plain),
    ("PCT_PF_READS_ALIGNED", "Aligned", NumberFormat::Share),
    ("PF_MISMATCH_RATE", "Mismatch rate", NumberFormat::Share),
    ("PF_INDEL_RATE", "Indel rate", NumberFormat::Share),
    ("MEAN_READ_LENGTH", "Mean read length", NumberFormat::Decimal(1, "")),
    ("PCT_CHIMERAS", "Chimeric reads", NumberFormat::Share),
    ("PCT_ADAPTER", "Unaligned adapter reads", NumberFormat::Share),
    ("PCT_SOFTCLIP", "Soft-clipped bases", NumberFormat::Share),
    ("STRAND_BALANCE", "Forward-strand reads", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let summary = alignment_row(run).map(|_| {
        let rows = run.rows("alignment_summary_metrics", RunPart::is_of_all);
        let columns: Vec<(&str, RunPart<'_>)> =
            rows.into_iter().map(|row| (category_title(row.text("CATEGORY")), row)).collect();
        transposed_table("Alignment summary", &columns, FIELDS)
    });
    let figure = mapping_quality_figure(sample);
    (figure.is_some() || summary.is_some()).then(|| wrap_figures([figure], summary))
}

fn category_title(category: &str) -> &str {
    match category {
        "FIRST_OF_PAIR" => "Read 1",
        "SECOND_OF_PAIR" => "Read 2",
        "PAIR" => "Pairs",
        "UNPAIRED" => "Unpaired",
        other => other,
    }
}

/// Draws the number of primary reads by mapping quality. `None` if the run did not compute samtools
/// stats.
fn mapping_quality_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for line in sample.run.items("reports/stats/MAPQ") {
        columns.push((line.value("0")?, line.value("1")?));
        rows.push(["0", "1"].map(|column| line.cell(column, NumberFormat::Plain)).into());
    }
    let all: f64 = columns.iter().map(|it| it.1).sum();
    let zero = columns.iter().find(|it| it.0 == 0.0).map_or(0.0, |it| it.1);
    if columns.is_empty() || all <= 0.0 {
        return None;
    }
    // Aligners use only a few of the values, so each bar covers a range.
    const BINS: [(&str, f64); 8] = [
        ("0", 0.0),
        ("1–9", 9.0),
        ("10–19", 19.0),
        ("20–29", 29.0),
        ("30–39", 39.0),
        ("40–49", 49.0),
        ("50–59", 59.0),
        ("≥ 60", f64::INFINITY),
    ];
    let mut previous_max = -1.0;
    let bars_of = BINS.map(|(name, max_quality)| {
        let is_own = |quality: f64| quality > previous_max && quality <= max_quality;
        let reads: f64 = columns.iter().filter(|it| is_own(it.0)).map(|it| it.1).sum();
        previous_max = max_quality;
        (name.to_string(), reads)
    });
    Some(Figure {
        id: sample.element_id("mapq-plot"),
        title: "Mapping quality",
        reading: "Primary reads by mapping quality. Reads with mapping quality 0 align equally well to \
            several places."
            .into(),
        alt: format!(
            "Bars of reads by mapping quality; {} reads have mapping quality 0.",
            plain_number(zero)
        ),
        svg: draw_bars(&Axes { x: "Mapping quality", y: "Reads", ..Axes::default() }, bars_of.to_vec()),
        table: table_of_cells("Mapping quality", &["Mapping quality", "Reads"], &rows),
        ..Figure::default()
    })
}

//! The section "RNA": where the bases of RNA reads lie, the strand of the transcripts, and coverage
//! along transcripts, from Picard's RNA metrics.

use maud::Markup;

use crate::plot::{Axes, Figure, draw_bars, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{TableField, table_of_columns, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// The classes of aligned bases, in the order of the plot: Picard's field and its title.
const CLASSES: [(&str, &str); 5] = [
    ("PCT_CODING_BASES", "coding"),
    ("PCT_UTR_BASES", "UTR"),
    ("PCT_INTRONIC_BASES", "intronic"),
    ("PCT_INTERGENIC_BASES", "intergenic"),
    ("PCT_RIBOSOMAL_BASES", "ribosomal"),
];

const FIELDS: &[TableField<'_>] = &[
    ("PF_BASES", "Bases", NumberFormat::Plain),
    ("PF_ALIGNED_BASES", "Aligned bases", NumberFormat::Plain),
    ("PCT_MRNA_BASES", "mRNA bases (coding and UTR)", NumberFormat::Share),
    ("PCT_USABLE_BASES", "mRNA bases of all bases", NumberFormat::Share),
    ("PCT_RIBOSOMAL_BASES", "Ribosomal bases", NumberFormat::Share),
    ("PCT_CORRECT_STRAND_READS", "Reads on the expected strand", NumberFormat::Share),
    (
        "PCT_R1_TRANSCRIPT_STRAND_READS",
        "Fragments with read 1 on the transcript strand",
        NumberFormat::Share,
    ),
    (
        "PCT_R2_TRANSCRIPT_STRAND_READS",
        "Fragments with read 2 on the transcript strand",
        NumberFormat::Share,
    ),
    ("MEDIAN_CV_COVERAGE", "Median coefficient of variation of coverage", NumberFormat::Decimal(2, "")),
    ("MEDIAN_5PRIME_BIAS", "Median 5′ bias", NumberFormat::Decimal(2, "")),
    ("MEDIAN_3PRIME_BIAS", "Median 3′ bias", NumberFormat::Decimal(2, "")),
    ("MEDIAN_5PRIME_TO_3PRIME_BIAS", "Median ratio of 5′ to 3′ coverage", NumberFormat::Decimal(2, "")),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let row = sample.run.first_row_of_all("rna_metrics", |_| true)?;
    let figures = [class_figure(sample, &row), transcript_figure(sample)];
    Some(wrap_figures(figures, [transposed_table("RNA metrics", &[("", row)], FIELDS)]))
}

/// Draws the shares of the classes. The ribosomal class is missing without `--ribosomal-intervals`.
fn class_figure(sample: &PageSample<'_>, row: &RunPart<'_>) -> Option<Figure> {
    let known = CLASSES.iter().filter_map(|(key, title)| Some((title.to_string(), row.value(key)?)));
    let bars: Vec<(String, f64)> = known.collect();
    let largest = bars.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.clone();
    let axes = Axes {
        y: "Percentage of aligned bases",
        y_range: Some((0.0, 1.0)),
        percent: true,
        ..Axes::default()
    };
    let columns: Vec<TableField<'_>> =
        CLASSES.iter().map(|(key, title)| (*key, *title, NumberFormat::Share)).collect();
    Some(Figure {
        id: sample.element_id("rna-classes-plot"),
        title: "Bases by class",
        reading:
            "Aligned bases by the part of a gene that they cover. Much ribosomal RNA means that it \
            was not removed; many intronic and intergenic bases mean unspliced RNA or genomic DNA."
                .into(),
        alt: format!(
            "Bars of the percentage of aligned bases by class; the largest class is {} with {}.",
            largest.0,
            NumberFormat::Share.format_number(largest.1)
        ),
        svg: draw_bars(&axes, bars),
        table: transposed_table("Bases by class", &[("", row.clone())], &columns),
        ..Figure::default()
    })
}

/// Draws the coverage along transcripts from the 5′ end to the 3′ end.
fn transcript_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let histogram = sample.run.part("reports/rna_metrics/histograms/0")?;
    let coverage = histogram.keys().find(|name| name.starts_with("All_Reads."))?;
    let positions = histogram.column("normalized_position");
    let points: Vec<(f64, f64)> = positions.into_iter().zip(histogram.column(coverage)).collect();
    let deepest = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let axes = Axes {
        x: "Position in the transcript (% from the 5′ end)",
        y: "Coverage relative to the mean",
        y_range: Some((0.0, (1.1 * deepest.1).max(1.2))),
        levels: vec![(1.0, String::new())],
        ..Axes::default()
    };
    Some(Figure {
        has_lines: true,
        id: sample.element_id("rna-transcripts-plot"),
        title: "Coverage along transcripts",
        reading:
            "Mean coverage of the 1,000 most expressed transcripts. Degraded RNA that is enriched by \
            its poly-A tail has coverage at the 3′ end only."
                .into(),
        alt: format!(
            "Curve of coverage along transcripts; the maximum is at {} % from the 5′ end.",
            plain_number(deepest.0)
        ),
        svg: draw_lines(&axes, vec![points]),
        table: table_of_columns(
            &histogram,
            "Coverage along transcripts",
            &[("normalized_position", "Position (%)"), (coverage, "Relative coverage")],
        ),
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use serde_json::json;

    #[test]
    fn classes_and_transcripts_are_drawn() {
        let value = json!({"reports": {"rna_metrics": {
            "rows": [{"SAMPLE": null, "PF_BASES": 1000, "PCT_CODING_BASES": 0.5, "PCT_UTR_BASES": 0.3,
                "PCT_INTRONIC_BASES": 0.1, "PCT_INTERGENIC_BASES": 0.1, "PCT_RIBOSOMAL_BASES": null,
                "MEDIAN_3PRIME_BIAS": 0.8}],
            "histograms": [{"normalized_position": [0, 50, 100], "All_Reads.normalized_coverage": [0.5, 1.5, 1.0]}],
        }}});
        let limits = Limits::default();
        let sample = PageSample { run: RunPart::new(&value), prefix: "s0-".into(), limits: &limits };
        let html = make_section(&sample).unwrap().into_string();
        assert!(html.contains("largest class is coding with 50.0\u{a0}%"), "{html}");
        assert!(html.contains("the maximum is at 50 %") && html.contains("Median 3′ bias"), "{html}");
        assert!(!html.contains(">ribosomal<"), "a class that was not measured has no bar: {html}");
        let none = json!({"reports": {}});
        let sample = PageSample { run: RunPart::new(&none), prefix: String::new(), limits: &limits };
        assert!(make_section(&sample).is_none());
    }
}

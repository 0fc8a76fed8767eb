//! The section about insert sizes, from Picard's insert size metrics.

use maud::Markup;

use crate::metrics::{INSERT_HISTOGRAM, alignment_row, insert_row};
use crate::plot::{Axes, Figure, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{TableField, table_of_columns, transposed_table};
use crate::text::{NumberFormat, plain_number};

const FIELDS: &[TableField<'_>] = &[
    ("READ_PAIRS", "Read pairs", NumberFormat::Plain),
    ("MEDIAN_INSERT_SIZE", "Median", NumberFormat::Plain),
    ("MODE_INSERT_SIZE", "Mode", NumberFormat::Plain),
    ("MEDIAN_ABSOLUTE_DEVIATION", "Median absolute deviation", NumberFormat::Plain),
    ("MEAN_INSERT_SIZE", "Mean", NumberFormat::Decimal(1, "")),
    ("STANDARD_DEVIATION", "Standard deviation", NumberFormat::Decimal(1, "")),
    ("MIN_INSERT_SIZE", "Minimum", NumberFormat::Plain),
    ("MAX_INSERT_SIZE", "Maximum", NumberFormat::Plain),
    ("WIDTH_OF_50_PERCENT", "Width around the median that holds 50 % of pairs", NumberFormat::Plain),
    ("WIDTH_OF_90_PERCENT", "Width around the median that holds 90 % of pairs", NumberFormat::Plain),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let median = insert_row(run)?.value("MEDIAN_INSERT_SIZE")?;
    let histogram = run.part(INSERT_HISTOGRAM)?;
    let sizes = histogram.column("insert_size");
    let names: Vec<&String> = histogram.keys().filter(|name| name.starts_with("All_Reads.")).collect();
    let series: Vec<Vec<(f64, f64)>> =
        names.iter().map(|name| fill_gaps(&sizes, &histogram.column(name))).collect();
    let orientation =
        |name: &String| name.trim_start_matches("All_Reads.").trim_end_matches("_count").to_uppercase();
    let legend: Vec<String> = names.iter().map(|name| orientation(name)).collect();
    let mut marks = vec![(median, "median".to_string())];
    let length = alignment_row(run).and_then(|row| row.value("MEDIAN_READ_LENGTH"));
    marks.extend(length.map(|length| (length, "read length".to_string())));
    let mut table = vec![("insert_size", "Insert size (bases)".to_string())];
    table.extend(
        names.iter().zip(&legend).map(|(name, title)| (name.as_str(), format!("{title} pairs"))),
    );
    let table: Vec<(&str, &str)> = table.iter().map(|(key, title)| (*key, title.as_str())).collect();
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("inserts-plot"),
        title: "Insert size distribution",
        reading:
            "Read pairs by insert size. If the insert is shorter than the read length, the reads run \
            into the adapter."
                .into(),
        alt: format!(
            "Curve of read pairs by insert size; the median is {} bases. Orientations: {}.",
            plain_number(median),
            legend.join(", ")
        ),
        legend,
        svg: draw_lines(
            &Axes { x: "Insert size (bases)", y: "Read pairs", marks, ..Axes::default() },
            series,
        ),
        table: table_of_columns(&histogram, "Insert size distribution", &table),
    };
    let rows = run.rows("insert_size_metrics", RunPart::is_of_all);
    let columns: Vec<(&str, RunPart<'_>)> =
        rows.into_iter().map(|row| (row.text("PAIR_ORIENTATION"), row)).collect();
    let table = transposed_table("Insert size by pair orientation (bases)", &columns, FIELDS);
    Some(wrap_figures([Some(figure)], [table]))
}

/// Returns the points of a histogram, with a zero at each end of a gap. Picard omits insert sizes
/// without pairs; without the zeros, the line would bridge the gaps.
fn fill_gaps(sizes: &[f64], counts: &[f64]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(sizes.len());
    for (&size, &count) in sizes.iter().zip(counts) {
        if let Some(&(last, _)) = points.last()
            && size > last + 1.0
        {
            points.push((last + 1.0, 0.0));
            points.push((size - 1.0, 0.0));
        }
        points.push((size, count));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_pair_has_are_0() {
        let wanted = [(10.0, 3.0), (11.0, 4.0), (12.0, 0.0), (19.0, 0.0), (20.0, 1.0)];
        assert_eq!(fill_gaps(&[10.0, 11.0, 20.0], &[3.0, 4.0, 1.0]), wanted);
    }
}

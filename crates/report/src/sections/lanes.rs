//! The section "Lanes, libraries and samples": Picard's metrics at levels below all reads.

use serde_json::Value;

use crate::lanes::{collect_lanes, find_gc_outlier, find_insert_outlier};
use crate::plot::{Axes, COLORS, Figure, draw_lines};
use crate::run::{RowLevel, row_level};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{row_table, table_of_cells, wrap_scrollable};
use crate::text::{NumberFormat, escape_html};

const HISTOGRAM: &str = "/reports/insert_size_metrics/histograms/0";

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let is_part = |row: &Value| {
        row_level(row) != RowLevel::All
            && row.get("CATEGORY").is_some_and(|it| it == "PAIR" || it == "UNPAIRED")
    };
    let parts = run.rows("alignment_summary_metrics", is_part);
    let lanes = collect_lanes(run);
    if parts.is_empty() && lanes.is_empty() {
        return None;
    }
    let mut body = String::new();
    if !lanes.is_empty() {
        let rows: Vec<Vec<String>> = lanes
            .iter()
            .map(|lane| {
                vec![
                    format!("<code>{}</code>", escape_html(&lane.name)),
                    lane.insert
                        .as_ref()
                        .map_or("–".into(), |it| it.to_html(NumberFormat::Decimal(0, " bases"))),
                    lane.gc.as_ref().map_or("–".into(), |it| it.to_html(NumberFormat::Share)),
                ]
            })
            .collect();
        let table =
            table_of_cells("Lanes", &["Lane", "Median insert size", "Mean GC at read starts"], &rows);
        body += &outlier_sentences(sample);
        let side = wrap_scrollable("Lanes", &table);
        body += &wrap_figures(&lane_insert_figure(sample).into_iter().chain([side]).collect::<Vec<_>>());
    }
    let named = [("SAMPLE", "Sample"), ("LIBRARY", "Library"), ("READ_GROUP", "Lane")];
    let fields = named.map(|(key, title)| (key, title, NumberFormat::Plain));
    let fields: Vec<_> = fields.iter().chain(super::alignment::FIELDS).copied().collect();
    if !parts.is_empty() {
        body += &row_table(run, "Alignments by sample, library and lane", &parts, &fields);
    }
    Some(PageSection { id: "lanes", title: "Lanes, libraries and samples", body })
}

fn outlier_sentences(sample: &PageSample<'_>) -> String {
    let lanes = collect_lanes(&sample.run);
    let name = |number: usize| lanes.get(number).map_or(String::new(), |lane| escape_html(&lane.name));
    let mut text = String::new();
    if let Some(it) = find_insert_outlier(&lanes) {
        text += &format!(
            "The insert size of lane <code>{}</code> is furthest from the median of the others: \
                by {} of it. ",
            name(it.lane),
            it.source.to_html(NumberFormat::Share)
        );
    }
    if let Some(it) = find_gc_outlier(&lanes) {
        text += &format!(
            "The GC of lane <code>{}</code> is furthest from the median of the others: by {} of \
                percent.",
            name(it.lane),
            it.source.to_html(NumberFormat::Points)
        );
    }
    if text.is_empty() { text } else { format!("<p class=\"lead\">{text}</p>") }
}

/// Draws the insert sizes of each lane. `None` if fewer than two lanes have a histogram.
fn lane_insert_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let columns = run.at(HISTOGRAM)?.as_object()?;
    let sizes = run.column(&format!("{HISTOGRAM}/insert_size"));
    let (mut names, mut series) = (Vec::new(), Vec::new());
    for lane in collect_lanes(run).iter().take(COLORS) {
        let column = format!("{}.fr_count", lane.name);
        if columns.contains_key(&column) {
            let counts =
                run.column(&format!("{HISTOGRAM}/{}", column.replace('~', "~0").replace('/', "~1")));
            let all: f64 = counts.iter().sum::<f64>().max(1.0);
            names.push(lane.name.clone());
            series.push(bin_shares(&sizes, &counts, all));
        }
    }
    if series.len() < 2 {
        return None;
    }
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("lanes-plot"),
        title: "Insert sizes of each lane".into(),
        reading: "Shares of the pairs of each lane. Lanes of one library lie on one another; one \
            that does not is another library, or another sample."
            .into(),
        alt: format!("Curves of insert sizes of {} lanes.", names.len()),
        legend: names,
        svg: draw_lines(
            &Axes { x: "Insert size (bases)", y: "Share of pairs", percent: true, ..Axes::default() },
            series,
        ),
        table: String::new(),
    };
    Some(figure.to_html())
}

const BIN_BASES: f64 = 10.0;

/// Sums the counts of each bin of insert sizes and divides by `all`. Each point is at the middle of
/// its bin.
fn bin_shares(sizes: &[f64], counts: &[f64], all: f64) -> Vec<(f64, f64)> {
    let mut bins: Vec<(f64, f64)> = Vec::new();
    for (&size, &count) in sizes.iter().zip(counts) {
        let middle = (size / BIN_BASES).floor() * BIN_BASES + BIN_BASES / 2.0;
        match bins.last_mut().filter(|bin| bin.0 == middle) {
            Some(bin) => bin.1 += count / all,
            None => bins.push((middle, count / all)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_sizes_are_one_point() {
        assert_eq!(bin_shares(&[1.0, 9.0, 10.0], &[1.0, 2.0, 1.0], 4.0), [(5.0, 0.75), (15.0, 0.25)]);
    }
}

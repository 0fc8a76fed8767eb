//! The section "Lanes, libraries and samples": Picard's metrics by sample, library and read group.

use maud::{Markup, html};

use crate::lanes::{LaneStats, collect_lanes, find_gc_outlier, find_insert_outlier};
use crate::metrics::INSERT_HISTOGRAM;
use crate::plot::{Axes, COLORS, Figure, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{Cell, TableField, row_table, scrollable_table};
use crate::text::NumberFormat;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let is_part =
        |row: &RunPart<'_>| !row.is_of_all() && ["PAIR", "UNPAIRED"].contains(&row.text("CATEGORY"));
    let parts = run.rows("alignment_summary_metrics", is_part);
    let lanes = collect_lanes(run);
    if parts.is_empty() && lanes.is_empty() {
        return None;
    }
    let row = |lane: &LaneStats| {
        vec![
            Cell::code(&lane.name),
            Cell::number(lane.insert.as_ref(), NumberFormat::Decimal(0, " bases")),
            Cell::number(lane.gc.as_ref(), NumberFormat::Share),
        ]
    };
    let rows: Vec<Vec<Cell>> = lanes.iter().map(row).collect();
    let titles = ["Lane", "Median insert size", "Mean GC at read starts"];
    Some(html! {
        @if !lanes.is_empty() {
            (outlier_sentences(&lanes))
            @let table = scrollable_table("Lanes", &titles, &rows);
            (wrap_figures([lane_insert_figure(sample, &lanes)], [table]))
        }
        @if !parts.is_empty() { (alignment_tables(&parts)) }
    })
}

/// Maximum number of fields next to the names in a table of parts. A page of 768 pixels and a sheet
/// of paper have room for as many columns.
const MAX_PART_FIELDS: usize = 5;

/// Returns tables with a line for each sample, library and lane. Two tables share the fields, because
/// one would be wider than paper.
fn alignment_tables(parts: &[RunPart<'_>]) -> Markup {
    let caption = "Alignment by sample, library and lane";
    let named = [("SAMPLE", "Sample"), ("LIBRARY", "Library"), ("READ_GROUP", "Lane")];
    let named = named.map(|(key, title)| (key, title, NumberFormat::Plain));
    let table = |(i, fields): (usize, &[TableField<'_>])| {
        let caption = if i == 0 { caption.to_string() } else { format!("{caption} (continued)") };
        let fields: Vec<_> = named.iter().chain(fields).copied().collect();
        row_table(&caption, parts, &fields)
    };
    let tables = super::alignment::FIELDS.chunks(MAX_PART_FIELDS).enumerate().map(table);
    html! { @for table in tables { (table) } }
}

fn outlier_sentences(lanes: &[LaneStats]) -> Markup {
    let (insert, gc) = (find_insert_outlier(lanes), find_gc_outlier(lanes));
    let name = |number: usize| lanes.get(number).map_or("", |lane| &lane.name);
    html! {
        @if insert.is_some() || gc.is_some() {
            p class="lead" {
                @if let Some(it) = insert {
                    "Lane " code { (name(it.lane)) } " differs most in insert size: by "
                    (it.source.to_html(NumberFormat::Share)) " from the median of the other lanes. "
                }
                @if let Some(it) = gc {
                    "Lane " code { (name(it.lane)) } " differs most in GC content: by "
                    (it.source.to_html(NumberFormat::Points)) " from the median of the other lanes."
                }
            }
        }
    }
}

/// Draws the insert sizes of each lane. `None` if fewer than two lanes have a histogram.
fn lane_insert_figure(sample: &PageSample<'_>, lanes: &[LaneStats]) -> Option<Figure> {
    let histogram = sample.run.part(INSERT_HISTOGRAM)?;
    let sizes = histogram.column("insert_size");
    let (mut names, mut series) = (Vec::new(), Vec::new());
    for lane in lanes.iter().take(COLORS) {
        let column = format!("{}.fr_count", lane.name);
        if histogram.at(&column).is_some() {
            let counts = histogram.column(&column);
            let all: f64 = counts.iter().sum::<f64>().max(1.0);
            names.push(lane.name.clone());
            series.push(bin_shares(&sizes, &counts, all));
        }
    }
    if series.len() < 2 {
        return None;
    }
    Some(Figure {
        has_lines: true,
        id: sample.element_id("lanes-plot"),
        title: "Insert size by lane",
        reading:
            "Read pairs by insert size, as a percentage of each lane's pairs. Lanes of the same library \
            have overlapping curves; a curve that differs suggests another library or sample."
                .into(),
        alt: format!("Curves of the insert sizes of {} lanes.", names.len()),
        legend: names,
        svg: draw_lines(
            &Axes {
                x: "Insert size (bases)",
                y: "Percentage of read pairs",
                percent: true,
                ..Axes::default()
            },
            series,
        ),
        ..Figure::default()
    })
}

const BIN_BASES: f64 = 10.0;

/// Returns the fraction of pairs in each insert size bin: its counts divided by `all`. The x value
/// of a point is the middle of the bin.
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

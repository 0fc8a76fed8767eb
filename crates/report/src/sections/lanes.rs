//! The section "Lanes, libraries and samples": Picard's metrics by sample, library and read group.

use maud::{Markup, html};
use serde_json::Value;

use crate::lanes::{LaneDistance, LaneStats, collect_lanes, find_gc_outlier, find_insert_outlier};
use crate::limits::{Grade, Limits};
use crate::metrics::INSERT_HISTOGRAM;
use crate::plot::{Axes, COLORS, Figure, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{Cell, TableField, scrollable_table};
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
        (empty_lanes_html(&parts))
        @if !lanes.is_empty() {
            (outlier_sentences(&lanes, sample.limits))
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
        let cell = |row: &RunPart<'_>, (key, _, form): &TableField<'_>| match row.at(key) {
            Some(Value::String(text)) => Cell::text(text),
            _ if !has_no_reads(row) => row.cell(key, *form),
            _ if *key == "TOTAL_READS" => Cell::Number(html! { "no reads" }),
            _ => Cell::dash(),
        };
        let titles: Vec<&str> = fields.iter().map(|(_, title, _)| *title).collect();
        let line = |row: &RunPart<'_>| fields.iter().map(|field| cell(row, field)).collect();
        let lines: Vec<Vec<Cell>> = parts.iter().map(line).collect();
        scrollable_table(&caption, &titles, &lines)
    };
    let tables = super::alignment::FIELDS.chunks(MAX_PART_FIELDS).enumerate().map(table);
    html! { @for table in tables { (table) } }
}

/// Returns sentences about the lanes that differ from the others by more than the thresholds for a
/// warning, or one sentence if none does.
fn outlier_sentences(lanes: &[LaneStats], limits: &Limits) -> Markup {
    let (insert, gc) = (find_insert_outlier(lanes), find_gc_outlier(lanes));
    if insert.is_none() && gc.is_none() {
        return Markup::default();
    }
    let defaults = Limits::for_assay(limits.assay);
    let differs = |key: &str, it: &LaneDistance| {
        let limit = limits.limit(key).or_else(|| defaults.limit(key));
        limit.is_some_and(|limit| limit.grade(it.source.value) != Grade::Good)
    };
    let insert = insert.filter(|it| differs("lanes_insert", it));
    let gc = gc.filter(|it| differs("lanes_gc", it));
    let name = |number: usize| lanes.get(number).map_or("", |lane| &lane.name);
    html! {
        p class="lead" {
            @if let Some(it) = &insert {
                "Lane " code { (name(it.lane)) } " differs most in insert size: by "
                (it.source.to_html(NumberFormat::Share)) " from the median of the other lanes. "
            }
            @if let Some(it) = &gc {
                "Lane " code { (name(it.lane)) } " differs most in GC content: by "
                (it.source.to_html(NumberFormat::Points)) " from the median of the other lanes."
            }
            @if insert.is_none() && gc.is_none() {
                "No lane differs from the others by more than the thresholds."
            }
        }
    }
}

/// Returns the names of the lanes without reads. Picard has a row for each of them.
fn empty_lanes(parts: &[RunPart<'_>]) -> Vec<String> {
    let lanes = parts.iter().filter(|row| row.is_of_lane());
    let (empty, others): (Vec<_>, Vec<_>) = lanes.partition(|row| has_no_reads(row));
    let others: Vec<String> = others.into_iter().map(RunPart::lane_name).collect();
    empty.into_iter().map(RunPart::lane_name).filter(|name| !others.contains(name)).collect()
}

fn has_no_reads(row: &RunPart<'_>) -> bool {
    row.value("TOTAL_READS") == Some(0.0)
}

fn empty_lanes_html(parts: &[RunPart<'_>]) -> Markup {
    let names = empty_lanes(parts);
    html! {
        @if !names.is_empty() {
            p class="warnings" {
                "Without reads: "
                @for (i, name) in names.iter().enumerate() { @if i > 0 { ", " } code { (name) } }
                "."
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
    use crate::limits::Assay;
    use serde_json::json;

    fn section(run: &Value) -> String {
        let limits = Limits::for_assay(Assay::Wgs);
        let sample = PageSample { run: RunPart::new(run), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).unwrap().into_string()
    }

    #[test]
    fn a_lane_without_reads_is_named() {
        let row = |lane: &str, category: &str, reads: u32| {
            json!({"SAMPLE": "s", "LIBRARY": "l", "READ_GROUP": lane, "CATEGORY": category, "TOTAL_READS": reads,
                "PCT_PF_READS_ALIGNED": 0.0, "MEAN_READ_LENGTH": 0.0})
        };
        let rows = [row("a", "PAIR", 9), row("a", "UNPAIRED", 0), row("b", "UNPAIRED", 0)];
        let text = section(&json!({"reports": {"alignment_summary_metrics": {"rows": rows}}}));
        assert!(text.contains("Without reads: <code>b</code>.</p>"), "{text}");
        assert_eq!(text.matches("<td>no reads</td><td>–</td>").count(), 2, "{text}");
        assert_eq!(text.matches(">0\u{a0}%<").count(), 1, "{text}");
    }

    #[test]
    fn a_lane_is_said_to_differ_only_if_it_does() {
        let run = |sizes: [u32; 3]| {
            let row = |(i, size): (usize, u32)| json!({"READ_GROUP": format!("l{i}"), "MEDIAN_INSERT_SIZE": size, "READ_PAIRS": 5000});
            let rows: Vec<Value> = sizes.into_iter().enumerate().map(row).collect();
            section(&json!({"reports": {"insert_size_metrics": {"rows": rows}}}))
        };
        for sizes in [[350, 350, 350], [350, 350, 380]] {
            let text = run(sizes);
            assert!(
                text.contains("No lane differs from the others by more than the thresholds."),
                "{text}"
            );
            assert!(!text.contains("differs most"), "{text}");
        }
        let text = run([350, 350, 480]);
        assert!(text.contains("Lane <code>l2</code> differs most in insert size"), "{text}");
        assert!(!text.contains("No lane"), "{text}");
    }

    #[test]
    fn neighbouring_sizes_are_one_point() {
        assert_eq!(bin_shares(&[1.0, 9.0, 10.0], &[1.0, 2.0, 1.0], 4.0), [(5.0, 0.75), (15.0, 0.25)]);
    }
}

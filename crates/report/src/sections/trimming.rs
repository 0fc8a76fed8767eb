//! The section "Trimming": dropped reads, trimmed bases, and insert sizes from the overlap of mates.
//! The JSON uses the keys of fastp's JSON report.

use maud::{Markup, html};

use crate::metrics::{TRIMMED_AFTER, TRIMMED_BEFORE};
use crate::plot::{Axes, Figure, draw_bars, draw_grouped_bars, draw_lines};
use crate::run::{Quantity, RunPart};
use crate::section::{PageSample, facts_list, wrap_figures};
use crate::table::{Cell, TableField, table_of_cells, transposed_table};
use crate::text::{NumberFormat, plain_number};

/// fastp's filter results: key in the JSON, title in the table.
const FILTERED: &[(&str, &str)] = &[
    ("passed_filter_reads", "Passed"),
    ("low_quality_reads", "Low quality"),
    ("too_many_N_reads", "Too many N"),
    ("too_short_reads", "Too short"),
    ("too_long_reads", "Too long"),
    ("low_complexity_reads", "Low complexity"),
];

const FIELDS: &[TableField<'_>] = &[
    ("total_reads", "Reads", NumberFormat::Plain),
    ("total_bases", "Bases", NumberFormat::Plain),
    ("read1_mean_length", "Mean length of read 1", NumberFormat::Plain),
    ("read2_mean_length", "Mean length of read 2", NumberFormat::Plain),
    ("q20_rate", "Q20 bases", NumberFormat::Share),
    ("q30_rate", "Q30 bases", NumberFormat::Share),
    ("gc_content", "GC content", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let trimming = run.part("trimming")?;
    let (before, after) = (run.part(TRIMMED_BEFORE), run.part(TRIMMED_AFTER));
    let figures = [
        dropped_read_figure(sample, &trimming),
        before.as_ref().zip(after.as_ref()).and_then(|both| base_share_figure(sample, both)),
        template_length_figure(sample, &trimming),
        tail_figure(sample, &trimming),
    ];
    let columns = [("Before", before), ("After", after)];
    let columns: Vec<_> = columns.into_iter().filter_map(|(title, part)| Some((title, part?))).collect();
    let table = transposed_table("Reads before and after trimming", &columns, FIELDS);
    Some(html! { (facts_list(&trimming_facts(&trimming))) (wrap_figures(figures, [table])) })
}

/// Returns the path of a read or base count before trimming, relative to `trimming`.
fn path_before(name: &str) -> String {
    format!("summary/before_filtering/{name}")
}

fn trimming_facts(trimming: &RunPart<'_>) -> Vec<(&'static str, Markup)> {
    let of_all = |part: &str, whole: &str| {
        let part = trimming.number(part)?;
        let share = Quantity::share(Some(part.clone()), trimming.number(&path_before(whole)))?;
        let [part, share] = [part.to_html(NumberFormat::Plain), share.to_html(NumberFormat::Share)];
        Some(html! { (part) " (" (share) ")" })
    };
    let adapter = |which: &str| {
        let bases = trimming.text(&format!("adapter_cutting/{which}"));
        (!bases.is_empty() && bases != "unspecified").then(|| html! { code { (bases) } })
    };
    [
        ("Reads kept", of_all("filtering_result/passed_filter_reads", "total_reads")),
        ("Reads with adapter", of_all("adapter_cutting/adapter_trimmed_reads", "total_reads")),
        ("Adapter bases removed", of_all("adapter_cutting/adapter_trimmed_bases", "total_bases")),
        ("Reads with a poly-X tail", of_all("polyx_trimming/total_polyx_trimmed_reads", "total_reads")),
        ("Poly-X bases removed", of_all("polyx_trimming/total_polyx_trimmed_bases", "total_bases")),
        ("Corrected reads", of_all("filtering_result/corrected_reads", "total_reads")),
        ("Corrected bases", of_all("filtering_result/corrected_bases", "total_bases")),
        ("Read 1 adapter", adapter("read1_adapter_sequence")),
        ("Read 2 adapter", adapter("read2_adapter_sequence")),
    ]
    .into_iter()
    .filter_map(|(title, value)| Some((title, value?)))
    .collect()
}

fn dropped_read_figure(sample: &PageSample<'_>, trimming: &RunPart<'_>) -> Option<Figure> {
    let known = FILTERED
        .iter()
        .filter_map(|(key, title)| Some((*title, trimming.number(&format!("filtering_result/{key}"))?)));
    let known: Vec<(&str, Quantity)> = known.collect();
    if known.len() < 2 {
        return None;
    }
    let whole = trimming.number(&path_before("total_reads"));
    let row = |(title, reads): &(&str, Quantity)| {
        let share = Quantity::share(Some(reads.clone()), whole.clone());
        vec![
            Cell::text(title),
            Cell::number(Some(reads), NumberFormat::Plain),
            Cell::number(share.as_ref(), NumberFormat::Share),
        ]
    };
    let rows: Vec<Vec<Cell>> = known.iter().map(row).collect();
    let drawn = known.iter().skip(1).map(|(title, reads)| ((*title).to_string(), reads.value));
    let drawn: Vec<(String, f64)> = drawn.collect();
    let said: Vec<String> =
        drawn.iter().map(|(title, reads)| format!("{title}: {}", plain_number(*reads))).collect();
    Some(Figure {
        id: sample.element_id("dropped-plot"),
        title: "Reads dropped by trimming",
        reading:
            "Dropped reads by reason. If one read of a pair fails, both are dropped, and both are counted \
            under the more serious reason."
                .into(),
        alt: format!("Bars of dropped reads by reason. {}.", said.join(", ")),
        svg: draw_bars(&Axes { x: "", y: "Reads", ..Axes::default() }, drawn),
        table: table_of_cells("Reads by filter result", &["Result", "Reads", "Percentage"], &rows),
        ..Figure::default()
    })
}

fn base_share_figure(
    sample: &PageSample<'_>,
    (before, after): (&RunPart<'_>, &RunPart<'_>),
) -> Option<Figure> {
    let both = |key: &str| Some([before.number(key)?, after.number(key)?]);
    let rates = [
        ("Q20 bases", both("q20_rate")?),
        ("Q30 bases", both("q30_rate")?),
        ("GC content", both("gc_content")?),
    ];
    let row = |(title, both): &(&str, [Quantity; 2])| {
        let cells = both.iter().map(|it| Cell::number(Some(it), NumberFormat::Share));
        std::iter::once(Cell::text(title)).chain(cells).collect()
    };
    let rows: Vec<Vec<Cell>> = rates.iter().map(row).collect();
    let groups = rates.iter().map(|(title, both)| {
        ((*title).to_string(), both.iter().map(|it| it.value).collect::<Vec<f64>>())
    });
    let axes = Axes {
        x: "",
        y: "Percentage of bases",
        y_range: Some((0.0, 1.0)),
        percent: true,
        ..Axes::default()
    };
    Some(Figure {
        id: sample.element_id("rates-plot"),
        title: "Base quality and GC before and after trimming",
        reading:
            "Trimming removes low-quality reads and read ends, so the Q20 and Q30 percentages rise. \
            GC content should hardly change."
                .into(),
        alt: "Bars of the percentages of Q20, Q30 and GC bases, before and after trimming.".into(),
        legend: vec!["before".into(), "after".into()],
        svg: draw_grouped_bars(&axes, groups.collect()),
        table: table_of_cells("Percentage of bases", &["Bases", "Before", "After"], &rows),
        ..Figure::default()
    })
}

fn template_length_figure(sample: &PageSample<'_>, trimming: &RunPart<'_>) -> Option<Figure> {
    let sizes = trimming.part("insert_size")?;
    let counts = sizes.column("histogram");
    if counts.iter().all(|pairs| *pairs == 0.0) {
        return None;
    }
    let points: Vec<(f64, f64)> =
        counts.iter().enumerate().map(|(size, pairs)| (size as f64, *pairs)).collect();
    let row = |name: String, path: &str| vec![Cell::text(name), sizes.cell(path, NumberFormat::Plain)];
    let known = points.iter().filter(|(_, pairs)| *pairs > 0.0);
    let mut rows: Vec<Vec<Cell>> =
        known.map(|(size, _)| row(plain_number(*size), &format!("histogram/{size}"))).collect();
    rows.push(row("No overlap".into(), "unknown"));
    let peak = sizes.value("peak")?;
    let length = trimming.value("read1_before_filtering/total_cycles");
    let length = length.filter(|length| *length > 0.0);
    let marks = length.map(|length| (length, "read length".to_string())).into_iter().collect();
    Some(Figure {
        has_lines: true,
        id: sample.element_id("templates-plot"),
        title: "Insert size from read overlap",
        reading:
            "Read pairs whose mates overlap, by insert size. Longer inserts than both reads together, \
            minus the required overlap, cannot be measured this way, so the curve ends there; the \
            table counts these pairs as No overlap. If the insert is shorter than the read length, the \
            reads ran into the adapter, which was trimmed."
                .into(),
        alt: format!(
            "Curve of read pairs by insert size; the most frequent is {} bases.",
            plain_number(peak)
        ),
        svg: draw_lines(
            &Axes { x: "Insert size (bases)", y: "Read pairs", marks, ..Axes::default() },
            vec![points],
        ),
        table: table_of_cells(
            "Insert size from read overlap",
            &["Insert size (bases)", "Read pairs"],
            &rows,
        ),
        ..Figure::default()
    })
}

fn tail_figure(sample: &PageSample<'_>, trimming: &RunPart<'_>) -> Option<Figure> {
    let tails = trimming.part("polyx_trimming")?;
    let bases = ["A", "T", "C", "G"];
    let reads =
        |base: &&str| Some(((*base).to_string(), tails.value(&format!("polyx_trimmed_reads/{base}"))?));
    let drawn: Vec<(String, f64)> = bases.iter().map(reads).collect::<Option<_>>()?;
    let row = |base: &&str| {
        let cell = |field: &str| tails.cell(&format!("{field}/{base}"), NumberFormat::Plain);
        vec![Cell::text(*base), cell("polyx_trimmed_reads"), cell("polyx_trimmed_bases")]
    };
    Some(Figure {
        id: sample.element_id("tails-plot"),
        title: "Poly-X tails",
        reading:
            "Reads by the base of the trimmed tail. Two-colour instruments call G where there is no \
            signal."
                .into(),
        alt: "Bars of the number of reads with a poly-A, poly-T, poly-C and poly-G tail.".into(),
        svg: draw_bars(&Axes { x: "Tail base", y: "Reads", ..Axes::default() }, drawn),
        table: table_of_cells(
            "Poly-X tails",
            &["Tail base", "Reads", "Bases removed"],
            &bases.iter().map(row).collect::<Vec<_>>(),
        ),
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use serde_json::{Value, json};

    fn trimmed() -> Value {
        let all = |reads: u32, bases: u32| {
            json!({
                "total_reads": reads, "total_bases": bases, "q20_bases": bases, "q30_bases": bases,
                "q20_rate": 0.9, "q30_rate": 0.8, "read1_mean_length": 150, "gc_content": 0.5,
            })
        };
        json!({"trimming": {
            "summary": {"sequencing": "x", "before_filtering": all(1000, 150_000), "after_filtering": all(900, 100_000)},
            "filtering_result": {
                "passed_filter_reads": 900, "low_quality_reads": 10, "too_many_N_reads": 20, "too_short_reads": 70,
                "too_long_reads": 0,
            },
            "insert_size": {"peak": 2, "unknown": 7, "histogram": [0, 1, 5, 0]},
            "adapter_cutting": {
                "adapter_trimmed_reads": 250, "adapter_trimmed_bases": 30_000, "read1_adapter_sequence": "<AC>",
            },
        }})
    }

    fn body(value: &Value) -> Option<String> {
        let limits = Limits::default();
        let sample = PageSample { run: RunPart::new(value), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(Markup::into_string)
    }

    #[test]
    fn each_number_says_where_it_is_from() {
        let body = body(&trimmed()).unwrap();
        for wanted in [
            "<data value=\"70\" data-json=\"/trimming/filtering_result/too_short_reads\">70</data>",
            "<data value=\"0.07\" data-json=\"/trimming/filtering_result/too_short_reads\" \
             data-of=\"/trimming/summary/before_filtering/total_reads\">7.0\u{a0}%</data>",
            "<data value=\"0.2\" data-json=\"/trimming/adapter_cutting/adapter_trimmed_bases\" \
             data-of=\"/trimming/summary/before_filtering/total_bases\">20.0\u{a0}%</data>",
            "<data value=\"5\" data-json=\"/trimming/insert_size/histogram/2\">5</data>",
            "<code>&lt;AC&gt;</code>",
        ] {
            assert!(body.contains(wanted), "{wanted}\n{body}");
        }
        assert!(!body.contains("histogram/0") && !body.contains("tails-plot"), "{body}");
    }

    #[test]
    fn a_run_that_does_not_trim_has_no_section() {
        assert_eq!(body(&json!({"trimming": null})), None);
        assert_eq!(body(&json!({})), None);
    }
}

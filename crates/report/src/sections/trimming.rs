//! The section "Trimming": reads that were dropped, bases that were cut off, and template lengths
//! from the overlap of mates. The JSON has the keys of fastp's.

use crate::metrics::{ADAPTER, TRIMMED_AFTER, TRIMMED_BEFORE};
use crate::plot::{Axes, Figure, draw_bars, draw_grouped_bars, draw_lines};
use crate::run::RunDescription;
use crate::section::{PageSample, PageSection, facts_list, wrap_figures};
use crate::table::{table_of_cells, transposed_table};
use crate::text::{NumberFormat, escape_html, plain_number};

const RESULTS: &str = "/trimming/filtering_result";

/// fastp's results of filtering a read: key in the JSON, name in the table.
const FILTERED: &[(&str, &str)] = &[
    ("passed_filter_reads", "passed"),
    ("low_quality_reads", "low quality"),
    ("too_many_N_reads", "many N"),
    ("too_short_reads", "too short"),
    ("too_long_reads", "too long"),
    ("low_complexity_reads", "low complexity"),
];

const FIELDS: &[(&str, &str, NumberFormat)] = &[
    ("total_reads", "Reads", NumberFormat::Plain),
    ("total_bases", "Bases", NumberFormat::Plain),
    ("read1_mean_length", "Mean length of first reads", NumberFormat::Plain),
    ("read2_mean_length", "Mean length of last reads", NumberFormat::Plain),
    ("q20_rate", "Bases of Q20 or more", NumberFormat::Share),
    ("q30_rate", "Bases of Q30 or more", NumberFormat::Share),
    ("gc_content", "GC", NumberFormat::Share),
];

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    run.at("/trimming")?;
    let mut list = Vec::new();
    list.extend(dropped_read_figure(sample));
    list.extend(base_share_figure(sample));
    list.extend(template_length_figure(sample));
    list.extend(tail_figure(sample));
    let columns = [("before", TRIMMED_BEFORE), ("after", TRIMMED_AFTER)]
        .map(|(title, pointer)| (title.to_string(), pointer.to_string()));
    list.push(transposed_table(run, "Reads before and after trimming", &columns, FIELDS));
    let body = format!("{}{}", facts_list(&trimming_facts(run)), wrap_figures(&list));
    Some(PageSection { id: "trimming", title: "Trimming", body })
}

fn trimming_facts(run: &RunDescription<'_>) -> Vec<(&'static str, String)> {
    let at = |name: &str| format!("{ADAPTER}/{name}");
    let of_all = |part: String, whole: &str| {
        let whole = format!("{TRIMMED_BEFORE}/{whole}");
        let share = run.share(std::slice::from_ref(&part), &[whole])?;
        Some(format!(
            "{} ({})",
            run.number(&part)?.to_html(NumberFormat::Plain),
            share.to_html(NumberFormat::Share)
        ))
    };
    let adapter = |which: &str| {
        let bases = run.text(&at(which));
        (!bases.is_empty() && bases != "unspecified")
            .then(|| format!("<code>{}</code>", escape_html(bases)))
    };
    let tails = |name: &str, whole: &str| of_all(format!("/trimming/polyx_trimming/{name}"), whole);
    [
        ("Reads that are left", of_all(format!("{RESULTS}/passed_filter_reads"), "total_reads")),
        ("Reads with adapter", of_all(at("adapter_trimmed_reads"), "total_reads")),
        ("Bases cut off as adapter", of_all(at("adapter_trimmed_bases"), "total_bases")),
        ("Reads with a tail of one base", tails("total_polyx_trimmed_reads", "total_reads")),
        ("Bases cut off as such tails", tails("total_polyx_trimmed_bases", "total_bases")),
        ("Corrected reads", of_all(format!("{RESULTS}/corrected_reads"), "total_reads")),
        ("Corrected bases", of_all(format!("{RESULTS}/corrected_bases"), "total_bases")),
        ("Adapter of first reads", adapter("read1_adapter_sequence")),
        ("Adapter of last reads", adapter("read2_adapter_sequence")),
    ]
    .into_iter()
    .filter_map(|(title, value)| Some((title, value?)))
    .collect()
}

fn dropped_read_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let known = FILTERED.iter().filter_map(|(key, title)| {
        let pointer = format!("{RESULTS}/{key}");
        Some((*title, run.number(&pointer)?, pointer))
    });
    let known: Vec<_> = known.collect();
    let whole = [format!("{TRIMMED_BEFORE}/total_reads")];
    let row = |(title, reads, pointer): &(&str, crate::run::Quantity, String)| {
        let share = run.share(std::slice::from_ref(pointer), &whole);
        let share = share.map_or("–".into(), |it| it.to_html(NumberFormat::Share));
        vec![(*title).to_string(), reads.to_html(NumberFormat::Plain), share]
    };
    let rows: Vec<Vec<String>> = known.iter().map(row).collect();
    let drawn = known.iter().skip(1).map(|(title, reads, _)| ((*title).to_string(), reads.value));
    let drawn: Vec<(String, f64)> = drawn.collect();
    let said: Vec<String> =
        drawn.iter().map(|(title, reads)| format!("{title}: {}", plain_number(*reads))).collect();
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("dropped-plot"),
        title: "Reads dropped by trimming".into(),
        reading: "By the reason. Pairs go if either read fails, and both count by the worse result."
            .into(),
        alt: format!("Bars of reads that were dropped. {}.", said.join(", ")),
        legend: Vec::new(),
        svg: draw_bars(&Axes { x: "", y: "Reads", ..Axes::default() }, drawn),
        table: table_of_cells(
            "Reads by what the filters of trimming say",
            &["Result", "Reads", "Share"],
            &rows,
        ),
    };
    (known.len() > 1).then(|| figure.to_html())
}

fn base_share_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let both = |key: &str| {
        let of = |whole: &str| run.number(&format!("{whole}/{key}"));
        Some([of(TRIMMED_BEFORE)?, of(TRIMMED_AFTER)?])
    };
    let rates = [
        ("Q20 or more", both("q20_rate")?),
        ("Q30 or more", both("q30_rate")?),
        ("GC", both("gc_content")?),
    ];
    let row = |(title, both): &(&str, [crate::run::Quantity; 2])| {
        let cells = both.iter().map(|it| it.to_html(NumberFormat::Share));
        std::iter::once((*title).to_string()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = rates.iter().map(row).collect();
    let groups = rates.iter().map(|(title, both)| {
        ((*title).to_string(), both.iter().map(|it| it.value).collect::<Vec<f64>>())
    });
    let axes =
        Axes { x: "", y: "Share of bases", y_range: Some((0.0, 1.0)), percent: true, ..Axes::default() };
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("rates-plot"),
        title: "Bases before and after trimming".into(),
        reading: "More bases of high quality are left where bad ends and bad reads went. GC should \
            hardly change."
            .into(),
        alt: "Bars of the shares of bases of Q20, of Q30, and of G and C, before and after trimming."
            .into(),
        legend: vec!["before".into(), "after".into()],
        svg: draw_grouped_bars(&axes, groups.collect()),
        table: table_of_cells("Shares of bases", &["Bases", "Before", "After"], &rows),
    };
    Some(figure.to_html())
}

fn template_length_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let list = "/trimming/insert_size/histogram";
    let counts = run.column(list);
    if counts.iter().all(|pairs| *pairs == 0.0) {
        return None;
    }
    let points: Vec<(f64, f64)> =
        counts.iter().enumerate().map(|(size, pairs)| (size as f64, *pairs)).collect();
    let cell = |pointer: &str| run.number_html(pointer, NumberFormat::Plain);
    let known = points.iter().filter(|(_, pairs)| *pairs > 0.0);
    let mut rows: Vec<Vec<String>> =
        known.map(|(size, _)| vec![plain_number(*size), cell(&format!("{list}/{size}"))]).collect();
    rows.push(vec!["no overlap".into(), cell("/trimming/insert_size/unknown")]);
    let peak = run.number("/trimming/insert_size/peak")?;
    let length = run.number("/trimming/read1_before_filtering/total_cycles");
    let length = length.filter(|it| it.value > 0.0);
    let marks = length.map(|it| (it.value, "read length".to_string())).into_iter().collect();
    let figure = Figure {
        has_lines: true,
        id: sample.element_id("templates-plot"),
        title: "Lengths of templates".into(),
        reading: "Pairs by the length of their template, where mates overlap. Templates left of the \
            read length end in adapter, which was cut off."
            .into(),
        alt: format!(
            "Curve of pairs by the length of their template; most have {} bases.",
            plain_number(peak.value)
        ),
        legend: Vec::new(),
        svg: draw_lines(
            &Axes { x: "Length of the template (bases)", y: "Pairs", marks, ..Axes::default() },
            vec![points],
        ),
        table: table_of_cells("Lengths of templates where mates overlap", &["Bases", "Pairs"], &rows),
    };
    Some(figure.to_html())
}

fn tail_figure(sample: &PageSample<'_>) -> Option<String> {
    let run = &sample.run;
    let at = |field: &str, base: &str| format!("/trimming/polyx_trimming/{field}/{base}");
    let bases = ["A", "T", "C", "G"];
    let drawn = bases
        .iter()
        .map(|base| Some(((*base).to_string(), run.number(&at("polyx_trimmed_reads", base))?.value)));
    let drawn: Vec<(String, f64)> = drawn.collect::<Option<_>>()?;
    let row = |base: &&str| {
        let cell = |field: &str| run.number_html(&at(field, base), NumberFormat::Plain);
        vec![(*base).to_string(), cell("polyx_trimmed_reads"), cell("polyx_trimmed_bases")]
    };
    let figure = Figure {
        has_lines: false,
        id: sample.element_id("tails-plot"),
        title: "Tails of one base".into(),
        reading: "Reads by the base of the tail that was cut off. Tails of G are what instruments of \
            two colours see where there is no signal."
            .into(),
        alt: "Bars of the reads with a tail of A, T, C and G.".into(),
        legend: Vec::new(),
        svg: draw_bars(&Axes { x: "Base", y: "Reads", ..Axes::default() }, drawn),
        table: table_of_cells(
            "Tails of one base",
            &["Base", "Reads", "Bases cut off"],
            &bases.iter().map(row).collect::<Vec<_>>(),
        ),
    };
    Some(figure.to_html())
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
        let sample =
            PageSample { run: RunDescription::new(value), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(|section| section.body)
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

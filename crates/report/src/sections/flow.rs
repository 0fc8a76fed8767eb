//! Reads through the steps.

use crate::plot::{Figure, flow};
use crate::run::Quantity;
use crate::section::{Sample, Section, facts, figures};
use crate::table::{of_cells, wide};
use crate::text::{Form, escape};

/// The section.
pub fn section(sample: &Sample<'_>) -> Option<Section> {
    let run = &sample.run;
    let of = |name: &str| {
        let both = ["passed", "failed"].map(|which| format!("/reports/flagstat/{name}/{which}"));
        run.sum(&both)
    };
    let named: Vec<(&str, Quantity)> = [
        ("primary reads", "primary"),
        ("mapped", "primary mapped"),
        ("properly paired", "properly paired"),
        ("duplicates", "primary duplicates"),
        ("secondary records", "secondary"),
        ("supplementary records", "supplementary"),
    ]
    .into_iter()
    .filter_map(|(title, name)| Some((title, of(name)?)))
    .collect();
    let value = |title: &str| named.iter().find(|(it, _)| *it == title).map(|(_, source)| source.value);
    let mut rows: Vec<Vec<String>> = vec![
        vec!["records read".into(), run.shown("/reads/read", Form::Plain)],
        vec!["records written".into(), run.shown("/reads/written", Form::Plain)],
        vec![
            "records written to other files".into(),
            run.shown("/reads/written_elsewhere", Form::Plain),
        ],
    ];
    for (i, count) in run.list("/reads/counts").iter().enumerate() {
        let name = count.get("name").and_then(|it| it.as_str()).unwrap_or("");
        rows.push(vec![escape(name), run.shown(&format!("/reads/counts/{i}/reads"), Form::Plain)]);
    }
    rows.extend(
        named.iter().map(|(title, source)| vec![(*title).to_string(), source.html(Form::Plain)]),
    );
    let table = of_cells("Reads through the steps", &["Reads", "Number"], &rows);
    let body = match (value("primary reads"), value("mapped")) {
        (Some(all), Some(mapped)) if all > 0.0 => {
            let duplicates = value("duplicates").unwrap_or(0.0);
            let links: Vec<(String, String, f64)> = [
                ("reads", "mapped", mapped),
                ("mapped", "unique", mapped - duplicates),
                ("mapped", "duplicates", duplicates),
                ("reads", "unmapped", all - mapped),
            ]
            .into_iter()
            .filter(|(_, _, reads)| *reads > 0.0)
            .map(|(from, to, reads)| {
                (label(from, all, mapped, duplicates), label(to, all, mapped, duplicates), reads)
            })
            .collect();
            let figure = Figure {
                has_lines: false,
                id: sample.id("flow-plot"),
                title: "From reads to usable reads".into(),
                reading: "The width of a band is its number of primary reads.".into(),
                alt: format!(
                    "Of {all} reads, {mapped} are mapped, and {duplicates} of these are duplicates."
                ),
                legend: Vec::new(),
                svg: flow(&links),
                table: String::new(),
            };
            figures(&[figure.html(), wide("Reads through the steps", &table)])
        }
        _ => {
            let facts_of = [
                ("Records read", run.shown("/reads/read", Form::Plain)),
                ("Records written", run.shown("/reads/written", Form::Plain)),
            ];
            format!("{}{table}", facts(&facts_of))
        }
    };
    Some(Section { id: "flow", title: "Reads through the steps", body })
}

/// The name of a band with its share of all reads.
fn label(name: &str, all: f64, mapped: f64, duplicates: f64) -> String {
    let reads = match name {
        "mapped" => mapped,
        "unmapped" => all - mapped,
        "unique" => mapped - duplicates,
        "duplicates" => duplicates,
        _ => return "reads".into(),
    };
    format!("{name} {}", Form::Share.text(reads / all))
}

//! The section "Reads through the steps": how many reads were read, dropped, mapped and written.

use crate::metrics::{TRIMMED_BEFORE, dropped};
use crate::plot::{Figure, flow};
use crate::run::Quantity;
use crate::section::{Sample, Section, facts, figures};
use crate::table::{of_cells, wide};
use crate::text::{Form, escape};

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
    let sequenced = run.number(&format!("{TRIMMED_BEFORE}/total_reads"));
    let trimmed_away = run.sum(&dropped(run));
    for (title, reads) in [("reads before trimming", &sequenced), ("dropped by trimming", &trimmed_away)]
    {
        rows.extend(reads.as_ref().map(|reads| vec![title.to_string(), reads.html(Form::Plain)]));
    }
    rows.extend(
        named.iter().map(|(title, source)| vec![(*title).to_string(), source.html(Form::Plain)]),
    );
    let table = of_cells("Reads through the steps", &["Reads", "Number"], &rows);
    let body = match (value("primary reads"), value("mapped")) {
        (Some(all), Some(mapped)) if all > 0.0 => {
            let duplicates = value("duplicates").unwrap_or(0.0);
            let trimmed_away = trimmed_away.map_or(0.0, |it| it.value);
            let sequenced = sequenced.map_or(all, |it| it.value);
            let links = links(&FlowCounts { sequenced, trimmed_away, all, mapped, duplicates });
            let figure = Figure {
                has_lines: false,
                id: sample.id("flow-plot"),
                title: "From reads to usable reads".into(),
                reading: if trimmed_away > 0.0 {
                    "The width of a band is its number of primary reads. The lowest were dropped by trimming \
                     and by filters."
                        .into()
                } else {
                    "The width of a band is its number of primary reads.".into()
                },
                alt: format!(
                    "{}Of {all} reads, {mapped} are mapped, and {duplicates} of these are duplicates.",
                    if trimmed_away > 0.0 {
                        format!("Trimming dropped {trimmed_away} of {sequenced} reads. ")
                    } else {
                        String::new()
                    }
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

struct FlowCounts {
    sequenced: f64,
    trimmed_away: f64,
    /// Reads that are left after trimming and filters.
    all: f64,
    mapped: f64,
    duplicates: f64,
}

/// Returns the links of the Sankey diagram: source, target, number of reads. The name of a node
/// includes its percentage. Links without reads are omitted.
fn links(reads: &FlowCounts) -> Vec<(String, String, f64)> {
    let FlowCounts { sequenced, trimmed_away, all, mapped, duplicates } = *reads;
    let named = |name: &str, part: f64, of: f64| format!("{name} {}", Form::Share.text(part / of));
    let left = if trimmed_away > 0.0 { named("left", all, sequenced) } else { "reads".to_string() };
    let whole = "reads".to_string();
    let with_mapped = named("mapped", mapped, all);
    let mut links = vec![
        (left.clone(), with_mapped.clone(), mapped),
        (with_mapped.clone(), named("unique", mapped - duplicates, all), mapped - duplicates),
        (with_mapped, named("duplicates", duplicates, all), duplicates),
        (left.clone(), named("unmapped", all - mapped, all), all - mapped),
    ];
    if trimmed_away > 0.0 {
        // The run's filters may drop further reads after trimming.
        let others = sequenced - trimmed_away - all;
        links.extend([
            (whole.clone(), left, all),
            (whole.clone(), named("trimming", trimmed_away, sequenced), trimmed_away),
            (whole, named("filters", others, sequenced), others),
        ]);
    }
    links.retain(|(_, _, reads)| *reads > 0.0);
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_trimming_drops_leaves_the_flow_first() {
        let mut reads = FlowCounts {
            sequenced: 200.0,
            trimmed_away: 0.0,
            all: 100.0,
            mapped: 90.0,
            duplicates: 9.0,
        };
        let shown = |reads: &FlowCounts| {
            let links = links(reads).into_iter();
            links
                .map(|(from, to, reads)| format!("{from} > {to}: {reads}").replace('\u{a0}', ""))
                .collect::<Vec<_>>()
        };
        let plain = ["mapped 90.0% > unique 81.0%: 81", "mapped 90.0% > duplicates 9.0%: 9"];
        assert_eq!(
            shown(&reads),
            ["reads > mapped 90.0%: 90", plain[0], plain[1], "reads > unmapped 10.0%: 10"]
        );
        reads.trimmed_away = 60.0;
        assert_eq!(
            shown(&reads),
            [
                "left 50.0% > mapped 90.0%: 90",
                plain[0],
                plain[1],
                "left 50.0% > unmapped 10.0%: 10",
                "reads > left 50.0%: 100",
                "reads > trimming 30.0%: 60",
                "reads > filters 20.0%: 40",
            ]
        );
    }
}

//! The section "Reads through the steps": how many reads were read, dropped, mapped and written.

use crate::metrics::{TRIMMED_BEFORE, dropped_read_pointers};
use crate::plot::{Figure, draw_flow};
use crate::run::Quantity;
use crate::section::{PageSample, PageSection, facts_list, wrap_figures};
use crate::table::{table_of_cells, wrap_scrollable};
use crate::text::{NumberFormat, escape_html};

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
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
        vec!["records read".into(), run.number_html("/reads/read", NumberFormat::Plain)],
        vec!["records written".into(), run.number_html("/reads/written", NumberFormat::Plain)],
        vec![
            "records written to other files".into(),
            run.number_html("/reads/written_elsewhere", NumberFormat::Plain),
        ],
    ];
    for (i, count) in run.list("/reads/counts").iter().enumerate() {
        let name = count.get("name").and_then(|it| it.as_str()).unwrap_or("");
        rows.push(vec![
            escape_html(name),
            run.number_html(&format!("/reads/counts/{i}/reads"), NumberFormat::Plain),
        ]);
    }
    let sequenced = run.number(&format!("{TRIMMED_BEFORE}/total_reads"));
    let trimmed_away = run.sum(&dropped_read_pointers(run));
    for (title, reads) in [("reads before trimming", &sequenced), ("dropped by trimming", &trimmed_away)]
    {
        rows.extend(
            reads.as_ref().map(|reads| vec![title.to_string(), reads.to_html(NumberFormat::Plain)]),
        );
    }
    rows.extend(
        named
            .iter()
            .map(|(title, source)| vec![(*title).to_string(), source.to_html(NumberFormat::Plain)]),
    );
    let table = table_of_cells("Reads through the steps", &["Reads", "Number"], &rows);
    let body = match (value("primary reads"), value("mapped")) {
        (Some(all), Some(mapped)) if all > 0.0 => {
            let duplicates = value("duplicates").unwrap_or(0.0);
            let trimmed_away = trimmed_away.map_or(0.0, |it| it.value);
            let sequenced = sequenced.map_or(all, |it| it.value);
            let links = flow_links(&FlowCounts { sequenced, trimmed_away, all, mapped, duplicates });
            let figure = Figure {
                has_lines: false,
                id: sample.element_id("flow-plot"),
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
                svg: draw_flow(&links),
                table: String::new(),
            };
            wrap_figures(&[figure.to_html(), wrap_scrollable("Reads through the steps", &table)])
        }
        _ => {
            let facts_of = [
                ("Records read", run.number_html("/reads/read", NumberFormat::Plain)),
                ("Records written", run.number_html("/reads/written", NumberFormat::Plain)),
            ];
            format!("{}{table}", facts_list(&facts_of))
        }
    };
    Some(PageSection { id: "flow", title: "Reads through the steps", body })
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
fn flow_links(reads: &FlowCounts) -> Vec<(String, String, f64)> {
    let FlowCounts { sequenced, trimmed_away, all, mapped, duplicates } = *reads;
    let named = |name: &str, part: f64, of: f64| {
        format!("{name} {}", NumberFormat::Share.format_number(part / of))
    };
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
            let links = flow_links(reads).into_iter();
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

//! The section "Reads at each step": numbers of reads that were read, dropped, mapped and written.

use maud::{Markup, html};

use crate::flow_plot::draw_flow;
use crate::metrics::{TRIMMED_AFTER, TRIMMED_BEFORE, dropped_reads, duplicate_reads, flagstat_count};
use crate::plot::Figure;
use crate::run::Quantity;
use crate::section::{PageSample, facts_list, wrap_figures};
use crate::table::{Cell, table_of_cells, wrap_scrollable};
use crate::text::NumberFormat;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let flagged = flagstat_count(run, "primary duplicates");
    // A run that removes duplicates still has their metrics.
    let has_all = |marked: &Quantity| flagged.as_ref().is_some_and(|it| it.value >= marked.value);
    let marked = duplicate_reads(run).filter(has_all);
    let flagged_title = match marked {
        Some(_) => "Reads with the duplicate flag, including unmapped mates",
        None => "Duplicates, including unmapped mates",
    };
    let duplicates = marked.as_ref().or(flagged.as_ref()).map_or(0.0, |it| it.value);
    let count = |name: &str| flagstat_count(run, name);
    let named: Vec<(&str, Quantity)> = [
        ("Primary reads", count("primary")),
        ("Mapped", count("primary mapped")),
        ("Properly paired", count("properly paired")),
        ("Mapped duplicates", marked.clone()),
        (flagged_title, flagged),
        ("Secondary alignments", count("secondary")),
        ("Supplementary alignments", count("supplementary")),
    ]
    .into_iter()
    .filter_map(|(title, reads)| Some((title, reads?)))
    .collect();
    let value = |title: &str| named.iter().find(|(it, _)| *it == title).map(|(_, source)| source.value);
    let reads = |path: &str| run.cell(path, NumberFormat::Plain);
    let sequenced = run.number(&format!("{TRIMMED_BEFORE}/total_reads"));
    let kept = run.number(&format!("{TRIMMED_AFTER}/total_reads"));
    let trimmed_away = dropped_reads(run);
    let trimming = [
        ("Reads before trimming", &sequenced),
        ("Reads dropped by trimming", &trimmed_away),
        ("Reads after trimming", &kept),
    ];
    let trimming = trimming.into_iter().filter_map(|(title, reads)| Some((title, reads.as_ref()?)));
    let mut rows: Vec<Vec<Cell>> = trimming
        .map(|(title, reads)| vec![Cell::text(title), Cell::number(Some(reads), NumberFormat::Plain)])
        .collect();
    // An aligner adds records for supplementary alignments, so these are not the reads after trimming.
    let read_title =
        if sequenced.is_some() { "Alignment records, after trimming" } else { "Records read" };
    rows.extend([
        vec![Cell::text(read_title), reads("reads/read")],
        vec![Cell::text("Records written"), reads("reads/written")],
        vec![Cell::text("Records written to other files"), reads("reads/written_elsewhere")],
    ]);
    for count in run.items("reads/counts") {
        rows.push(vec![
            Cell::text(capitalize(count.text("name"))),
            count.cell("reads", NumberFormat::Plain),
        ]);
    }
    let suffix = if sequenced.is_some() { ", after trimming" } else { "" };
    for (title, reads) in &named {
        let title = format!("{title}{}", if *title == "Primary reads" { suffix } else { "" });
        rows.push(vec![Cell::text(title), Cell::number(Some(reads), NumberFormat::Plain)]);
    }
    let table = table_of_cells("Reads at each step", &["Category", "Count"], &rows);
    let (Some(all), Some(mapped)) = (value("Primary reads").filter(|all| *all > 0.0), value("Mapped"))
    else {
        let facts = [("Records read", reads("reads/read")), ("Records written", reads("reads/written"))];
        return Some(html! { (facts_list(&facts)) (table) });
    };
    let figure = flow_figure(
        sample,
        &FlowCounts {
            sequenced: sequenced.map_or(all, |it| it.value),
            trimmed_away: trimmed_away.map_or(0.0, |it| it.value),
            all,
            mapped,
            duplicates,
            has_unmapped_mates: marked.is_none(),
        },
    );
    Some(wrap_figures([Some(figure)], [wrap_scrollable("Reads at each step", &table)]))
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

struct FlowCounts {
    sequenced: f64,
    trimmed_away: f64,
    /// Reads that remain after trimming and filters.
    all: f64,
    mapped: f64,
    duplicates: f64,
    /// Whether the duplicates include unmapped reads, because only flagstat counts them.
    has_unmapped_mates: bool,
}

fn flow_figure(sample: &PageSample<'_>, reads: &FlowCounts) -> Figure {
    let FlowCounts { sequenced, trimmed_away, all, mapped, duplicates, .. } = *reads;
    let mut reading = "Band width is proportional to the number of primary reads. Duplicates are a \
        percentage of all primary reads here, and of the mapped reads in the section Duplicates."
        .to_string();
    let mut alt =
        format!("Of {all} reads, {mapped} are mapped, and {duplicates} of these are duplicates.");
    if reads.has_unmapped_mates && duplicates > 0.0 {
        reading +=
            " Duplicates include the unmapped mates of duplicates, because samtools flagstat does.";
    }
    if trimmed_away > 0.0 {
        reading += " The bottom bands show reads dropped by trimming and filters.";
        alt = format!("Trimming dropped {trimmed_away} of {sequenced} reads. {alt}");
    }
    Figure {
        id: sample.element_id("flow-plot"),
        title: "From raw to usable reads",
        reading,
        alt,
        svg: draw_flow(&flow_links(reads)),
        ..Figure::default()
    }
}

/// Returns the links of the Sankey diagram: source node, target node, number of reads. Node names
/// include percentages. Omits links without reads.
fn flow_links(reads: &FlowCounts) -> Vec<(String, String, f64)> {
    let FlowCounts { sequenced, trimmed_away, all, mapped, duplicates, .. } = *reads;
    let named = |name: &str, part: f64, of: f64| {
        format!("{name} {}", NumberFormat::Share.format_number(part / of))
    };
    let left = if trimmed_away > 0.0 { named("kept", all, sequenced) } else { "reads".to_string() };
    let whole = "reads".to_string();
    let with_mapped = named("mapped", mapped, all);
    let mut links = vec![
        (left.clone(), with_mapped.clone(), mapped),
        (with_mapped.clone(), named("unique", mapped - duplicates, all), mapped - duplicates),
        (with_mapped, named("duplicates", duplicates, all), duplicates),
        (left.clone(), named("unmapped", all - mapped, all), all - mapped),
    ];
    if trimmed_away > 0.0 {
        // After trimming, filters of the run may drop more reads.
        let others = sequenced - trimmed_away - all;
        links.extend([
            (whole.clone(), left, all),
            (whole.clone(), named("trimmed out", trimmed_away, sequenced), trimmed_away),
            (whole, named("filtered out", others, sequenced), others),
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
            has_unmapped_mates: false,
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
                "kept 50.0% > mapped 90.0%: 90",
                plain[0],
                plain[1],
                "kept 50.0% > unmapped 10.0%: 10",
                "reads > kept 50.0%: 100",
                "reads > trimmed out 30.0%: 60",
                "reads > filtered out 20.0%: 40",
            ]
        );
    }
}

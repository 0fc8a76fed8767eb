//! The section about DNA damage: Picard's pre-adapter and bait bias scores, and its substitution
//! rates.

use maud::{Markup, html};

use crate::plot::{Axes, Figure, draw_grouped_bars};
use crate::run::RunPart;
use crate::section::{PageSample, wrap_figures};
use crate::table::{row_table, table_of_rows};
use crate::text::NumberFormat;

/// The highest score that Picard states, also if no base is false.
pub const MAX_SCORE: f64 = 100.0;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let before = run.rows("pre_adapter_summary_metrics", |_| true);
    let bait = run.rows("bait_bias_summary_metrics", |_| true);
    if before.is_empty() && bait.is_empty() {
        return None;
    }
    // Each substitution has the score of its worst library.
    let score = |rows: &[RunPart<'_>], name: &str| {
        let own = rows.iter().filter(|row| substitution_name(row) == name);
        own.filter_map(|row| row.value("TOTAL_QSCORE")).fold(MAX_SCORE, f64::min)
    };
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for name in before.iter().map(substitution_name) {
        if groups.iter().all(|(other, _)| *other != name) {
            let scores = vec![score(&before, &name), score(&bait, &name)];
            groups.push((name, scores));
        }
    }
    let is_highest = groups.iter().flat_map(|it| &it.1).any(|score| *score >= MAX_SCORE);
    let highest = if is_highest { " 100 is the highest score that Picard states." } else { "" };
    let limit = sample.limits.limit("oxidation").and_then(|limit| limit.look);
    let axes = Axes {
        x: "Substitution",
        y: "Score (Phred)",
        levels: limit.map(|limit| (limit, "threshold".into())).into_iter().collect(),
        ..Axes::default()
    };
    let columns = [
        ("LIBRARY", "Library"),
        ("REF_BASE", "Reference base"),
        ("ALT_BASE", "Alternate base"),
        ("TOTAL_QSCORE", "Score"),
        ("WORST_CXT", "Worst context"),
        ("WORST_CXT_QSCORE", "Worst context score"),
        ("ARTIFACT_NAME", "Artifact"),
    ];
    let figure = Figure {
        id: sample.element_id("artifacts-plot"),
        title: "Artifact scores by substitution",
        reading: format!(
            "Higher Phred scores are better; 30 means 1 false base in 1,000.{highest} Pre-adapter damage \
            affects one read of a pair; bait bias affects one strand of the reference. With several \
            libraries, each bar shows the lowest score."
        ),
        alt: "Paired bars: pre-adapter and bait bias scores of each substitution.".into(),
        legend: vec!["pre-adapter".into(), "bait bias".into()],
        svg: draw_grouped_bars(&axes, groups),
        table: html! {
            (table_of_rows(&before, "Pre-adapter artifacts", &columns))
            (table_of_rows(&bait, "Bait bias", &columns))
        },
        ..Figure::default()
    };
    let errors = run.rows("error_summary_metrics", |_| true);
    let fields = [
        ("SUBSTITUTION", "Substitution", NumberFormat::Plain),
        ("REF_COUNT", "Reference bases", NumberFormat::Plain),
        ("ALT_COUNT", "Substituted bases", NumberFormat::Plain),
        ("SUBSTITUTION_RATE", "Substitution rate", NumberFormat::Share),
    ];
    let table = (!errors.is_empty()).then(|| row_table("Substitution rates", &errors, &fields));
    Some(wrap_figures([Some(figure)], table))
}

fn substitution_name(row: &RunPart<'_>) -> String {
    format!("{}>{}", row.text("REF_BASE"), row.text("ALT_BASE"))
}

//! The section "Damaged DNA": Picard's scores of sequencing artifacts and of oxidation.

use serde_json::Value;

use crate::plot::{Axes, Figure, draw_grouped_bars};
use crate::section::{PageSample, PageSection, wrap_figures};
use crate::table::{row_table, table_of_rows};
use crate::text::NumberFormat;

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let before = run.rows("pre_adapter_summary_metrics", |_| true);
    let bait = run.rows("bait_bias_summary_metrics", |_| true);
    if before.is_empty() && bait.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    let names = substitution_names(&before);
    // Each substitution has the score of its worst library.
    let score = |rows: &[(String, &Value)], name: &str| {
        let own = rows.iter().filter(|(_, row)| substitution_name(row) == name);
        own.filter_map(|(_, row)| row.get("TOTAL_QSCORE")?.as_f64()).fold(100.0, f64::min)
    };
    let groups = names
        .iter()
        .map(|name| (name.clone(), vec![score(&before, name), score(&bait, name)]))
        .collect();
    let limit = sample.limits.limit("oxidation").and_then(|limit| limit.look);
    let axes = Axes {
        x: "Substitution",
        y: "Score",
        levels: limit.map(|limit| (limit, "limit".into())).into_iter().collect(),
        ..Axes::default()
    };
    let columns = [
        ("SAMPLE_ALIAS", "Sample"),
        ("LIBRARY", "Library"),
        ("REF_BASE", "Reference"),
        ("ALT_BASE", "Read"),
        ("TOTAL_QSCORE", "Score"),
        ("WORST_CXT", "Worst context"),
        ("WORST_CXT_QSCORE", "Its score"),
        ("ARTIFACT_NAME", "Known as"),
    ];
    list.push(
        Figure {
            has_lines: false,
            id: sample.element_id("artifacts-plot"),
            title: "Substitutions by damage".into(),
            reading: "Phred scores: 30 is one false base in 1,000, and high is good. Damage \
                before adapters hits one read of a pair; damage by baits hits one strand of the \
                reference. Of several libraries, the worst."
                .into(),
            alt: "Pairs of bars of the score of each substitution, before adapters and by baits.".into(),
            legend: vec!["before adapters".into(), "by baits".into()],
            svg: draw_grouped_bars(&axes, groups),
            table: table_of_rows(&before, "Damage before adapters", &columns)
                + &table_of_rows(&bait, "Damage by baits", &columns),
        }
        .to_html(),
    );
    let errors = run.rows("error_summary_metrics", |_| true);
    if !errors.is_empty() {
        let fields = [
            ("SUBSTITUTION", "Substitution", NumberFormat::Plain),
            ("REF_COUNT", "Reference bases", NumberFormat::Plain),
            ("ALT_COUNT", "Substituted", NumberFormat::Plain),
            ("SUBSTITUTION_RATE", "Rate", NumberFormat::Share),
        ];
        list.push(row_table(run, "Substitutions", &errors, &fields));
    }
    Some(PageSection { id: "artifacts", title: "Damaged DNA", body: wrap_figures(&list) })
}

fn substitution_name(row: &Value) -> String {
    let base = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("");
    format!("{}>{}", base("REF_BASE"), base("ALT_BASE"))
}

fn substitution_names(rows: &[(String, &Value)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, row) in rows {
        let name = substitution_name(row);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

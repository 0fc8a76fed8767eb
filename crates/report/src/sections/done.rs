//! The section about the run: program version, steps, command line, input and output files.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::run::RunPart;
use crate::section::{PageSample, facts_list};
use crate::table::{Cell, scrollable_table};
use crate::text::{NumberFormat, format_date};

#[derive(Default, Deserialize)]
#[serde(default)]
struct StepInfo<'a> {
    name: &'a str,
    flags: Vec<&'a str>,
}

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let steps: Vec<StepInfo<'_>> = run.read("steps").unwrap_or_default();
    let words: Vec<&str> = run.read("command/arguments").unwrap_or_default();
    let words: Vec<String> = words.into_iter().map(quote_for_shell).collect();
    let mut program = format!("{} {}", run.text("program/name"), run.text("program/version"));
    if run.at("program/commit").is_some() {
        program += &format!(", commit {}", run.text("program/commit"));
    }
    let mut about = vec![
        ("Program", Cell::text(program)),
        ("Command", Cell::text(run.text("command/name"))),
        ("Finished", Cell::text(run.value("time/ended").map_or("–".into(), format_date))),
    ];
    let reference = run.part("reference").filter(|reference| reference.at("checksum").is_some());
    if let Some(reference) = &reference {
        about.extend([
            ("Reference sequences", reference.cell("sequences", NumberFormat::Plain)),
            ("Reference length", reference.cell("total_bases", NumberFormat::Bases)),
        ]);
    }
    Some(html! {
        (facts_list(&about))
        h3 { "Steps" }
        @if steps.is_empty() {
            p { "The run only computed metrics; it neither changed nor wrote reads." }
        } @else {
            ol class="steps" {
                @for step in &steps { li { strong { (step.name) } " " code { (step.flags.join(" ")) } } }
            }
        }
        h3 { "Command line" }
        pre tabindex="0" { code { (words.join(" ")) } }
        (input_table(run))
        (reference_table(run))
        (output_table(run))
    })
}

fn input_table(run: &RunPart<'_>) -> Markup {
    let row = |file: &RunPart<'_>| {
        let sum = file.at("xxh128").map_or_else(Cell::dash, |_| Cell::code(file.text("xxh128")));
        vec![Cell::code(file.text("path")), file.cell("bytes", NumberFormat::Bytes), sum]
    };
    let rows: Vec<Vec<Cell>> = run.items("inputs").map(|it| row(&it)).collect();
    scrollable_table("Inputs", &["File", "Size", "Checksum (XXH3-128)"], &rows)
}

/// Returns the table of the reference and the known sites. Empty if the run has neither, and if it was
/// written by a version that did not describe them.
fn reference_table(run: &RunPart<'_>) -> Markup {
    let name = |file: &RunPart<'_>| match file.text("path") {
        "" => Cell::text("–"),
        path => Cell::code(path),
    };
    let mut rows = Vec::new();
    if let Some(reference) = run.part("reference")
        && let Some(checksum) = reference.at("checksum").and_then(Value::as_str)
    {
        let what = format!("MD5 of {} of the sequences", reference.text("checksum_of"));
        rows.push(vec![
            name(&reference),
            Cell::text("reference"),
            reference.cell("bytes", NumberFormat::Bytes),
            Cell::Text(html! { code { (checksum) } " (" (what) ")" }),
        ]);
    }
    rows.extend(run.items("known_sites").map(|file| {
        let sum = file.at("xxh128").and_then(Value::as_str);
        let sum = sum.map_or_else(Cell::dash, |sum| Cell::Text(html! { code { (sum) } " (XXH3-128)" }));
        vec![name(&file), Cell::text("known sites"), file.cell("bytes", NumberFormat::Bytes), sum]
    }));
    html! {
        @if !rows.is_empty() {
            (scrollable_table("Reference and known sites", &["File", "Type", "Size", "Checksum"], &rows))
        }
    }
}

fn output_table(run: &RunPart<'_>) -> Markup {
    let row = |file: &RunPart<'_>| {
        vec![
            Cell::code(file.text("path")),
            Cell::text(kind_title(file.text("kind"))),
            file.cell("bytes", NumberFormat::Bytes),
            file.cell("reads", NumberFormat::Plain),
        ]
    };
    let rows: Vec<Vec<Cell>> = run.items("outputs").map(|it| row(&it)).collect();
    scrollable_table("Outputs", &["File", "Type", "Size", "Records"], &rows)
}

/// Returns the words for the kind of an output file. Reports keep the names of the original tools.
fn kind_title(kind: &str) -> &str {
    match kind {
        "beside" => "index or checksum of the reads",
        other => other,
    }
}

/// Quotes a command-line argument for a POSIX shell, so that the line can be copied from the page.
fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::json;

    #[test]
    fn words_can_be_pasted_into_a_shell() {
        assert_eq!(quote_for_shell("a/b.bam"), "a/b.bam");
        assert_eq!(quote_for_shell("@RG\\tID:it's"), "'@RG\\tID:it'\\''s'");
        assert_eq!(quote_for_shell(""), "''");
    }

    #[test]
    fn the_reference_and_the_known_sites_have_checksums() {
        let (md5, xxh128) = ("ab".repeat(16), "cd".repeat(16));
        let mut run = json!({
            "reference": {"path": null, "bytes": null, "sequences": 25, "total_bases": 3_100_000_000_u64,
                "checksum": md5, "checksum_of": "names and lengths"},
            "known_sites": [{"path": "dbsnp.vcf.gz", "bytes": 2048, "xxh128": xxh128}],
        });
        let section = |run: &Value| {
            let limits = Limits::for_assay(Assay::Wgs);
            let sample = PageSample { run: RunPart::new(run), prefix: String::new(), limits: &limits };
            make_section(&sample).unwrap().into_string()
        };
        let text = section(&run);
        let named = format!("<code>{md5}</code> (MD5 of names and lengths of the sequences)");
        assert!(
            text.contains(&named) && text.contains("data-json=\"/reference/sequences\">25<"),
            "{text}"
        );
        let sites = format!("<code>{xxh128}</code> (XXH3-128)");
        assert!(text.contains(&sites) && text.contains("dbsnp.vcf.gz"), "{text}");
        // Reads without a header of sequences, and runs of older versions, have no such table.
        run["reference"]["checksum"] = Value::Null;
        run["known_sites"] = json!([]);
        for run in [run, json!({})] {
            let text = section(&run);
            assert!(!text.contains("Reference"), "{text}");
        }
    }
}

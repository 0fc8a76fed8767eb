//! The section about the run: program version, steps, command line, input and output files.

use maud::{Markup, html};
use serde::Deserialize;

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
    let about = facts_list(&[
        ("Program", program),
        ("Command", run.text("command/name").to_string()),
        ("Finished", run.value("time/ended").map_or("–".into(), format_date)),
    ]);
    Some(html! {
        (about)
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

    #[test]
    fn words_can_be_pasted_into_a_shell() {
        assert_eq!(quote_for_shell("a/b.bam"), "a/b.bam");
        assert_eq!(quote_for_shell("@RG\\tID:it's"), "'@RG\\tID:it'\\''s'");
        assert_eq!(quote_for_shell(""), "''");
    }
}

//! The section "What was done": steps, command line, version, input and output files.

use serde_json::Value;

use crate::section::{PageSample, PageSection, facts_list};
use crate::table::{table_of_cells, wrap_scrollable};
use crate::text::{NumberFormat, escape_html, format_date};

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let step = |step: &Value| {
        let name = step.get("name").and_then(Value::as_str).unwrap_or("");
        let flags = string_list(step.get("flags"));
        format!(
            "<li><strong>{}</strong> <code>{}</code></li>",
            escape_html(name),
            escape_html(&flags.join(" "))
        )
    };
    let steps: String = run.list("/steps").iter().map(step).collect();
    let steps = if steps.is_empty() {
        "<p>Reads were counted; none was changed or written.</p>".into()
    } else {
        format!("<ol class=\"steps\">{steps}</ol>")
    };
    let arguments = string_list(run.at("/command/arguments"));
    let commit = Some(run.text("/program/commit")).filter(|commit| !commit.is_empty());
    let version = format!(
        "{}{}",
        run.text("/program/version"),
        commit.map_or(String::new(), |it| format!(", commit {it}"))
    );
    let ended = run.at("/time/ended").and_then(Value::as_f64).map_or("–".into(), format_date);
    let about = facts_list(&[
        ("Program", format!("{} {}", escape_html(run.text("/program/name")), escape_html(&version))),
        ("Command", escape_html(run.text("/command/name"))),
        ("Ended", ended),
    ]);
    let files = |list: &str, caption: &str| {
        let rows: Vec<Vec<String>> = (0..run.list(list).len())
            .map(|i| {
                let at = |field: &str| format!("{list}/{i}/{field}");
                let path = format!("<code>{}</code>", escape_html(run.text(&at("path"))));
                let bytes = run.number_html(&at("bytes"), NumberFormat::Bytes);
                if list == "/inputs" {
                    let sum = run.text(&at("xxh128"));
                    let sum = if sum.is_empty() {
                        "–".into()
                    } else {
                        format!("<code>{}</code>", escape_html(sum))
                    };
                    vec![path, bytes, sum]
                } else {
                    vec![
                        path,
                        escape_html(run.text(&at("kind"))),
                        bytes,
                        run.number_html(&at("reads"), NumberFormat::Plain),
                    ]
                }
            })
            .collect();
        let titles: &[&str] = if list == "/inputs" {
            &["File", "Size", "XXH3-128"]
        } else {
            &["File", "Kind", "Size", "Records"]
        };
        wrap_scrollable(caption, &table_of_cells(caption, titles, &rows))
    };
    let body = format!(
        "{about}<h3>Steps</h3>{steps}<h3>Command line</h3><pre \
            tabindex=\"0\"><code>{}</code></pre>{}{}",
        escape_html(&arguments.iter().map(|word| quote_for_shell(word)).collect::<Vec<_>>().join(" ")),
        files("/inputs", "Inputs"),
        files("/outputs", "Outputs")
    );
    Some(PageSection { id: "done", title: "What was done", body })
}

fn string_list(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

/// Quotes a word of a command line for a POSIX shell, so that the line can be copied from the page.
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

//! The section "What was done": steps, command line, version, input and output files.

use serde_json::Value;

use crate::section::{Sample, Section, facts};
use crate::table::{of_cells, wide};
use crate::text::{Form, date, escape};

pub fn section(sample: &Sample<'_>) -> Option<Section> {
    let run = &sample.run;
    let step = |step: &Value| {
        let name = step.get("name").and_then(Value::as_str).unwrap_or("");
        let flags = words(step.get("flags"));
        format!("<li><strong>{}</strong> <code>{}</code></li>", escape(name), escape(&flags.join(" ")))
    };
    let steps: String = run.list("/steps").iter().map(step).collect();
    let steps = if steps.is_empty() {
        "<p>Reads were counted; none was changed or written.</p>".into()
    } else {
        format!("<ol class=\"steps\">{steps}</ol>")
    };
    let arguments = words(run.at("/command/arguments"));
    let commit = Some(run.text("/program/commit")).filter(|commit| !commit.is_empty());
    let version = format!(
        "{}{}",
        run.text("/program/version"),
        commit.map_or(String::new(), |it| format!(", commit {it}"))
    );
    let ended = run.at("/time/ended").and_then(Value::as_f64).map_or("–".into(), date);
    let about = facts(&[
        ("Program", format!("{} {}", escape(run.text("/program/name")), escape(&version))),
        ("Command", escape(run.text("/command/name"))),
        ("Ended", ended),
    ]);
    let files = |list: &str, caption: &str| {
        let rows: Vec<Vec<String>> = (0..run.list(list).len())
            .map(|i| {
                let at = |field: &str| format!("{list}/{i}/{field}");
                let path = format!("<code>{}</code>", escape(run.text(&at("path"))));
                let bytes = run.shown(&at("bytes"), Form::Bytes);
                if list == "/inputs" {
                    let sum = run.text(&at("xxh128"));
                    let sum = if sum.is_empty() {
                        "–".into()
                    } else {
                        format!("<code>{}</code>", escape(sum))
                    };
                    vec![path, bytes, sum]
                } else {
                    vec![
                        path,
                        escape(run.text(&at("kind"))),
                        bytes,
                        run.shown(&at("reads"), Form::Plain),
                    ]
                }
            })
            .collect();
        let titles: &[&str] = if list == "/inputs" {
            &["File", "Size", "XXH3-128"]
        } else {
            &["File", "Kind", "Size", "Records"]
        };
        wide(caption, &of_cells(caption, titles, &rows))
    };
    let body = format!(
        "{about}<h3>Steps</h3>{steps}<h3>Command line</h3><pre \
            tabindex=\"0\"><code>{}</code></pre>{}{}",
        escape(&arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
        files("/inputs", "Inputs"),
        files("/outputs", "Outputs")
    );
    Some(Section { id: "done", title: "What was done", body })
}

fn words(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

/// Quotes a word of a command line for a POSIX shell, so that the line can be copied from the page.
fn quoted(word: &str) -> String {
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
        assert_eq!(quoted("a/b.bam"), "a/b.bam");
        assert_eq!(quoted("@RG\\tID:it's"), "'@RG\\tID:it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}

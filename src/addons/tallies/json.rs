//! Converts samtools reports to JSON: flagstat, idxstats, stats.

use serde_json::{Map, Value, json};

use crate::outputs::texts::{cell, row};

/// Returns `{"total": {"passed": n, "failed": n}, …}` for the text of flagstat. The names are those
/// of flagstat: `in total`, `properly paired`, `with mate mapped to a different chr (mapQ>=5)`.
/// Percentages are omitted, because they follow from the counts.
pub fn flagstat(text: &str) -> Value {
    let line = |line: &str| {
        let (passed, rest) = line.split_once(" + ")?;
        let (failed, name) = rest.split_once(' ')?;
        // Except for one name, brackets contain percentages and explanations.
        let name = match name.split_once(" (") {
            Some((start, more)) if !more.starts_with("mapQ") => start,
            _ => name,
        };
        Some((name.to_string(), json!({ "passed": cell(passed), "failed": cell(failed) })))
    };
    Value::Object(text.lines().filter_map(line).collect::<Map<String, Value>>())
}

/// Returns `[{"contig": …, "length": bases, "mapped": n, "unmapped": n}, …]`; the last contig is `*`.
pub fn idxstats(text: &str) -> Value {
    text.lines().map(|line| row(&["contig", "length", "mapped", "unmapped"], line)).collect()
}

/// Returns the summary numbers (`SN`) by name, and each other section as a list of lines, each a
/// list of its cells.
pub fn stats(text: &str) -> Value {
    let (mut summary, mut sections) = (Map::new(), Map::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((section, rest)) = line.split_once('\t') else { continue };
        if section == "SN" {
            let Some((name, value)) = rest.split_once(":\t") else { continue };
            summary.insert(name.into(), cell(value.split('\t').next().unwrap_or_default()));
            continue;
        }
        let cells: Value = rest.split('\t').map(cell).collect();
        match sections.entry(section).or_insert_with(|| json!([])) {
            Value::Array(lines) => lines.push(cells),
            other => *other = json!([cells]),
        }
    }
    sections.insert("SN".into(), Value::Object(summary));
    Value::Object(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flagstat_has_its_names() {
        let text = "10 + 1 in total (QC-passed reads + QC-failed reads)\n4 + 0 mapped (40.00% : N/A)\n\
            2 + 0 with mate mapped to a different chr (mapQ>=5)\n";
        let wanted = json!({
            "in total": {"passed": 10, "failed": 1},
            "mapped": {"passed": 4, "failed": 0},
            "with mate mapped to a different chr (mapQ>=5)": {"passed": 2, "failed": 0},
        });
        assert_eq!(flagstat(text), wanted);
    }

    #[test]
    fn stats_has_a_summary_and_sections() {
        let text = "# comment\nSN\traw total sequences:\t8\t# excluding\nRL\t100\t7\nRL\t101\t1\n\
            COV\t[1-1]\t1\t9\n";
        let wanted = json!({
            "SN": {"raw total sequences": 8},
            "RL": [[100, 7], [101, 1]],
            "COV": [["[1-1]", 1, 9]],
        });
        assert_eq!(stats(text), wanted);
        let wanted = json!([{"contig": "*", "length": 0, "mapped": 0, "unmapped": 5}]);
        assert_eq!(idxstats("*\t0\t0\t5\n"), wanted);
    }
}

//! Converts FastQC's reports to JSON.

use serde_json::{Value, json};

use crate::outputs::texts::{cell, columns};

/// Returns the modules of a file, each with its verdict, the lines before its table, and the
/// columns of the table.
pub fn fastqc(text: &str) -> Value {
    let (mut modules, mut file) = (Vec::new(), Value::Null);
    for module in
        text.split("\n>>").filter(|module| !module.starts_with("END_MODULE") && !module.starts_with('#'))
    {
        let mut lines = module.lines();
        let (name, status) = lines.next().and_then(|line| line.split_once('\t')).unwrap_or_default();
        let lines: Vec<&str> = lines.collect();
        let is_note = |line: &&&str| line.starts_with("#Total Deduplicated Percentage");
        let note = lines.first().filter(is_note).and_then(|line| line.rsplit('\t').next());
        let table = lines.iter().skip(usize::from(note.is_some()));
        let table = table.map(|line| line.strip_prefix('#').unwrap_or(line));
        let name_of_file = || lines.iter().find_map(|line| line.strip_prefix("Filename\t"));
        if let Some(name) = name_of_file() {
            file = json!(name);
        }
        let mut value = json!({ "name": name, "status": status, "columns": columns(table) });
        if let (Some(note), Some(object)) = (note, value.as_object_mut()) {
            object.insert("deduplicated_percentage".into(), cell(note));
        }
        modules.push(value);
    }
    json!({ "file": file, "modules": modules })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_back() {
        let text = "##FastQC\t0.11.9\n>>Basic Statistics\tpass\n#Measure\tValue\nFilename\ta.fq\n>>END_MODULE\n\
            >>Sequence Duplication Levels\twarn\n#Total Deduplicated Percentage\t61.5\n#Duplication Level\tPercentage of total\n\
            1\t50.0\n>10k+\tNaN\n>>END_MODULE\n>>Overrepresented sequences\tpass\n>>END_MODULE\n";
        let wanted = json!({ "file": "a.fq", "modules": [
            { "name": "Basic Statistics", "status": "pass", "columns": { "Measure": ["Filename"], "Value": ["a.fq"] } },
            { "name": "Sequence Duplication Levels", "status": "warn", "deduplicated_percentage": 61.5,
              "columns": { "Duplication Level": [1, ">10k+"], "Percentage of total": [50.0, "NaN"] } },
            { "name": "Overrepresented sequences", "status": "pass", "columns": {} },
        ] });
        assert_eq!(fastqc(text), wanted);
    }
}

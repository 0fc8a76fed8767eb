//! Duplicate metrics as JSON.
//!
//! The file is one object. `libraries` has one object for each row of Picard's table; its keys are
//! the column names in lower case, and `estimated_library_size` may be null. Three more objects
//! hold the set sizes under Picard's histogram column names: each maps a set size in pairs (as
//! text) to the number of sets. Numbers are not rounded. Keys may be added but never change.
//!
//! The writer is handwritten: five kinds of values do not justify a dependency.

use std::collections::BTreeMap;
use std::fmt::Write;

use readmill_record::Result;

use super::picard::COLUMNS;
use super::{DuplicationMetrics, LibraryCounts};

impl DuplicationMetrics {
    /// Writes the metrics as a JSON object over several lines. Passes the text to `put` in pieces,
    /// because a header may have many libraries. Bytes in names that are not UTF-8 are replaced
    /// with U+FFFD.
    ///
    /// # Errors
    /// `put` returned an error.
    pub fn write_json(
        &self,
        command_line: &str,
        sample: &str,
        mut put: impl FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let (command, sample) = (quote_json(command_line), quote_json(sample));
        put(&format!("{{\n  \"command\": {command},\n  \"sample\": {sample},\n  \"libraries\": ["))?;
        let mut separator = "\n    ";
        for (name, counts) in self.sorted_libraries() {
            put(separator)?;
            put(&format_library(name, counts))?;
            separator = ",\n    ";
        }
        let end = if self.libraries.is_empty() { "]" } else { "\n  ]" };
        put(&format!(
            "{end},\n  \"all_sets\": {},\n  \"optical_sets\": {},\n  \"non_optical_sets\": {}\n}}\n",
            format_sizes(&self.sets.all),
            format_sizes(&self.sets.optical),
            format_sizes(&self.sets.non_optical),
        ))
    }
}

fn format_library(name: &[u8], counts: &LibraryCounts) -> String {
    let values = [
        quote_json(&String::from_utf8_lossy(name)),
        counts.unpaired_examined.to_string(),
        counts.pairs_examined().to_string(),
        counts.secondary_or_supplementary.to_string(),
        counts.unmapped.to_string(),
        counts.unpaired_duplicates.to_string(),
        counts.duplicate_pairs().to_string(),
        counts.optical_pairs.to_string(),
        counts.duplication().to_string(),
        counts.library_size().map_or("null".to_owned(), |size| size.to_string()),
    ];
    let members = COLUMNS.iter().zip(values);
    format_object(members.map(|(column, value)| (column.to_ascii_lowercase(), value)))
}

fn format_sizes(sets: &BTreeMap<u64, u64>) -> String {
    format_object(sets.iter().map(|(size, sets)| (size.to_string(), sets.to_string())))
}

/// Formats an object. Names must not need escaping, and values must already be JSON.
fn format_object(members: impl Iterator<Item = (String, String)>) -> String {
    let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

/// Returns `text` as a JSON string, with the escapes that RFC 8259, section 7, requires.
pub fn quote_json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::SetSizes;

    fn json(metrics: &DuplicationMetrics, command_line: &str, sample: &str) -> String {
        let mut text = String::new();
        let put = |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        metrics.write_json(command_line, sample, put).unwrap();
        text
    }

    #[test]
    fn one_object_with_the_names_of_picard() {
        let counts = LibraryCounts {
            unpaired_examined: 1,
            paired_reads_examined: 1248,
            unmapped: 2,
            paired_read_duplicates: 448,
            optical_pairs: 97,
            ..LibraryCounts::default()
        };
        let sets = SetSizes { all: BTreeMap::from([(1, 2), (12, 1)]), ..SetSizes::default() };
        let libraries = vec![(b"b\xFF".to_vec(), LibraryCounts::default()), (b"a\"\t".to_vec(), counts)];
        let expected = r#"{
  "command": "readmill \\",
  "sample": "s1",
  "libraries": [
    {"library": "a\"\u0009", "unpaired_reads_examined": 1, "read_pairs_examined": 624, "secondary_or_supplementary_rds": 0, "unmapped_reads": 2, "unpaired_read_duplicates": 0, "read_pair_duplicates": 224, "read_pair_optical_duplicates": 97, "percent_duplication": 0.3586869495596477, "estimated_library_size": 909},
    {"library": "b�", "unpaired_reads_examined": 0, "read_pairs_examined": 0, "secondary_or_supplementary_rds": 0, "unmapped_reads": 0, "unpaired_read_duplicates": 0, "read_pair_duplicates": 0, "read_pair_optical_duplicates": 0, "percent_duplication": 0, "estimated_library_size": null}
  ],
  "all_sets": {"1": 2, "12": 1},
  "optical_sets": {},
  "non_optical_sets": {}
}
"#;
        assert_eq!(json(&DuplicationMetrics { libraries, sets }, "readmill \\", "s1"), expected);
    }

    #[test]
    fn empty_metrics_are_an_object_too() {
        let nothing = json(&DuplicationMetrics::default(), "", "");
        assert!(nothing.contains("\"libraries\": [],\n  \"all_sets\": {},"), "{nothing}");
    }
}

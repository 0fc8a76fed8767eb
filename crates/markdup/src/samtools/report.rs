//! The report of samtools markdup (`-s`, `-f`, `--json`).

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::metrics::json::quote_json;
use readmill_format::library_size::estimate_library_size;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCounts {
    pub all: u64,
    pub paired: u64,
    pub single: u64,
}

impl ReadCounts {
    pub fn add(&mut self, other: &ReadCounts) {
        self.all += other.all;
        self.paired += other.paired;
        self.single += other.single;
    }
}

/// The numbers of the report, in records. Written by [`SamtoolsReport::format_text`] or
/// [`SamtoolsReport::format_json`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamtoolsReport {
    pub reads: ReadCounts,
    /// Records that are not removed as duplicates. As in samtools, this includes records that got
    /// the mark of another record.
    pub written: u64,
    pub paired_duplicates: u64,
    pub single_duplicates: u64,
    /// Records that got the mark of another record with the same name.
    pub others: u64,
    pub optical_pairs: u64,
    pub optical_singles: u64,
    pub optical_others: u64,
}

impl SamtoolsReport {
    pub fn format_text(&self, command: &str) -> String {
        let rows = self.report_rows().into_iter().map(|(name, value)| format!("{name}: {value}\n"));
        format!("COMMAND: {command}\n{}\n", rows.collect::<String>())
    }

    pub fn format_json(&self, command: &str) -> String {
        let mut text = format!("{{\n    \"COMMAND\": {}", quote_json(command));
        for (name, value) in self.report_rows() {
            let _ = write!(text, ",\n    \"{name}\": {value}"); // writing to a String cannot fail
        }
        text + "\n}\n"
    }

    fn report_rows(&self) -> [(&'static str, u64); 15] {
        let ReadCounts { all, paired, single } = self.reads;
        let examined = paired + single;
        let primary = self.paired_duplicates + self.single_duplicates;
        [
            ("READ", all),
            ("WRITTEN", self.written),
            ("EXCLUDED", all - examined),
            ("EXAMINED", examined),
            ("PAIRED", paired),
            ("SINGLE", single),
            ("DUPLICATE PAIR", self.paired_duplicates),
            ("DUPLICATE SINGLE", self.single_duplicates),
            ("DUPLICATE PAIR OPTICAL", self.optical_pairs),
            ("DUPLICATE SINGLE OPTICAL", self.optical_singles),
            ("DUPLICATE NON PRIMARY", self.others),
            ("DUPLICATE NON PRIMARY OPTICAL", self.optical_others),
            ("DUPLICATE PRIMARY TOTAL", primary),
            ("DUPLICATE TOTAL", primary + self.others),
            ("ESTIMATED_LIBRARY_SIZE", self.library_size().unwrap_or(0)),
        ]
    }

    /// Estimates the number of molecules in the library from the pairs that are not optical
    /// duplicates. Returns `None` if there are no duplicate pairs or no unique pairs.
    fn library_size(&self) -> Option<u64> {
        let (paired, duplicates) = (self.reads.paired, self.paired_duplicates);
        let (pairs, unique) =
            (paired.saturating_sub(self.optical_pairs) / 2, paired.saturating_sub(duplicates) / 2);
        if unique == 0 || duplicates < 2 { None } else { estimate_library_size(pairs, unique) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of samtools 1.24 for a simulated sample.
    #[test]
    fn rows_and_library_size() {
        let reads = ReadCounts { all: 60_211, paired: 59_460, single: 5 };
        let report = SamtoolsReport {
            reads,
            written: 60_211,
            paired_duplicates: 7_018,
            single_duplicates: 0,
            others: 32,
            ..SamtoolsReport::default()
        };
        let expected = "READ: 60211\n\
            WRITTEN: 60211\n\
            EXCLUDED: 746\n\
            EXAMINED: 59465\n\
            PAIRED: 59460\n\
            SINGLE: 5\n\
            DUPLICATE PAIR: 7018\n\
            DUPLICATE SINGLE: 0\n\
            DUPLICATE PAIR OPTICAL: 0\n\
            DUPLICATE SINGLE OPTICAL: 0\n\
            DUPLICATE NON PRIMARY: 32\n\
            DUPLICATE NON PRIMARY OPTICAL: 0\n\
            DUPLICATE PRIMARY TOTAL: 7018\n\
            DUPLICATE TOTAL: 7050\n\
            ESTIMATED_LIBRARY_SIZE: 115825";
        assert_eq!(report.format_text("x"), format!("COMMAND: x\n{expected}\n\n"));
        let few = SamtoolsReport { paired_duplicates: 1, ..report };
        assert!(
            few.format_text("x").ends_with("ESTIMATED_LIBRARY_SIZE: 0\n\n"),
            "{}",
            few.format_text("x")
        );
        let json = report.format_json("a \"b\"");
        assert!(
            json.starts_with("{\n    \"COMMAND\": \"a \\\"b\\\"\",\n    \"READ\": 60211,\n"),
            "{json}"
        );
    }
}

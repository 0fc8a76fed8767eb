//! The report of samtools markdup (`-s`, `-f`, `--json`).

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::metrics::json::quoted;
use readmill_format::library_size::estimated_library_size;

/// Records by what they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCounts {
    /// All.
    pub all: u64,
    /// Reads of pairs that take part.
    pub paired: u64,
    /// Single reads that take part.
    pub single: u64,
}

impl ReadCounts {
    /// Adds the counts of another part of the input.
    pub fn add(&mut self, other: &ReadCounts) {
        self.all += other.all;
        self.paired += other.paired;
        self.single += other.single;
    }
}

/// The numbers of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamtoolsReport {
    /// Records read.
    pub reads: ReadCounts,
    /// Records that are not removed as duplicates; those that got the mark of another record count here, too.
    pub written: u64,
    /// Duplicates among reads of pairs.
    pub paired_duplicates: u64,
    /// Duplicates among single reads.
    pub single_duplicates: u64,
    /// Records that got the mark of another record of their name.
    pub others: u64,
    /// Optical duplicates among reads of pairs.
    pub optical_pairs: u64,
    /// Optical duplicates among single reads.
    pub optical_singles: u64,
    /// Optical duplicates among records that got the mark of another one.
    pub optical_others: u64,
}

impl SamtoolsReport {
    /// The report as text.
    pub fn text(&self, command: &str) -> String {
        let rows = self.rows().into_iter().map(|(name, value)| format!("{name}: {value}\n"));
        format!("COMMAND: {command}\n{}\n", rows.collect::<String>())
    }

    /// The report as JSON.
    pub fn json(&self, command: &str) -> String {
        let mut text = format!("{{\n    \"COMMAND\": {}", quoted(command));
        for (name, value) in self.rows() {
            let _ = write!(text, ",\n    \"{name}\": {value}"); // a String takes everything
        }
        text + "\n}\n"
    }

    fn rows(&self) -> [(&'static str, u64); 15] {
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

    /// Molecules of the library, from the pairs that are no optical duplicates; `None` without duplicate pairs, or without others.
    fn library_size(&self) -> Option<u64> {
        let (paired, duplicates) = (self.reads.paired, self.paired_duplicates);
        let (pairs, unique) =
            (paired.saturating_sub(self.optical_pairs) / 2, paired.saturating_sub(duplicates) / 2);
        if unique == 0 || duplicates < 2 { None } else { estimated_library_size(pairs, unique) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of samtools 1.24 on a simulated sample.
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
        assert_eq!(report.text("x"), format!("COMMAND: x\n{expected}\n\n"));
        let few = SamtoolsReport { paired_duplicates: 1, ..report };
        assert!(few.text("x").ends_with("ESTIMATED_LIBRARY_SIZE: 0\n\n"), "{}", few.text("x"));
        let json = report.json("a \"b\"");
        assert!(
            json.starts_with("{\n    \"COMMAND\": \"a \\\"b\\\"\",\n    \"READ\": 60211,\n"),
            "{json}"
        );
    }
}

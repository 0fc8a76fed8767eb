//! The metrics file of Picard MarkDuplicates 3.4, byte for byte.
//!
//! It has comment lines, a table with one row per library, and a histogram with up to four columns,
//! without empty ones. `CoverageMult` is present if there is exactly one library and its size is
//! known. Its keys are multiples of the sequencing depth, while the keys of the other columns are
//! set sizes. Numbers are formatted as in Java.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use readmill_format::metrics::{comment_lines, format_decimal};
use readmill_record::java;

use super::{DuplicationMetrics, LibraryCounts, expected_yield};

pub const COLUMNS: [&str; 10] = [
    "LIBRARY",
    "UNPAIRED_READS_EXAMINED",
    "READ_PAIRS_EXAMINED",
    "SECONDARY_OR_SUPPLEMENTARY_RDS",
    "UNMAPPED_READS",
    "UNPAIRED_READ_DUPLICATES",
    "READ_PAIR_DUPLICATES",
    "READ_PAIR_OPTICAL_DUPLICATES",
    "PERCENT_DUPLICATION",
    "ESTIMATED_LIBRARY_SIZE",
];

const MAX_DEPTH_MULTIPLE: u64 = 100;

type HistogramColumn = (&'static str, BTreeMap<u64, String>);

impl DuplicationMetrics {
    /// Formats the metrics file as Picard does in a locale with a decimal point.
    ///
    /// If `command_line` contains `MarkDuplicates`, MultiQC takes the sample name from the word
    /// after `INPUT=` or `--INPUT `. It finds the table by its class name. `started` is a date in
    /// any format.
    pub fn to_picard(&self, command_line: &str, started: &str) -> Vec<u8> {
        let mut text = comment_lines(command_line, started);
        text.push(b'\n');
        self.write_table(&mut text);
        text.push(b'\n');
        self.write_histogram(&mut text);
        text.push(b'\n');
        text
    }

    fn write_table(&self, text: &mut Vec<u8>) {
        if self.libraries.is_empty() {
            return;
        }
        append_text(
            text,
            format_args!("## METRICS CLASS\tpicard.sam.DuplicationMetrics\n{}\n", COLUMNS.join("\t")),
        );
        for (name, counts) in self.sorted_libraries() {
            text.extend_from_slice(name);
            for value in format_row(counts) {
                append_text(text, format_args!("\t{value}"));
            }
            text.push(b'\n');
        }
    }

    fn write_histogram(&self, text: &mut Vec<u8>) {
        let columns = self.histogram_columns();
        let Some((first, _)) = columns.first() else {
            return;
        };
        let label = if *first == "CoverageMult" { "BIN" } else { "set_size" };
        append_text(text, format_args!("## HISTOGRAM\tjava.lang.Double\n{label}"));
        for (name, _) in &columns {
            append_text(text, format_args!("\t{name}"));
        }
        text.push(b'\n');
        let keys: BTreeSet<u64> =
            columns.iter().flat_map(|(_, values)| values.keys().copied()).collect();
        for key in keys {
            text.extend_from_slice(java::format_double(key as f64).as_bytes());
            for (_, values) in &columns {
                append_text(text, format_args!("\t{}", values.get(&key).map_or("0", |value| value)));
            }
            text.push(b'\n');
        }
    }

    fn histogram_columns(&self) -> Vec<HistogramColumn> {
        let sets = |sizes: &BTreeMap<u64, u64>| {
            sizes.iter().map(|(&size, sets)| (size, sets.to_string())).collect()
        };
        let mut columns = vec![
            ("all_sets", sets(&self.sets.all)),
            ("optical_sets", sets(&self.sets.optical)),
            ("non_optical_sets", sets(&self.sets.non_optical)),
        ];
        if let [(_, counts)] = &self.libraries[..] {
            columns.insert(0, ("CoverageMult", expected_yields(counts)));
        }
        columns.retain(|(_, values): &HistogramColumn| !values.is_empty());
        columns
    }
}

fn format_row(counts: &LibraryCounts) -> [String; 9] {
    [
        counts.unpaired_examined.to_string(),
        counts.pairs_examined().to_string(),
        counts.secondary_or_supplementary.to_string(),
        counts.unmapped.to_string(),
        counts.unpaired_duplicates.to_string(),
        counts.duplicate_pairs().to_string(),
        counts.optical_pairs.to_string(),
        format_decimal(counts.duplication()),
        counts.library_size().map_or(String::new(), |size| size.to_string()),
    ]
}

/// Returns the expected yield of sequencing a library deeper, by multiples of the depth. Empty if
/// the library size is unknown.
fn expected_yields(counts: &LibraryCounts) -> BTreeMap<u64, String> {
    let Some(size) = counts.library_size() else {
        return BTreeMap::new();
    };
    let (pairs, unique) = (counts.pairs_examined(), counts.unique_pairs());
    (1..=MAX_DEPTH_MULTIPLE)
        .map(|times| (times, format_decimal(expected_yield(size, times as f64, pairs, unique))))
        .collect()
}

fn append_text(text: &mut Vec<u8>, more: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = text.write_fmt(more);
}

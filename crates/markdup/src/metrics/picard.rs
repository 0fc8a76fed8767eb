//! The metrics file of Picard MarkDuplicates 3.4, byte for byte.
//!
//! It has comment lines, a table with one row per library, and a histogram with up to four columns,
//! without empty ones. `CoverageMult` is present if there is exactly one library and its size is
//! known. Its keys are multiples of the sequencing depth, while the keys of the other columns are
//! set sizes. Numbers are formatted as in Java.

use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};

use super::{DuplicationMetrics, LibraryCounts, SetSizes, expected_yield};

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

impl DuplicationMetrics {
    /// Returns the metrics file that Picard writes in a locale with a decimal point.
    ///
    /// If `command_line` contains `MarkDuplicates`, MultiQC takes the sample name from the word
    /// after `INPUT=` or `--INPUT `. It finds the table by its class name. `started` is a date in
    /// any format.
    pub fn to_picard(&self, command_line: &str, started: &str) -> MetricsFile {
        let mut file = MetricsFile::new(command_line, started);
        let rows = self.sorted_libraries().into_iter().map(|(name, counts)| make_row(name, counts));
        file.set_table("picard.sam.DuplicationMetrics", &COLUMNS, rows);
        let mut columns = make_set_columns(&self.sets);
        let mut title = "set_size";
        if let [(_, counts)] = &self.libraries[..]
            && let Some(size) = counts.library_size()
        {
            columns.insert(0, make_yield_column(counts, size));
            title = "BIN";
        }
        file.set_histograms("java.lang.Double", title, columns);
        file
    }
}

fn make_row(name: &[u8], counts: &LibraryCounts) -> MetricsRow {
    let mut row = MetricsRow::default();
    row.push_text(name);
    for count in [
        counts.unpaired_examined,
        counts.pairs_examined(),
        counts.secondary_or_supplementary,
        counts.unmapped,
        counts.unpaired_duplicates,
        counts.duplicate_pairs(),
        counts.optical_pairs,
    ] {
        row.push_integer(count);
    }
    row.push_decimal(counts.duplication());
    let size = counts.library_size().map(|size| size.to_string());
    row.push_optional(size.as_ref().map(String::as_bytes));
    row
}

fn make_set_columns(sizes: &SetSizes) -> Vec<HistogramColumn> {
    let columns = [
        ("all_sets", &sizes.all),
        ("optical_sets", &sizes.optical),
        ("non_optical_sets", &sizes.non_optical),
    ];
    let columns = columns.map(|(label, sizes)| HistogramColumn {
        label: label.into(),
        bins: sizes.iter().map(|(&size, &sets)| (size as i64, sets as f64)).collect(),
    });
    columns.into()
}

/// Returns the column of the expected gain if a library of this size were sequenced deeper, for
/// each multiple of the depth.
fn make_yield_column(counts: &LibraryCounts, size: u64) -> HistogramColumn {
    let (pairs, unique) = (counts.pairs_examined(), counts.unique_pairs());
    let yields = (1..=MAX_DEPTH_MULTIPLE).map(|times| expected_yield(size, times as f64, pairs, unique));
    HistogramColumn { label: "CoverageMult".into(), bins: (1..).zip(yields).collect() }
}

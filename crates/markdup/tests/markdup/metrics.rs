//! Parses metrics files that Picard MarkDuplicates 3.4.0 wrote (with shortened command lines) into counts, and
//! checks that readmill formats these counts to the same bytes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use readmill_format::report::DescribedReport;
use readmill_markdup::metrics::{DuplicationMetrics, LibraryCounts, SetSizes};

/// Parses a metrics file. Returns its counts, command line and date.
fn read(text: &str) -> (DuplicationMetrics, &str, &str) {
    let mut lines = text.lines();
    let mut comment = |start| {
        assert_eq!(lines.next(), Some("## htsjdk.samtools.metrics.StringHeader"));
        lines.next().unwrap().strip_prefix(start).unwrap()
    };
    let (command, date) = (comment("# "), comment("# Started on: "));
    let mut metrics = DuplicationMetrics::default();
    let rows = |start| text.lines().skip_while(move |line| !line.starts_with(start)).skip(1);
    for row in rows("## METRICS CLASS").skip(1).take_while(|row| !row.is_empty()) {
        let (name, numbers) = row.split_once('\t').unwrap();
        let n: Vec<u64> = numbers.split('\t').take(7).map(|n| n.parse().unwrap()).collect();
        let counts = LibraryCounts {
            unpaired_examined: n[0],
            paired_reads_examined: 2 * n[1],
            secondary_or_supplementary: n[2],
            unmapped: n[3],
            unpaired_duplicates: n[4],
            paired_read_duplicates: 2 * n[5],
            optical_pairs: n[6],
        };
        // Reversed, because the writer must sort libraries by name.
        metrics.libraries.insert(0, (name.as_bytes().to_vec(), counts));
    }
    let mut histogram = rows("## HISTOGRAM").take_while(|row| !row.is_empty());
    let names: Vec<&str> = histogram.next().unwrap_or("").split('\t').collect();
    let rows: Vec<Vec<&str>> = histogram.map(|row| row.split('\t').collect()).collect();
    let column = |name| -> BTreeMap<u64, u64> {
        let Some(at) = names.iter().position(|n| *n == name) else { return BTreeMap::new() };
        let number = |text: &str| text.parse::<f64>().unwrap() as u64;
        rows.iter().map(|row| (number(row[0]), number(row[at]))).filter(|&(_, sets)| sets > 0).collect()
    };
    metrics.sets = SetSizes {
        all: column("all_sets"),
        optical: column("optical_sets"),
        non_optical: column("non_optical_sets"),
    };
    (metrics, command, date)
}

#[test]
fn files_are_those_of_picard() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/picard/metrics");
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, expected) = text.split_once('\n').unwrap(); // the first line names the origin of the file
        let (metrics, command, date) = read(expected);
        let written = String::from_utf8(metrics.to_picard(command, date).format_text()).unwrap();
        assert_eq!(written, expected, "{}", path.display());
        files += 1;
    }
    assert_eq!(files, 16);
}

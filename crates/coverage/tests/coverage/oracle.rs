//! Compares with files that mosdepth wrote for a small SAM file.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use readmill_coverage::{CoverageRegions, Quantize, ReadOptions, RegionChoice, ReportOptions};
use readmill_record::Ledger;

use crate::support::Reads;

const READS: &str = include_str!("../../../../tests/oracles/mosdepth/reads.sam");
const REGIONS: &str = include_str!("../../../../tests/oracles/mosdepth/regions.bed");
const RUNS: &str = include_str!("../../../../tests/oracles/mosdepth/coverage.txt");

/// Translates a mosdepth command line to options.
fn options(words: &str) -> (ReadOptions, ReportOptions) {
    let (mut reads, mut report) = (ReadOptions::default(), ReportOptions::default());
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap();
        match word {
            "-x" => reads.fast_mode = true,
            "-n" => report.no_per_base = true,
            "-m" => report.use_median = true,
            "-Q" => reads.min_mapq = value().parse().unwrap(),
            "-F" => reads.exclude_flags = value().parse().unwrap(),
            "-i" => reads.include_flags = value().parse().unwrap(),
            "-R" => reads.read_groups = value().split(',').map(|it| it.as_bytes().to_vec()).collect(),
            "-q" => report.quantize = Quantize::parse(value()).unwrap(),
            "-T" => report.thresholds = value().split(',').map(|it| it.parse().unwrap()).collect(),
            "-b" => {
                let by = value();
                report.by = Some(by.parse().map_or(RegionChoice::Bed, RegionChoice::Window));
            }
            _ => panic!("{word}"),
        }
    }
    report.thresholds.sort_unstable();
    (reads, report)
}

#[test]
fn files_are_those_of_mosdepth() {
    let reads = Reads::of(READS);
    let bed = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(bed.path(), REGIONS).unwrap();
    let mut runs = 0;
    for run in RUNS.split("= mosdepth").skip(1) {
        let (words, files) = run.split_once('\n').unwrap();
        let mut expected: BTreeMap<&str, String> = BTreeMap::new();
        for file in files.split("== ").skip(1) {
            let (name, text) = file.split_once('\n').unwrap();
            expected.insert(name, text.to_owned());
        }
        let (read_options, report) = options(words);
        let bed = (report.by == Some(RegionChoice::Bed)).then(|| {
            CoverageRegions::read_bed(bed.path(), &reads.header, &Ledger::unlimited()).unwrap()
        });
        let given = reads.files(&read_options, &report, bed, || 5);
        assert_eq!(given.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{words}");
        for (name, text) in given {
            assert_eq!(text, expected[name], "{name} of mosdepth {words}");
        }
        runs += 1;
    }
    assert_eq!(runs, 8);
}

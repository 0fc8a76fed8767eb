//! Compares with the text of `samtools stats`, row by row. Run it with `READMILL_SAMTOOLS=/path/to/samtools
//! READMILL_READS=reads.bam cargo test -p readmill-stats -- --ignored`.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)] // the tests of filters use more of it
#[path = "../../../filters/tests/filters/expression/random.rs"]
mod random;

use std::path::Path;
use std::process::Command;

use random::ExpressionGenerator;
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Stamp, Tally};
use readmill_stats::Stats;

fn samtools(arguments: &[&str]) -> String {
    let program = std::env::var_os("READMILL_SAMTOOLS").expect("READMILL_SAMTOOLS names a samtools");
    let run = Command::new(program).args(arguments).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// Returns the rows of the sections that both programs write.
fn shared(text: &str) -> Vec<&str> {
    let ours_alone = ["# This file", "# The command line"];
    let theirs_alone = [
        "COV\t",
        "GCD\t",
        "# Coverage distribution.",
        "# GC-depth.",
        "BCC",
        "CRC",
        "OXC",
        "RXC",
        "QTQ",
        "CYQ",
        "BZQ",
        "QXQ",
        "# ACGT content per cycle for barcodes",
        "# Barcode Qualities",
        "# Columns correspond to qualities and rows to barcode",
    ];
    let left_out =
        |line: &&str| ours_alone.iter().chain(&theirs_alone).any(|start| line.starts_with(start));
    text.lines().filter(|line| !left_out(line)).collect()
}

/// Returns readmill's text for SAM reads, counted in batches of `size` by two counters that are
/// merged.
fn ours(sam: &str, sorted: bool, size: usize) -> String {
    let (head, lines): (Vec<&str>, Vec<&str>) = sam.lines().partition(|line| line.starts_with('@'));
    let header = Header::parse(head.join("\n").as_bytes()).unwrap();
    let (mut parser, mut raw) = (LineParser::new(&header), Vec::new());
    let tally = Stats::new(sorted);
    let mut partials = [Default::default(), Default::default()];
    for (i, lines) in lines.chunks(size).enumerate() {
        let mut batch = Batch::default();
        for line in lines {
            raw.clear();
            parser.parse(line.as_bytes(), &mut raw).unwrap();
            batch.push(&raw, Stamp::default()).unwrap();
        }
        tally.observe(&mut partials[i % 2], &batch).unwrap();
    }
    let [from, mut into] = partials;
    tally.merge(&mut into, from);
    tally.finish(into).unwrap().to_text()
}

fn compare(sam: &str, input: &Path, sorted: bool) {
    let theirs = samtools(&["stats", input.to_str().unwrap()]);
    for size in [7, 1000, usize::MAX] {
        let ours = ours(sam, sorted, size);
        let (ours, theirs) = (shared(&ours), shared(&theirs));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

#[test]
#[ignore = "needs samtools 1.24, named by READMILL_SAMTOOLS"]
fn odd_reads() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("reads.sam");
    for seed in 1..=20 {
        let mut random = ExpressionGenerator::new(seed);
        let head = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:10000\n@SQ\tSN:c2\tLN:10000\n@SQ\tSN:c10\tLN:10000\n";
        // samtools stops at a mapped read without a CIGAR; most reads of a file are not long.
        let lines: Vec<String> =
            (0..random.below(400)).map(|i| random.record(&format!("r{i}"))).collect();
        std::fs::write(&input, format!("{head}{}\n", lines.join("\n"))).unwrap();
        let text = samtools(&["stats", input.to_str().unwrap()]);
        let sorted = text.contains("is sorted:\t1");
        compare(&std::fs::read_to_string(&input).unwrap(), &input, sorted);
    }
}

#[test]
#[ignore = "needs samtools 1.24 and a file of sorted reads, named by READMILL_READS"]
fn real_reads() {
    let Some(reads) = std::env::var_os("READMILL_READS") else { return };
    let reads = Path::new(&reads);
    let sorted = samtools(&["stats", reads.to_str().unwrap()]).contains("is sorted:\t1");
    compare(&samtools(&["view", "-h", reads.to_str().unwrap()]), reads, sorted);
}

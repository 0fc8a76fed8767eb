//! Coverage in the run that writes the reads, in stages, and of a file that exists.

use std::fs;

use crate::support::resources::{FEW_RESOURCES, same_bytes_with, sample, words};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

const OPTIONS: &str = "--coverage-by 300 --coverage-thresholds 1,5 --coverage-quantize 0:1:5:";

/// The files of all options, after the prefix.
const FILES: [&str; 11] = [
    ".mosdepth.global.dist.txt",
    ".mosdepth.region.dist.txt",
    ".mosdepth.summary.txt",
    ".per-base.bed.gz",
    ".per-base.bed.gz.csi",
    ".quantized.bed.gz",
    ".quantized.bed.gz.csi",
    ".regions.bed.gz",
    ".regions.bed.gz.csi",
    ".thresholds.bed.gz",
    ".thresholds.bed.gz.csi",
];

/// The names of the files of coverage in a directory whose names begin with `prefix`.
fn written(dir: &TestDir, prefix: &str) -> Vec<String> {
    let names = dir.names().into_iter().filter_map(|name| name.strip_prefix(prefix).map(str::to_owned));
    names.filter(|name| name.contains("mosdepth") || name.contains(".bed.gz")).collect()
}

#[test]
fn files_do_not_depend_on_resources_or_stages_or_on_who_wrote_the_reads() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(9_000))));
    let path = |name: &str| arg(&dir.path(name));
    let steps = format!("--sort coordinate --mark-duplicates {OPTIONS} -l 1");
    let run = |line: String| {
        let ProgramRun { code, stderr, .. } = readmill(words(&line));
        assert_eq!(code, Some(0), "{line}: {stderr}");
    };
    run(format!("prep {input} -o {} --coverage {} {steps} -@ 1", path("a.bam"), path("a")));
    run(format!("prep {input} -o {} --coverage {} {steps} -@ 8 -m 160M", path("b.bam"), path("b")));
    let stages = format!("--resume {}", path("stages"));
    run(format!("prep {input} -o {} --coverage {} {steps} {stages}", path("c.bam"), path("c")));
    run(format!("qc {} -o {} --coverage --no-metrics {OPTIONS}", path("a.bam"), path("d")));
    run(format!(
        "sort {} -o {} --coverage {} {OPTIONS} -m 80M",
        path("a.bam"),
        path("e.bam"),
        path("e")
    ));
    let filter = format!("filter {} -o {} -O sam", path("a.bam"), path("f.sam"));
    run(format!("{filter} --coverage {} {OPTIONS}", path("f")));
    for name in FILES {
        let file = |prefix: &str| fs::read(dir.path(&format!("{prefix}{name}"))).expect("the file");
        let first = file("a");
        assert!(!first.is_empty(), "{name}");
        for prefix in ["b", "c", "d", "e", "f"] {
            assert!(file(prefix) == first, "{prefix}{name}");
        }
    }
    assert_eq!(written(&dir, "a"), FILES);
}

#[test]
fn what_is_spilled_or_taken_back_changes_nothing() {
    let inputs = [bgzip(&sample(3_000))];
    let command = format!("sort --coverage METRICS {OPTIONS}");
    same_bytes_with(&FEW_RESOURCES, &inputs, &command, "bam");
}

#[test]
fn reads_that_are_not_sorted_are_refused_and_nothing_is_left() {
    let dir = TestDir::new();
    let read = |name: &str, place: u32| format!("{name}\t0\ta\t{place}\t9\t5M\t*\t0\t0\t*\t*\n");
    let text = |order: &str| {
        format!("@HD\tVN:1.6\tSO:{order}\n@SQ\tSN:a\tLN:90\n{}{}", read("r1", 50), read("r2", 20))
    };
    let says = arg(&dir.file("says.sam", text("coordinate")));
    let other = arg(&dir.file("other.sam", text("unsorted")));
    for (input, code, message) in [(says, 2, "sorted by coordinate"), (other, 1, "sorted by coordinate")]
    {
        let done = readmill(["qc", &input, "-o", &arg(&dir.path("c")), "--coverage", "--no-metrics"]);
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        assert!(done.stderr.contains(message), "{}", done.stderr);
        assert_eq!(written(&dir, "c"), Vec::<String>::new());
    }
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:90\n"));
    let bed = arg(&dir.file("bad.bed", "a\t9\t5\n"));
    let output = arg(&dir.path("out"));
    for (options, message) in [
        ("--coverage-by 9", "coverage options are given"),
        ("--coverage --coverage-thresholds 1", "coverage thresholds apply to regions"),
        ("--coverage --coverage-use-median", "median coverage applies to regions"),
        ("--coverage --coverage-by 0", "the window size must be"),
        ("--coverage --coverage-quantize 1:x", "the limits of the depth bins must be numbers"),
        (&format!("--coverage --coverage-by {bed}"), "the region ends before it starts"),
        ("--coverage --coverage-by missing.bed", "missing.bed"),
        ("--coverage -m 30M", "needs at least -m"),
    ] {
        let done = readmill(words(&format!("qc {input} -o {output} {options}")));
        assert!(done.code.is_some_and(|code| code != 0), "{options}");
        assert!(done.stderr.contains(message), "{options}: {}", done.stderr);
        assert_eq!(written(&dir, "out"), Vec::<String>::new(), "{options}");
    }
}

#[test]
fn contigs_without_reads_have_lines() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:90\n"));
    let output = arg(&dir.path("out"));
    let done = readmill(words(&format!("qc {input} -o {output} --coverage --no-metrics")));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let summary = fs::read_to_string(dir.path("out.mosdepth.summary.txt")).expect("the summary");
    assert_eq!(summary, "chrom\tlength\tbases\tmean\tmin\tmax\ntotal\t0\t0\t0.00\t0\t0\n");
}

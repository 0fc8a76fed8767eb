//! The modules of FastQC: of FASTQ and of records, alone and where reads are written.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::random::TestRandom;
use crate::support::resources::{sample, words};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

/// Reads of many lengths, with adapters, names that tell tiles, and each third sequence seen before.
fn fastq(reads: usize, longest: usize, seed: u64) -> String {
    let (mut random, mut text) = (TestRandom::new(seed), String::new());
    for at in 0..reads {
        let length = 1 + random.below(longest);
        let seen = TestRandom::new(random.below(50) as u64);
        let mut source = if at % 3 == 0 { seen } else { TestRandom::new((seed << 32) + at as u64) };
        let mut bases: String = (0..length).map(|_| source.pick(&['A', 'C', 'G', 'T', 'N'])).collect();
        if at % 7 == 0 {
            bases += "AGATCGGAAGAGC";
        }
        let quals: String = bases.chars().map(|_| random.pick(&['#', '5', 'A', 'I'])).collect();
        let _ = writeln!(text, "@A:1:B:2:{}:{at}:1 x\n{bases}\n+\n{quals}", at % 4);
    }
    text
}

#[track_caller]
fn run(line: &str) -> ProgramRun {
    let done = readmill(words(line));
    assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
    done
}

/// Both files of a report.
#[track_caller]
fn report(directory: &Path, name: &str) -> [String; 2] {
    ["fastqc_data.txt", "summary.txt"].map(|file| {
        fs::read_to_string(directory.join(format!("{name}_fastqc")).join(file)).expect("a report")
    })
}

#[test]
fn reports_do_not_depend_on_resources_or_on_who_reads() {
    let dir = TestDir::new();
    let one = arg(&dir.file("one.fastq", fastq(5_000, 300, 1)));
    let two = arg(&dir.file("two.fq", fastq(5_000, 700, 2)));
    let path = |name: &str| arg(&dir.path(name));
    run(&format!("qc {one} {two} --no-metrics --fastqc {} -@ 1", path("a")));
    run(&format!("qc {one} {two} --no-metrics --fastqc {} -@ 2 -m 250M", path("b")));
    run(&format!("qc {two} {one} --no-metrics --fastqc {} -@ 7", path("c")));
    run(&format!("import --single {one} {two} -o {} --fastqc {} -@ 3", path("single.bam"), path("d")));
    for name in ["one", "two"] {
        let first = report(&dir.path("a"), name);
        assert_eq!(first[1].lines().count(), 11, "{}", first[1]);
        for other in ["b", "c", "d"] {
            assert!(report(&dir.path(other), name) == first, "{other}/{name}");
        }
    }
    // The same reads as records.
    run(&format!("import {one} -o {}", path("one.bam")));
    run(&format!(
        "prep {} -o {} --sort queryname --fastqc {} -@ 7",
        path("one.bam"),
        path("s.bam"),
        path("e")
    ));
    run(&format!(
        "filter {} -o {} --min-mapq 9 --fastqc {} -@ 2",
        path("one.bam"),
        path("f.bam"),
        path("f")
    ));
    run(&format!("import --unaligned {} -o {} --fastqc {}", path("one.bam"), path("g.bam"), path("g")));
    let of_file = |text: &str| text.replace("one.fastq", "one.bam");
    let first = report(&dir.path("a"), "one").map(|text| of_file(&text));
    for other in ["e", "f", "g"] {
        assert!(report(&dir.path(other), "one") == first, "{other}");
    }
}

#[test]
fn pairs_have_a_report_for_each_file_and_pairs_in_one_file_one() {
    let dir = TestDir::new();
    let make = |seed| fastq(3_000, 90, seed);
    let (first, second) = (make(1), make(2));
    let lines = [&first, &second].map(|text| text.lines().collect::<Vec<_>>());
    let mut both = String::new();
    for (one, two) in lines[0].chunks(4).zip(lines[1].chunks(4)) {
        let _ = writeln!(both, "{}\n{}", one.join("\n"), two.join("\n"));
    }
    let files = [("r1.fastq", &first), ("r2.fastq", &second), ("both.fastq", &both)];
    let [one, two, both] = files.map(|(name, text)| arg(&dir.file(name, text)));
    let path = |name: &str| arg(&dir.path(name));
    run(&format!("import {one} {two} -o {} --fastqc {}", path("o.bam"), path("pairs")));
    run(&format!("import -p {both} -o {} --fastqc {}", path("o.bam"), path("pairs")));
    run(&format!("qc {one} {two} {both} --no-metrics --fastqc {}", path("alone")));
    for name in ["r1", "r2", "both"] {
        assert!(report(&dir.path("pairs"), name) == report(&dir.path("alone"), name), "{name}");
    }
}

#[test]
fn numbers_of_a_few_reads_are_as_stated() {
    let dir = TestDir::new();
    let input = arg(&dir.file("x.fq", "@a\nACGTacgt\n+\n!5IIIIII\n@b\nGGGGN\n+\nIIIII\n"));
    let json = arg(&dir.path("run.json"));
    run(&format!("qc {input} --no-metrics --fastqc {} --json {json}", arg(&dir.path("qc"))));
    let [data, summary] = report(&dir.path("qc"), "x");
    for line in [
        "##FastQC\t0.11.9",
        "Filename\tx.fq",
        "Encoding\tSanger / Illumina 1.9",
        "Total Sequences\t2",
        "Sequence length\t5-8",
        "%GC\t66",
        "1\t20.0\tNaN\tNaN\tNaN\tNaN\tNaN",
        "32\t1.0",
        "1\t50.0\t50.0\t0.0\t0.0",
        "5\t50.0",
        ">>Sequence Length Distribution\twarn",
        "#Total Deduplicated Percentage\t100.0",
        "GGGGN\t1\t50.0\tNo Hit",
        ">>Adapter Content\twarn",
    ] {
        assert!(data.lines().any(|it| it == line), "{line}\n{data}");
    }
    assert!(
        summary.starts_with("PASS\tBasic Statistics\tx.fq\nPASS\tPer base sequence quality\tx.fq\n"),
        "{summary}"
    );
    let value: Value = serde_json::from_str(&fs::read_to_string(json).expect("JSON")).expect("JSON");
    let reports = &value["reports"]["fastqc"];
    assert_eq!(reports[0]["file"], "x.fq");
    assert_eq!(reports[0]["modules"][0]["columns"]["Value"][3], 2);
    assert_eq!(reports[0]["modules"].as_array().map(Vec::len), Some(10), "there is none of tiles");
}

#[test]
fn records_are_counted_as_they_come_whatever_is_done_to_them() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(4_000))));
    let path = |name: &str| arg(&dir.path(name));
    run(&format!("qc {input} --no-metrics --fastqc {} -@ 1", path("a")));
    let steps = "--sort coordinate --mark-duplicates --drop-unmapped";
    run(&format!("prep {input} -o {} {steps} --fastqc {} -@ 7", path("o.bam"), path("b")));
    run(&format!("prep {input} -o {} {steps} --fastqc {} -@ 2 -m 120M", path("o.bam"), path("c")));
    for other in ["b", "c"] {
        assert!(report(&dir.path("a"), "in") == report(&dir.path(other), "in"), "{other}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused_and_nothing_is_left() {
    let dir = TestDir::new();
    let text = fastq(10, 50, 3);
    let fine = arg(&dir.file("fine.fq", &text));
    fs::create_dir(dir.path("other")).expect("a directory");
    let same = arg(&dir.file("other/fine.fq", &text));
    let sam = |qual: &str| format!("@SQ\tSN:a\tLN:9\nr\t4\t*\t0\t0\t*\t*\t0\t0\tAC\t{qual}\n");
    let records = arg(&dir.file("r.sam", sam("II")));
    let cut = arg(&dir.file("cut.fq", &text[..text.len() - 9]));
    let (out, to) = (arg(&dir.path("o.bam")), arg(&dir.path("qc/deep")));
    for (line, message) in [
        (format!("qc {fine} {records} --no-metrics --fastqc {to}"), "some inputs are FASTQ"),
        (format!("qc {fine} -o {to} --fastqc {to}"), "metrics and coverage need alignments"),
        (format!("qc {records} --fastqc {to}"), "quality metrics are several files"),
        (format!("qc {records} --no-metrics"), "leaves nothing to compute"),
        (format!("qc {fine} {same} --no-metrics --fastqc {to}"), "two outputs have the same name"),
        (format!("qc {records} --no-metrics --fastqc-nogroup"), "--fastqc"),
        (format!("qc {records} --no-metrics --fastqc -"), "need a directory"),
        (format!("qc {cut} --no-metrics --fastqc {to}"), "cut.fq"),
        (
            format!("sort {records} -o {out} --fastqc {to} --resume {}", arg(&dir.path("stages"))),
            "cannot be run in stages",
        ),
    ] {
        let done = readmill(words(&line));
        assert!(done.code.is_some_and(|code| code != 0), "{line}");
        assert!(done.stderr.contains(message), "{line}: {}", done.stderr);
        assert!(!dir.path("qc").exists(), "{line}");
    }
}

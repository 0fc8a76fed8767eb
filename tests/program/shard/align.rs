//! Reads that are aligned in stages: whatever files they come in, and wherever a slice starts.

use crate::align::{adapters, gzip, reads, reference, unaligned};
use crate::shard::{Scene, samples};
use crate::support::{self, TestDir, bgzip};

/// A command that aligns `in/*`, with enough memory for the aligner.
fn scene(inputs: &[(&str, Vec<u8>)], flags: &str) -> Scene {
    let reference = reference();
    let command = format!("align {reference} in/* -o out/x.bam -l 1 --no-PG {flags}");
    let mut scene = Scene::new(inputs, &command);
    *scene.command.last_mut().unwrap() = "900M".into();
    scene
}

/// Asserts that it is the same in each division; returns the slices that have reads, of the last one.
#[track_caller]
fn same(inputs: &[(&str, Vec<u8>)], flags: &str, divisions: &[&str]) -> usize {
    let scene = scene(inputs, flags);
    let (expected, mut full) = (scene.plain(), 0);
    for division in divisions {
        println!("{flags}, {division}");
        scene.plan(division).succeeds();
        let (slices, _) = scene.division();
        scene.run().succeeds();
        let size = |slice| std::fs::metadata(scene.stage(&format!("map-{slice:04}"))).unwrap().len();
        let sizes = Vec::from_iter((1..=slices).map(size));
        full = sizes.iter().filter(|&&size| size > 2000).count();
        scene.is_written(&expected, division);
        scene.shard("clean --work work").succeeds();
    }
    full
}

fn pair() -> [(&'static str, Vec<u8>); 2] {
    let [one, two] = reads().clone();
    [("1.fq", one), ("2.fq", two)]
}

const SORT: &str = "--sort coordinate --mark-duplicates --metrics out/m";

#[test]
fn fastq_of_every_packing_is_aligned_as_in_one_run() {
    let [one, two] = reads().clone();
    let half = one.len() / 2;
    let members = [gzip(&one[..half]), gzip(&one[half..])].concat();
    let flags = format!("-K 20000 -R @RG\\tID:a\\tSM:s {SORT}");
    // A slice starts behind the first batch that is behind its share of bytes; there are three batches. Places in gzip and
    // in BGZF are a mebibyte of text apart: crates/fastq has tests of larger files.
    for (files, full) in [
        ([("1.fq", one.clone()), ("2.fq", two.clone())], 3),
        ([("1.fq.gz", members), ("2.fq.gz", bgzip(&two))], 1),
        ([("1.fq.gz", bgzip(&one)), ("2.fq", two.clone())], 3),
        ([("1.fq.zst", zstd::encode_all(&one[..], 1).unwrap()), ("2.fq", two)], 1),
    ] {
        let found = same(&files, &flags, &["--shards 2 --ranges 3", "--shards 7 --ranges 2"]);
        assert_eq!(found, full, "{}", files[0].0);
    }
}

#[test]
fn slices_of_few_cohorts_and_many_are_aligned_as_in_one_run() {
    // One cohort, five, and 450; and batches that cohorts cut.
    for (cohort, shards) in [("10000000", 3), ("200000", 9), ("2000", 40)] {
        let flags = format!("-K {cohort} --sort natural");
        let full = same(&pair(), &flags, &[&format!("--shards {shards} --ranges 4")]);
        let max_slices = match cohort {
            "10000000" => 1,
            "200000" => 5,
            _ => 40,
        };
        assert!(full <= max_slices && full > max_slices / 20, "{full} slices of {cohort}");
    }
}

#[test]
fn single_reads_pairs_of_one_file_and_lanes_are_aligned_as_in_one_run() {
    let [one, two] = reads().clone();
    let records = |bytes: &[u8]| {
        let lines = Vec::from_iter(bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        Vec::from_iter(lines.chunks(4).map(<[Vec<u8>]>::concat))
    };
    let both = records(&one).into_iter().zip(records(&two));
    let both = both.flat_map(|(one, two)| [one, two].concat()).collect::<Vec<u8>>();
    same(&[("1.fq", one.clone())], SORT, &["--shards 4"]);
    same(&[("both.fq", both)], &format!("-p -K 50000 {SORT}"), &["--shards 4 --ranges 1"]);
    let lanes = [
        ("1.fq", one.clone()),
        ("2.fq", two.clone()),
        ("3.fq.gz", gzip(&records(&one)[..900].concat())),
        ("4.fq.gz", gzip(&records(&two)[..900].concat())),
    ];
    let groups = "-R @RG\\tID:a\\tSM:s -R @RG\\tID:b\\tSM:s\\tLB:l";
    same(&lanes, &format!("-K 50000 {groups} {SORT}"), &["--shards 5 --ranges 2", "--shards 1"]);
}

#[test]
fn index_reads_numbered_mates_and_single_reads_among_pairs_are_those_of_one_run() {
    let lines = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).expect("FASTQ is text");
        Vec::from_iter(text.split_inclusive('\n').map(String::from))
    };
    let [one, two] = reads().each_ref().map(|text| lines(text));
    let name = |head: &str| head.trim().split(['/', ' ']).next().unwrap_or_default().to_string();
    let dir = TestDir::new();
    let umi = |record: &[String]| format!("{}\n{}\n+\nFFFFFFFF\n", name(&record[0]), &record[1][..8]);
    let umis = dir.file("u.fq", one.chunks(4).map(umi).collect::<String>());
    let flags = format!("-K 20000 --umi-fastq {} {SORT}", umis.display());
    assert!(same(&pair(), &flags, &["--shards 5 --ranges 2"]) > 1);
    let numbered = |reads: &[String], end: &str| {
        let record = |record: &[String]| format!("{}{end}\n{}", name(&record[0]), record[1..].concat());
        reads.chunks(4).map(record).collect::<String>().into_bytes()
    };
    let files = [("1.fq", numbered(&one, ".1")), ("2.fq", numbered(&two, ".2"))];
    assert!(same(&files, &format!("-K 20000 {SORT}"), &["--shards 5 --ranges 2"]) > 1);
    // Single reads stand behind the first two batches.
    let both = one.chunks(4).zip(two.chunks(4)).enumerate().flat_map(|(at, (one, two))| {
        let is_single = at > 2100 && at % 9 == 0;
        if is_single { one.to_vec() } else { [one, two].concat() }
    });
    let both = both.collect::<String>().into_bytes();
    assert!(same(&[("both.fq", both)], &format!("-p -K 20000 {SORT}"), &["--shards 6 --ranges 2"]) > 1);
}

#[test]
fn reads_of_files_of_records_are_aligned_as_in_one_run() {
    let text = unaligned::sam();
    let bam = samples::in_blocks(&text, 9000);
    let flags = format!("-K 30000 {SORT}");
    let mut max_slices = 0;
    for (name, bytes) in [("u.bam", bam.clone()), ("u.sam", text.clone().into_bytes())] {
        max_slices = max_slices.max(same(&[(name, bytes)], &flags, &["--shards 5 --ranges 2"]));
    }
    assert!(max_slices > 2, "{max_slices}");
    // Two lanes, whose read groups have the same names.
    let other = text.replace("@RG\tID:a\tSM:s", "@RG\tID:a\tSM:s\tLB:other");
    let lanes = [("u.bam", bam), ("v.bam", support::bam(&other))];
    same(&lanes, &flags, &["--shards 6 --ranges 3"]);
}

#[test]
fn adapters_umis_and_comments_are_those_of_one_run() {
    let [one, two] = adapters::short();
    let files = [("1.fq", one), ("2.fq", two)];
    for flags in [
        "--mark-adapters --adapter-metrics out/a",
        "--mark-adapters --prune-adapters-after 700 --adapter-metrics out/a -C",
        "--read-structures 5M2S+T,3M+T -C --umi tag:RX",
    ] {
        same(&files, &format!("-K 20000 {flags} {SORT}"), &["--shards 6 --ranges 2"]);
    }
}

#[test]
fn trimmed_reads_are_aligned_as_in_one_run() {
    // Many are dropped, so that numbers of templates are others than in the files.
    let trim = "--trim --trim-poly-x --length-required 60 --trim-adapter-sequence AGATCGGAAGAGC";
    let files = || {
        let [one, two] = adapters::short();
        [("1.fq", one), ("2.fq", two)]
    };
    let full = same(&files(), &format!("-K 20000 {trim} {SORT}"), &["--shards 6 --ranges 2"]);
    assert_eq!(full, 3);
    let text = unaligned::sam();
    let bam = [("u.bam", samples::in_blocks(&text, 9000))];
    let full = same(&bam, &format!("-K 30000 {trim} {SORT}"), &["--shards 5 --ranges 2"]);
    assert!(full > 2, "{full}");
    for inputs in [&files()[..], &bam[..]] {
        let scene = scene(inputs, &format!("-K 20000 {trim} {SORT} --json out/run.json"));
        let run = |outputs: &crate::shard::Files| -> serde_json::Value {
            serde_json::from_slice(&outputs["run.json"]).unwrap()
        };
        let one = run(&scene.plain());
        scene.plan("--shards 5").succeeds();
        scene.run().succeeds();
        let staged = run(&scene.outputs());
        let reads = |when: &str| one["trimming"]["summary"][when]["total_reads"].as_u64().unwrap();
        assert!(reads("before_filtering") > reads("after_filtering"));
        assert_eq!([&one["trimming"], &one["reads"]], [&staged["trimming"], &staged["reads"]]);
    }
}

#[test]
fn recalibration_and_reports_are_those_of_one_run() {
    let flags = "-K 100000 -R @RG\\tID:a\\tSM:s\\tPL:ILLUMINA --bqsr --bqsr-bootstrap --flagstat out/f \
                 --qc out/q --verify";
    let full = same(&pair(), &format!("{flags} {SORT}"), &["--shards 4 --ranges 3"]);
    assert_eq!(full, 3);
}

#[test]
fn align_resumes() {
    let scene = scene(&pair(), &format!("-K 100000 {SORT}"));
    let expected = scene.plain();
    scene.resume().succeeds();
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "--resume");
}

#[test]
fn a_mistake_in_reads_is_found_by_the_scan_and_named_as_in_one_run() {
    let [one, two] = reads().clone();
    let at = two.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(4 * 2500 - 1).unwrap().0;
    let mut bad = two;
    bad[at + 1] = b'X';
    let scene = scene(&[("1.fq", one), ("2.fq", bad)], &format!("-K 20000 {SORT}"));
    let error = |text: &str| text.lines().find(|line| line.contains("error")).map(str::to_string);
    let plain = scene.folders.readmill(&scene.command);
    plain.fails(2, &["in/2.fq"]);
    scene.plan("--shards 4").succeeds();
    let staged = scene.run();
    staged.fails(2, &["in/2.fq"]);
    assert_eq!(error(&staged.stderr), error(&plain.stderr));
    assert_eq!(scene.stages(), ["job.json"]);
    assert_eq!(scene.folders.left(), [""; 0]);
}

#[test]
fn an_index_that_was_changed_after_the_plan_is_refused() {
    let folders = crate::support::TestDir::new();
    let copied = folders.path("ref.fa");
    for suffix in ["", ".amb", ".ann", ".pac", ".bwt.2bit.64"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{}{suffix}", copied.display()))
            .unwrap();
    }
    let mut scene = scene(&pair(), SORT);
    scene.command[1] = copied.display().to_string();
    scene.plan("--shards 2").succeeds();
    let alternates = format!("{}.amb", copied.display());
    let text = std::fs::read(&alternates).unwrap();
    std::fs::remove_file(&alternates).unwrap();
    std::fs::write(&alternates, text).unwrap();
    scene.run().fails(2, &["now has a different meaning"]);
}

#[test]
fn a_slice_needs_the_scan_of_its_lane() {
    let [one, two] = reads().clone();
    let lanes = [("1.fq", one.clone()), ("2.fq", two.clone()), ("3.fq", one), ("4.fq", two)];
    let scene = scene(&lanes, SORT);
    scene.plan("--shards 4 --ranges 2").succeeds();
    let graph = scene.shard("graph --work work");
    let rows: serde_json::Value = serde_json::from_slice(&graph.stdout).unwrap();
    let needs = |name: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
        row["needs"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(needs("scan 2"), [""; 0]);
    assert_eq!([needs("map 1"), needs("map 2")], [["scan 1"]; 2]);
    assert_eq!([needs("map 3"), needs("map 4")], [["scan 2"]; 2]);
    assert_eq!(needs("cut"), ["map 1", "map 2", "map 3", "map 4"]);
    for (format, words) in [
        ("snakemake", "rule scan:"),
        ("nextflow", "map_done = MAP(Channel.of(1..4).combine(scan_done))"),
        ("slurm", "scan=$(submit \"\" scan --array=1-2 \"$@\")"),
        ("dot", "scan -> map"),
    ] {
        let graph = scene.shard(&format!("graph --work work --format {format}"));
        let text = String::from_utf8(graph.stdout).unwrap();
        assert!(text.contains(words), "{format}: {text}");
    }
    scene.shard("map 1 --work work -q").fails(75, &["scan-0001 is missing", "scan 1 is not finished"]);
}

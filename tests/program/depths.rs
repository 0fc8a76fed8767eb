//! Depths, targets and sites of quality metrics: in the run that writes the reads, in stages, and of a file that exists.

use std::fs;

use readmill_simulate::{Profile, Sample};
use serde_json::Value;

use crate::support::resources::{query_min_memory, words};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

const METRICS: &str =
    "CollectWgsMetrics,CollectRawWgsMetrics,CollectWgsMetricsWithNonZeroCoverage,CollectOxoGMetrics";

/// The files, after the prefix.
const FILES: [&str; 4] =
    [".oxog_metrics", ".raw_wgs_metrics", ".wgs_metrics", ".wgs_metrics_with_non_zero_coverage"];

/// A file with simulated reads, and their reference.
fn simulated(dir: &TestDir, pairs: u64) -> [String; 2] {
    let sample = Sample::new(Profile::small().with_pairs(pairs));
    let (mut reads, mut reference) = (Vec::new(), Vec::new());
    sample.raw_header(&mut reads);
    let mut records = sample.records();
    while records.append_next(&mut reads) {}
    sample.write_fasta(&mut reference).expect("a reference");
    [arg(&dir.file("in.bam", bgzip(&reads))), arg(&dir.file("ref.fa", reference))]
}

/// Runs readmill, which must do what it is asked for.
fn run(line: &str) {
    let ProgramRun { code, stderr, .. } = readmill(words(line));
    assert_eq!(code, Some(0), "{line}: {stderr}");
}

/// A file, below its comments.
fn below_comments(dir: &TestDir, name: &str) -> String {
    let text = fs::read_to_string(dir.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.split_once("\n\n").expect("a table below the comments").1.to_owned()
}

#[test]
fn files_do_not_depend_on_resources_or_stages_or_on_who_wrote_the_reads() {
    let dir = TestDir::new();
    let [input, reference] = simulated(&dir, 9_000);
    let path = |name: &str| arg(&dir.path(name));
    for (number, options) in [
        "--sample-size 30 --include-bq-histogram",
        "--sample-size 30 --coverage-cap 2 --locus-accumulation-cap 3 --minimum-mapping-quality 0 --count-unpaired",
    ]
    .into_iter()
    .enumerate()
    {
        let options = format!("--reference {reference} {options}");
        let qc = |name: &str| format!("--qc {} --qc-metrics {METRICS} {options}", path(name));
        let prep = format!("prep {input} --sort coordinate --mark-duplicates -l 1");
        run(&format!("{prep} -o {} {} -@ 1", path("a.bam"), qc("a")));
        run(&format!("{prep} -o {} {} -@ 8 -m 256M", path("b.bam"), qc("b")));
        let stages = path(&format!("stages{number}"));
        run(&format!("{prep} -o {} {} --resume {stages}", path("c.bam"), qc("c")));
        let json = path("d.json");
        run(&format!("qc {} -o {} --metrics {METRICS} {options} --json {json}", path("a.bam"), path("d")));
        let described: Value = serde_json::from_str(&fs::read_to_string(json).expect("a description")).expect("JSON");
        FILES.iter().for_each(|name| assert!(described["reports"][&name[1..]].is_object(), "{name}"));
        run(&format!("sort {} -o {} {} -m 128M", path("a.bam"), path("e.bam"), qc("e")));
        run(&format!("filter {} -o {} -O sam {}", path("a.bam"), path("f.sam"), qc("f")));
        for name in FILES {
            let first = below_comments(&dir, &format!("a{name}"));
            assert!(first.lines().count() > 3, "{name}");
            for prefix in ["b", "c", "d", "e", "f"] {
                assert!(below_comments(&dir, &format!("{prefix}{name}")) == first, "{prefix}{name}");
            }
        }
    }
}

#[test]
fn the_least_memory_that_is_named_is_enough() {
    let dir = TestDir::new();
    let [input, reference] = simulated(&dir, 1_000);
    let path = |name: &str| arg(&dir.path(name));
    let prep = format!("prep {input} --sort coordinate -o {}", path("out.bam"));
    for threads in [1, 3] {
        for metrics in
            ["CollectAlignmentSummaryMetrics,CollectGcBiasMetrics", "CollectWgsMetrics", METRICS]
        {
            let qc = format!("--qc {} --qc-metrics {metrics} --reference {reference}", path("out"));
            let line = format!("{prep} {qc} -@ {threads}");
            let min_memory = query_min_memory(&words(&line));
            run(&format!("{line} -m {min_memory}"));
        }
        for line in [
            format!("qc {input} -o {} -@ {threads}", path("alone")),
            format!("qc {input} --no-metrics --fastqc {} -@ {threads}", path("modules")),
            format!("{prep} --qc {} --fastqc {} -@ {threads}", path("both"), path("modules")),
        ] {
            let min_memory = query_min_memory(&words(&line));
            run(&format!("{line} -m {min_memory}"));
        }
    }
}

#[test]
fn the_least_memory_is_enough_for_full_batches_on_eight_threads() {
    let dir = TestDir::new();
    let [input, reference] = simulated(&dir, 20_000);
    let sorted = arg(&dir.path("sorted.bam"));
    run(&format!("sort {input} -o {sorted}"));
    let targets = arg(&dir.file("targets.bed", "chr1\t1\t90000\nchr2\t1\t40000\n"));
    let levels = "all_reads,sample,library,read_group";
    let out = arg(&dir.path("out"));
    for program in [
        "CollectWgsMetrics,CollectRawWgsMetrics,CollectOxoGMetrics --sample-size 100".to_owned(),
        format!(
            "CollectHsMetrics --target-intervals {targets} --bait-intervals {targets} \
             --metric-accumulation-level {levels} --sample-size 100"
        ),
    ] {
        let line = format!("qc {sorted} -o {out} --metrics {program} --reference {reference} -@ 8");
        let min_memory = query_min_memory(&words(&line));
        run(&format!("{line} -m {min_memory}"));
    }
}

#[test]
fn depths_of_targets_do_not_depend_on_resources_or_on_who_wrote_the_reads() {
    let dir = TestDir::new();
    let [input, reference] = simulated(&dir, 9_000);
    let path = |name: &str| arg(&dir.path(name));
    let targets = "chr1\t1000\t50000\ta\nchr1\t49000\t60000\tb\nchr2\t100\t40000\tc\nchr1\t90\t91\n";
    let targets = arg(&dir.file("targets.bed", targets));
    let options = format!(
        "--reference {reference} --target-intervals {targets} --bait-intervals {targets} --amplicon-intervals {targets} \
         --per-target-coverage --per-base-coverage --sample-size 30 --coverage-cap 4"
    );
    let programs = "CollectHsMetrics,CollectTargetedPcrMetrics";
    let qc = |name: &str| format!("--qc {} --qc-metrics {programs} {options}", path(name));
    let prep = format!("prep {input} --sort coordinate --mark-duplicates -l 1");
    run(&format!("{prep} -o {} {} -@ 1", path("a.bam"), qc("a")));
    run(&format!("{prep} -o {} {} -@ 8 -m 256M", path("b.bam"), qc("b")));
    run(&format!("{prep} -o {} {} --resume {}", path("c.bam"), qc("c"), path("stages")));
    run(&format!("qc {} -o {} --metrics {programs} {options}", path("a.bam"), path("d")));
    run(&format!("filter {} -o {} -O sam {}", path("a.bam"), path("e.sam"), qc("e")));
    for name in [".hs_metrics", ".targeted_pcr_metrics"] {
        let first = below_comments(&dir, &format!("a{name}"));
        assert!(first.lines().count() > 100, "{name}");
        for prefix in ["b", "c", "d", "e"] {
            assert!(below_comments(&dir, &format!("{prefix}{name}")) == first, "{prefix}{name}");
        }
    }
    for (ending, lines) in [("per_target", 4), ("per_base", 59_000 + 39_900 + 1 + 1)] {
        for program in ["hs", "targeted_pcr"] {
            let name = |prefix: &str| format!("{prefix}.{program}_{ending}_coverage");
            let first = fs::read_to_string(dir.path(&name("a"))).expect("a file of targets");
            assert_eq!(first.lines().count(), lines, "{ending}");
            for prefix in ["b", "c", "d", "e"] {
                let text = fs::read_to_string(dir.path(&name(prefix))).expect("a file of targets");
                assert!(text == first, "{}", name(prefix));
            }
        }
    }
}

#[test]
fn metrics_of_rna_do_not_depend_on_resources_or_on_who_wrote_the_reads() {
    let dir = TestDir::new();
    let [input, _] = simulated(&dir, 9_000);
    let path = |name: &str| arg(&dir.path(name));
    let genes = "a\ta1\tchr1\t+\t1000\t90000\t1500\t80000\t2\t1000,40000,\t30000,90000,\n\
                 a\ta2\tchr1\t+\t1000\t70000\t1000\t1000\t1\t1000,\t70000,\n\
                 b\tb1\tchr1\t-\t80000\t600000\t90000\t500000\t2\t80000,300000,\t200000,600000,\n\
                 c\tc1\tchr2\t-\t5000\t90000\t6000\t80000\t1\t5000,\t90000,\n";
    let genes = arg(&dir.file("genes.refflat", genes));
    let ribosomal = arg(&dir.file("rrna.bed", "chr1\t100000\t110000\n"));
    let options = format!(
        "--ref-flat {genes} --ribosomal-intervals {ribosomal} --strand-specificity first_read_transcription_strand \
         --metric-accumulation-level all_reads,library,read_group --ignore-sequence chrM"
    );
    let qc = |name: &str| format!("--qc {} --qc-metrics CollectRnaSeqMetrics {options}", path(name));
    let prep = format!("prep {input} --sort coordinate --mark-duplicates -l 1");
    run(&format!("{prep} -o {} {} -@ 1", path("a.bam"), qc("a")));
    run(&format!("{prep} -o {} {} -@ 8 -m 256M", path("b.bam"), qc("b")));
    run(&format!("{prep} -o {} {} --resume {}", path("c.bam"), qc("c"), path("stages")));
    run(&format!("qc {} -o {} --metrics CollectRnaSeqMetrics {options}", path("a.bam"), path("d")));
    let first = below_comments(&dir, "a.rna_metrics");
    assert!(first.lines().count() > 100, "{first}");
    for prefix in ["b", "c", "d"] {
        assert!(below_comments(&dir, &format!("{prefix}.rna_metrics")) == first, "{prefix}");
    }
}

#[test]
fn jumping_pairs_do_not_depend_on_resources_or_on_who_wrote_the_reads() {
    let dir = TestDir::new();
    let [input, _] = simulated(&dir, 9_000);
    let path = |name: &str| arg(&dir.path(name));
    let program = "CollectJumpingLibraryMetrics --chimera-kb-min 300 --tail-limit 100";
    let qc = |name: &str| format!("--qc {} --qc-metrics {program}", path(name));
    let prep = format!("prep {input} --sort coordinate --mark-duplicates -l 1");
    run(&format!("{prep} -o {} {} -@ 1", path("a.bam"), qc("a")));
    run(&format!("{prep} -o {} {} -@ 8 -m 256M", path("b.bam"), qc("b")));
    run(&format!("{prep} -o {} {} --resume {}", path("c.bam"), qc("c"), path("stages")));
    run(&format!("qc {} -o {} --metrics {program}", path("a.bam"), path("d")));
    let first = below_comments(&dir, "a.jump_metrics");
    assert!(first.starts_with("## METRICS CLASS\tpicard.analysis.JumpingLibraryMetrics\n"), "{first}");
    for prefix in ["b", "c", "d"] {
        assert!(below_comments(&dir, &format!("{prefix}.jump_metrics")) == first, "{prefix}");
    }
}

#[test]
fn what_they_need_is_asked_for_by_name() {
    let dir = TestDir::new();
    let header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:90\n";
    let read = |name: &str, place: u32| format!("{name}\t0\ta\t{place}\t9\t5M\t*\t0\t0\tACGTA\tIIIII\n");
    let sorted = arg(&dir.file("in.sam", header));
    let says = arg(&dir.file("says.sam", format!("{header}{}{}", read("r1", 50), read("r2", 20))));
    let other = arg(&dir.file("other.sam", header.replace("coordinate", "queryname")));
    let reference = arg(&dir.file("ref.fa", format!(">a\n{}\n", "ACGTACGTA".repeat(10))));
    let intervals = arg(&dir.file("x.bed", "a\t5\t9\n"));
    let both = format!("--bait-intervals {intervals} --target-intervals {intervals}");
    let (rna, empty) = ("--metrics CollectRnaSeqMetrics", arg(&dir.file("empty.refflat", "")));
    let genes = arg(&dir.file("genes.refflat", "g\tt\ta\t+\tx\t9\t5\t5\t1\t5,\t9,\n"));
    let output = arg(&dir.path("out"));
    for (input, options, message) in [
        (
            &sorted,
            "--metrics CollectWgsMetrics".into(),
            "CollectWgsMetrics counts nothing without a reference",
        ),
        (
            &other,
            format!("--metrics CollectRawWgsMetrics --reference {reference}"),
            "sorted by coordinate",
        ),
        (
            &says,
            format!(
                "--metrics CollectWgsMetrics --reference {reference} --minimum-mapping-quality 0 --count-unpaired"
            ),
            "depths and sites need sorted reads",
        ),
        (
            &sorted,
            format!("--metrics CollectOxoGMetrics --reference {reference}"),
            "the header has none",
        ),
        (
            &sorted,
            format!("--metrics CollectOxoGMetrics --reference {reference} --maximum-insert-size 0"),
            "below the least one",
        ),
        (&sorted, format!("--intervals {intervals}"), "--intervals is for CollectWgsMetrics"),
        (
            &sorted,
            format!(
                "--metrics CollectWgsMetrics,CollectSequencingArtifactMetrics --reference {reference} \
                 --intervals {intervals}"
            ),
            "CollectSequencingArtifactMetrics counts all sites",
        ),
        (&sorted, format!("--target-intervals {intervals}"), "which is not requested"),
        (&sorted, format!("--bait-intervals {intervals}"), "--bait-intervals is for CollectHsMetrics"),
        (&sorted, "--metrics CollectHsMetrics".into(), "needs --bait-intervals and --target-intervals"),
        (&other, format!("--metrics CollectHsMetrics {both}"), "sorted by coordinate"),
        (&says, format!("--metrics CollectHsMetrics {both}"), "depths and sites need sorted reads"),
        (
            &sorted,
            format!("--metrics CollectHsMetrics {both} --per-target-coverage"),
            "needs a reference",
        ),
        (
            &sorted,
            format!(
                "--metrics CollectHsMetrics {both} --per-base-coverage --metric-accumulation-level sample"
            ),
            "support only the level ALL_READS",
        ),
        (
            &sorted,
            format!("--metrics CollectHsMetrics {both} --intervals {intervals}"),
            "CollectHsMetrics counts reads anywhere",
        ),
        (&sorted, "--near-distance 5".into(), "--target-intervals"),
        (&sorted, format!("--ref-flat {genes}"), "--ref-flat is for CollectRnaSeqMetrics"),
        (&sorted, format!("{rna} --ref-flat {genes}"), "needs --ref-flat and --strand-specificity"),
        (
            &sorted,
            format!("{rna} --ref-flat {genes} --strand-specificity none"),
            "line 1: \"x\" is not a position",
        ),
        (&other, format!("{rna} --ref-flat {genes} --strand-specificity none"), "sorted by coordinate"),
        (
            &sorted,
            format!("{rna} --ref-flat {empty} --strand-specificity none --ignore-sequence b"),
            "contig b is to be ignored",
        ),
        (
            &sorted,
            format!("--metrics CollectWgsMetrics --reference {reference} -m 30M"),
            "needs at least -m",
        ),
    ] {
        let done = readmill(words(&format!("qc {input} -o {output} {options}")));
        assert!(done.code.is_some_and(|code| code != 0), "{options}: {}", done.stderr);
        assert!(done.stderr.contains(message), "{options}: {}", done.stderr);
        let left = dir.names().into_iter().any(|name| name.starts_with("out."));
        assert!(!left, "{options}");
    }
}

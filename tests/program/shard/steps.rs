//! Steps, reports and formats in stages: recalibration, molecules, duplicate sets, tallies, CRAM and SAM.

use readmill_simulate::Sample as Simulated;

use crate::invariance_bqsr::data::{TemplateReads, profile};
use crate::shard::{Scene, samples};
use crate::support::bgzip;

/// Asserts that a command on these inputs writes the same in each division; returns the most slices.
#[track_caller]
fn same(inputs: &[(&str, Vec<u8>)], command: &str, divisions: &[&str]) -> usize {
    let scene = Scene::new(inputs, command);
    let expected = scene.plain();
    divisions.iter().map(|division| scene.same(&expected, division)).max().unwrap()
}

/// Simulated reads, their reference and known sites.
fn simulated() -> Vec<(&'static str, Vec<u8>)> {
    let sample = Simulated::new(profile());
    let (mut reference, mut known) = (Vec::new(), Vec::new());
    sample.write_fasta(&mut reference).unwrap();
    sample.write_known_sites(&mut known).unwrap();
    let reads = TemplateReads::of(&sample).swollen(300).bam();
    vec![("x.bam", reads), ("ref.fa", reference), ("known.vcf", known)]
}

#[test]
fn qualities_are_recalibrated_as_in_one_run() {
    let inputs = simulated();
    let known = "--reference in/ref.fa --known-sites in/known.vcf";
    let tables = "--bqsr-table out/t --bqsr-after-table out/a";
    for flags in [
        format!("--mark-duplicates --bqsr {known} {tables}"),
        format!("--bqsr --bqsr-bootstrap --reference in/ref.fa {tables}"),
        format!("--mark-duplicates --bqsr-table-only {known} --bqsr-table out/t"),
    ] {
        let command = format!("prep in/x.bam -o out/x.bam -l 1 --sort coordinate {flags}");
        let slices = same(&inputs, &command, &["--shards 3 --ranges 4", "--shards 1 --ranges 2"]);
        assert_eq!(slices, 3);
    }
}

#[test]
fn molecules_and_duplicate_sets_are_those_of_one_run() {
    let text = samples::text(1500, 900, 15);
    let inputs = [("x.bam", samples::in_blocks(&text, 9000))];
    for flags in [
        "--umi tag:RX",
        "--umi tag:RX --umi-method paired --duplicate-mode coordinate --sort coordinate",
        "--tag-duplicate-set-members --tag-duplicates all --sort coordinate",
    ] {
        let command = format!("markdup in/x.bam -o out/x.bam -l 1 --metrics out/m {flags}");
        same(&inputs, &command, &["--shards 5 --ranges 3"]);
    }
}

#[test]
fn reports_and_checks_are_those_of_one_run() {
    let text = samples::text(1500, 900, 16);
    let inputs = [("x.bam", samples::in_blocks(&text, 9000))];
    let reports = "--flagstat out/f --idxstats out/i --stats out/s --checksum out/c --verify \
                   --qc out/q --qc-metrics all --metric-accumulation-level all_reads,read_group";
    for flags in ["--sort coordinate --mark-duplicates", "--sort natural --min-mapq 10"] {
        let command = format!("prep in/x.bam -o out/x.bam -l 1 {flags} {reports}");
        same(&inputs, &command, &["--shards 5 --ranges 3", "--shards 1"]);
    }
}

#[test]
fn metrics_that_need_the_reference_are_those_of_one_run() {
    let inputs = simulated();
    let command = "prep in/x.bam -o out/x.bam -l 1 --sort coordinate --mark-duplicates --reference in/ref.fa \
                   --qc out/q --qc-metrics all,CollectWgsMetrics,CollectRawWgsMetrics,CollectOxoGMetrics \
                   --also-ignore-duplicates --include-bq-histogram --sample-size 100";
    same(&inputs, command, &["--shards 4 --ranges 3"]);
    // Depths are capped, and reads left out, where pieces of several jobs meet.
    let command = "prep in/x.bam -o out/x.bam -l 1 --sort coordinate --mark-duplicates --reference in/ref.fa \
                   --qc out/q --qc-metrics CollectWgsMetricsWithNonZeroCoverage,CollectOxoGMetrics --coverage out/c \
                   --coverage-cap 3 --locus-accumulation-cap 4 --include-bq-histogram --sample-size 100 \
                   --minimum-mapping-quality 0 --count-unpaired";
    same(&inputs, command, &["--shards 4 --ranges 7", "--shards 1 --ranges 2"]);
}

#[test]
fn depths_of_targets_are_those_of_one_run() {
    let mut inputs = simulated();
    let targets = "chr1\t500\t50000\tx\nchr1\t49000\t61000\ty\nchr1\t80000\t80500\nchr2\t0\t20000\n";
    inputs.push(("t.bed", targets.as_bytes().to_vec()));
    let command = "prep in/x.bam -o out/x.bam -l 1 --sort coordinate --mark-duplicates --reference in/ref.fa \
                   --qc out/q --qc-metrics CollectHsMetrics,CollectTargetedPcrMetrics --target-intervals in/t.bed \
                   --bait-intervals in/t.bed --amplicon-intervals in/t.bed --sample-size 50 --coverage-cap 3";
    let files = format!("{command} --per-target-coverage --per-base-coverage");
    same(&inputs, &files, &["--shards 4 --ranges 7", "--shards 1 --ranges 2"]);
    let levels = format!("{command} --metric-accumulation-level all_reads,read_group --include-indels");
    same(&inputs, &levels, &["--shards 3 --ranges 4"]);
}

#[test]
fn evenness_of_transcripts_is_that_of_one_run() {
    let mut inputs = simulated();
    let genes = "a\ta1\tchr1\t+\t500\t60000\t900\t50000\t2\t500,20000,\t9000,60000,\n\
                 b\tb1\tchr1\t-\t50000\t90000\t50000\t50000\t1\t50000,\t90000,\n\
                 c\tc1\tchr2\t-\t100\t20000\t300\t19000\t3\t100,9000,15000,\t8000,14000,20000,\n";
    inputs.push(("genes.refflat", genes.as_bytes().to_vec()));
    inputs.push(("rrna.bed", b"chr1\t70000\t80000\n".to_vec()));
    let command = "prep in/x.bam -o out/x.bam -l 1 --sort coordinate --mark-duplicates --qc out/q \
                   --qc-metrics CollectRnaSeqMetrics --ref-flat in/genes.refflat --ribosomal-intervals in/rrna.bed \
                   --strand-specificity none --metric-accumulation-level all_reads,read_group";
    same(&inputs, command, &["--shards 4 --ranges 7", "--shards 1 --ranges 2"]);
}

#[test]
fn every_format_is_written_as_in_one_run() {
    let text = samples::text(3000, 900, 17);
    let inputs = [("x.bam", samples::in_blocks(&text, 60_000))];
    for output in ["out/x.sam", "out/x.sam.gz", "out/x.cram -O cram,no-ref"] {
        same(&inputs, &format!("sort in/x.bam -o {output}"), &["--shards 4 --ranges 5"]);
    }
}

#[test]
fn cram_is_divided_before_containers() {
    let inputs = simulated();
    let scene = Scene::new(&inputs, "sort -n in/x.bam -O cram --reference in/ref.fa -o out/x.cram");
    let cram = scene.plain().remove("x.cram").unwrap();
    let inputs = [("x.cram", cram), ("ref.fa", inputs[1].1.clone())];
    let command =
        "prep in/x.cram -o out/x.bam -l 1 --sort coordinate --mark-duplicates --reference in/ref.fa";
    let slices = same(&inputs, command, &["--shards 2 --ranges 3", "--shards 64"]);
    assert!(slices > 1, "{slices}");
}

#[test]
fn compressed_text_is_one_slice() {
    use std::io::Write;
    let text = samples::text(300, 200, 18);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    for bytes in [bgzip(text.as_bytes()), gzip.finish().unwrap()] {
        let slices = same(&[("x.sam.gz", bytes)], "sort in/x.sam.gz -o out/x.bam", &["--shards 9"]);
        assert_eq!(slices, 1);
    }
}

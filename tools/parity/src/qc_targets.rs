//! Compares target depths with Picard CollectHsMetrics and CollectTargetedPcrMetrics: metrics,
//! histograms, and coverage per target and per base, byte for byte except the comments of the
//! metrics.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::qc::skip_comments;
use crate::random::SeededRandom;

const PROGRAMS: [(&str, &str, &str); 2] = [
    ("CollectHsMetrics", "hs", "BAIT_INTERVALS"),
    ("CollectTargetedPcrMetrics", "targeted_pcr", "AMPLICON_INTERVALS"),
];

/// An input, its target set, and equivalent options of readmill and Picard. In Picard's options,
/// `FILES` and `SET_NAME` are replaced.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: [Case; 9] = [
    ("deep", "mixed", "--per-target-coverage --per-base-coverage", "FILES"),
    ("deep", "mixed", "--coverage-cap 12 --include-indels", "COVERAGE_CAP=12 INCLUDE_INDELS=true"),
    (
        "deep",
        "mixed",
        "--coverage-cap 1 --minimum-mapping-quality 0 --minimum-base-quality 0 --near-distance 0 \
         --clip-overlapping-reads false --per-target-coverage --per-base-coverage",
        "COVERAGE_CAP=1 MINIMUM_MAPPING_QUALITY=0 MINIMUM_BASE_QUALITY=0 NEAR_DISTANCE=0 \
         CLIP_OVERLAPPING_READS=false FILES",
    ),
    (
        "deep",
        "mixed",
        "--minimum-base-quality 30 --near-distance 20 --clip-overlapping-reads true --include-indels \
         --bait-set-name x --custom-amplicon-set-name x --per-target-coverage --per-base-coverage",
        "MINIMUM_BASE_QUALITY=30 NEAR_DISTANCE=20 CLIP_OVERLAPPING_READS=true INCLUDE_INDELS=true SET_NAME=x FILES",
    ),
    ("deep", "whole", "--per-target-coverage", "FILES"),
    ("deep", "one", "--per-base-coverage --coverage-cap 3", "COVERAGE_CAP=3 FILES"),
    ("deep", "mixed", "--metric-accumulation-level read_group", "LEVEL=null LEVEL=READ_GROUP"),
    ("few", "mixed", "--per-target-coverage --per-base-coverage", "FILES"),
    ("none", "mixed", "--per-target-coverage --per-base-coverage", "FILES"),
];

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:2000\n@SQ\tSN:c2\tLN:500\n@SQ\tSN:c3\tLN:90\n@RG\tID:a\tSM:s\tLB:l\tPU:p\n";

const TARGETS: [(&str, &str); 3] = [
    (
        "mixed",
        "c1 380 900 - b_x\nc1 20 400 + a\nc1 1000 1000 + solo\nc1 1001 1005 + ab\nc1 1500 2000 + end\n\
         c2 1 150 + c\nc2 200 200 + d\nc2 200 200 + d\nc3 1 90 + zero\n",
    ),
    ("whole", "c1 1 2000 + all\nc2 1 500 + all\nc3 1 90 - all\n"),
    ("one", "c1 320 320 + one\n"),
];

const BAITS: &str = "c1 250 500 + b2\nc1 100 300 + b1\nc1 1700 1800 + b3\nc2 50 60 + b4\n";

/// Compares target metrics with Picard on reads with high depth and, if `every` is set, on few
/// reads and on none. In some cases the targets are also the baits.
pub fn compare_target_metrics(
    dir: &SampleDir<'_>,
    pairs: u64,
    every: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading(
        "targets",
        "depths of targets, compared with Picard CollectHsMetrics and CollectTargetedPcrMetrics",
    );
    let (fasta, deep) = random_reference_and_pairs(pairs.min(3_000));
    let (_, few) = random_reference_and_pairs(60);
    fs::write(dir.path("ref.fa"), fasta)?;
    dir.run_samtools_1_24("faidx ref.fa")?;
    dir.run_samtools_1_24("dict ref.fa -o ref.dict")?;
    for (name, sam) in [("deep", deep.as_str()), ("few", &few), ("none", HEADER)] {
        fs::write(dir.path(&format!("{name}.sam")), sam)?;
        dir.run_readmill(&format!("prep {name}.sam -o {name}.bam --sort coordinate --mark-duplicates"))?;
    }
    let contigs: String =
        HEADER.lines().filter(|line| line.starts_with("@SQ")).map(|line| format!("{line}\n")).collect();
    for (name, intervals) in TARGETS.iter().chain([&("baits", BAITS)]) {
        let text = format!("@HD\tVN:1.6\n{contigs}{}", intervals.replace(' ', "\t"));
        fs::write(dir.path(&format!("{name}.v1.interval_list")), text)?;
    }
    let cases: Vec<&Case> = CASES.iter().filter(|case| every || case.0 == "deep").collect();
    let calls = cases.iter().enumerate().flat_map(|(number, case)| picard_calls(number, case));
    let calls: Vec<String> = calls.collect();
    let ends = dir.run_picard_calls_verbose(&calls)?;
    for (number, case) in cases.iter().enumerate() {
        let (input, targets, ours, _) = case;
        ledger.check(&format!("{input}.bam, {targets} targets {ours}"), || {
            for (call, (code, said)) in calls.iter().zip(&ends).skip(2 * number).take(2) {
                ensure!(*code == 0, "{call} ends with {code}: {said}");
            }
            compare_target_files(dir, number, case)
        });
    }
    Ok(())
}

/// Returns the probes of a target set: baits, or the targets themselves if they cover whole
/// contigs.
fn probe_set(targets: &str) -> &str {
    if targets == "whole" { targets } else { "baits" }
}

fn picard_calls(number: usize, &(input, targets, _, options): &Case) -> Vec<String> {
    let call = |(program, name, option): (&str, &str, &str)| {
        let set = if name == "hs" { "BAIT_SET_NAME" } else { "CUSTOM_AMPLICON_SET_NAME" };
        let files = format!(
            "PER_TARGET_COVERAGE=theirs{number}.{name}_per_target_coverage \
             PER_BASE_COVERAGE=theirs{number}.{name}_per_base_coverage"
        );
        let options = options.replace("SET_NAME", set).replace("FILES", &files);
        let probes = probe_set(targets);
        format!(
            "picard.analysis.directed.{program} I={input}.bam O=theirs{number}.{name}_metrics R=ref.fa \
             {option}={probes}.v1.interval_list TARGET_INTERVALS={targets}.v1.interval_list SAMPLE_SIZE=30 {options}"
        )
    };
    PROGRAMS.into_iter().map(|program| call(program).trim().to_owned()).collect()
}

/// Runs readmill for both collectors in one command, and returns the number of files and lines that
/// equal Picard's.
fn compare_target_files(
    dir: &SampleDir<'_>,
    number: usize,
    &(input, targets, options, _): &Case,
) -> Result<String> {
    let probes = probe_set(targets);
    dir.run_readmill(&format!(
        "sort {input}.bam -o out.bam --qc ours{number} --qc-metrics CollectHsMetrics,CollectTargetedPcrMetrics \
         --reference ref.fa --bait-intervals {probes}.v1.interval_list --amplicon-intervals {probes}.v1.interval_list \
         --target-intervals {targets}.v1.interval_list --sample-size 30 {options}"
    ))?;
    let (mut files, mut lines) = (0, 0);
    for (_, name, _) in PROGRAMS {
        for kind in ["metrics", "per_target_coverage", "per_base_coverage"] {
            let asked = kind == "metrics" || options.contains(&kind.replace('_', "-"));
            if !asked {
                continue;
            }
            let read = |program: &str| {
                fs::read_to_string(dir.path(&format!("{program}{number}.{name}_{kind}")))
            };
            let (ours, theirs) = (read("ours")?, read("theirs")?);
            let (ours, theirs) = match kind {
                "metrics" => (skip_comments(&ours), skip_comments(&theirs)),
                _ => (&ours[..], &theirs[..]),
            };
            ensure!(!ours.is_empty(), "{name}_{kind}: is empty");
            for (our, their) in ours.lines().zip(theirs.lines()) {
                ensure!(our == their, "{name}_{kind}: {our:?}, theirs {their:?}");
            }
            ensure!(ours == theirs, "{name}_{kind}: another number of lines");
            files += 1;
            lines += ours.lines().count();
        }
    }
    Ok(format!("{files} files, {lines} lines"))
}

/// Returns a reference, and pairs with overlapping mates, most of them at few positions.
///
/// Records have gaps, indels, clips and adapters; some are supplementary, secondary or
/// duplicates. Some reads have no mate, are unmapped, fail quality checks, or extend beyond
/// their contig.
fn random_reference_and_pairs(pairs: u64) -> (String, String) {
    let mut random = SeededRandom::new(43);
    let mut fasta = String::new();
    for (name, length) in [("c1", 2000), ("c2", 500), ("c3", 90)] {
        let _ = writeln!(fasta, ">{name}");
        let bases: String =
            (0..length).map(|_| char::from(b"ACGTacgtNS"[random.below(10) as usize])).collect();
        for line in bases.as_bytes().chunks(60) {
            let _ = writeln!(fasta, "{}", String::from_utf8_lossy(line));
        }
    }
    let mut sam = HEADER.to_owned();
    (0..pairs).for_each(|number| write_pair(&mut sam, number, &mut random));
    for number in 0..5 {
        let _ = writeln!(sam, "u{number}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a");
    }
    (fasta, sam)
}

fn write_pair(sam: &mut String, number: u64, random: &mut SeededRandom) {
    let contig = if random.once_in(8) { "c2" } else { "c1" };
    let start = match random.below(5) {
        0 | 1 => 1 + random.below(1_900),
        2 => 301 + random.below(2),
        _ => 301 + 3 * random.below(30),
    };
    let start = if contig == "c2" { 1 + start % 460 } else { start };
    let mate = start + random.below(60);
    let kind = random.below(20);
    for (read, at) in [start, mate].into_iter().enumerate() {
        let mut flags = [0x63, 0x93][read];
        flags |= if random.once_in(15) { 0x400 } else { 0 };
        flags |= if random.once_in(30) { 0x200 } else { 0 };
        let flags = match kind {
            0 => 0x10,
            1 => [0x49, 0x85][read],
            2 => flags | 0x800,
            3 => flags | 0x100,
            _ => flags,
        };
        let length = 30 + random.below(40) as usize;
        let a = 8 + random.below(8) as usize;
        let cigar = match random.below(11) {
            0 => format!("{a}S{}M", length - a),
            1 => format!("{a}M3I{}M2S", length - a - 5),
            2 => format!("{a}M{}D{}M", 1 + random.below(4), length - a),
            3 => format!("{a}M{}N{}M", 1 + random.below(700), length - a),
            4 => format!("5H2D{length}="),
            5 => format!("{a}M1X2P{}M", length - a - 1),
            6 => format!("{}M{a}S", length - a),
            7 => format!("{a}M2I4D3I{}M", length - a - 5),
            8 => format!("{}M{a}S4H", length - a),
            _ => format!("{length}M"),
        };
        let mapq = random.pick(&[0, 0, 1, 3, 19, 20, 60, 60, 60, 255]);
        let (cigar, mapq) = if flags & 4 != 0 { ("*".to_owned(), 0) } else { (cigar, mapq) };
        let adapter = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTGAAAAAAAAAAAA";
        let base = |_| char::from(b"ACGTN"[random.below(5) as usize]);
        let bases: String = (0..length).map(base).collect();
        let bases = if random.once_in(15) { adapter[..length].to_owned() } else { bases };
        let qual = |_| char::from(33 + random.pick(&[0, 2, 3, 11, 19, 20, 29, 30, 40, 70, 93]));
        let quals: String = (0..length).map(qual).collect();
        let next = match (kind, contig) {
            (0, _) => "*\t0".to_owned(),
            (5, "c1") => format!("c2\t{}", [mate, start][read]),
            _ => format!("=\t{}", [mate, start][read]),
        };
        let _ = writeln!(
            sam,
            "r{number}\t{flags}\t{contig}\t{at}\t{mapq}\t{cigar}\t{next}\t0\t{bases}\t{quals}\tRG:Z:a"
        );
    }
}

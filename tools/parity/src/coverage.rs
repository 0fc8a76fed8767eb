//! Compares `readmill qc --coverage` with mosdepth: the text of all output files.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::qc::compare_texts;
use crate::random::SeededRandom;
use crate::samples;

pub const ENDINGS: [&str; 7] = [
    "mosdepth.global.dist.txt",
    "mosdepth.region.dist.txt",
    "mosdepth.summary.txt",
    "per-base.bed.gz",
    "quantized.bed.gz",
    "regions.bed.gz",
    "thresholds.bed.gz",
];

const OPTIONS: [(&str, &str); 8] = [
    ("", ""),
    ("--coverage-fast-mode --coverage-mapq 10", "-x -Q 10"),
    ("--coverage-no-per-base --coverage-by regions.bed", "-n -b regions.bed"),
    (
        "--coverage-by regions.bed --coverage-thresholds 1,10,5 --coverage-quantize 0:1:4:20:",
        "-b regions.bed -T 1,10,5 -q 0:1:4:20:",
    ),
    ("--coverage-by 137 --coverage-thresholds 0,2,30 --coverage-use-median", "-b 137 -T 0,2,30 -m"),
    ("--coverage-by 1000 --coverage-no-per-base --coverage-read-groups a,c", "-b 1000 -n -R a,c"),
    (
        "--coverage-by regions.bed --coverage-use-median --coverage-quantize 5 --coverage-include-flag 64",
        "-b regions.bed -m -q 5 -i 64",
    ),
    ("--coverage-flag 4 --coverage-quantize 2:7", "-F 4 -q 2:7"),
];

/// Compares coverage on a simulated sample and on `cases` random inputs, each with all `OPTIONS`.
pub fn compare_with_mosdepth(
    dir: &SampleDir<'_>,
    peers: &Peers,
    pairs: u64,
    cases: u64,
    ledger: &mut Ledger,
) -> Result<()> {
    let mosdepth = peers.mosdepth()?;
    ledger.print_heading("coverage", &format!("depths, compared with mosdepth {}", mosdepth.version));
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    dir.run_readmill("prep in.bam -o sample.bam --sort coordinate --mark-duplicates")?;
    let contigs = ProgramLines::start_samtools_1_24(dir, "view -H sample.bam")?.read_text()?;
    let length = |line: &str| line.split("LN:").nth(1)?.split('\t').next()?.parse::<u64>().ok();
    let name = |line: &str| Some(line.split("SN:").nth(1)?.split('\t').next()?.to_owned());
    let contigs = contigs.lines().filter(|line| line.starts_with("@SQ"));
    let contigs: Vec<(String, u64)> =
        contigs.filter_map(|line| Some((name(line)?, length(line)?))).collect();
    let mut random = SeededRandom::new(5);
    fs::write(dir.path("regions.bed"), random_regions(&contigs, &mut random))?;
    for (ours, theirs) in OPTIONS {
        ledger.check(&format!("sample.bam: all files {ours}"), || {
            compare_coverage_files(dir, &mosdepth, "sample.bam", ours, theirs)
        });
    }
    ledger.check(&format!("{cases} random inputs, all options"), || {
        let mut lines = 0;
        for case in 0..cases {
            let mut random = SeededRandom::new(case);
            let reads = random_odd_reads(&mut random);
            fs::write(dir.path("odd.sam"), &reads.sam)?;
            fs::write(dir.path("regions.bed"), random_regions(&reads.contigs, &mut random))?;
            dir.run_samtools_1_24("sort --no-PG --write-index -o odd.bam##idx##odd.bam.bai odd.sam")?;
            for (ours, theirs) in OPTIONS {
                let same = compare_coverage_files(dir, &mosdepth, "odd.bam", ours, theirs);
                let same = same.with_context(|| format!("case {case} with {ours}"))?;
                lines += same.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            }
        }
        Ok(format!("{lines} lines"))
    });
    Ok(())
}

/// Runs both programs on one input and compares all their files. Returns the number of equal lines
/// and of files. If mosdepth does not write a file, readmill must not write it either.
pub fn compare_coverage_files(
    dir: &SampleDir<'_>,
    mosdepth: &Tool,
    input: &str,
    ours: &str,
    theirs: &str,
) -> Result<String> {
    for ending in ENDINGS {
        for program in ["ours", "theirs"] {
            let _ = fs::remove_file(dir.path(&format!("{program}.{ending}")));
        }
    }
    dir.run_readmill(&format!("qc {input} -o ours --coverage --no-metrics {ours}"))?;
    dir.run_peer(mosdepth, &format!("{theirs} theirs {input}"))?;
    let (mut files, mut lines) = (0, 0);
    for ending in ENDINGS {
        let [own, other] = ["ours", "theirs"].map(|program| format!("{program}.{ending}"));
        if !dir.path(&other).exists() {
            ensure!(!dir.path(&own).exists(), "{ending}: mosdepth writes none");
            continue;
        }
        let text = |file: &str| -> Result<String> {
            if file.ends_with(".gz") {
                ProgramLines::start(dir.inflate_command(file))?.read_text()
            } else {
                Ok(fs::read_to_string(dir.path(file))?)
            }
        };
        let (own, other) = (text(&own)?, text(&other)?);
        files += 1;
        lines += compare_texts(&own, &other).context(ending)?;
    }
    Ok(format!("{lines} lines of {files} files"))
}

/// Returns a BED file of 60 random regions: with and without names, some overlapping, and one on a
/// contig that does not exist.
fn random_regions(contigs: &[(String, u64)], random: &mut SeededRandom) -> String {
    let mut text = "track name=x\n#contig\tstart\tend\nelsewhere\t1\t5\n".to_owned();
    for number in 0..60 {
        let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
        let start = random.below(*length);
        // mosdepth aborts at an empty region at the start of a contig (row 279).
        let end = (start + random.pick(&[0, 1, 10, 100, 1_000, 20_000])).min(*length).max(1);
        let label = match random.below(3) {
            0 => String::new(),
            1 => format!("\tname{number}"),
            _ => format!("\tname {number}\t0\t+"),
        };
        let _ = writeln!(text, "{name}\t{start}\t{end}{label}");
    }
    text
}

struct RandomReads {
    contigs: Vec<(String, u64)>,
    sam: String,
}

const CIGARS: [(&str, u64, usize); 10] = [
    ("60M", 60, 60),
    ("60M", 60, 60),
    ("50=", 50, 50),
    ("9S41M", 41, 50),
    ("30M7D20M", 57, 50),
    ("25M6I29M", 54, 60),
    ("10M140N40M3S", 190, 53),
    ("5H20=1X4D2I20M2P7M", 52, 50),
    ("100M", 100, 100),
    ("1M", 1, 1),
];

/// Returns random read pairs that overlap in all possible ways, with duplicates, failed, secondary,
/// supplementary and unmapped records. Some contigs have no reads.
fn random_odd_reads(random: &mut SeededRandom) -> RandomReads {
    let n = 1 + random.below(7);
    let contigs: Vec<(String, u64)> = (0..n)
        .map(|number| {
            (format!("c{number}"), (1 + random.below(12)) * random.pick(&[50, 200, 1_000, 4_000]))
        })
        .collect();
    let mut sam = "@HD\tVN:1.6\n".to_owned();
    for (name, length) in &contigs {
        let _ = writeln!(sam, "@SQ\tSN:{name}\tLN:{length}");
    }
    sam += "@RG\tID:a\tSM:s\n@RG\tID:b\tSM:s\n@RG\tID:c\tSM:s\n";
    let pairs = random.pick(&[0, 3, 40, 400, 2_000]);
    for number in 0..pairs {
        let (name, length) = &contigs[random.below(n) as usize];
        let (first, second) = (random.pick(&CIGARS), random.pick(&CIGARS));
        if length <= &first.1.max(second.1) || name == "c2" {
            continue;
        }
        let start = random.below(length - first.1);
        let further = random.pick(&[0, 0, 1, 5, 20, 45, 80, 300]);
        let other = (start + further).min(length - second.1);
        let proper = if random.once_in(8) { 0 } else { 2 };
        let group = random.pick(&["\tRG:Z:a", "\tRG:Z:b", "\tRG:Z:c", ""]);
        let ends = [(0x61, first, start, other), (0x91, second, other, start)];
        for (flags, (cigar, _, bases), at, mate) in ends {
            let more = random.pick(&[0, 0, 0, 0, 0, 0, 0x400, 0x200]);
            let mapq = random.pick(&[0, 9, 10, 30, 60]);
            let mut put = |flags: u64| {
                let _ = writeln!(
                    sam,
                    "r{number}\t{flags}\t{name}\t{}\t{mapq}\t{cigar}\t=\t{}\t0\t{}\t*{group}",
                    at + 1,
                    mate + 1,
                    "A".repeat(bases)
                );
            };
            put(flags | proper | more);
            match number % 19 {
                3 => put(flags | proper | 0x800),
                5 => put(flags | 0x100),
                _ => {}
            }
        }
        if number % 23 == 0 {
            let _ = writeln!(sam, "u{number}\t4\t{name}\t{}\t0\t*\t*\t0\t0\tACGT\t*", start + 1);
        }
    }
    RandomReads { contigs, sam }
}

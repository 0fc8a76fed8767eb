//! Compares quality metrics that depend on read order: depths with Picard CollectWgsMetrics,
//! CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage, and sites with
//! CollectOxoGMetrics. Each file must be the same byte for byte, except the comments at its start.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::qc::{compare_texts, random_odd_reads, skip_comments};
use crate::random::SeededRandom;

type Programs = &'static [(&'static str, &'static str)];

const DEPTHS: Programs = &[
    ("CollectWgsMetrics", "wgs_metrics"),
    ("CollectRawWgsMetrics", "raw_wgs_metrics"),
    ("CollectWgsMetricsWithNonZeroCoverage", "wgs_metrics_with_non_zero_coverage"),
];

/// This collector draws a chart and needs R, so it runs in its own process with a fake Rscript.
const WITH_CHART: &str = "CollectWgsMetricsWithNonZeroCoverage";

const SITES: Programs = &[("CollectOxoGMetrics", "oxog_metrics")];

/// The collectors of a case, and equivalent options of readmill and Picard. `INPUT` is replaced
/// with the name of the input.
const OPTIONS: [(Programs, &str, &str); 8] = [
    (DEPTHS, "--sample-size 30", "SAMPLE_SIZE=30"),
    (
        DEPTHS,
        "--coverage-cap 12 --include-bq-histogram --count-unpaired --minimum-mapping-quality 0 \
         --minimum-base-quality 0 --sample-size 30",
        "COVERAGE_CAP=12 INCLUDE_BQ_HISTOGRAM=true COUNT_UNPAIRED=true MINIMUM_MAPPING_QUALITY=0 \
         MINIMUM_BASE_QUALITY=0 SAMPLE_SIZE=30",
    ),
    (
        DEPTHS,
        "--coverage-cap 10 --locus-accumulation-cap 15 --minimum-base-quality 30 --sample-size 30 \
         --include-bq-histogram",
        "COVERAGE_CAP=10 LOCUS_ACCUMULATION_CAP=15 MINIMUM_BASE_QUALITY=30 SAMPLE_SIZE=30 \
         INCLUDE_BQ_HISTOGRAM=true",
    ),
    (
        DEPTHS,
        "--coverage-cap 40 --locus-accumulation-cap 40 --count-unpaired --sample-size 30 \
         --intervals INPUT.interval_list",
        "COVERAGE_CAP=40 LOCUS_ACCUMULATION_CAP=40 COUNT_UNPAIRED=true SAMPLE_SIZE=30 \
         INTERVALS=INPUT.interval_list",
    ),
    (DEPTHS, "--coverage-cap 1 --sample-size 30", "COVERAGE_CAP=1 SAMPLE_SIZE=30"),
    (SITES, "", ""),
    (
        SITES,
        "--minimum-mapping-quality 0 --minimum-quality-score 0 --minimum-insert-size 0 --maximum-insert-size 0",
        "MINIMUM_MAPPING_QUALITY=0 MINIMUM_QUALITY_SCORE=0 MINIMUM_INSERT_SIZE=0 MAXIMUM_INSERT_SIZE=0",
    ),
    (
        SITES,
        "--exclude-non-pf-reads --ignore-original-qualities --minimum-mapping-quality 3 \
         --minimum-insert-size 0 --intervals INPUT.interval_list",
        "INCLUDE_NON_PF_READS=false USE_OQ=false MINIMUM_MAPPING_QUALITY=3 MINIMUM_INSERT_SIZE=0 \
         INTERVALS=INPUT.interval_list",
    ),
];

/// Compares depths and OxoG sites with Picard on three inputs: reads with high depth at few
/// positions, random pairs, and no records. Unless `every` is set, most cases run on the deep input
/// only, because starting Java is slow.
pub fn compare_depth_collectors(
    dir: &SampleDir<'_>,
    pairs: u64,
    every: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading(
        "depths",
        "depths and sites, compared with Picard CollectWgsMetrics and CollectOxoGMetrics",
    );
    let mut odd = random_odd_reads(pairs.min(3_000));
    // CollectOxoGMetrics throws an exception for a read without a read group.
    odd.sam = odd.sam.replace("\tRG:Z:no", "\tRG:Z:a").replace("\tXX:i:1", "\tRG:Z:b");
    let (deep_fasta, deep_sam) = random_deep_reads(pairs.min(3_000));
    let header = |sam: &str| -> String {
        sam.lines().filter(|line| line.starts_with('@')).map(|line| format!("{line}\n")).collect()
    };
    let empty = header(&odd.sam);
    for (name, fasta, sam) in
        [("odd", &odd.fasta, &odd.sam), ("deep", &deep_fasta, &deep_sam), ("empty", &odd.fasta, &empty)]
    {
        fs::write(dir.path(&format!("{name}.fa")), fasta)?;
        fs::write(dir.path(&format!("{name}.sam")), sam)?;
        let intervals = "c1\t20\t400\t+\ta\nc1\t380\t900\t-\tb\nc2\t1\t150\t+\tc\nc2\t200\t200\t+\td\n";
        let lines: String =
            sam.lines().filter(|line| line.starts_with("@SQ")).map(|it| format!("{it}\n")).collect();
        fs::write(
            dir.path(&format!("{name}.interval_list")),
            format!("@HD\tVN:1.6\n{lines}{intervals}"),
        )?;
        dir.run_samtools_1_24(&format!("faidx {name}.fa"))?;
        dir.run_samtools_1_24(&format!("dict {name}.fa -o {name}.dict"))?;
        dir.run_samtools_1_24(&format!("sort --no-PG -o {name}.bam {name}.sam"))?;
    }
    for input in ["deep", "odd", "empty"] {
        for (number, (programs, ours, theirs)) in OPTIONS.into_iter().enumerate() {
            // Java starts slowly.
            let is_wanted = every || input == "deep" && number > 0 || input == "odd" && number == 7;
            if !is_wanted {
                continue;
            }
            let [ours, theirs] = [ours, theirs].map(|options| options.replace("INPUT", input));
            ledger.check(&format!("{input}.bam: {} {ours}", programs[0].0), || {
                compare_collector_files(dir, input, programs, &ours, &theirs)
            });
        }
    }
    // Without qualities, Picard repeats its draws up to a limit, which takes minutes with
    // the default sample size.
    ledger.check("deep.bam: CollectWgsMetrics with all defaults", || {
        compare_collector_files(dir, "deep", &DEPTHS[..1], "", "")
    });
    Ok(())
}

/// Runs both programs on one input and returns the number of equal files and lines. readmill first
/// sorts and marks the records.
fn compare_collector_files(
    dir: &SampleDir<'_>,
    input: &str,
    programs: Programs,
    ours: &str,
    theirs: &str,
) -> Result<String> {
    for (_, ending) in programs {
        for program in ["ours", "theirs"] {
            let _ = fs::remove_file(dir.path(&format!("{program}.{ending}")));
        }
    }
    let names = programs.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
    dir.run_readmill(&format!(
        "prep {input}.bam -o out.bam --sort coordinate --mark-duplicates --qc ours --qc-metrics {names} \
         --reference {input}.fa {ours}"
    ))?;
    let given = |ending: &str| format!("I=out.bam O=theirs.{ending} R={input}.fa {theirs}");
    let (with_chart, others): (Vec<_>, Vec<_>) =
        programs.iter().partition(|(name, _)| *name == WITH_CHART);
    let calls = others
        .iter()
        .map(|(name, ending)| format!("picard.analysis.{name} {}", given(ending)).trim().to_owned());
    let calls: Vec<String> = calls.collect();
    for (call, (code, said)) in calls.iter().zip(dir.run_picard_calls_verbose(&calls)?) {
        ensure!(code == 0, "{call} ends with {code}: {said}");
    }
    for (name, ending) in with_chart {
        let call =
            format!("{name} {} CHART_OUTPUT=chart.pdf VALIDATION_STRINGENCY=SILENT", given(ending));
        let mut picard = dir.picard_command(&call);
        picard.env("PATH", dir.search_path_with_fake_r()?);
        dir.run_to_end(picard)?;
    }
    let mut lines = 0;
    for (_, ending) in programs {
        let read = |program: &str| fs::read_to_string(dir.path(&format!("{program}.{ending}")));
        let (ours, theirs) = (read("ours")?, read("theirs")?);
        lines += compare_texts(skip_comments(&ours), skip_comments(&theirs)).context(*ending)?;
    }
    Ok(format!("{} files, {lines} lines", programs.len()))
}

const HEADER: &str =
    "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:2000\n@SQ\tSN:c2\tLN:500\n@SQ\tSN:c3\tLN:90\n@RG\tID:a\tSM:s\n";

/// Returns a reference with runs of N, and pairs with overlapping mates, most of them at few
/// positions.
///
/// Records have gaps, deletions, clips and adapters; some are supplementary, secondary or
/// duplicates. Some names are used twice. Some reads have no mate, are unmapped, fail
/// quality checks, or extend beyond their contig.
fn random_deep_reads(pairs: u64) -> (String, String) {
    let mut random = SeededRandom::new(29);
    let mut fasta = String::new();
    for (name, length) in [("c1", 2000), ("c2", 500), ("c3", 90)] {
        let _ = writeln!(fasta, ">{name}");
        let bases: String = (0..length)
            .map(|at| {
                if at % 210 < 7 {
                    'N'
                } else {
                    char::from(b"ACGTacgtn"[random.below(if at % 50 == 0 { 9 } else { 8 }) as usize])
                }
            })
            .collect();
        for line in bases.as_bytes().chunks(60) {
            let _ = writeln!(fasta, "{}", String::from_utf8_lossy(line));
        }
    }
    let mut sam = HEADER.to_owned();
    for number in 0..pairs {
        write_pair(&mut sam, number, &mut random);
    }
    (fasta, sam)
}

fn write_pair(sam: &mut String, number: u64, random: &mut SeededRandom) {
    let contig = if random.below(8) == 0 { "c2" } else { "c1" };
    let start = match random.below(5) {
        0 => 1 + random.below(1_900),
        1 => 301 + random.below(2),
        _ => 301 + 3 * random.below(30),
    };
    let start = if contig == "c2" { 1 + start % 460 } else { start };
    let name = if random.below(12) == 0 { random.below(40) } else { 1_000 + number };
    let mate = start + random.below(60);
    let kind = random.below(20);
    for (read, at) in [start, mate].into_iter().enumerate() {
        let mut flags = [0x63, 0x93][read];
        if random.below(20) == 0 {
            flags |= 0x400;
        }
        if random.below(30) == 0 {
            flags |= 0x200;
        }
        flags = match kind {
            0 => 0x10,
            1 => [0x49, 0x85][read],
            2 => flags | 0x800,
            3 => flags | 0x100,
            _ => flags,
        };
        let length = 30 + random.below(40) as usize;
        let a = 8 + random.below(8) as usize;
        let cigar = match random.below(9) {
            0 => format!("{a}S{}M", length - a),
            1 => format!("{a}M3I{}M2S", length - a - 5),
            2 => format!("{a}M{}D{}M", 1 + random.below(4), length - a),
            3 => format!("{a}M{}N{}M", 1 + random.below(700), length - a),
            4 => format!("5H2D{length}="),
            5 => format!("{a}M1X2P{}M", length - a - 1),
            _ => format!("{length}M"),
        };
        let (cigar, mapq) = if flags & 4 != 0 {
            ("*".to_owned(), 0)
        } else {
            (cigar, [0, 0, 3, 19, 20, 60, 60, 60, 255][random.below(9) as usize])
        };
        let adapter = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTGAAAAAAAAAAAA";
        let bases: String = if random.below(15) == 0 {
            adapter[..length].to_owned()
        } else {
            (0..length)
                .map(|_| {
                    let letters = if random.once_in(9) { 5 } else { 4 };
                    char::from(b"ACGTN"[random.below(letters) as usize])
                })
                .collect()
        };
        let qual =
            |_| char::from(33 + [0, 2, 3, 11, 19, 20, 29, 30, 40, 70, 93][random.below(11) as usize]);
        let quals: String = (0..length).map(qual).collect();
        let next = [mate, start][read];
        let (next_name, next) = if kind == 0 { ("*", 0) } else { ("=", next) };
        let _ = writeln!(
            sam,
            "r{name}\t{flags}\t{contig}\t{at}\t{mapq}\t{cigar}\t{next_name}\t{next}\t0\t{bases}\t{quals}\tRG:Z:a"
        );
    }
}

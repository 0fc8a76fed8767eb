//! Compares quality metrics with Picard CollectMultipleMetrics: each file byte for byte,
//! except the comments at its start.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::random::SeededRandom;
use crate::samples;

/// File name suffixes of all collectors. Those that need a reference are last, see
/// [`WITHOUT_REFERENCE`].
const ENDINGS: [&str; 13] = [
    "alignment_summary_metrics",
    "base_distribution_by_cycle_metrics",
    "insert_size_metrics",
    "quality_by_cycle_metrics",
    "quality_distribution_metrics",
    "quality_yield_metrics",
    "gc_bias.detail_metrics",
    "gc_bias.summary_metrics",
    "pre_adapter_detail_metrics",
    "pre_adapter_summary_metrics",
    "bait_bias_detail_metrics",
    "bait_bias_summary_metrics",
    "error_summary_metrics",
];

const WITHOUT_REFERENCE: usize = 6;

/// Equivalent options: of readmill, of Picard, and of Picard's collectors that need a reference.
const OPTIONS: [(&str, &str, &str); 4] = [
    ("", "", ""),
    (
        "--metric-accumulation-level all_reads,sample,library,read_group",
        "METRIC_ACCUMULATION_LEVEL=ALL_READS METRIC_ACCUMULATION_LEVEL=SAMPLE \
         METRIC_ACCUMULATION_LEVEL=LIBRARY METRIC_ACCUMULATION_LEVEL=READ_GROUP",
        "",
    ),
    (
        "--minimum-pct 0.01 --histogram-width 220 --include-duplicates --max-insert-size 200 \
         --expected-pair-orientations fr,rf --pf-reads-only --include-no-calls \
         --also-ignore-duplicates --minimum-quality-score 0 --minimum-mapping-quality 0 --tandem-reads \
         --include-non-pf-reads --minimum-insert-size 0 --maximum-insert-size 0",
        "EXTRA_ARGUMENT=CollectInsertSizeMetrics::MINIMUM_PCT=0.01 \
         EXTRA_ARGUMENT=CollectInsertSizeMetrics::HISTOGRAM_WIDTH=220 \
         EXTRA_ARGUMENT=CollectInsertSizeMetrics::INCLUDE_DUPLICATES=true \
         EXTRA_ARGUMENT=CollectAlignmentSummaryMetrics::MAX_INSERT_SIZE=200 \
         EXTRA_ARGUMENT=CollectAlignmentSummaryMetrics::EXPECTED_PAIR_ORIENTATIONS=RF \
         EXTRA_ARGUMENT=MeanQualityByCycle::PF_READS_ONLY=true \
         EXTRA_ARGUMENT=QualityScoreDistribution::PF_READS_ONLY=true \
         EXTRA_ARGUMENT=QualityScoreDistribution::INCLUDE_NO_CALLS=true \
         EXTRA_ARGUMENT=CollectBaseDistributionByCycle::PF_READS_ONLY=true",
        "EXTRA_ARGUMENT=CollectGcBiasMetrics::ALSO_IGNORE_DUPLICATES=true \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::MINIMUM_QUALITY_SCORE=0 \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::MINIMUM_MAPPING_QUALITY=0 \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::TANDEM_READS=true \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::INCLUDE_NON_PF_READS=true \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::INCLUDE_DUPLICATES=true \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::MINIMUM_INSERT_SIZE=0 \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::MAXIMUM_INSERT_SIZE=0",
    ),
    (
        "--minimum-pct 0 --deviations 2 --min-histogram-width 20 --aligned-reads-only \
         --adapter-sequence ACGTACGTACGTACGTACGT --ignore-original-qualities \
         --scan-window-size 33 --include-unpaired",
        "EXTRA_ARGUMENT=CollectInsertSizeMetrics::MINIMUM_PCT=0 \
         EXTRA_ARGUMENT=CollectInsertSizeMetrics::DEVIATIONS=2 \
         EXTRA_ARGUMENT=CollectInsertSizeMetrics::MIN_HISTOGRAM_WIDTH=20 \
         EXTRA_ARGUMENT=MeanQualityByCycle::ALIGNED_READS_ONLY=true \
         EXTRA_ARGUMENT=QualityScoreDistribution::ALIGNED_READS_ONLY=true \
         EXTRA_ARGUMENT=CollectBaseDistributionByCycle::ALIGNED_READS_ONLY=true \
         EXTRA_ARGUMENT=CollectAlignmentSummaryMetrics::ADAPTER_SEQUENCE=null \
         EXTRA_ARGUMENT=CollectAlignmentSummaryMetrics::ADAPTER_SEQUENCE=ACGTACGTACGTACGTACGT \
         EXTRA_ARGUMENT=CollectQualityYieldMetrics::USE_ORIGINAL_QUALITIES=false",
        "EXTRA_ARGUMENT=CollectGcBiasMetrics::SCAN_WINDOW_SIZE=33 \
         INCLUDE_UNPAIRED=true \
         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::USE_OQ=false",
    ),
];

/// Compares all metrics files on a simulated sample, on random reads with and without their
/// reference, and on a file without records.
pub fn compare_collectors(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) -> Result<()> {
    ledger.print_heading("qc", "quality metrics, compared with Picard CollectMultipleMetrics");
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    let OddReads { fasta, sam } = random_odd_reads(pairs.min(3_000));
    fs::write(dir.path("odd.fa"), fasta)?;
    fs::write(dir.path("odd.sam"), &sam)?;
    let header = sam.lines().filter(|line| line.starts_with('@'));
    fs::write(dir.path("empty.sam"), header.map(|line| format!("{line}\n")).collect::<String>())?;
    for words in [
        "faidx odd.fa",
        "dict odd.fa -o odd.dict",
        "sort --no-PG -o odd.bam odd.sam",
        "view --no-PG -b -o empty.bam empty.sam",
    ] {
        dir.run_samtools_1_24(words)?;
    }
    for (input, reference) in
        [("in.bam", ""), ("odd.bam", "odd.fa"), ("odd.bam", ""), ("empty.bam", "odd.fa")]
    {
        for (ours, theirs, with_reference) in OPTIONS {
            let beside = if reference.is_empty() { "" } else { ", with its reference" };
            let theirs = match reference {
                "" => theirs.to_owned(),
                reference => {
                    format!(
                        "PROGRAM=CollectGcBiasMetrics PROGRAM=CollectSequencingArtifactMetrics \
                         EXTRA_ARGUMENT=CollectSequencingArtifactMetrics::REFERENCE_SEQUENCE={reference} \
                         R={reference} {theirs} {with_reference}"
                    )
                }
            };
            ledger.check(&format!("{input}{beside}: all files {ours}"), || {
                compare_metrics_files(dir, input, reference, ours, &theirs)
            });
        }
    }
    Ok(())
}

/// Runs both programs on one input and returns the number of equal files and lines. If Picard does
/// not write a file, readmill's must be empty.
fn compare_metrics_files(
    dir: &SampleDir<'_>,
    input: &str,
    reference: &str,
    ours: &str,
    theirs: &str,
) -> Result<String> {
    for ending in ENDINGS {
        for program in ["ours", "theirs"] {
            let _ = fs::remove_file(dir.path(&format!("{program}.{ending}")));
        }
    }
    let given = if reference.is_empty() { String::new() } else { format!("--reference {reference}") };
    dir.run_readmill(&format!(
        "prep {input} -o out.bam --sort coordinate --mark-duplicates --qc ours --qc-metrics all {given} {ours}"
    ))?;
    let mut picard = dir.picard_command(&format!(
        "CollectMultipleMetrics I=out.bam O=theirs PROGRAM=CollectQualityYieldMetrics QUIET=true \
         VERBOSITY=ERROR VALIDATION_STRINGENCY=SILENT {theirs}"
    ));
    picard.env("PATH", dir.search_path_with_fake_r()?);
    dir.run_to_end(picard)?;
    let (mut same, mut lines) = (0, 0);
    let written = if reference.is_empty() { WITHOUT_REFERENCE } else { ENDINGS.len() };
    for ending in &ENDINGS[..written] {
        let text = fs::read_to_string(dir.path(&format!("ours.{ending}")))?;
        let own = skip_comments(&text);
        let path = dir.path(&format!("theirs.{ending}"));
        if !path.exists() {
            ensure!(own.trim().is_empty(), "{ending}: Picard writes none");
            continue;
        }
        let text = fs::read_to_string(path)?;
        same += 1;
        lines += compare_texts(own, skip_comments(&text)).context(*ending)?;
    }
    Ok(format!("{same} files, {lines} lines"))
}

pub fn compare_texts(ours: &str, theirs: &str) -> Result<usize> {
    for (our, their) in ours.lines().zip(theirs.lines()) {
        ensure!(our == their, "{our:?}, theirs {their:?}");
    }
    ensure!(ours == theirs, "another number of lines");
    Ok(ours.lines().count())
}

/// Returns the text after the comments, which contain the command line and the date.
pub fn skip_comments(text: &str) -> &str {
    text.find("\n\n").map_or("", |end| &text[end..])
}

pub struct OddReads {
    pub fasta: String,
    pub sam: String,
}

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:9000\n@SQ\tSN:c2\tLN:3000\n@RG\tID:a\tSM:s1\tLB:l1\tPU:p1\n\
@RG\tID:b\tSM:s1\tLB:l2\tPU:p2\n@RG\tID:c\tSM:s2\tPL:x\tPU:p3\n@RG\tID:d\tLB:l1\tPU:p9\n";

const ADAPTER: &str = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTG";

/// Returns random pairs in all orientations, with clips, gaps, N, adapters, original qualities,
/// duplicates, secondary and supplementary records. Some mates are unmapped or on a different
/// contig, and some read groups lack fields or are missing from the header.
pub fn random_odd_reads(pairs: u64) -> OddReads {
    let mut random = SeededRandom::new(11);
    let mut contig = |length: usize, letters: &[u8]| -> String {
        (0..length).map(|_| char::from(letters[random.below(letters.len() as u64) as usize])).collect()
    };
    let contigs = [contig(9000, b"ACGT"), contig(3000, b"acgtacgtacgtn")];
    let mut fasta = String::new();
    for (name, bases) in ["c1", "c2"].into_iter().zip(&contigs) {
        let _ = writeln!(fasta, ">{name}");
        for line in bases.as_bytes().chunks(70) {
            let _ = writeln!(fasta, "{}", String::from_utf8_lossy(line));
        }
    }
    let mut sam = HEADER.to_owned();
    for number in 0..pairs {
        write_pair(&mut sam, number, &contigs, &mut random);
    }
    for number in 0..40 {
        let (bases, length) = [(&ADAPTER[3..43], 40), ("A", 1), ("*", 0)][random.below(3) as usize];
        let flags = [4, 0x4d, 0x8d, 0x204][random.below(4) as usize];
        let quals = if length == 0 || random.below(3) == 0 {
            "*".to_owned()
        } else {
            random_qualities(length, &mut random)
        };
        let _ = writeln!(sam, "u{number}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{quals}");
    }
    OddReads { fasta, sam }
}

/// Appends a pair to the SAM text. Some pairs get a secondary or supplementary record of read 1.
fn write_pair(sam: &mut String, number: u64, contigs: &[String; 2], random: &mut SeededRandom) {
    let mut one_in = |n: u64| random.below(n) == 0;
    let (mut flags, mut other) = ([0x63, 0x93], false);
    if one_in(20) {
        flags = [0x43, 0x83];
    } else if one_in(20) {
        flags = [0x53, 0xa3];
    } else if one_in(20) {
        (flags, other) = ([0x61, 0x91], true);
    } else if one_in(20) {
        flags = [0x69, 0x85];
    } else if one_in(25) {
        flags = [0x10, 0x200];
    }
    if one_in(10) {
        flags = flags.map(|flags| flags | 0x200);
    }
    let more = if one_in(20) {
        0x100
    } else if one_in(20) {
        0x800
    } else {
        0
    };
    let contig = random.below(2) as usize;
    let size = if random.below(20) == 0 { 200 + random.below(2_000) } else { 200 + random.below(100) };
    let start = 1 + random.below(contigs[contig].len() as u64 - size - 100);
    let group = ["RG:Z:a", "RG:Z:b", "RG:Z:c", "RG:Z:d", "RG:Z:no", "XX:i:1"][random.below(6) as usize];
    let starts = [start, start + size - 50];
    let contig_of = [contig, if other { 1 - contig } else { contig }];
    for read in 0..2 {
        let unmapped = flags[read] & 4 != 0;
        let at = if unmapped {
            starts[0]
        } else {
            starts[read].min(2_800).max(if other { 1 } else { starts[read] })
        };
        let (cigar, bases) = random_alignment(&contigs[contig_of[read]], at as usize - 1, random);
        let cigar = if unmapped { "*".to_owned() } else { cigar };
        let bases =
            if unmapped && number.is_multiple_of(2) { ADAPTER[..bases.len()].to_owned() } else { bases };
        let mate = if other { ["c1", "c2"][contig_of[1 - read]] } else { "=" };
        let size = match (flags[read] & 0xd, other, read) {
            (1, false, 0) => size as i64,
            (1, false, 1) => -(size as i64),
            _ => 0,
        };
        let (mate, next) = if flags[read] & 1 == 0 { ("*", 0) } else { (mate, starts[1 - read]) };
        let mapq = [0, 3, 19, 20, 60, 255][random.below(6) as usize];
        let mut fields = group.to_owned();
        let extra = ["\tMQ:i:10", "\tMQ:i:40", "\tSA:Z:c1,1,+,20M,60,0;", "\tXN:i:1", "", ""];
        fields += extra[random.below(6) as usize];
        if number.is_multiple_of(5) {
            let _ = write!(fields, "\tOQ:Z:{}", random_qualities(bases.len(), random));
        }
        let quals = random_qualities(bases.len(), random);
        let name = ["c1", "c2"][contig_of[if unmapped { 0 } else { read }]];
        for flags in [Some(flags[read]), Some(flags[read] | more).filter(|_| more > 0 && read == 0)] {
            let Some(flags) = flags else { continue };
            let _ = writeln!(
                sam,
                "r{number}\t{flags}\t{name}\t{at}\t{mapq}\t{cigar}\t{mate}\t{next}\t{size}\t{bases}\t{quals}\t{fields}"
            );
        }
    }
}

fn random_alignment(contig: &str, at: usize, random: &mut SeededRandom) -> (String, String) {
    let length = [36, 50, 50, 60][random.below(4) as usize];
    let a = 5 + random.below(length as u64 - 15) as usize;
    let cigar = match random.below(12) {
        0 => format!("{a}S{}M", length - a),
        1 => format!("{a}M{}S", length - a),
        2 => format!("{a}M3I{}M", length - a - 3),
        3 => format!("3H{a}M2D{}M5H", length - a),
        4 => format!("{a}M20N{}M", length - a),
        _ => format!("{length}M"),
    };
    let likely = contig.bytes().skip(at).chain(std::iter::repeat(b'A')).take(length);
    let bases = likely.map(|base| match random.below(50) {
        0 => 'N',
        1 => 'G',
        _ => char::from(base.to_ascii_uppercase()),
    });
    (cigar, bases.collect())
}

fn random_qualities(length: usize, random: &mut SeededRandom) -> String {
    let qual = |_| char::from(33 + [2, 11, 19, 20, 29, 30, 37, 40][random.below(8) as usize]);
    (0..length).map(qual).collect()
}

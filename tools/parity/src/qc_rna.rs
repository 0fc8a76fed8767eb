//! Compares Picard CollectRnaSeqMetrics with readmill: bases per gene part, strands, and the
//! evenness of coverage along transcripts, byte for byte except the comments.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::qc::skip_comments;
use crate::random::SeededRandom;

type Case = (&'static str, &'static str, &'static str);

const CASES: [Case; 7] = [
    (
        "reads",
        "--strand-specificity second_read_transcription_strand --ribosomal-intervals rrna.interval_list \
         --metric-accumulation-level all_reads,sample,library,read_group",
        "STRAND=SECOND_READ_TRANSCRIPTION_STRAND RIBOSOMAL_INTERVALS=rrna.interval_list LEVEL=SAMPLE LEVEL=LIBRARY \
         LEVEL=READ_GROUP",
    ),
    (
        "reads",
        "--strand-specificity first_read_transcription_strand --minimum-length 10 --end-bias-bases 30",
        "STRAND=FIRST_READ_TRANSCRIPTION_STRAND MINIMUM_LENGTH=10 END_BIAS_BASES=30",
    ),
    (
        "reads",
        "--strand-specificity none --ribosomal-intervals rrna.interval_list --rrna-fragment-percentage 0.1 \
         --ignore-sequence c2,c3 --minimum-length 2000",
        "STRAND=NONE RIBOSOMAL_INTERVALS=rrna.interval_list RRNA_FRAGMENT_PERCENTAGE=0.1 IGNORE_SEQUENCE=c2 \
         IGNORE_SEQUENCE=c3 MINIMUM_LENGTH=2000",
    ),
    (
        "reads",
        "--strand-specificity none --ribosomal-intervals rrna.interval_list --rrna-fragment-percentage 0",
        "STRAND=NONE RIBOSOMAL_INTERVALS=rrna.interval_list RRNA_FRAGMENT_PERCENTAGE=0",
    ),
    (
        "reads",
        "--strand-specificity none --ribosomal-intervals rrna.interval_list --rrna-fragment-percentage 1 \
         --end-bias-bases 900",
        "STRAND=NONE RIBOSOMAL_INTERVALS=rrna.interval_list RRNA_FRAGMENT_PERCENTAGE=1 END_BIAS_BASES=900",
    ),
    (
        "few",
        "--strand-specificity none --minimum-length 1 --end-bias-bases 1",
        "STRAND=NONE MINIMUM_LENGTH=1 END_BIAS_BASES=1",
    ),
    (
        "none",
        "--strand-specificity none --ribosomal-intervals rrna.interval_list",
        "STRAND=NONE RIBOSOMAL_INTERVALS=rrna.interval_list",
    ),
];

const CONTIGS: &str =
    "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:20000\n@SQ\tSN:c2\tLN:6000\n@SQ\tSN:c3\tLN:900\n";
const GROUPS: &str =
    "@RG\tID:a\tSM:s\tLB:l\tPU:p\n@RG\tID:b\tSM:s\tLB:m\tPU:q\n@RG\tID:c\tSM:t\tLB:n\tPU:r\n";

/// Genes in refFlat format. They overlap, share a position, have contradictory transcripts, or are
/// on a contig that does not exist.
const GENES: &str = "#a comment
A A1 c1 + 100 3000 300 2800 3 100,1000,2500, 600,1400,3000,
A A2 c1 + 150 3000 150 150 2 150,2500, 600,3000,
B B1 c1 - 2800 6000 3000 5500 2 2800,5000, 4000,6000,
C C1 c1 + 8000 8400 8000 8400 1 8000, 8400,
D D1 c1 - 9000 12000 9500 11000 1 9000, 12000,
D D2 c1 - 9000 12000 9500 11000 1 9000, 12000,
E E1 c1 + 9000 12000 9500 11000 2 9000,11000, 10000,12000,
F F1 c2 + 100 5000 200 4800 4 100,1000,2000,4000, 700,1300,2600,5000,
G G1 c2 - 100 5000 200 4800 1 100, 5000,
H H1 c2 - 100 5000 200 4800 2 100,3000, 2500,5000,
I I1 c9 - 100 5000 200 4800 2 100,3000, 2500,5000,
J J1 c1 + 14000 15000 14000 15000 1 14000, 15000,
J J2 c1 - 14000 15000 14000 15000 1 14000, 15000,
K K1 c1 + 16000 17000 16000 17000 2 16000, 17000,
L L1 c1 + 17000 17500 17100 17400 1 17000, 17500,
L L1 c1 + 17000 17500 17100 17400 1 17000, 17500,
M M1 c1 + 17600 17900 17700 17800 2 17600,17650 17700,17900,
";

const RIBOSOMAL: &str = "c1 8250 8500 + r2\nc1 8000 8300 + r1\nc1 18000 18100 + r3\nc2 5500 5900 - r4\n";

pub fn compare_rna_metrics(
    dir: &SampleDir<'_>,
    pairs: u64,
    every: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading(
        "rna",
        "parts of genes and evenness of transcripts, compared with Picard CollectRnaSeqMetrics",
    );
    let header = format!("{CONTIGS}{GROUPS}");
    for (name, pairs) in [("reads", pairs.min(4_000)), ("few", 40), ("none", 0)] {
        fs::write(dir.path(&format!("{name}.sam")), format!("{header}{}", random_pairs(pairs)))?;
        dir.run_samtools_1_24(&format!("sort --no-PG -o {name}.bam {name}.sam"))?;
    }
    fs::write(dir.path("genes.refflat"), GENES.replace(' ', "\t"))?;
    fs::write(dir.path("rrna.interval_list"), format!("{CONTIGS}{}", RIBOSOMAL.replace(' ', "\t")))?;
    let cases: Vec<&Case> = CASES.iter().filter(|case| every || case.0 == "reads").collect();
    let call = |(number, (input, _, options)): (usize, &&Case)| {
        format!(
            "picard.analysis.CollectRnaSeqMetrics I={input}.bam O=theirs{number}.rna_metrics REF_FLAT=genes.refflat \
             {options}"
        )
    };
    let calls: Vec<String> = cases.iter().enumerate().map(call).collect();
    let ends = dir.run_picard_calls_verbose(&calls)?;
    for (number, (input, options, _)) in cases.into_iter().enumerate() {
        ledger.check(&format!("{input}.bam: CollectRnaSeqMetrics {options}"), || {
            let (code, said) = &ends[number];
            ensure!(*code == 0, "{} ends with {code}: {said}", calls[number]);
            dir.run_readmill(&format!(
                "qc {input}.bam -o ours{number} --metrics CollectRnaSeqMetrics --ref-flat genes.refflat {options}"
            ))?;
            let read =
                |program: &str| fs::read_to_string(dir.path(&format!("{program}{number}.rna_metrics")));
            let (ours, theirs) = (read("ours")?, read("theirs")?);
            let (ours, theirs) = (skip_comments(&ours), skip_comments(&theirs));
            for (our, their) in ours.lines().zip(theirs.lines()) {
                ensure!(our == their, "{our:?}, theirs {their:?}");
            }
            ensure!(ours == theirs, "another number of lines");
            Ok(format!("{} lines", ours.lines().count()))
        });
    }
    Ok(())
}

/// Returns SAM records of pairs that face each other, face away, or have the same direction, with
/// introns, indels and clips.
///
/// Some MC tags are wrong. Some records are supplementary, secondary or duplicates. Some
/// reads have no mate, are unmapped, or fail quality checks.
fn random_pairs(pairs: u64) -> String {
    let (mut random, mut sam) = (SeededRandom::new(57), String::new());
    for number in 0..pairs {
        let (contig, length) =
            random.pick(&[("c1", 20_000), ("c1", 20_000), ("c2", 6_000), ("c3", 900)]);
        let is_at_gene = contig == "c1" && random.once_in(3);
        let gene = random.pick(&[150, 1_000, 2_500, 3_000, 8_000, 9_000, 11_500]);
        let start = if is_at_gene { gene + random.below(300) } else { 1 + random.below(length - 400) };
        let (size, read_length) = (random.pick(&[60, 120, 200, 350]), random.pick(&[30, 50, 50]));
        let (is_reverse, kind) = (random.below(2) == 1, random.below(24));
        for read in 0..2 {
            let is_left = (read == 0) != is_reverse;
            let (right, flags) = (start + size - read_length, if read == 0 { 0x41 } else { 0x81 });
            let flags = flags | if is_left { 0x20 } else { 0x10 };
            let flags = match kind {
                0 => flags & 0x10,
                1 => flags | 0x8,
                2 => flags | 0x800,
                3 => flags | 0x100,
                4 => flags | 0x200,
                5 => flags ^ 0x30,
                6 => flags ^ 0x20,
                _ => flags,
            };
            let flags = flags | if random.once_in(12) { 0x400 } else { 0 };
            let skip = random.pick(&[400, 500, 1_100]);
            let cigar = match random.below(9) {
                0 => format!("5S{}M", read_length - 5),
                1 => format!("10M{skip}N{}M", read_length - 10),
                2 => format!("10M2I{}M", read_length - 12),
                3 => format!("10M3D{}M", read_length - 10),
                4 => format!("10=1X{}M2S", read_length - 13),
                5 => format!("4H{read_length}M"),
                _ => format!("{read_length}M"),
            };
            let (at, mate) = if is_left { (start, right) } else { (right, start) };
            let size = if kind == 7 { 0 } else { size.cast_signed() };
            let size = if is_left { size } else { -size };
            let place = if kind == 0 { "*\t0\t0".to_owned() } else { format!("=\t{mate}\t{size}") };
            let (bases, quals) = ("A".repeat(read_length as usize), "I".repeat(read_length as usize));
            let group = ["a", "b", "c"][number as usize % 3];
            let mc =
                random.pick(&["", "\tMC:Z:50M", "", "\tMC:Z:5S20M", "\tMC:Z:10M500N40M", "\tMC:Z:30M"]);
            let mapq = random.pick(&[0, 60]);
            let _ = writeln!(
                sam,
                "r{number}\t{flags}\t{contig}\t{at}\t{mapq}\t{cigar}\t{place}\t{bases}\t{quals}\tRG:Z:{group}{mc}"
            );
        }
    }
    for number in 0..pairs.min(4) {
        let _ = writeln!(sam, "u{number}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a");
    }
    sam
}

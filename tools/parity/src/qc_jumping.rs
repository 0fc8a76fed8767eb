//! Compares Picard CollectJumpingLibraryMetrics with readmill, byte for byte except the
//! comments.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::qc::{compare_texts, skip_comments};
use crate::random::SeededRandom;

/// An input, and equivalent options of readmill and Picard.
type Case = (&'static str, &'static str, &'static str);

const CASES: [Case; 6] = [
    ("jumps", "", ""),
    ("jumps", "--minimum-mapping-quality 20 --tail-limit 3", "MINIMUM_MAPPING_QUALITY=20 TAIL_LIMIT=3"),
    ("jumps", "--chimera-kb-min 200 --tail-limit 0", "CHIMERA_KB_MIN=200 TAIL_LIMIT=0"),
    ("many", "--chimera-kb-min 0", "CHIMERA_KB_MIN=0"),
    ("many", "--chimera-kb-min 305", "CHIMERA_KB_MIN=305"),
    ("none", "", ""),
];

const HEADER: &str =
    "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:900000\n@SQ\tSN:c2\tLN:90000\n@RG\tID:a\tSM:s\n";

pub fn compare_jumping_metrics(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) -> Result<()> {
    ledger.print_heading(
        "jumping",
        "pairs by direction, compared with Picard CollectJumpingLibraryMetrics",
    );
    for (name, records) in [
        ("jumps", random_pairs(pairs.min(20_000))),
        ("many", pairs_whose_mode_changes()),
        ("none", String::new()),
    ] {
        fs::write(dir.path(&format!("{name}.sam")), format!("{HEADER}{records}"))?;
        dir.run_samtools_1_24(&format!("sort --no-PG -o {name}.bam {name}.sam"))?;
    }
    let call = |(number, (input, _, options)): (usize, &Case)| {
        let call = format!(
            "picard.analysis.CollectJumpingLibraryMetrics I={input}.bam O=theirs{number}.jump_metrics {options}"
        );
        call.trim().to_owned()
    };
    let calls: Vec<String> = CASES.iter().enumerate().map(call).collect();
    let ends = dir.run_picard_calls_verbose(&calls)?;
    for (number, (input, options, _)) in CASES.into_iter().enumerate() {
        ledger.check(&format!("{input}.bam: CollectJumpingLibraryMetrics {options}"), || {
            let (code, said) = &ends[number];
            ensure!(*code == 0, "{} ends with {code}: {said}", calls[number]);
            dir.run_readmill(&format!(
                "qc {input}.bam -o ours{number} --metrics CollectJumpingLibraryMetrics {options}"
            ))?;
            let read =
                |program: &str| fs::read_to_string(dir.path(&format!("{program}{number}.jump_metrics")));
            let (ours, theirs) = (read("ours")?, read("theirs")?);
            let lines = compare_texts(skip_comments(&ours), skip_comments(&theirs))?;
            Ok(format!("{lines} lines"))
        });
    }
    Ok(())
}

/// Returns SAM records of pairs in all orientations, with insert sizes around three modes and some
/// large ones.
///
/// Some pairs are duplicates, on two contigs, or have one mapped read or none; some records are
/// secondary or supplementary. Some MQ tags are missing or differ from the mate's MAPQ.
fn random_pairs(pairs: u64) -> String {
    let (mut random, mut sam) = (SeededRandom::new(71), String::new());
    for number in 0..pairs {
        let size = random.pick(&[180, 300, 3_000]) + random.below(40) * random.below(3);
        let size = if random.once_in(30) { 90_000 + random.below(20_000) } else { size };
        let (left, right) = (1 + random.below(700_000), size - 50);
        let places = [left, left + right];
        // The strands of the left and the right read.
        let is_reverse = random.pick(&[[true, false], [true, false], [false, true], [false, false]]);
        let (first, kind) = (random.below(2) as usize, random.below(20));
        for read in 0..2 {
            let mate = 1 - read;
            let mut flags = if read == first { 0x41 } else { 0x81 };
            flags |= if is_reverse[read] { 0x10 } else { 0 } | if is_reverse[mate] { 0x20 } else { 0 };
            flags |= match (kind, read == first) {
                (0, true) | (1, false) => 0x4,
                (0, false) | (1, true) => 0x8,
                (2, _) => 0xc,
                (3, _) => 0x100,
                (4, _) => 0x800,
                (5, _) => 0x200,
                (6..9, _) => 0x400,
                _ => 0,
            };
            let contig = if kind == 9 && read == first { "c2" } else { "c1" };
            let next = if kind == 9 { ["c1", "c2"][usize::from(read != first)] } else { "=" };
            let at = |place: u64, contig: &str| if contig == "c2" { 1 + place % 80_000 } else { place };
            let size = size.cast_signed() * if read == 0 { 1 } else { -1 };
            let (cigar, size) = match kind {
                0..3 => (if flags & 4 == 0 { "50M" } else { "*" }, 0),
                9 => ("50M", 0),
                _ => ("50M", size),
            };
            let mapq = random.pick(&[0, 19, 20, 60]);
            let mq = random.pick(&["", "\tMQ:i:0", "\tMQ:i:60", "\tMQ:i:20"]);
            let _ = writeln!(
                sam,
                "r{number}\t{flags}\t{contig}\t{}\t{mapq}\t{cigar}\t{next}\t{}\t{size}\t*\t*\tRG:Z:a{mq}",
                at(places[read], contig),
                at(places[mate], next),
            );
        }
    }
    for number in 0..pairs.min(4) {
        for flags in [0x4d, 0x8d] {
            let _ = writeln!(sam, "u{number}\t{flags}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a");
        }
    }
    sam
}

/// Returns read 1 of 60,000 outward-facing pairs. The most frequent insert size of the first
/// 50,000, which Picard examines, differs from that of all pairs.
fn pairs_whose_mode_changes() -> String {
    let mut sam = String::new();
    for number in 0..60_000 {
        let size = if number < 50_000 { 300 + number % 7 } else { 310 };
        let mate = number + size - 49;
        let start = number + 1;
        let _ = writeln!(sam, "p{number}\t81\tc1\t{start}\t60\t50M\t=\t{mate}\t{size}\t*\t*\tRG:Z:a");
    }
    sam
}

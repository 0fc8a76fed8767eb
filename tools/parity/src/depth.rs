//! Compares `readmill samtools depth`, `coverage` and `bedcov` with samtools, line by line. The
//! inputs are random reads and a simulated sample, as BAM, CRAM and SAM, one file or several.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::random::SeededRandom;
use crate::samples;

/// Command lines of depth. Excluded are `-s` with supplementary reads (row 203 of docs/parity.md),
/// and qualities of reads without bases (row 204).
const DEPTH: [&str; 27] = [
    "a.bam",
    "a.sam",
    "a.cram",
    "-a a.bam",
    "-aa a.bam",
    "-a -a -H a.bam b.bam c.bam",
    "-H a.bam b.bam",
    "-f list -J",
    "-J a.bam",
    "-J -a -q 20 a.bam",
    "-q 30 a.bam",
    "-q 13 -Q 10 -l 41 a.bam c.bam",
    "-Q 30 a.cram",
    "-l 50 a.cram",
    "-s -G SUPPLEMENTARY a.bam",
    "-s -J -a -G 0x800 a.bam",
    "-s -q 20 -G SUPPLEMENTARY,PROPER_PAIR a.bam b.bam",
    "-g DUP,QCFAIL,SECONDARY a.bam",
    "-g UNMAP -a a.bam",
    "-G READ1 a.bam",
    "--incl-flags 0x40 --require-flags PAIRED a.bam",
    "-b regions.bed a.bam",
    "-b regions.bed -aa a.bam b.bam",
    "-a -b positions a.bam",
    "-m 3 -d 7 -o out.txt a.bam",
    "-@ 2 a.bam b.bam",
    "--min-BQ 25 --min-mq 5 c.bam",
];

/// Command lines of depth with a region: the options before the region, and the files after it.
const DEPTH_OF_REGIONS: [(&str, &str); 6] = [
    ("-r", "a.bam"),
    ("-a -r", "a.bam"),
    ("-aa -H -r", "a.bam b.bam"),
    ("-b regions.bed -r", "a.cram"),
    ("-s -G SUPPLEMENTARY -q 20 -r", "a.bam"),
    ("-a -X -r", "a.bam b.bam a.bam.csi b.bam.csi"),
];

/// Command lines of coverage. Excluded are mean qualities of CRAM without `-Q` (row 207).
const COVERAGE: [&str; 21] = [
    "a.bam",
    "a.sam",
    "-Q 1 a.cram",
    "-H a.bam b.bam c.bam",
    "-b list",
    "-Q 20 a.bam",
    "-q 10 -l 41 a.bam",
    "--ff 0 a.bam",
    "--rf READ1 --ff DUP a.bam",
    "--min-depth 3 a.bam",
    "--min-depth 2 -Q 25 a.bam b.bam",
    "-d 3 a.bam",
    "-d 1 -Q 10 a.bam c.bam",
    "-d 0 -o out.txt a.bam",
    "-m a.bam",
    "-m -w 13 a.bam",
    "-A -w 40 b.bam a.bam",
    "-D -w 25 a.bam",
    "-D -A -d 2 a.bam",
    "-m -o out.txt -Q 20 a.bam",
    "-m --min-depth 2 --ff 0x800 a.bam",
];

/// Command lines of bedcov. Excluded are CRAM reads near regions without bases (row 249).
const BEDCOV: [&str; 14] = [
    "bed a.bam",
    "bed a.bam b.bam c.bam",
    "bed a.cram",
    "-j bed a.bam b.bam",
    "-d 3 bed a.bam",
    "-d 0 -H bed a.bam b.bam",
    "-d 20 -j -c bed a.bam",
    "-c bed a.bam c.bam",
    "-j -H named.bed a.cram b.bam",
    "-Q 10 bed a.bam",
    "-g DUP,SECONDARY -c bed a.bam",
    "-G 0x800 -G READ1 -c bed a.bam",
    "-g UNMAP -c -j bed a.bam",
    "-X -c -d 2 bed a.bam b.bam a.bam.csi b.bam.csi",
];

/// Command lines of coverage with a region: the options before the region, and the files after it.
const COVERAGE_OF_REGIONS: [(&str, &str); 4] =
    [("-r", "a.bam"), ("-Q 20 -r", "a.cram"), ("-d 4 -r", "a.bam b.bam"), ("-m -w 17 -r", "a.bam")];

pub fn compare_depth_commands(
    dir: &SampleDir<'_>,
    pairs: u64,
    cases: u64,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading("depth", "depths and coverage, compared with samtools depth and coverage");
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    dir.run_samtools_1_24("sort --no-PG -o a.bam##idx##a.bam.csi --write-index in.bam")?;
    let contigs = parse_contigs(&ProgramLines::start_samtools_1_24(dir, "view -H a.bam")?.read_text()?);
    let mut random = SeededRandom::new(17);
    write_companion_files(dir, &contigs, &mut random)?;
    for file in ["b.bam", "c.bam"] {
        let seed = if file == "b.bam" { "1.6" } else { "2.2" };
        dir.run_samtools_1_24(&format!(
            "view --no-PG -b -s {seed} -o {file}##idx##{file}.csi --write-index a.bam"
        ))?;
    }
    for words in all_command_lines(&contigs, &mut random) {
        ledger.check(&words, || Ok(format!("{} lines", compare_outputs(dir, &words)?)));
    }
    ledger.check(&format!("{cases} random inputs, all options"), || {
        let mut lines = 0;
        for case in 0..cases {
            lines += compare_random_case(dir, case).with_context(|| format!("case {case}"))?;
        }
        Ok(format!("{lines} lines"))
    });
    Ok(())
}

pub(crate) fn parse_contigs(header: &str) -> Vec<(String, u64)> {
    let field = |line: &str, key: &str| {
        line.split('\t').find_map(|field| field.strip_prefix(key)).unwrap_or_default().to_owned()
    };
    let lines = header.lines().filter(|line| line.starts_with("@SQ"));
    lines.map(|line| (field(line, "SN:"), field(line, "LN:").parse().unwrap_or(1))).collect()
}

/// Writes the files that command lines name in addition to BAM files: BED files, positions, a list
/// of inputs, and `a.bam` as SAM and CRAM.
fn write_companion_files(
    dir: &SampleDir<'_>,
    contigs: &[(String, u64)],
    random: &mut SeededRandom,
) -> Result<()> {
    let (mut bed, mut positions) =
        ("track name=x\n# remark\n\nelsewhere\t1\t9\n".to_owned(), String::new());
    for _ in 0..40 {
        let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
        let start = random.below(*length);
        let end = start + random.pick(&[0, 1, 10, 100, 1_000]);
        let _ = writeln!(bed, "{name}\t{start}\t{end}\tname");
        let _ = writeln!(positions, "{name} {}", start + 1);
    }
    let known = bed.lines().filter(|line| !line.starts_with("elsewhere"));
    let known = known.fold(String::new(), |text, line| text + line + "\n");
    fs::write(dir.path("named.bed"), format!("#chrom\tfrom\tto\tname\n{known}"))?;
    fs::write(dir.path("bed"), known)?;
    fs::write(dir.path("regions.bed"), bed)?;
    fs::write(dir.path("positions"), positions)?;
    fs::write(dir.path("list"), "a.bam\n\n  \nb.bam  \n")?;
    dir.run_samtools_1_24("view --no-PG -h -o a.sam a.bam")?;
    dir.run_samtools_1_24("view --no-PG -O cram,no_ref,seqs_per_slice=500 -o a.cram a.bam")?;
    dir.run_samtools_1_24("index a.cram")?;
    Ok(())
}

fn all_command_lines(contigs: &[(String, u64)], random: &mut SeededRandom) -> Vec<String> {
    let depth = DEPTH.iter().map(|words| format!("depth {words}"));
    let coverage = COVERAGE.iter().map(|words| format!("coverage {words}"));
    let bedcov = BEDCOV.iter().map(|words| format!("bedcov {words}"));
    let mut all = Vec::from_iter(depth.chain(coverage).chain(bedcov));
    let of_regions = DEPTH_OF_REGIONS.iter().map(|line| ("depth", line));
    let of_regions = of_regions.chain(COVERAGE_OF_REGIONS.iter().map(|line| ("coverage", line)));
    for (command, (options, files)) in of_regions {
        for _ in 0..3 {
            let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
            let start = 1 + random.below(*length);
            let end = start + random.pick(&[0, 1, 40, 200, 5_000]);
            let region = match random.below(5) {
                0 => name.clone(),
                1 => format!("{name}:{start}"),
                _ => format!("{name}:{start}-{end}"),
            };
            all.push(format!("{command} {options} {region} {files}"));
        }
    }
    all
}

fn compare_random_case(dir: &SampleDir<'_>, case: u64) -> Result<usize> {
    let mut random = SeededRandom::new(case);
    let has_bare_reads = case % 4 == 3;
    let (contigs, mut sams) = random_sam_files(&mut random, has_bare_reads);
    for (file, sam) in ["a", "b", "c"].iter().zip(&mut sams) {
        fs::write(dir.path(&format!("{file}.odd.sam")), &*sam)?;
        let sorted = format!("-o {file}.bam##idx##{file}.bam.csi --write-index {file}.odd.sam");
        dir.run_samtools_1_24(&format!("sort --no-PG {sorted}"))?;
    }
    write_companion_files(dir, &contigs, &mut random)?;
    let mut lines = 0;
    for words in all_command_lines(&contigs, &mut random) {
        let looks_at_qualities = [" -q ", "--min-BQ"].iter().any(|flag| words.contains(flag));
        if has_bare_reads && words.starts_with("depth") && looks_at_qualities {
            continue;
        }
        lines += compare_outputs(dir, &words).with_context(|| words.clone())?;
    }
    Ok(lines)
}

/// Runs both programs and returns the number of lines, or an error if their outputs differ. With
/// `-o out.txt`, the output is read from that file.
pub fn compare_outputs(dir: &SampleDir<'_>, words: &str) -> Result<usize> {
    let written = |printed: Vec<u8>| -> Result<Vec<u8>> {
        if !words.contains("out.txt") {
            return Ok(printed);
        }
        let path = dir.path("out.txt");
        let text = fs::read(&path)?;
        fs::remove_file(path)?;
        Ok(text)
    };
    let theirs = written(ProgramLines::start_samtools_1_24(dir, words)?.read_bytes()?)?;
    let ours =
        written(ProgramLines::start(dir.readmill_command(&format!("samtools {words}")))?.read_bytes()?)?;
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
    let (our_lines, their_lines): (Vec<String>, Vec<String>) = (lines(&ours), lines(&theirs));
    for (number, (ours, theirs)) in our_lines.iter().zip(&their_lines).enumerate() {
        ensure!(ours == theirs, "line {}: {ours:?}, theirs {theirs:?}", number + 1);
    }
    ensure!(ours == theirs, "{} lines, theirs {}", our_lines.len(), their_lines.len());
    Ok(our_lines.len())
}

pub(crate) const CIGARS: [(&str, u64, usize); 18] = [
    ("60M", 60, 60),
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
    ("3D20M", 23, 20),
    ("20M4D", 24, 20),
    ("4I20M", 20, 24),
    ("2S5N3I30M2D3N6M1S", 46, 42),
    ("8M1P2I1P8M", 16, 18),
    ("12I", 0, 12),
    ("5S7I3S", 0, 15),
];

/// Returns contigs, and three SAM files of unusual reads on them: mates that overlap in all
/// possible ways; duplicates, failed, secondary and supplementary records; reads without qualities
/// and, if `bare`, without bases; unmapped reads; reads that extend beyond their contig; contigs
/// without reads.
fn random_sam_files(random: &mut SeededRandom, bare: bool) -> (Vec<(String, u64)>, [String; 3]) {
    let n = 1 + random.below(6);
    let contigs: Vec<(String, u64)> = (0..n)
        .map(|number| (format!("c{number}"), (1 + random.below(12)) * random.pick(&[50, 200, 1_000])))
        .collect();
    let files = [(); 3].map(|()| random_sam(&contigs, random, bare));
    (contigs, files)
}

fn random_sam(contigs: &[(String, u64)], random: &mut SeededRandom, bare: bool) -> String {
    let mut sam = "@HD\tVN:1.6\n".to_owned();
    for (name, length) in contigs {
        let _ = writeln!(sam, "@SQ\tSN:{name}\tLN:{length}");
    }
    sam += "@RG\tID:a\tSM:s\n@RG\tID:b\tSM:s\n";
    for number in 0..random.pick(&[0, 3, 40, 400]) {
        let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
        if name == "c2" {
            continue;
        }
        let (first, second) = (random.pick(&CIGARS), random.pick(&CIGARS));
        let start = random.below(*length);
        let other = (start + random.pick(&[0, 0, 1, 5, 20, 45, 80, 300])).min(length - 1);
        let proper = if random.once_in(8) { 0 } else { 2 };
        let group = random.pick(&["\tRG:Z:a", "\tRG:Z:b", ""]);
        let ends = [(0x61, first, start, other), (0x91, second, other, start)];
        for (flags, (cigar, _, bases), at, mate) in ends {
            let more = random.pick(&[0, 0, 0, 0, 0, 0, 0x400, 0x200]);
            let mapq = random.pick(&[0, 9, 10, 30, 60]);
            let kind = random.below(12);
            let sequence = match kind {
                0 if bare => "*".to_owned(),
                _ => "A".repeat(bases),
            };
            let quality = |_| char::from(b'!' + random.pick(&[0, 2, 12, 13, 20, 25, 30, 40]));
            let qualities: String = match kind {
                0 | 1 => "*".to_owned(),
                _ => (0..bases).map(quality).collect(),
            };
            let mut put = |flags: u64| {
                let _ = writeln!(
                    sam,
                    "r{number}\t{flags}\t{name}\t{}\t{mapq}\t{cigar}\t=\t{}\t0\t{sequence}\t{qualities}{group}",
                    at + 1,
                    mate + 1,
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
    sam + "x\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n"
}

//! Compares `readmill samtools stats` with samtools: all rows, and the titles of the sections that
//! exist only for sorted reads. The inputs are random reads and a simulated sample.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::depth::{CIGARS, parse_contigs};
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::random::SeededRandom;
use crate::samples;

const STATS: [&str; 26] = [
    "a.bam",
    "a.sam",
    "a.cram",
    "u.bam",
    "-p u.bam",
    "-c 1,40,4 a.bam",
    "-c 2,9,100 a.bam",
    "-c 3,3,1 a.bam",
    "--GC-depth 150 a.bam",
    "--GC-depth 1 -c 5,20,3 a.bam",
    "-d a.bam",
    "-f 1 -F 0x10 a.bam",
    "-F DUP -F SUPPLEMENTARY -p a.bam",
    "-p a.bam",
    "-p a.cram",
    "-i 200 -x a.bam",
    "-m 0.7 a.bam",
    "-q 20 a.bam",
    "-l 60 a.bam",
    "-I a a.bam",
    "-I s a.bam",
    "-I none a.bam",
    "-t targets a.bam",
    "-t targets -g 2 -p a.bam",
    "-t targets -d -c 1,30,1 a.cram",
    "-X -p -t targets -g 1 a.bam a.bam.csi c0",
];

const STATS_OF_REGIONS: [&str; 3] = ["", "-p", "-g 1"];

pub fn compare_stats_commands(
    dir: &SampleDir<'_>,
    pairs: u64,
    cases: u64,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading("stats", "statistics of reads, compared with samtools stats");
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    fs::copy(dir.path("in.bam"), dir.path("u.bam"))?;
    dir.run_samtools_1_24("sort --no-PG -o a.bam##idx##a.bam.csi --write-index in.bam")?;
    let mut random = SeededRandom::new(29);
    for words in write_files_and_list_commands(dir, &mut random)? {
        ledger.check(&words, || Ok(format!("{} rows", compare_outputs(dir, &words)?)));
    }
    ledger.check(&format!("{cases} random inputs, all options"), || {
        let mut rows = 0;
        for case in 0..cases {
            rows += compare_random_case(dir, case).with_context(|| format!("case {case}"))?;
        }
        Ok(format!("{rows} rows"))
    });
    Ok(())
}

fn compare_random_case(dir: &SampleDir<'_>, case: u64) -> Result<usize> {
    let mut random = SeededRandom::new(case);
    let reads = if case % 5 == 4 { 30_000 } else { random.pick(&[0, 3, 40, 400, 2_000]) };
    fs::write(dir.path("odd.sam"), random_sam(&mut random, reads))?;
    dir.run_samtools_1_24("view --no-PG -b -o u.bam odd.sam")?;
    dir.run_samtools_1_24("sort --no-PG -o a.bam##idx##a.bam.csi --write-index odd.sam")?;
    let mut rows = 0;
    for words in write_files_and_list_commands(dir, &mut random)? {
        rows += compare_outputs(dir, &words).with_context(|| words.clone())?;
    }
    Ok(rows)
}

/// Writes the files that command lines name in addition to `a.bam`. Returns all command lines, some
/// with random regions.
fn write_files_and_list_commands(dir: &SampleDir<'_>, random: &mut SeededRandom) -> Result<Vec<String>> {
    let contigs = parse_contigs(&ProgramLines::start_samtools_1_24(dir, "view -H a.bam")?.read_text()?);
    dir.run_samtools_1_24("view --no-PG -h -o a.sam a.bam")?;
    dir.run_samtools_1_24("view --no-PG -O cram,no_ref,seqs_per_slice=500 -o a.cram a.bam")?;
    dir.run_samtools_1_24("index a.cram")?;
    let mut targets = "# remark\nelsewhere\t1\t9\n".to_owned();
    for (name, length) in &contigs {
        let mut start = 1 + random.below(*length / 4 + 1);
        while start < *length {
            let end = start + random.pick(&[0, 1, 30, 500]);
            let _ = writeln!(targets, "{name}\t{start}\t{end}\tname");
            start += random.pick(&[0, 1, 2, 31, 100, 900]) + *length / 40;
        }
    }
    fs::write(dir.path("targets"), targets)?;
    let known = |words: &&str| !words.ends_with(" c0") || contigs.iter().any(|contig| contig.0 == "c0");
    let mut all =
        Vec::from_iter(STATS.iter().filter(|words| known(words)).map(|it| format!("stats {it}")));
    for (options, file) in STATS_OF_REGIONS.iter().zip(["a.bam", "a.cram", "a.bam"]) {
        for n in 1..=3 {
            let mut words = format!("stats {options} {file}");
            for _ in 0..n {
                let (name, length) = &contigs[random.below(contigs.len() as u64) as usize];
                let start = 1 + random.below(*length);
                let end = start + random.pick(&[0, 1, 40, 200, 5_000]);
                let region = match random.below(5) {
                    0 => name.clone(),
                    1 => format!("{name}:{start}"),
                    _ => format!("{name}:{start}-{end}"),
                };
                let _ = write!(words, " {region}");
            }
            all.push(words);
        }
    }
    Ok(all)
}

/// Runs both programs and returns the number of rows, or an error that shows the first different
/// row.
pub fn compare_outputs(dir: &SampleDir<'_>, words: &str) -> Result<usize> {
    let theirs = ProgramLines::start_samtools_1_24(dir, words)?.read_text()?;
    let ours = ProgramLines::start(dir.readmill_command(&format!("samtools {words}")))?.read_text()?;
    let (ours, theirs) = (comparable_rows(&ours), comparable_rows(&theirs));
    for (our, their) in ours.iter().zip(&theirs) {
        ensure!(our == their, "{our:?}, theirs {their:?}");
    }
    ensure!(ours.len() == theirs.len(), "{} rows, theirs {}", ours.len(), theirs.len());
    Ok(ours.len())
}

/// Returns the rows of the statistics, and the titles of sections that depend on read order. Other
/// comments are removed.
pub fn comparable_rows(text: &str) -> Vec<String> {
    let in_order = ["# Coverage distribution. Use", "# GC-depth. Use"];
    let is_row =
        |line: &&str| !line.starts_with('#') || in_order.iter().any(|title| line.starts_with(title));
    Vec::from_iter(text.lines().filter(is_row).map(str::to_owned))
}

/// Returns random templates as SAM. Mates overlap in all possible ways or are on different contigs.
/// There are duplicates, failed, secondary and supplementary records, reads without qualities or
/// bases, unmapped reads and single reads.
fn random_sam(random: &mut SeededRandom, templates: u64) -> String {
    let n = 1 + random.below(4);
    let contigs: Vec<(String, u64)> = (0..n)
        .map(|number| (format!("c{number}"), (1 + random.below(12)) * random.pick(&[50, 200, 5_000])))
        .collect();
    let mut sam = "@HD\tVN:1.6\n".to_owned();
    for (name, length) in &contigs {
        let _ = writeln!(sam, "@SQ\tSN:{name}\tLN:{length}");
    }
    sam += "@RG\tID:a\tSM:s\n@RG\tID:b\tSM:s\n@RG\tID:c\tSM:t\n";
    for number in 0..templates {
        let contig = random.below(n) as usize;
        let start = random.below(contigs[contig].1);
        let other = start + random.pick(&[0, 0, 1, 5, 20, 45, 80, 300]);
        let away = if random.once_in(9) { random.below(n) as usize } else { contig };
        let ends = [(0x61, contig, start, away, other), (0x91, away, other, contig, start)];
        let group = random.pick(&["\tRG:Z:a", "\tRG:Z:b", "\tRG:Z:c", ""]);
        let length = random.pick(&[0, 1, 60, 120, 200, 900]) as i64;
        let paired = !random.once_in(7);
        for (end, (flags, contig, at, mate_contig, mate)) in ends.into_iter().enumerate() {
            let (cigar, _, bases) = random.pick(&CIGARS);
            let more = random.pick(&[2, 2, 0, 0, 2, 0x400, 0x200, 0x8, 0x10, 0xc0]);
            let sequence: String = match random.below(20) {
                0 => "*".to_owned(),
                _ => (0..bases).map(|_| random.pick(&['A', 'C', 'G', 'G', 'T', 'N', 'C'])).collect(),
            };
            let is_bare = sequence == "*" || random.once_in(20);
            let mut quality = |_| char::from(b'!' + random.pick(&[0, 2, 12, 13, 20, 25, 30, 40]));
            let qualities =
                if is_bare { "*".to_owned() } else { (0..bases).map(&mut quality).collect::<String>() };
            let sign = if end == 0 { 1 } else { -1 };
            let mapq = random.pick(&[0, 9, 10, 30, 60]);
            let mismatches = random.pick(&["", "\tNM:i:0", "\tNM:i:3"]);
            let mut put = |flags: u64| {
                let (name, mate_name) = (&contigs[contig].0, &contigs[mate_contig].0);
                let _ = writeln!(
                    sam,
                    "r{number}\t{flags}\t{name}\t{}\t{mapq}\t{cigar}\t{mate_name}\t{}\t{}\t{sequence}\t{qualities}{group}{mismatches}",
                    at + 1,
                    mate + 1,
                    sign * length,
                );
            };
            let flags = if paired { flags | more } else { more & 0x610 };
            put(flags);
            match (number + end as u64) % 19 {
                3 | 4 => put(flags | 0x800),
                5 => put(flags | 0x100),
                _ => {}
            }
        }
        if number % 23 == 0 {
            let name = &contigs[contig].0;
            let _ = writeln!(sam, "u{number}\t4\t{name}\t{}\t0\t*\t*\t0\t0\tACGT\t*", start + 1);
        }
    }
    sam + "x\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n"
}

//! Compares edits of records: mate fields with Picard FixMateInformation and samtools fixmate; NM,
//! MD and UQ with Picard SetNmMdAndUqTags and samtools calmd.

use std::fs::{self, File};
use std::io::BufWriter;

use anyhow::{Result, ensure};
use readmill_simulate::Profile;

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{LineFilter, ProgramLines, compare_lines, sort_tags};
use crate::random::SeededRandom;

pub fn compare_mates(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("mates.bam: what mates know of each other is broken", || write_broken_mates(dir));
    ledger.check("mates.bam: filter --fix-mates samtools as samtools fixmate -m", || {
        dir.run_readmill("filter mates.bam -o ours.bam --fix-mates samtools")?;
        dir.run_samtools_1_24("fixmate -m --no-PG mates.bam theirs.bam")?;
        compare_mate_records(dir, |_| true)
    });
    let picard = "FixMateInformation ASSUME_SORTED=true";
    ledger.check(&format!("mates.bam: filter --fix-mates picard as Picard's {picard}"), || {
        dir.run_readmill("filter mates.bam -o ours.bam --fix-mates picard")?;
        let codes = dir.run_picard_calls(&[format!("{picard} I=mates.bam O=theirs.bam")])?;
        ensure!(codes == [0], "Picard ends with {codes:?}");
        compare_mate_records(dir, sort_tags)
    });
    ledger.check("mates.bam sorted by coordinate is refused", || {
        dir.run_samtools_1_24("sort -o sorted.bam mates.bam")?;
        let refused = dir.readmill_command("filter sorted.bam -o ours.bam --fix-mates picard");
        ensure!({ refused }.output()?.status.code() == Some(2), "it is not");
        let header =
            ProgramLines::start_samtools_1_24(dir, "view -H --no-PG sorted.bam")?.read_text()?;
        fs::write(dir.path("silent.header"), header.replace("SO:coordinate", "SO:unknown"))?;
        let silent =
            ProgramLines::start(dir.samtools_1_24_command("reheader -P silent.header sorted.bam"))?;
        fs::write(dir.path("silent.bam"), silent.read_bytes()?)?;
        let refused = dir.readmill_command("filter silent.bam -o ours.bam --fix-mates picard");
        ensure!({ refused }.output()?.status.code() == Some(2), "it is not where the header is silent");
        Ok(String::new())
    });
}

fn compare_mate_records(dir: &SampleDir<'_>, normal: crate::outputs::LineFilter) -> Result<String> {
    let [ours, theirs] =
        ["view ours.bam", "view theirs.bam"].map(|words| ProgramLines::start_samtools_1_24(dir, words));
    Ok(format!("{} records", compare_lines(ours?, theirs?, normal)?))
}

/// Writes `mates.bam` from `in.bam`: some strands are flipped, and mate fields are missing or
/// wrong. Some reads extend beyond their reference sequence, some get a secondary alignment, and
/// some lose their mate.
fn write_broken_mates(dir: &SampleDir<'_>) -> Result<String> {
    let text = ProgramLines::start_samtools_1_24(dir, "view -h --no-PG in.bam")?.read_text()?;
    let lengths = parse_sequences(&text);
    let (mut random, mut out) = (SeededRandom::new(5), String::new());
    for line in text.lines() {
        if line.starts_with('@') {
            out += &format!("{}\n", line.replace("SO:coordinate", "SO:unsorted"));
        } else if !random.once_in(60) {
            out += &break_mate_fields(line, &lengths, &mut random);
        }
    }
    fs::write(dir.path("mates.sam"), &out)?;
    dir.run_samtools_1_24("view --no-PG -b -o mates.bam mates.sam")?;
    Ok(format!("{} lines", out.lines().count()))
}

fn break_mate_fields(line: &str, lengths: &[(&str, u64)], random: &mut SeededRandom) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
    let mut flags: u32 = columns[1].parse().unwrap_or(0);
    flags ^= if random.once_in(4) { 0x10 } else { 0 };
    if flags & 1 != 0 {
        flags ^= random.pick(&[0, 0x2, 0x8, 0x20, 0x28]);
        if random.once_in(3) {
            (columns[6], columns[7]) = (random.pick(lengths).0.to_owned(), "7".to_owned());
        }
        columns[8] = random.pick(&["0", "33", "-5"]).to_owned();
        columns.retain(|field| !field.starts_with("MC:Z:") && !field.starts_with("MQ:i:"));
        for wrong in ["MQ:i:77", "MC:Z:1M2S", "ms:i:3"] {
            if random.once_in(4) {
                let at = 11 + random.below(columns.len() as u64 - 10) as usize;
                columns.insert(at, wrong.to_owned());
            }
        }
    }
    columns[1] = flags.to_string();
    let length = lengths.iter().find(|(name, _)| *name == columns[2]).map(|(_, length)| *length);
    let plain: Option<u64> = columns[5].strip_suffix('M').and_then(|n| n.parse().ok());
    if let (Some(length), Some(bases), true) = (length, plain, random.once_in(30)) {
        columns[3] = (length - random.below(bases) + 1).min(length).to_string();
    }
    let mut lines = columns.join("\t") + "\n";
    if random.once_in(20) && flags & 0x904 == 0 {
        columns[1] = (flags | 0x100).to_string();
        (columns[9], columns[10]) = ("*".to_owned(), "*".to_owned());
        lines += &(columns.join("\t") + "\n");
    }
    lines
}

/// Compares NM, MD and UQ on simulated reads, sorted and unsorted. Bases and tags of some reads
/// have been changed.
pub fn compare_nm_md_uq(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) {
    ledger.check("altered.bam: bases, NM, MD and UQ are changed", || write_altered_reads(dir, pairs));
    let picard = "SetNmMdAndUqTags";
    ledger.check(&format!("altered.bam: filter --nm-md-uq as Picard's {picard}"), || {
        dir.run_readmill("filter altered.bam -o ours.bam --nm-md-uq --reference told.fasta")?;
        let call = format!("{picard} I=altered.bam O=theirs.bam R=told.fasta");
        let codes = dir.run_picard_calls(&[call])?;
        ensure!(codes == [0], "Picard ends with {codes:?}");
        compare_records(dir, "ours.bam", "theirs.bam", sort_tags)
    });
    ledger.check("altered.bam: filter --nm-md-uq as samtools calmd, where no base is N", || {
        let theirs = ProgramLines::start(
            dir.samtools_1_24_command("calmd -Q -b --no-PG altered.bam told.fasta"),
        )?;
        std::fs::write(dir.path("theirs.bam"), theirs.read_bytes()?)?;
        compare_records(dir, "ours.bam", "theirs.bam", skip_n_and_remove_uq)
    });
    ledger.check("altered.bam in a different order, then sorted, is the same", || {
        dir.run_samtools_1_24("sort -n -o by-name.bam altered.bam")?;
        let flags = "--nm-md-uq --reference told.fasta";
        dir.run_readmill(&format!("prep by-name.bam -o sorted.bam --sort coordinate {flags}"))?;
        dir.run_readmill(&format!("filter by-name.bam -o filtered.bam {flags}"))?;
        dir.run_samtools_1_24("sort --no-PG -o again.bam filtered.bam")?;
        compare_records(dir, "sorted.bam", "again.bam", |_| true)
    });
}

fn compare_records(dir: &SampleDir<'_>, ours: &str, theirs: &str, normal: LineFilter) -> Result<String> {
    let [ours, theirs] =
        [ours, theirs].map(|file| ProgramLines::start_samtools_1_24(dir, &format!("view {file}")));
    Ok(format!("{} records", compare_lines(ours?, theirs?, normal)?))
}

/// Removes UQ, which calmd does not write, and skips records with N in the read or in the reference
/// at its position (row 86).
fn skip_n_and_remove_uq(line: &mut Vec<u8>) -> bool {
    let text = String::from_utf8_lossy(line).into_owned();
    let fields: Vec<&str> = text.split('\t').filter(|field| !field.starts_with("UQ:i:")).collect();
    *line = fields.join("\t").into_bytes();
    let told = |field: &&str| field.starts_with("MD:Z:") && field[5..].contains('N');
    !fields[9].contains('N') && !fields.iter().any(told) && sort_tags(line)
}

fn write_altered_reads(dir: &SampleDir<'_>, pairs: u64) -> Result<String> {
    let mut profile = Profile::small().with_pairs(pairs).with_seed(12);
    profile.supplementary_per_mille = 100;
    profile.introns = true;
    let sample = readmill_simulate::Sample::new(profile);
    sample.write_fasta(&mut BufWriter::new(File::create(dir.path("told.fasta"))?))?;
    dir.run_samtools_1_24("faidx told.fasta")?;
    dir.run_samtools_1_24("dict -o told.dict told.fasta")?;
    let mut raw = Vec::new();
    sample.raw_header(&mut raw);
    let mut records = sample.records();
    while records.append_next(&mut raw) {}
    std::fs::write(dir.path("told.raw"), raw)?;
    let text =
        ProgramLines::start_samtools_1_24(dir, "view --verbosity 1 -h --no-PG told.raw")?.read_text()?;
    let (mut random, mut out) = (SeededRandom::new(9), String::new());
    for line in text.lines() {
        out += &if line.starts_with('@') { line.to_owned() } else { alter_read(line, &mut random) };
        out.push('\n');
    }
    std::fs::write(dir.path("altered.sam"), out)?;
    dir.run_samtools_1_24("sort --no-PG -o altered.bam altered.sam")?;
    Ok(format!("{} lines", text.lines().count()))
}

fn alter_read(line: &str, random: &mut SeededRandom) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
    if columns[9] != "*" && random.once_in(2) {
        let mut bases: Vec<char> = columns[9].chars().collect();
        for _ in 0..random.below(6) {
            let at = random.below(bases.len() as u64) as usize;
            bases[at] = random.pick(&['A', 'C', 'G', 'T', 'T', 'G', 'C', 'N', 'R']);
        }
        columns[9] = bases.into_iter().collect();
    }
    if random.once_in(50) {
        columns[10] = "*".to_owned();
    }
    match random.below(4) {
        0 => columns.retain(|field| !field.starts_with("NM:") && !field.starts_with("MD:")),
        1 => columns.push("UQ:i:7".to_owned()),
        _ => {}
    }
    columns.join("\t")
}

pub fn parse_sequences(header: &str) -> Vec<(&str, u64)> {
    let lines = header.lines().filter(|line| line.starts_with("@SQ\t"));
    let parse = |line| Some((field(line, "SN:")?, field(line, "LN:")?.parse().ok()?));
    lines.filter_map(parse).collect()
}

fn field<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| field.strip_prefix(tag))
}

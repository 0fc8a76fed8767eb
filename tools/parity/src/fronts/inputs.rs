//! Generates the files that the command lines in `lines.txt` name.

use std::fs;

use anyhow::{Context, Result};
use readmill_peers::Peers;
use readmill_simulate::{Profile, Sample};

use crate::commands::SampleDir;
use crate::gatk::Gatk;
use crate::outputs::ProgramLines;
use crate::samples;

use super::{alignments, groups};

const SECOND_SEED: u64 = 9;

/// Generates reads in several orders, a reference with its indexes, known sites, tables and lists.
/// Some of the files are written by readmill.
pub fn write_inputs(dir: &SampleDir<'_>, peers: &Peers, pairs: u64) -> Result<()> {
    let write = |name: &str, text: &[u8]| {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))
    };
    let second = samples::sample_with_libraries(1, pairs / 2 + SECOND_SEED);
    second.write_input_bam(dir)?;
    write_renamed_bam(dir)?;
    let sample = samples::sample_with_libraries(2, pairs);
    sample.write_input_bam(dir)?;
    sample.prepare_known_files(dir)?.context("a simulated sample has a reference")?;
    fs::rename(dir.path("ref.fasta"), dir.path("ref.fa"))?;
    for words in [
        "faidx ref.fa",
        "dict -o ref.dict ref.fa",
        "view -h --no-PG -o in.sam in.bam",
        "sort --no-PG -o sorted.bam in.bam",
        "sort --no-PG -o other.bam in2.bam",
        "sort --no-PG -n -o named.bam in.bam",
        "sort --no-PG -n -o named2.bam in2.bam",
        "fixmate --no-PG -m named.bam fixed.bam",
        "sort --no-PG -o fixed.sorted.bam fixed.bam",
        "index sorted.bam",
        "index other.bam",
    ] {
        dir.run_samtools_1_24(words)?;
    }
    for words in [
        "sort --sort queryname in.bam -o byname.bam",
        "sort --sort queryname in2.bam -o byname2.bam",
        "prep sorted.bam --sort coordinate --mark-duplicates -o marked.bam",
        "bqsr table marked.bam --reference ref.fa --known-sites known.vcf -o recal.table",
        "bqsr table other.bam --reference ref.fa --known-sites known.vcf -o recal2.table",
    ] {
        dir.run_readmill(words)?;
    }
    Gatk::find_or_install(peers)?.run_calls(dir, &["IndexFeatureFile -I known.vcf".to_string()])?;
    let dictionary = fs::read_to_string(dir.path("ref.dict"))?;
    let (first, sequences) = dictionary.split_once('\n').context("a dictionary has a first line")?;
    let reversed: Vec<&str> = sequences.lines().rev().collect();
    write("reversed.dict", format!("{first}\n{}\n", reversed.join("\n")).as_bytes())?;
    let groups = |(number, line): (usize, &str)| match line.split_once("\tRG:Z:") {
        Some((front, rest)) if number % 3 == 0 && !line.starts_with('@') => {
            format!("{front}{}\n", rest.find('\t').map_or("", |at| &rest[at..]))
        }
        _ => format!("{line}\n"),
    };
    let whole = fs::read_to_string(dir.path("in.sam"))?;
    write("part.sam", whole.lines().enumerate().map(groups).collect::<String>().as_bytes())?;
    write("regions.bed", bed_regions(dir)?.as_bytes())?;
    write("list.txt", b"../sorted.bam\n../other.bam\n")?;
    write("list.list", b"../sorted.bam\n../other.bam\n")?;
    write("arguments.txt", b"# a remark\n--INPUT ../in.bam\n--SORT_ORDER coordinate\n")?;
    write("there.bam", b"")?;
    let reads = Sample::new(Profile::small().with_pairs(pairs / 2));
    let (mut fasta, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
    reads.write_fasta(&mut fasta)?;
    reads.write_fastq(&mut one, &mut two)?;
    write("genome.fa", &fasta)?;
    let (one, two) = (add_comments(&one)?, add_comments(&two)?);
    write("inter.fq", interleave(&one, &two).as_bytes())?;
    write("r1.fq", one.as_bytes())?;
    write("r2.fq", two.as_bytes())?;
    write_other_fastq(dir, &one, &two)?;
    let to_revert = make_revert_input(&whole);
    write("revert.sam", to_revert.as_bytes())?;
    dir.run_samtools_1_24("sort --no-PG -o revert.bam revert.sam")?;
    groups::write_read_group_inputs(dir, &whole, &to_revert)?;
    dir.run_readmill("import adapters_1.fq adapters_2.fq --sort queryname -o adapters.bam")?;
    dir.run_readmill("import adapters.bam --mark-adapters --sort queryname -o marked_adapters.bam")?;
    dir.run_readmill("index genome.fa")?;
    dir.run_peer(&peers.bwa()?, "index genome.fa")?;
    alignments::write_merge_inputs(dir, peers, &one, &two)
}

fn write_renamed_bam(dir: &SampleDir<'_>) -> Result<()> {
    let text = ProgramLines::start_samtools_1_24(dir, "view -h --no-PG in.bam")?.read_text()?;
    let line =
        |line: &str| if line.starts_with('@') { format!("{line}\n") } else { format!("X{line}\n") };
    fs::write(dir.path("in2.sam"), text.lines().map(line).collect::<String>())?;
    dir.run_samtools_1_24("view --no-PG -b -o in2.bam in2.sam").map(drop)
}

fn bed_regions(dir: &SampleDir<'_>) -> Result<String> {
    let index = ProgramLines::start_samtools_1_24(dir, "view -H --no-PG sorted.bam")?.read_text()?;
    let contig = |line: &str| {
        let field = |tag: &str| line.split('\t').find_map(|it| it.strip_prefix(tag)).map(str::to_owned);
        Some((field("SN:")?, field("LN:")?.parse::<u64>().ok()?))
    };
    let contigs: Vec<(String, u64)> =
        index.lines().filter(|line| line.starts_with("@SQ")).filter_map(contig).collect();
    let region = |(name, length): &(String, u64)| format!("{name}\t{}\t{}\n", length / 4, length / 2);
    Ok(contigs.iter().take(2).map(region).collect())
}

/// Replaces the comment of each read name with a SAM tag, for `bwa mem -C`.
fn add_comments(fastq: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(fastq).context("FASTQ is text")?;
    let line = |(number, line): (usize, &str)| match number % 4 {
        0 => format!("{} BC:Z:ACGT\n", line.split(' ').next().unwrap_or_default()),
        _ => format!("{line}\n"),
    };
    Ok(text.lines().enumerate().map(line).collect())
}

fn add_adapters(text: &str, adapter: &str) -> String {
    let line = |(number, line): (usize, &str)| match (number % 4, number / 4 % 2) {
        (1, 0) => {
            let front = 10 + number / 4 % 100;
            let whole: String =
                line.chars().take(front).chain(adapter.chars()).chain(line.chars()).collect();
            format!("{}\n", &whole[..line.len()])
        }
        _ => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

/// Returns reads for RevertSam: with original qualities, trimmed bases, and some tags with a value
/// per base. Some reads lack their mate or their qualities, and some records are repeated. All read
/// groups belong to one sample and library.
fn make_revert_input(sam: &str) -> String {
    let mut text = String::new();
    for (number, line) in sam.lines().enumerate() {
        if line.starts_with("@RG") {
            let kept =
                line.split('\t').filter(|field| !field.starts_with("SM:") && !field.starts_with("LB:"));
            text += &format!("{}\tSM:s\tLB:l\n", kept.collect::<Vec<_>>().join("\t"));
            continue;
        }
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        if line.starts_with('@') || number % 50 == 7 {
            text += &if line.starts_with('@') { format!("{line}\n") } else { String::new() };
            continue;
        }
        if number % 3 == 0 && fields[10] != "*" {
            let turned: String = fields[10].chars().rev().collect();
            fields.push(format!("OQ:Z:{turned}"));
        }
        if number % 5 == 0 {
            fields.extend(["XB:Z:ACG".to_owned(), "XQ:Z:I5#".to_owned(), "YA:B:s,1,2,300".to_owned()]);
            fields.push(format!("E2:Z:{}", fields[9]));
        }
        if number % 90 == 11 {
            fields[10] = "*".to_owned();
            fields.retain(|field| !field.starts_with("OQ:"));
        }
        let line = fields.join("\t") + "\n";
        text += &line.repeat(if number % 70 == 13 { 2 } else { 1 });
    }
    text
}

/// Writes FASTQ with other quality encodings, in several files per lane, with comments, with
/// adapters, and without reads.
fn write_other_fastq(dir: &SampleDir<'_>, one: &str, two: &str) -> Result<()> {
    let encoded = |by: u8, min_char: u8| -> String {
        let letter = |c: char| char::from((c as u8 + by).clamp(min_char, b'~'));
        let line = |(number, line): (usize, &str)| match number % 4 {
            3 => line.chars().map(letter).collect::<String>() + "\n",
            _ => format!("{line}\n"),
        };
        one.lines().enumerate().map(line).collect()
    };
    let half = |text: &str, behind: bool| -> String {
        let lines: Vec<&str> = text.lines().collect();
        let middle = lines.len() / 8 * 4;
        let part = if behind { &lines[middle..] } else { &lines[..middle] };
        part.iter().map(|line| format!("{line}\n")).collect()
    };
    for (name, text) in [
        ("illumina.fq", encoded(31, b'@')),
        ("solexa.fq", encoded(28, b';')),
        ("empty.fq", String::new()),
        ("mixed.fq", interleave_with_singles(one, two)),
        ("casava.fq", add_casava_comments(one, 1)),
        ("casava_2.fq", add_casava_comments(two, 2)),
        ("plain.fa", to_fasta(one)),
        ("adapters_1.fq", add_adapters(one, "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACACGTACGTATCTCGTATGCCG")),
        ("adapters_2.fq", add_adapters(two, "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATC")),
        ("lane_R1_001.fastq", half(one, false)),
        ("lane_R2_001.fastq", half(two, false)),
        ("lane_R1_002.fastq", half(one, true)),
        ("lane_R2_002.fastq", half(two, true)),
    ] {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Returns interleaved pairs whose names end in `/1` and `/2`, with single reads between them.
/// Comments are SAM tags.
fn interleave_with_singles(one: &str, two: &str) -> String {
    let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let mut text = String::new();
    for (number, (one, two)) in one.chunks(4).zip(two.chunks(4)).enumerate() {
        let ends = if number % 5 == 3 { vec![(one, "")] } else { vec![(one, "/1"), (two, "/2")] };
        for (read, end) in ends {
            let name = read[0].split(['/', ' ']).next().unwrap_or_default();
            text += &format!("{name}{end} RX:Z:AC\tNM:i:{number}\n{}\n", read[1..].join("\n"));
        }
    }
    text
}

/// Returns reads with complete and incomplete Casava comments for this read number (1 or 2).
fn add_casava_comments(text: &str, end: u8) -> String {
    let line = |(number, line): (usize, &str)| match number % 4 {
        0 => {
            let name = line.split(['/', ' ']).next().unwrap_or_default();
            let comments = ["N:0:ACGT+TTGA", "Y:18:ACGT", "N:0:12", "N:0", "N:0:A other"];
            format!("{name} {end}:{}\n", comments[number / 4 % comments.len()])
        }
        _ => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

fn to_fasta(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(4).map(|read| format!(">{}\n{}\n", &read[0][1..], read[1])).collect()
}

fn interleave(one: &str, two: &str) -> String {
    let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let pairs = one.chunks(4).zip(two.chunks(4));
    pairs.flat_map(|(one, two)| one.iter().chain(two)).map(|line| format!("{line}\n")).collect()
}

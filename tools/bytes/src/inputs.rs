//! The inputs of the command lines: simulated reads of a small genome, in every format. Both
//! revisions read the same files.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use readmill_engine::Crew;
use readmill_simulate::{Profile, Sample};
use sha2::{Digest, Sha256};

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub pairs: u64,
    pub aligned_pairs: u64,
    pub read_length: u32,
    /// Divisor of the contig lengths of [`Profile::small`], and of positions on them.
    pub divisor: u32,
}

impl Scale {
    /// Enough reads that commands with the minimum memory spill them.
    pub const FULL: Scale = Scale { pairs: 20_000, aligned_pairs: 4_000, read_length: 150, divisor: 1 };

    /// A few kilobytes, so that a command takes milliseconds.
    pub const TINY: Scale = Scale { pairs: 24, aligned_pairs: 12, read_length: 50, divisor: 100 };

    fn profile(&self) -> Profile {
        let mut profile = Profile { single_per_mille: 20, ..Profile::small().with_pairs(self.pairs) };
        profile.contigs.iter_mut().for_each(|(_, length)| *length /= self.divisor);
        profile.read_length = self.read_length;
        profile
    }

    /// Divides each number of four or more digits in a text by the divisor, because these numbers
    /// are contig positions.
    fn scale_places(&self, text: &str) -> String {
        let (mut scaled, mut digits) = (String::new(), String::new());
        for c in text.chars().chain(std::iter::once('\n')) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            match digits.parse::<u32>() {
                Ok(place) if digits.len() >= 4 => scaled += &(place / self.divisor).to_string(),
                _ => scaled += &digits,
            }
            digits.clear();
            scaled.push(c);
        }
        scaled.pop();
        scaled
    }
}

/// A run description as written by `--json`, with fixed times.
const RUN: &str = include_str!("run.json");

/// The command line that writes the sample as SAM text, from which `derive_texts` creates further
/// inputs.
const TEXT_LINES: [&str; 1] = ["prep reads.bam -o reads.sam --no-PG"];

/// Command lines that create the other inputs, each from earlier ones.
const FORM_LINES: [&str; 16] = [
    "prep reads.bam -o reads.sam.gz --no-PG",
    "sort reads.bam -o sorted.bam --no-PG",
    "sort lane2.bam -o sorted2.bam --no-PG",
    "sort --sort queryname reads.bam -o names.bam --no-PG",
    "prep sorted.bam --reference reference.fa -o sorted.cram --no-PG",
    "prep shuffled.sam -o shuffled.bam --no-PG",
    "filter --fix-mates samtools umi.bam -o mates.bam --no-PG",
    "prep unaligned.sam -o unaligned.bam --no-PG",
    "markdup --tag-duplicates all umi.bam -o marked.bam --no-PG",
    "bqsr table --known-sites known.vcf --reference reference.fa sorted.bam -o reads.table",
    "bqsr table --known-sites known.vcf --reference reference.fa sorted2.bam -o lane2.table",
    "bqsr apply --bqsr-table reads.table --emit-original-quals sorted.bam -o oq.bam --no-PG",
    "index reference.fa",
    "align reference.fa unaligned.bam -o aligned.bam",
    "filter -f 0x40 aligned.bam -o aligned.first.bam",
    "filter -f 0x80 aligned.bam -o aligned.last.bam",
];

/// Creates all inputs in a directory, which is emptied first. `program` is the base revision, so
/// that a change cannot hide itself by creating different inputs.
pub fn make_inputs(directory: &Path, program: &Path, scale: &Scale, has_minibwa: bool) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    simulate_reads(directory, scale)?;
    run_lines(directory, program, &TEXT_LINES)?;
    derive_texts(directory, scale)?;
    run_lines(directory, program, &FORM_LINES)?;
    if has_minibwa {
        run_lines(directory, program, &["index --kernel minibwa reference.fa"])?;
    }
    Ok(())
}

fn run_lines(directory: &Path, program: &Path, lines: &[&str]) -> Result<()> {
    for line in lines {
        let mut command = Command::new(program);
        command.current_dir(directory).env_remove("TMPDIR").args(line.split(' ')).arg("--quiet");
        let ended = command.status().context("the base does not start")?;
        ensure!(ended.success(), "the base cannot make an input: readmill {line}");
    }
    Ok(())
}

fn simulate_reads(directory: &Path, scale: &Scale) -> Result<()> {
    let profile = scale.profile();
    let umis = Profile { umi_names: true, amplicons: 200, single_per_mille: 0, ..profile.clone() };
    let pairs = Profile { single_per_mille: 0, ..profile.clone() }.with_pairs(scale.aligned_pairs);
    let file = |name: &str| File::create(directory.join(name)).map(BufWriter::new);
    let sample = Sample::new(profile.clone());
    sample.write_fasta(&mut file("reference.fa")?)?;
    sample.write_fai(&mut file("reference.fa.fai")?)?;
    sample.write_known_sites(&mut file("known.vcf")?)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, profile) in
        [("reads.bam", profile.clone()), ("lane2.bam", profile.with_seed(2)), ("umi.bam", umis)]
    {
        let reads = Sample::new(profile);
        readmill::sample::write_sample_bam(
            &reads,
            &directory.join(name),
            6,
            Crew { threads, in_flight: 2 * threads },
        )?;
    }
    for (lane, seed) in [("", 1), ("lane2.", 2)] {
        let (one, two) = (format!("{lane}r1.fastq"), format!("{lane}r2.fastq"));
        let sample = Sample::new(pairs.clone().with_seed(seed));
        let (mut one, mut two) = (file(&one)?, file(&two)?);
        sample.write_fastq(&mut one, &mut two)?;
        one.flush()?;
        two.flush()?;
    }
    Ok(())
}

const GENES: &str = "a\ta1\tchr1\t+\t1000\t9000\t1500\t8000\t2\t1000,4000,\t3000,9000,\n\
    a\ta2\tchr1\t+\t1000\t7000\t1000\t1000\t1\t1000,\t7000,\n\
    b\tb1\tchr1\t-\t8000\t60000\t9000\t50000\t2\t8000,30000,\t20000,60000,\n\
    c\tc1\tchr2\t-\t5000\t90000\t6000\t80000\t1\t5000,\t90000,\n";

const REGIONS: &str = "chr1\t1000\t300000\nchr2\t5000\t9000\nchr3\t0\t200000\n";

/// Writes the inputs that are derived from the text of others: SAM, FASTQ, BED and tables.
fn derive_texts(directory: &Path, scale: &Scale) -> Result<()> {
    let read = |name: &str| fs::read_to_string(directory.join(name));
    let write = |name: &str, text: &str| fs::write(directory.join(name), text);
    let reads = read("reads.sam")?;
    write("shuffled.sam", &shuffle_records(&reads))?;
    write("bare.sam", &without_bases(&reads))?;
    let (one, two) = (read("r1.fastq")?, read("r2.fastq")?);
    write("both.fastq", &interleave_pairs(&one, &two))?;
    write("comments1.fastq", &with_comments(&one))?;
    write("comments2.fastq", &with_comments(&two))?;
    write("unaligned.sam", &to_unaligned_sam(&one, &two))?;
    write("regions.bed", &scale.scale_places(REGIONS))?;
    write("genes.refflat", &scale.scale_places(GENES))?;
    write("contigs.txt", "chr1\t1\nchr2\t2\nchr3\t3\nchrM\tMT\n")?;
    write("groups.txt", "HS00417.H7QSIMADX.1\nHS00417.H7QSIMADX.3\n")?;
    write("run.json", RUN)?;
    write("run2.json", &RUN.replace("\"sample\": \"out\"", "\"sample\": \"two\""))?;
    write("samples.tsv", "sample\tbatch\nout\t1\ntwo\t2\n")?;
    let contigs = [("chrM", 16_569), ("chr4", 180_000), ("chr3", 400_000), ("chr1", 800_000)];
    let lines = contigs.map(|(name, length)| format!("@SQ\tSN:{name}\tLN:{}\n", length / scale.divisor));
    Ok(write("other.dict", &lines.concat())?)
}

fn without_bases(sam: &str) -> String {
    let mut text = String::new();
    for (number, line) in sam.lines().enumerate() {
        let mut columns: Vec<&str> = line.split('\t').collect();
        if !line.starts_with('@') && number % 3 == 0 {
            columns[9..11].fill("*");
        }
        text += &columns.join("\t");
        text.push('\n');
    }
    text
}

/// Shuffles the records by sorting them by the hash of their line.
fn shuffle_records(sam: &str) -> String {
    let (header, mut records): (Vec<&str>, Vec<&str>) =
        sam.lines().partition(|line| line.starts_with('@'));
    records.sort_by_cached_key(|line| Sha256::digest(line).to_vec());
    let header = header.join("\n").replace("\tGO:query", "");
    format!("{header}\n{}\n", records.join("\n"))
}

/// Iterates over name, bases and qualities of the reads in a FASTQ text.
fn fastq_records(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let (name, bases, _, qualities) = (lines.next()?, lines.next()?, lines.next()?, lines.next()?);
        let name = name.trim_start_matches('@').split(' ').next()?;
        Some((name.trim_end_matches("/1").trim_end_matches("/2"), bases, qualities))
    })
}

fn interleave_pairs(one: &str, two: &str) -> String {
    let mut text = String::new();
    for (first, last) in fastq_records(one).zip(fastq_records(two)) {
        for ((name, bases, qualities), end) in [(first, 1), (last, 2)] {
            let _ = writeln!(text, "@{name}/{end}\n{bases}\n+\n{qualities}");
        }
    }
    text
}

/// Adds SAM fields to read names as a comment.
fn with_comments(text: &str) -> String {
    let mut commented = String::new();
    for (name, bases, qualities) in fastq_records(text) {
        let _ = writeln!(
            commented,
            "@{name} BC:Z:{}\tXN:i:{}\n{bases}\n+\n{qualities}",
            &bases[..6],
            bases.len()
        );
    }
    commented
}

fn to_unaligned_sam(one: &str, two: &str) -> String {
    let mut text =
        "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@RG\tID:u1\tSM:s\tLB:l\tPL:ILLUMINA\n".to_owned();
    for (first, last) in fastq_records(one).zip(fastq_records(two)) {
        for ((name, bases, qualities), flag) in [(first, 77), (last, 141)] {
            let _ = writeln!(
                text,
                "{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}\tRG:Z:u1\tRX:Z:{}",
                &bases[..8]
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_scaled_and_small_numbers_are_not() {
        let genes = "a1\tchr1\t1000\t9000\t2\t1000,4000,";
        assert_eq!(Scale::TINY.scale_places(genes), "a1\tchr1\t10\t90\t2\t10,40,");
        assert_eq!(Scale::FULL.scale_places(genes), genes);
    }

    #[test]
    fn text_is_made_of_text() {
        let one = "@a/1 x\nACGTACGT\n+\nIIIIIIII\n";
        let two = "@a/2\nTTTTACGT\n+\nJJJJJJJJ\n";
        assert_eq!(
            interleave_pairs(one, two),
            "@a/1\nACGTACGT\n+\nIIIIIIII\n@a/2\nTTTTACGT\n+\nJJJJJJJJ\n"
        );
        assert_eq!(with_comments(one), "@a BC:Z:ACGTAC\tXN:i:8\nACGTACGT\n+\nIIIIIIII\n");
        let records = "a\t77\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\tIIIIIIII\tRG:Z:u1\tRX:Z:ACGTACGT\n\
                       a\t141\t*\t0\t0\t*\t*\t0\t0\tTTTTACGT\tJJJJJJJJ\tRG:Z:u1\tRX:Z:TTTTACGT\n";
        assert!(to_unaligned_sam(one, two).ends_with(records));
        let text = shuffle_records("@HD\tVN:1.6\tGO:query\na\nb\nc\n");
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.remove(0), "@HD\tVN:1.6");
        lines.sort_unstable();
        assert_eq!(lines, ["a", "b", "c"]);
    }
}

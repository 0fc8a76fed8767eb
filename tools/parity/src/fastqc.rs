//! Compares readmill's FastQC modules with FastQC, line by line: on FASTQ and BAM, in runs that
//! only count and in runs that write reads.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;
use readmill_simulate::Rng;

use crate::commands::SampleDir;
use crate::ledger::{FULL_RUN, Ledger};
use crate::outputs::ProgramLines;
use crate::samples;

const VERSION: &str = "0.11.9";

struct FastqFile {
    name: &'static str,
    text: String,
}

type ReadMaker<'a> = dyn FnMut(&mut Rng, u32) -> (String, String, String) + 'a;

impl FastqFile {
    fn new(name: &'static str, number: u32, seed: u64, make: &mut ReadMaker<'_>) -> Self {
        let (mut text, mut rng) = (String::new(), Rng::new(seed));
        for at in 0..number {
            let (name, bases, quals) = make(&mut rng, at);
            let _ = writeln!(text, "@{name}\n{bases}\n+\n{quals}");
        }
        FastqFile { name, text }
    }
}

fn name_with_tile(at: u32, tiles: u32) -> String {
    format!("INS:1:FC:1:{}:{at}:{} 1:N:0:ACGT", 1101 + at / 7 % tiles, at % 977)
}

fn random_bases(rng: &mut Rng, length: u32) -> String {
    (0..length).map(|_| rng.pick(&['A', 'C', 'G', 'T', 'T'])).collect()
}

/// Returns qualities around `mean` that decrease along the read, encoded from the character
/// `offset` on.
fn random_qualities(rng: &mut Rng, length: u32, mean: u32, offset: u32) -> String {
    let one = |at: u32| (mean + rng.below(9)).saturating_sub(4 + at * 8 / length.max(1)).clamp(2, 41);
    (0..length).map(one).filter_map(|qual| char::from_u32(offset + qual)).collect()
}

/// Returns all FASTQ files, with up to `number` reads each. Each file stresses a different module:
/// lengths, adapters, duplicates, N, low qualities, encodings, or no reads at all.
fn make_fastq_files(number: u32) -> Vec<FastqFile> {
    let fixed = |length: u32, mean: u32, offset: u32| {
        move |rng: &mut Rng, at: u32| {
            (
                name_with_tile(at, 12),
                random_bases(rng, length),
                random_qualities(rng, length, mean, offset),
            )
        }
    };
    let varied = |min_length: u32, max_length: u32| {
        move |rng: &mut Rng, at: u32| {
            let length = min_length + rng.below(max_length - min_length + 1);
            (name_with_tile(at, 12), random_bases(rng, length), random_qualities(rng, length, 34, 33))
        }
    };
    const ADAPTER: &str = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTG";
    let mut with_adapter = |rng: &mut Rng, at: u32| {
        let insert = rng.below(140);
        let all = random_bases(rng, insert) + ADAPTER + &"A".repeat(100);
        (name_with_tile(at, 3), all[..100].into(), random_qualities(rng, 100, 36, 33))
    };
    let pool = Vec::from_iter((0..200).map(|seed| random_bases(&mut Rng::new(seed), 80)));
    let mut duplicates = |rng: &mut Rng, at: u32| {
        let max_sequences = 1 + rng.below(200);
        let known = pool[rng.below(max_sequences) as usize].clone();
        (
            name_with_tile(at, 3),
            if rng.is_once_in(3) { random_bases(rng, 80) } else { known },
            random_qualities(rng, 80, 30, 33),
        )
    };
    let mut with_n = |rng: &mut Rng, at: u32| {
        let letter = |(place, base): (usize, char)| {
            if rng.is_once_in(if place > 90 { 4 } else { 50 }) { 'N' } else { base }
        };
        let all: String =
            random_bases(&mut Rng::new(at.into()), 120).char_indices().map(letter).collect();
        (name_with_tile(at, 3), all, random_qualities(rng, 120, 20, 33))
    };
    let mut small = |rng: &mut Rng, at: u32| {
        (format!("read{at}"), random_bases(rng, 40).to_lowercase(), random_qualities(rng, 40, 34, 33))
    };
    let mut old = |rng: &mut Rng, at: u32| {
        (
            format!("HWUSI_1:2:{}:1000:{at}#0/1", at % 9),
            random_bases(rng, 51),
            random_qualities(rng, 51, 34 - at % 9, 33),
        )
    };
    let few = number.min(3_000);
    vec![
        FastqFile::new("fixed.fastq", number, 1, &mut fixed(100, 34, 33)),
        FastqFile::new("packed.fastq.gz", number, 2, &mut fixed(151, 36, 33)),
        FastqFile::new("mixed.fq", number, 3, &mut varied(20, 320)),
        FastqFile::new("long.fastq", few / 20, 4, &mut varied(1, 9_000)),
        FastqFile::new("short.fastq", few, 5, &mut varied(1, 14)),
        FastqFile::new("adapters.fastq", number, 6, &mut with_adapter),
        FastqFile::new("duplicates.fastq", number, 7, &mut duplicates),
        FastqFile::new("n.fastq", few, 8, &mut with_n),
        FastqFile::new("low.fastq", few, 9, &mut fixed(75, 12, 33)),
        FastqFile::new("illumina.fastq", few, 10, &mut fixed(76, 34, 64)),
        FastqFile::new("small.fastq", few, 11, &mut small),
        FastqFile::new("old.fastq", few, 12, &mut old),
        FastqFile::new("one.fastq", 1, 13, &mut fixed(100, 34, 33)),
        FastqFile::new("empty.fastq", 0, 14, &mut fixed(100, 34, 33)),
    ]
}

/// Compares reports with FastQC on FASTQ files of about `reads` reads and on a simulated sample as
/// BAM and SAM. A full run adds `--nogroup`, MultiQC, and a file with more distinct sequences than
/// FastQC tracks.
pub fn compare_with_fastqc(
    dir: &SampleDir<'_>,
    peers: &Peers,
    (reads, pairs): (u32, u64),
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    let fastqc = peers.fastqc()?;
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    let mut files = make_fastq_files(reads);
    if full {
        let mut many = |rng: &mut Rng, at: u32| {
            (name_with_tile(at, 3), random_bases(rng, 9), random_qualities(rng, 9, 34, 33))
        };
        files.push(FastqFile::new("many.fastq", 400_000, 15, &mut many));
    }
    for FastqFile { name, text } in &files {
        match name.ends_with(".gz") {
            true => {
                let file = fs::File::create(dir.path(name))?;
                let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
                packed.write_all(text.as_bytes())?;
                packed.finish()?;
            }
            false => fs::write(dir.path(name), text)?,
        }
    }
    let sam = ProgramLines::start_samtools_1_24(dir, "view -h in.bam")?.read_text()?;
    fs::write(dir.path("text.sam"), sam)?;
    let fastq = Vec::from_iter(files.iter().map(|file| file.name)).join(" ");
    for options in if full { &["", "--nogroup"][..] } else { &[""] } {
        let (theirs, ours) = (format!("theirs{options}"), format!("ours{options}"));
        let own = options.replace("--", "--fastqc-");
        fs::create_dir_all(dir.path(&theirs))?;
        ledger.check(&format!("fastqc: FASTQ and records {options}"), || {
            ensure!(fastqc.version == VERSION, "FastQC {} is here, and not {VERSION}", fastqc.version);
            dir.run_peer(
                &fastqc,
                &format!("-q --extract -o {theirs} {options} {fastq} in.bam text.sam"),
            )?;
            dir.run_readmill(&format!("qc {fastq} --no-metrics --fastqc {ours} {own}"))?;
            for records in ["in.bam", "text.sam"] {
                dir.run_readmill(&format!("qc {records} --no-metrics --fastqc {ours} {own}"))?;
            }
            compare_reports(dir, &theirs, &ours)
        });
    }
    ledger.check("fastqc: in runs that write reads", || {
        dir.run_readmill(
            "prep in.bam -o out.bam --sort coordinate --fastqc written --fastqc-nogroup -m 200M",
        )?;
        dir.run_readmill(
            "import fixed.fastq adapters.fastq -o out.bam --as-given --fastqc single --single",
        )?;
        let mut compared = 0;
        for (directory, name) in [("single", "fixed"), ("single", "adapters")] {
            compared += compare_report_file(dir, name, "fastqc_data.txt", ["ours", directory])?.0;
        }
        let reports = fs::read_to_string(dir.path("written/in_fastqc/summary.txt"))?;
        ensure!(reports == fs::read_to_string(dir.path("theirs/in_fastqc/summary.txt"))?, "{reports}");
        Ok(format!("{compared} lines"))
    });
    match full {
        true => compare_multiqc_tables(dir, peers, ledger),
        false => ledger.record_skipped("fastqc: MultiQC", FULL_RUN),
    }
    Ok(())
}

/// Compares the reports of all inputs in two directories, and counts the overrepresented sequences
/// that have a different source (row 270).
fn compare_reports(dir: &SampleDir<'_>, theirs: &str, ours: &str) -> Result<String> {
    let (mut reports, mut lines, mut named) = (0, 0, 0);
    for entry in fs::read_dir(dir.path(theirs))? {
        let file_name = entry?.file_name().to_string_lossy().into_owned();
        let Some(name) = file_name.strip_suffix("_fastqc") else { continue };
        for file in ["fastqc_data.txt", "summary.txt"] {
            let (more, otherwise) = compare_report_file(dir, name, file, [theirs, ours])?;
            (lines, named) = (lines + more, named + otherwise);
        }
        reports += 1;
    }
    ensure!(reports > 10, "{reports} reports");
    Ok(format!("{reports} reports, {lines} lines, {named} sources are named otherwise (row 270)"))
}

/// Compares one report file, except the version line. Returns its number of lines, and the number
/// of overrepresented sequences whose possible source is named differently.
fn compare_report_file(
    dir: &SampleDir<'_>,
    name: &str,
    file: &str,
    directories: [&str; 2],
) -> Result<(usize, usize)> {
    let read =
        |directory: &str| fs::read_to_string(dir.path(&format!("{directory}/{name}_fastqc/{file}")));
    let [theirs, ours] = directories.map(read);
    let (theirs, ours) = (theirs.context("a report of theirs")?, ours.context("a report of ours")?);
    let (mut otherwise, mut in_sequences) = (0, false);
    for (their, our) in theirs.lines().zip(ours.lines()) {
        in_sequences = if their.starts_with(">>") { their.starts_with(">>Over") } else { in_sequences };
        if their == our || their.starts_with("##FastQC") {
            continue;
        }
        let cut = |line: &str| line.rsplit_once('\t').map(|(row, _)| row.to_string());
        ensure!(in_sequences && cut(their) == cut(our), "{name}: theirs {their:?}, ours {our:?}");
        otherwise += 1;
    }
    let [their, our] = [&theirs, &ours].map(|text| text.lines().count());
    ensure!(their == our, "{name}: {their} lines of theirs, {our} of ours");
    Ok((our, otherwise))
}

fn compare_multiqc_tables(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) {
    ledger.check("fastqc: MultiQC reads all samples", || {
        let mut numbers = Vec::new();
        for directory in ["theirs", "ours"] {
            let multiqc = peers.multiqc()?;
            let mut command = multiqc.command();
            command.current_dir(dir.directory());
            command.args("--quiet --force --no-report --module fastqc --outdir".split(' '));
            let into = format!("multiqc-{directory}");
            let output = command.args([&into, directory]).output().context("MultiQC does not start")?;
            ensure!(
                output.status.success(),
                "MultiQC failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let table = format!("{into}/multiqc_data/multiqc_fastqc.txt");
            numbers.push(fs::read_to_string(dir.path(&table)).context("MultiQC found no reports")?);
        }
        let [names, theirs] = [1, 0].map(|at| numbers[at].lines().count());
        ensure!(numbers[0].replace("theirs", "") == numbers[1].replace("ours", ""), "{}", numbers[1]);
        Ok(format!("{} samples, {theirs} lines", names - 1))
    });
}

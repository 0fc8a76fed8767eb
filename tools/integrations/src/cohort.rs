//! The samples that every engine processes, and the results of direct readmill runs for comparison.
//!
//! One sample has two lanes of pairs, whose rows in the sample sheet are out of order; the other
//! has one lane of single reads.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use readmill_simulate::{Profile, Sample};

use crate::outcome::run_to_end;

const TEMPLATES: usize = 3_000;

/// The sample with pairs. Its first task is killed.
pub const PAIRED: &str = "patient1";

pub const SINGLE: &str = "patient2";

/// Each sample with its FASTQ files and read groups, in lane order.
const SAMPLES: [(&str, &[&str], &[&str]); 2] = [
    (PAIRED, &["one_1.fq", "one_2.fq", "two_1.fq", "two_2.fq"], &["L1", "L10"]),
    (SINGLE, &["three_1.fq"], &["L1"]),
];

/// The sample sheet. Rows of the first sample are out of order; workflows must sort `L1` before
/// `L10`, whatever else the names contain.
const SHEET: &str = "sample,lane,fastq_1,fastq_2
patient1,L10,two_1.fq,two_2.fq
patient2,L1,three_1.fq,
patient1,L1,one_1.fq,one_2.fq
";

/// Suffixes of the files of a sample that do not depend on time: the reads, their reports, and some of
/// the metrics and coverage files.
const OUTPUT_SUFFIXES: [&str; 11] = [
    ".cram",
    ".cram.crai",
    ".cram.metrics.txt",
    ".cram.flagstat",
    ".cram.stats.txt",
    ".cram.recal.table",
    ".alignment_summary_metrics",
    ".gc_bias.detail_metrics",
    ".wgs_metrics",
    ".mosdepth.global.dist.txt",
    ".mosdepth.summary.txt",
];

pub const INDEX: [&str; 4] = ["ref.fa.amb", "ref.fa.ann", "ref.fa.pac", "ref.fa.bwt.2bit.64"];

const LINKED_INPUTS: [&str; 9] = [
    "ref.fa",
    "known.vcf",
    "one_1.fq",
    "one_2.fq",
    "two_1.fq",
    "two_2.fq",
    "three_1.fq",
    "samples.csv",
    "unsorted.bam",
];

/// The simulated files and the direct runs, in one directory, and the program that created them.
pub struct Cohort {
    pub readmill: PathBuf,
    dir: PathBuf,
}

impl Cohort {
    pub fn simulate_and_run(readmill: PathBuf, dir: &Path) -> Result<Self> {
        let cohort = Cohort { readmill, dir: dir.to_path_buf() };
        cohort.simulate_reads().context("the cohort cannot be simulated")?;
        cohort.run_direct("index ref.fa -q")?;
        for (sample, reads, lanes) in SAMPLES {
            let output = format!("direct/{sample}/{sample}.cram");
            fs::create_dir_all(dir.join("direct").join(sample))?;
            let groups: String =
                lanes.iter().map(|lane| format!(" -R {}", read_group(sample, lane))).collect();
            let single = if sample == SINGLE { "--single " } else { "" };
            cohort.run_direct(&format!(
                "align ref.fa {} -o {output} {single}-@ 2{groups} --sort coordinate --mark-duplicates --bqsr \
                 --known-sites known.vcf --bqsr-table {output}.recal.table --metrics {output}.metrics.txt \
                 --flagstat {output}.flagstat --stats {output}.stats.txt --qc direct/{sample}/{sample} \
                 --qc-metrics all,CollectWgsMetrics --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP \
                 --coverage direct/{sample}/{sample} --coverage-no-per-base",
                reads.join(" ")
            ))?;
        }
        let [(sample, reads, _), _] = SAMPLES;
        let group = read_group(sample, "L1");
        cohort
            .run_direct(&format!("align ref.fa {} {} -o unsorted.bam -R {group}", reads[0], reads[1]))?;
        Ok(cohort)
    }

    fn simulate_reads(&self) -> Result<()> {
        let made = Sample::new(Profile::small().with_pairs(3 * TEMPLATES as u64));
        let create = |name: &str| -> Result<BufWriter<File>> {
            Ok(BufWriter::new(File::create(self.dir.join(name))?))
        };
        let (mut fasta, mut sites) = (create("ref.fa")?, create("known.vcf")?);
        made.write_fasta(&mut fasta)?;
        made.write_known_sites(&mut sites)?;
        fasta.flush()?;
        sites.flush()?;
        let (mut first, mut last) = (Vec::new(), Vec::new());
        made.write_fastq(&mut first, &mut last)?;
        for (bytes, end) in [(first, "1"), (last, "2")] {
            let text = String::from_utf8(bytes)?;
            let lines: Vec<&str> = text.lines().collect();
            ensure!(lines.len() == 3 * 4 * TEMPLATES, "{} lines are simulated", lines.len());
            for (lane, lines) in ["one", "two", "three"].iter().zip(lines.chunks(4 * TEMPLATES)) {
                fs::write(self.dir.join(format!("{lane}_{end}.fq")), lines.join("\n") + "\n")?;
            }
        }
        Ok(fs::write(self.dir.join("samples.csv"), SHEET)?)
    }

    /// Runs readmill in the directory of the cohort. `words` are separated by single spaces.
    pub fn run_direct(&self, words: &str) -> Result<()> {
        let mut command = Command::new(&self.readmill);
        command.current_dir(&self.dir).args(words.split(' '));
        let ended = run_to_end(&mut command, &self.dir.join("direct.log"))?;
        ended.expect_success().with_context(|| format!("readmill {words}"))?;
        Ok(())
    }

    /// Creates the directory of an engine, with links to the files of the cohort and, if
    /// `with_index`, of the index.
    pub fn make_directory(&self, engine: &str, with_index: bool) -> Result<PathBuf> {
        let directory = self.dir.join(engine);
        fs::create_dir(&directory)?;
        // Links keep the modification times, so that no engine considers the index older than the
        // reference.
        for name in LINKED_INPUTS {
            fs::hard_link(self.dir.join(name), directory.join(name))?;
        }
        if with_index {
            self.link_index(&directory)?;
        }
        Ok(directory)
    }

    /// Links the index files into the directory of an engine, unless they exist.
    pub fn link_index(&self, directory: &Path) -> Result<()> {
        for name in INDEX.iter().filter(|name| !directory.join(name).exists()) {
            fs::hard_link(self.dir.join(name), directory.join(name))?;
        }
        Ok(())
    }

    /// Compares all outputs of all samples with the direct runs. `place` returns the engine's file
    /// for a sample and a suffix.
    pub fn compare_outputs(&self, place: impl Fn(&str, &str) -> PathBuf) -> Result<String> {
        let (mut files, mut bytes) = (0, 0);
        for (sample, ..) in SAMPLES {
            for end in OUTPUT_SUFFIXES {
                let direct = format!("direct/{sample}/{sample}{end}");
                bytes += self.compare_file(&direct, &place(sample, end))?;
                files += 1;
            }
        }
        Ok(format!("{files} files, {bytes} bytes, are those of direct runs"))
    }

    /// Checks the page of all samples and its table for MultiQC: both name each sample.
    pub fn check_page(&self, page: &Path, table: &Path) -> Result<String> {
        check_page_of(page, table, &SAMPLES.map(|(sample, ..)| sample))
    }

    /// Compares a file byte by byte with one of the cohort, and returns its size.
    pub fn compare_file(&self, direct: &str, found: &Path) -> Result<usize> {
        let read = |path: &Path| fs::read(path).with_context(|| format!("no {}", path.display()));
        let (expected, found_bytes) = (read(&self.dir.join(direct))?, read(found)?);
        ensure!(!expected.is_empty(), "{direct} is empty");
        ensure!(expected == found_bytes, "{} is not {direct}, byte for byte", found.display());
        Ok(expected.len())
    }

    /// Writes a truncated FASTQ file and its sample sheet into the directory of an engine.
    pub fn write_truncated_input(&self, directory: &Path) -> Result<()> {
        let text = fs::read(self.dir.join("three_1.fq"))?;
        fs::write(directory.join("cut_1.fq"), &text[..text.len() / 2])?;
        let sheet = "sample,lane,fastq_1,fastq_2\ncut,L1,cut_1.fq,\n";
        Ok(fs::write(directory.join("cut.csv"), sheet)?)
    }
}

/// Checks that a page and its table for MultiQC name each of these samples.
pub fn check_page_of(page: &Path, table: &Path, samples: &[&str]) -> Result<String> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("no {}", path.display()));
    let (text, rows) = (read(page)?, read(table)?);
    for sample in samples {
        ensure!(text.contains(&format!(">{sample}<")), "{} does not name {sample}", page.display());
        ensure!(rows.contains(&format!("\"{sample}\": {{")), "{} has no row {sample}", table.display());
    }
    Ok(format!("the page of {}", samples.join(", ")))
}

fn read_group(sample: &str, lane: &str) -> String {
    format!("@RG\\tID:{sample}.{lane}\\tSM:{sample}\\tLB:{sample}\\tPL:ILLUMINA\\tPU:{sample}.{lane}")
}

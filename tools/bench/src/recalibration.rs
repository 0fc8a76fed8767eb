//! Command lines for sorting, marking PCR and optical duplicates, counting errors and applying new
//! qualities: for all four steps, and for the last two alone.
//!
//! GATK's chain is the fastest that its manuals allow: duplicates are marked first, in reads
//! grouped by name, so that no sort by name is needed. Files that are read once are uncompressed;
//! files that are read twice are lightly compressed. It is not a pipe, because GATK prints a tool's
//! return value on standard output, after the BAM data.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::contender::{Call, Contender, Program};
use crate::options::Options;
use crate::sorters::{MarkBench, SortBench};
use crate::work::BenchSetup;

#[derive(clap::Args)]
pub struct RecalibrationArgs {
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    pub truth: BqsrFlags,
}

/// A recalibration to measure. Its methods return the contender of each program.
///
/// Every program writes its recalibration table to its own file in the work directory, so that the
/// tables can be compared after the measurement.
pub struct RecalibrationBench<'a> {
    pub sorting: SortBench<'a>,
    pub truth: &'a BqsrInputs,
}

impl RecalibrationBench<'_> {
    fn work(&self) -> &BenchSetup {
        self.sorting.work
    }

    fn options(&self) -> &Options {
        &self.work().options
    }

    fn new_contender(&self, name: &str, output: PathBuf, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.options().runs, output, stages)
    }

    pub fn table_path(&self, program: &str) -> PathBuf {
        self.work().file(&format!("{program}.table"))
    }

    pub fn compare_tables(&self, others: &[&str]) -> Result<()> {
        let read = |program: &str| {
            let table = self.table_path(program);
            fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))
        };
        let own = read("readmill")?;
        for other in others {
            let text = read(other)?;
            let lines = own.lines().count().max(text.lines().count());
            let same = own.lines().zip(text.lines()).filter(|(own, other)| own == other).count();
            let differ = lines - same;
            println!("\nThe table of {other} differs from readmill's in {differ} of {lines} lines.");
        }
        Ok(())
    }

    fn with_truth(&self, call: Call) -> Call {
        let call = call.arg("--reference").arg(&self.truth.reference);
        self.truth.known_sites.iter().fold(call, |call, sites| call.arg("--known-sites").arg(sites))
    }

    pub fn recalibrate_with_readmill(&self, name: &str) -> Contender {
        self.recalibrate_with_readmill_flags(name, "--bqsr")
    }

    /// Counts errors with readmill during the sort, without applying the result.
    pub fn make_table_with_readmill(&self, name: &str) -> Contender {
        self.recalibrate_with_readmill_flags(name, "--bqsr-table-only")
    }

    pub fn mark_with_readmill(&self, name: &str) -> Contender {
        let mut contender = MarkBench(self.sorting).mark_with_readmill(name, "--optical-distance 100");
        let call = &mut contender.stages[0][0];
        *call = call.clone().arg("--metrics").arg(self.work().file("readmill.metrics"));
        contender
    }

    fn recalibrate_with_readmill_flags(&self, name: &str, words: &str) -> Contender {
        let mut contender = self.mark_with_readmill(name);
        let call = &mut contender.stages[0][0];
        let asked = self.with_truth(call.clone().add_words(words));
        *call = asked.arg("--bqsr-table").arg(self.table_path("readmill"));
        contender
    }

    /// Runs all steps in elPrep, in memory and with files in its own formats. elPrep has no option
    /// for the compression level.
    pub fn recalibrate_with_elprep(
        &self,
        program: &Program,
        converted: &BqsrInputs,
    ) -> Option<Contender> {
        let mut contender = self.sorting.sort_with_elprep(program)?;
        let sites: Vec<_> = converted.known_sites.iter().map(|file| file.to_string_lossy()).collect();
        let call =
            contender.stages[0][0].clone().add_words("--mark-duplicates --mark-optical-duplicates");
        let call = call.arg(self.work().file("elprep.metrics"));
        let call = call
            .add_words("--optical-duplicates-pixel-distance 100 --bqsr")
            .arg(self.table_path("elprep"));
        let call = call.arg("--reference").arg(&converted.reference);
        contender.stages[0][0] =
            if sites.is_empty() { call } else { call.arg("--known-sites").arg(sites.join(",")) };
        Some(contender)
    }

    pub fn recalibrate_with_gatk(&self, program: &Program) -> Contender {
        let file = |name: &str| self.work().file(name);
        let (marked, sorted) = (file("gatk.marked.bam"), file("gatk.sorted.bam"));
        let marks = self.gatk_tool(program, "MarkDuplicates", self.sorting.data, &marked, 0);
        let marks =
            marks.add_words("--ASSUME_SORT_ORDER queryname --OPTICAL_DUPLICATE_PIXEL_DISTANCE 100");
        let marks = marks.arg("--METRICS_FILE").arg(file("gatk.metrics"));
        let sort = self.gatk_tool(program, "SortSam", &marked, &sorted, 1);
        let sort = sort.add_words("--SORT_ORDER coordinate");
        let means = "--VALIDATION_STRINGENCY SILENT --QUIET true --TMP_DIR";
        let quietly = |call: Call| call.add_words(means).arg(&self.work().directory);
        let table = self.table_path("gatk");
        let stages = vec![
            vec![quietly(marks)],
            vec![quietly(sort)],
            vec![self.base_recalibrator_call(program, &sorted)],
            vec![self.apply_bqsr_call(program, &sorted, &table)],
        ];
        let contender = self.new_contender(&program.title(), file("gatk.bam"), stages);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    pub fn count_with_readmill(&self, name: &str) -> Contender {
        let Options { threads, limit, .. } = self.options();
        let memory = limit.map(|memory| format!("-m {memory}M")).unwrap_or_default();
        let call = Call::new(&self.work().readmill).add_words("bqsr table").arg(self.sorting.data);
        let call = self.with_truth(call).arg("-o").arg(self.table_path("readmill"));
        let call = call.add_words(&format!("{memory} -@ {threads}"));
        self.new_contender(name, self.table_path("readmill"), vec![vec![call]])
    }

    pub fn apply_with_readmill(&self, name: &str, table: &Path) -> Contender {
        let output = self.work().file("readmill.bam");
        let call = Call::new(&self.work().readmill).add_words("bqsr apply").arg(self.sorting.data);
        let call = call.arg("--bqsr-table").arg(table).arg("-o").arg(&output);
        let call = self.sorting.with_resources(call).add_words("--no-index");
        self.new_contender(name, output, vec![vec![call]])
    }

    pub fn count_with_gatk(&self, program: &Program) -> Contender {
        let call = self.base_recalibrator_call(program, self.sorting.data);
        let name = format!("{} BaseRecalibrator", program.title());
        let contender = self.new_contender(&name, self.table_path("gatk"), vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    pub fn apply_with_gatk(&self, program: &Program, table: &Path) -> Contender {
        let call = self.apply_bqsr_call(program, self.sorting.data, table);
        let name = format!("{} ApplyBQSR", program.title());
        let contender = self.new_contender(&name, self.work().file("gatk.bam"), vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    fn base_recalibrator_call(&self, program: &Program, sorted: &Path) -> Call {
        let call = Call::new(program).add_words("BaseRecalibrator -I").arg(sorted);
        self.with_truth(call.arg("-O").arg(self.table_path("gatk")))
    }

    fn apply_bqsr_call(&self, program: &Program, sorted: &Path, table: &Path) -> Call {
        let output = self.work().file("gatk.bam");
        let call = self.gatk_tool(program, "ApplyBQSR", sorted, &output, self.sorting.level.min(9));
        let call = call.arg("--bqsr-recal-file").arg(table);
        call.arg("--reference").arg(&self.truth.reference).add_words("--create-output-bam-index false")
    }

    /// Returns a GATK tool that converts one BAM file to another. Not all tools have an option for
    /// the level, so a Java option sets it.
    fn gatk_tool(&self, program: &Program, tool: &str, from: &Path, to: &Path, level: u8) -> Call {
        let call = Call::new(program).with_java_options(&format!("-Dsamjdk.compression_level={level}"));
        call.arg(tool).arg("-I").arg(from).arg("-O").arg(to)
    }
}

#[derive(clap::Args)]
pub struct BqsrFlags {
    /// Reference of --data, with its .fai; files that GATK and elPrep need are made next to it
    #[arg(long, value_name = "FASTA", requires = "data")]
    reference: Option<PathBuf>,
    /// Known sites of --data (VCF), repeatable; files that GATK and elPrep need are made next to
    /// them
    #[arg(long, value_name = "FILE", requires = "data")]
    known_sites: Vec<PathBuf>,
}

/// The reference and the known sites.
///
/// GATK needs a dictionary and indexes next to the files; elPrep needs files in its own formats.
/// They are created once and kept, and are not measured. readmill uses the original files.
pub struct BqsrInputs {
    pub reference: PathBuf,
    pub known_sites: Vec<PathBuf>,
}

impl BqsrInputs {
    /// Returns the files given by the options, or those of the simulated reads.
    pub fn from_flags(work: &BenchSetup, flags: &BqsrFlags) -> Result<Self> {
        if work.options.data.is_none() {
            let reference = work.data.with_file_name("reference.fa");
            return Ok(BqsrInputs {
                reference,
                known_sites: vec![work.data.with_file_name("known.vcf")],
            });
        }
        let canonical = |file: &PathBuf| {
            file.canonicalize().with_context(|| format!("cannot read {}", file.display()))
        };
        let reference = flags.reference.as_ref().context("--data needs its --reference, too")?;
        Ok(BqsrInputs {
            reference: canonical(reference)?,
            known_sites: flags.known_sites.iter().map(canonical).collect::<Result<_>>()?,
        })
    }

    pub fn index_for_gatk(&self, work: &BenchSetup, program: &Program) -> Result<()> {
        let call = |tool: &str| Call::new(program).add_words(tool);
        make_from(work, &self.reference, &self.reference.with_extension("dict"), |to| {
            call("CreateSequenceDictionary -R").arg(&self.reference).arg("-O").arg(to)
        })?;
        for sites in &self.known_sites {
            let end = if sites.extension().is_some_and(|end| end == "gz") { "tbi" } else { "idx" };
            make_from(work, sites, &with_end(sites, end), |to| {
                call("IndexFeatureFile -I").arg(sites).arg("-O").arg(to)
            })?;
        }
        Ok(())
    }

    pub fn for_elprep(&self, work: &BenchSetup, program: &Program) -> Result<BqsrInputs> {
        let convert = |how: &str, from: &PathBuf, end: &str| {
            let made = with_end(from, end);
            make_from(work, from, &made, |to| Call::new(program).arg(how).arg(from).arg(to))?;
            Ok(made)
        };
        let sites = |from| convert("vcf-to-elsites", from, "elsites");
        Ok(BqsrInputs {
            reference: convert("fasta-to-elfasta", &self.reference, "elfasta")?,
            known_sites: self.known_sites.iter().map(sites).collect::<Result<_>>()?,
        })
    }
}

fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

/// Creates `to` from `from`, unless `to` exists and is not older.
fn make_from(work: &BenchSetup, from: &Path, to: &Path, call: impl FnOnce(&Path) -> Call) -> Result<()> {
    let written = |file: &Path| file.metadata().and_then(|meta| meta.modified()).ok();
    if written(to).is_some_and(|made| Some(made) >= written(from)) {
        return Ok(());
    }
    // The extension is kept, because it may determine the format.
    let name = to.file_name().with_context(|| format!("{} has no name", to.display()))?;
    let partial = to.with_file_name(format!("partial-{}", name.to_string_lossy()));
    // The programs do not overwrite a file left by an interrupted run.
    let _ = std::fs::remove_file(&partial);
    work.run_once(call(&partial))?;
    std::fs::rename(&partial, to).with_context(|| format!("cannot write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_added_to_names() {
        assert_eq!(with_end(Path::new("/a/known.vcf.gz"), "tbi"), Path::new("/a/known.vcf.gz.tbi"));
        assert_eq!(with_end(Path::new("ref.fa"), "elfasta"), Path::new("ref.fa.elfasta"));
    }
}

//! Sort, mark PCR and optical duplicates, count errors, give new qualities: the commands of each program or chain of
//! programs for all four, and for the last two alone.
//!
//! GATK's chain is the fast one that its manuals allow: duplicates are marked first, of reads grouped by name, so
//! that no sort by name is needed. Files that are read once are not compressed; files that are read twice are
//! compressed lightly. It is not a pipe, because GATK prints a tool's return value on standard output, after the BAM
//! data.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::contender::{Call, Contender, Program};
use super::markers::Marking;
use super::options::Options;
use super::sorters::Sorting;
use super::truth::{BqsrInputs, Flags};
use super::work::Work;

/// Options: the data, the reference and the known sites.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    pub truth: Flags,
}

/// The job: the reads, the reference and the known sites, with threads and memory.
pub struct Recalibrating<'a> {
    /// The reads, and threads and memory.
    pub sorting: Sorting<'a>,
    /// The reference and the known sites.
    pub truth: &'a BqsrInputs,
}

impl Recalibrating<'_> {
    fn work(&self) -> &Work {
        self.sorting.work
    }

    fn options(&self) -> &Options {
        &self.work().options
    }

    fn contender(&self, name: &str, output: PathBuf, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.options().runs, output, stages)
    }

    /// Where a program's recalibration table goes.
    pub fn table(&self, program: &str) -> PathBuf {
        self.work().file(&format!("{program}.table"))
    }

    /// Prints in how many lines the tables of the last runs differ from readmill's.
    pub fn compare_tables(&self, others: &[&str]) -> Result<()> {
        let read = |program: &str| {
            let table = self.table(program);
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

    /// readmill, all in one run.
    pub fn readmill(&self, name: &str) -> Contender {
        self.readmill_with(name, "--bqsr")
    }

    /// readmill, which counts but does not change qualities.
    pub fn readmill_table(&self, name: &str) -> Contender {
        self.readmill_with(name, "--bqsr-table-only")
    }

    /// readmill without recalibration.
    pub fn readmill_marks(&self, name: &str) -> Contender {
        let mut contender = Marking(self.sorting).readmill(name, "--optical-distance 100");
        let call = &mut contender.stages[0][0];
        *call = call.clone().arg("--metrics").arg(self.work().file("readmill.metrics"));
        contender
    }

    fn readmill_with(&self, name: &str, words: &str) -> Contender {
        let mut contender = self.readmill_marks(name);
        let call = &mut contender.stages[0][0];
        let asked = self.with_truth(call.clone().words(words));
        *call = asked.arg("--bqsr-table").arg(self.table("readmill"));
        contender
    }

    /// elPrep does all at once, in memory, with converted files. Its level cannot be set.
    pub fn elprep(&self, program: &Program, converted: &BqsrInputs) -> Option<Contender> {
        let mut contender = self.sorting.elprep(program)?;
        let sites: Vec<_> = converted.known_sites.iter().map(|file| file.to_string_lossy()).collect();
        let call = contender.stages[0][0].clone().words("--mark-duplicates --mark-optical-duplicates");
        let call = call.arg(self.work().file("elprep.metrics"));
        let call =
            call.words("--optical-duplicates-pixel-distance 100 --bqsr").arg(self.table("elprep"));
        let call = call.arg("--reference").arg(&converted.reference);
        contender.stages[0][0] =
            if sites.is_empty() { call } else { call.arg("--known-sites").arg(sites.join(",")) };
        Some(contender)
    }

    /// GATK marks, sorts, counts and applies.
    pub fn gatk(&self, program: &Program) -> Contender {
        let file = |name: &str| self.work().file(name);
        let (marked, sorted) = (file("gatk.marked.bam"), file("gatk.sorted.bam"));
        let marks = self.gatk_tool(program, "MarkDuplicates", self.sorting.data, &marked, 0);
        let marks = marks.words("--ASSUME_SORT_ORDER queryname --OPTICAL_DUPLICATE_PIXEL_DISTANCE 100");
        let marks = marks.arg("--METRICS_FILE").arg(file("gatk.metrics"));
        let sort = self.gatk_tool(program, "SortSam", &marked, &sorted, 1);
        let sort = sort.words("--SORT_ORDER coordinate");
        let means = "--VALIDATION_STRINGENCY SILENT --QUIET true --TMP_DIR";
        let quietly = |call: Call| call.words(means).arg(&self.work().directory);
        let table = self.table("gatk");
        let stages = vec![
            vec![quietly(marks)],
            vec![quietly(sort)],
            vec![self.gatk_counts(program, &sorted)],
            vec![self.gatk_applies(program, &sorted, &table)],
        ];
        let contender = self.contender(&program.title(), file("gatk.bam"), stages);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    /// readmill counts the errors of sorted reads.
    pub fn readmill_counts(&self, name: &str) -> Contender {
        let Options { threads, limit, .. } = self.options();
        let memory = limit.map(|memory| format!("-m {memory}M")).unwrap_or_default();
        let call = Call::new(&self.work().readmill).words("bqsr table").arg(self.sorting.data);
        let call = self.with_truth(call).arg("-o").arg(self.table("readmill"));
        let call = call.words(&format!("{memory} -@ {threads}"));
        self.contender(name, self.table("readmill"), vec![vec![call]])
    }

    /// readmill gives sorted reads new qualities.
    pub fn readmill_applies(&self, name: &str, table: &Path) -> Contender {
        let output = self.work().file("readmill.bam");
        let call = Call::new(&self.work().readmill).words("bqsr apply").arg(self.sorting.data);
        let call = call.arg("--bqsr-table").arg(table).arg("-o").arg(&output);
        let call = self.sorting.means(call).words("--no-index");
        self.contender(name, output, vec![vec![call]])
    }

    /// GATK counts the errors of sorted reads.
    pub fn gatk_counting(&self, program: &Program) -> Contender {
        let call = self.gatk_counts(program, self.sorting.data);
        let name = format!("{} BaseRecalibrator", program.title());
        let contender = self.contender(&name, self.table("gatk"), vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    /// GATK gives sorted reads new qualities.
    pub fn gatk_applying(&self, program: &Program, table: &Path) -> Contender {
        let call = self.gatk_applies(program, self.sorting.data, table);
        let name = format!("{} ApplyBQSR", program.title());
        let contender = self.contender(&name, self.work().file("gatk.bam"), vec![vec![call]]);
        Contender { runs: self.options().picard_runs, ..contender }
    }

    fn gatk_counts(&self, program: &Program, sorted: &Path) -> Call {
        let call = Call::new(program).words("BaseRecalibrator -I").arg(sorted);
        self.with_truth(call.arg("-O").arg(self.table("gatk")))
    }

    fn gatk_applies(&self, program: &Program, sorted: &Path, table: &Path) -> Call {
        let output = self.work().file("gatk.bam");
        let call = self.gatk_tool(program, "ApplyBQSR", sorted, &output, self.sorting.level.min(9));
        let call = call.arg("--bqsr-recal-file").arg(table);
        call.arg("--reference").arg(&self.truth.reference).words("--create-output-bam-index false")
    }

    /// A GATK tool that makes one BAM file from another. Not all of them have a flag for the level, so a Java option
    /// sets it.
    fn gatk_tool(&self, program: &Program, tool: &str, from: &Path, to: &Path, level: u8) -> Call {
        let call = Call::new(program).java(&format!("-Dsamjdk.compression_level={level}"));
        call.arg(tool).arg("-I").arg(from).arg("-O").arg(to)
    }
}

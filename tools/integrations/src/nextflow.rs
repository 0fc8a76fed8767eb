//! Checks of Nextflow: the pipeline, its retry, `-resume`, the modules, and a job in stages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool, workspace};

use crate::cohort::{Cohort, PAIRED, SINGLE};
use crate::killer::Killer;
use crate::outcome::{CheckCounts, Ended, run_to_end};
use crate::stages::{self, InputKind, RerunPolicy, StagedJob};

/// Nextflow configuration: limits for small machines, and a trace that includes the attempt number.
const CONFIG: &str = "
process {
    withLabel: process_high { cpus = 2; memory = { 1.GB * task.attempt } }
    withLabel: process_high_memory { memory = 1.GB }
}
trace {
    fields = 'name,status,exit,attempt'
    overwrite = true
}
";

const OTHER_PROCESSES: &str = "
include { READMILL_SORT } from 'MODULES/sort/main'
include { READMILL_MARKDUP } from 'MODULES/markdup/main'
include { READMILL_PREP } from 'MODULES/prep/main'

workflow {
    reads = Channel.of([[id: 'sorted'], file('unsorted.bam')])
    READMILL_SORT(reads, [[:], [], []])
    marked = READMILL_SORT.out.reads.map { meta, bam -> [[id: 'marked'], bam] }
    READMILL_MARKDUP(marked, [[:], [], []])
    prepared = Channel.of([[id: 'prepared'], file('unsorted.bam')])
    READMILL_PREP(prepared, [[id: 'ref'], file('ref.fa'), []], [file('known.vcf')])
}
";

const OTHERS_CONFIG: &str = "
process {
    cpus = 2
    memory = 500.MB
    publishDir = [path: 'others', mode: 'copy']
    withName: READMILL_PREP { ext.args = '-O cram --sort coordinate --mark-duplicates --bqsr' }
}
";

struct Nextflow<'a> {
    cohort: &'a Cohort,
    tool: Tool,
    directory: PathBuf,
    home: PathBuf,
}

impl Nextflow<'_> {
    /// Runs a pipeline. `words` are its arguments, separated by spaces.
    fn run_pipeline(&self, pipeline: &Path, program: &Path, words: &str) -> Result<Ended> {
        let mut command = self.tool.command();
        command.current_dir(&self.directory).env("READMILL", program).arg("run").arg(pipeline);
        command.args(words.split(' ').filter(|word| !word.is_empty()));
        run_to_end(&mut command, &self.directory.join("nextflow.log"))
    }

    fn run_main_pipeline(&self, program: &Path, words: &str) -> Result<Ended> {
        let words = format!("-c small.config -with-trace trace.txt --fasta ref.fa {words}");
        self.run_pipeline(&self.home.join("main.nf"), program, &words)
    }

    /// Returns the attempts of a task from the trace, ordered by attempt number: status, exit code
    /// and number.
    fn read_trace(&self, task: &str) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.directory.join("trace.txt"))?;
        let mut rows: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix(task)?.strip_prefix('\t'))
            .map(str::to_owned)
            .collect();
        rows.sort_by_key(|row| row.rsplit('\t').next().map(str::to_owned));
        Ok(rows.iter().map(|row| row.replace('\t', " ")).collect())
    }

    fn expect_trace(&self, task: &str, expected: &[&str]) -> Result<()> {
        let rows = self.read_trace(task)?;
        ensure!(rows == expected, "{task}: the trace has {rows:?}, not {expected:?}");
        Ok(())
    }
}

pub fn check_nextflow(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let tool = peers.nextflow()?;
    outcome.print_title(&format!("Nextflow {}", tool.version));
    let directory = cohort.make_directory("nextflow", false)?;
    fs::write(directory.join("small.config"), CONFIG)?;
    let home = workspace().join("integrations/nextflow");
    let it = Nextflow { cohort, tool, directory, home };
    let killer = Killer::new(&cohort.readmill, &it.directory)?;
    let killed = format!("READMILL_ALIGN ({PAIRED})");
    let usual = "--input samples.csv --known_sites known.vcf --outdir results";
    outcome.check(
        "a task that is killed runs again, with more memory; every file is that of a direct run",
        || {
            it.run_main_pipeline(&killer.program, usual)?.expect_success()?;
            it.expect_trace(&killed, &["FAILED 137 1", "COMPLETED 0 2"])?;
            let memory = killer.memory_of_attempts()?;
            ensure!(memory == ["1024M", "2048M"], "-m was {memory:?}");
            it.compare_results("results")
        },
    );
    outcome.check("-resume runs nothing again", || {
        it.run_main_pipeline(&killer.program, &format!("{usual} -resume"))?.expect_success()?;
        it.expect_trace(&killed, &["CACHED 0 2"])?;
        it.expect_trace(&format!("READMILL_ALIGN ({SINGLE})"), &["CACHED 0 1"])?;
        it.compare_results("results")
    });
    outcome.check("input that is cut short is not tried again", || {
        cohort.write_truncated_input(&it.directory)?;
        let said =
            it.run_main_pipeline(&cohort.readmill, "--input cut.csv --outdir cut")?.expect_failure()?;
        it.expect_trace("READMILL_ALIGN (cut)", &["FAILED 2 1"])?;
        ensure!(said.contains("cut_1.fq"), "the message does not name the file: {said}");
        Ok("exit code 2, one attempt".to_owned())
    });
    outcome.check("a stub run makes all files, empty", || it.check_stub());
    outcome.check("the modules sort, markdup and prep", || it.check_modules());
    let job = StagedJob::plan_job(cohort, &it.directory, InputKind::Bam, "nextflow", "stages.nf")?;
    let mut words = "";
    stages::check_restarts(&job, &RerunPolicy::All, outcome, || {
        let ended = it.run_pipeline(&job.workflow, &job.program, words);
        words = "-resume";
        ended
    });
    let job =
        StagedJob::plan_job(cohort, &it.directory, InputKind::Fastq, "nextflow", "stages-align.nf")?;
    stages::check_kills(&job, outcome, || it.run_pipeline(&job.workflow, &job.program, ""));
    Ok(())
}

impl Nextflow<'_> {
    fn compare_results(&self, outdir: &str) -> Result<String> {
        let place = |sample: &str, end: &str| {
            self.directory.join(outdir).join(sample).join(format!("{sample}.cram{end}"))
        };
        let seen = self.cohort.compare_outputs(place)?;
        let versions = fs::read_to_string(self.directory.join(outdir).join("versions.yml"))?;
        ensure!(versions.contains("readmill: "), "versions.yml has no readmill: {versions}");
        Ok(seen)
    }

    fn check_stub(&self) -> Result<String> {
        let words = "-stub --input samples.csv --known_sites known.vcf --outdir stubs";
        self.run_main_pipeline(&self.cohort.readmill, words)?.expect_success()?;
        let names = |outdir: &str| -> Result<Vec<String>> {
            let directory = self.directory.join(outdir).join(PAIRED);
            let entries =
                fs::read_dir(&directory).with_context(|| format!("no {}", directory.display()))?;
            let mut names = Vec::new();
            for entry in entries {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort();
            Ok(names)
        };
        let (stubs, real) = (names("stubs")?, names("results")?);
        ensure!(stubs == real, "a stub run makes {stubs:?}, a real one {real:?}");
        let file = self.directory.join("stubs").join(PAIRED).join(format!("{PAIRED}.cram"));
        ensure!(fs::metadata(file)?.len() == 0, "the CRAM file of a stub run is not empty");
        Ok(format!("{} files a sample", stubs.len()))
    }

    fn check_modules(&self) -> Result<String> {
        let modules = self.home.join("modules/readmill").display().to_string();
        let pipeline = self.directory.join("others.nf");
        fs::write(&pipeline, OTHER_PROCESSES.replace("MODULES", &modules))?;
        fs::write(self.directory.join("others.config"), OTHERS_CONFIG)?;
        self.run_pipeline(&pipeline, &self.cohort.readmill, "-c others.config")?.expect_success()?;
        compare_module_outputs(self.cohort, &self.directory.join("others"))
    }
}

/// Compares the outputs of `sort`, `markdup` and `prep` of `unsorted.bam` with direct runs.
/// Snakemake's checks also use it.
pub fn compare_module_outputs(cohort: &Cohort, found: &Path) -> Result<String> {
    let reports = |output: &str| {
        format!("--metrics {output}.metrics.txt --flagstat {output}.flagstat --stats {output}.stats.txt")
    };
    let (sorted, marked, prepared) = ("sorted.bam", "marked.bam", "prepared.cram");
    cohort.run_direct(&format!("sort unsorted.bam -o {sorted}"))?;
    cohort.run_direct(&format!("markdup {sorted} -o {marked} {}", reports(marked)))?;
    cohort.run_direct(&format!(
        "prep unsorted.bam -o {prepared} --reference ref.fa --sort coordinate --mark-duplicates --bqsr --known-sites \
         known.vcf --bqsr-table {prepared}.recal.table {}",
        reports(prepared)
    ))?;
    let ends = |output: &str, ends: &[&str]| -> Vec<String> {
        ends.iter().map(|end| format!("{output}{end}")).collect()
    };
    let names = [
        ends(sorted, &["", ".bai"]),
        ends(marked, &["", ".bai", ".metrics.txt", ".flagstat", ".stats.txt"]),
        ends(prepared, &["", ".crai", ".metrics.txt", ".flagstat", ".stats.txt", ".recal.table"]),
    ]
    .concat();
    for name in &names {
        cohort.compare_file(name, &found.join(name))?;
    }
    Ok(format!("{} files are those of direct runs", names.len()))
}

//! Checks of Nextflow: the pipeline, its retry, `-resume`, the modules, and a job in stages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool, workspace};

use crate::cohort::{Cohort, PAIRED, SINGLE, check_page_of};
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
include { READMILL_QC } from 'MODULES/qc/main'
include { READMILL_REPORT } from 'MODULES/report/main'

workflow {
    reads = Channel.of([[id: 'sorted'], file('unsorted.bam')])
    READMILL_SORT(reads, [[:], [], []])
    marked = READMILL_SORT.out.reads.map { meta, bam -> [[id: 'marked'], bam] }
    READMILL_MARKDUP(marked, [[:], [], []])
    prepared = Channel.of([[id: 'prepared'], file('unsorted.bam')])
    READMILL_PREP(prepared, [[id: 'ref'], file('ref.fa'), []], [file('known.vcf')])
    crams = READMILL_PREP.out.reads.map { meta, cram -> [[id: 'metrics'], cram] }
    READMILL_QC(crams, [[id: 'ref'], file('ref.fa'), []], [])
    runs = READMILL_PREP.out.json.mix(READMILL_QC.out.json)
        .toSortedList { a, b -> a[0].id <=> b[0].id }
        .map { all -> [[id: 'all'], all.collect { meta, run -> run }] }
    READMILL_REPORT(runs, file('fields.tsv'))
}
";

const OTHERS_CONFIG: &str = "
process {
    cpus = 2
    memory = 500.MB
    publishDir = [path: 'others', mode: 'copy']
    withName: READMILL_PREP {
        ext.args = {
            \"-O cram --sort coordinate --mark-duplicates --bqsr --report ${meta.id}.html --json ${meta.id}.run.json\" +
            \" --qc ${meta.id} --qc-metrics all --coverage ${meta.id} --fastqc fastqc\"
        }
    }
    withName: READMILL_QC {
        ext.args = {
            \"--metrics all,CollectWgsMetrics --coverage --fastqc . --report ${meta.id}.html --json ${meta.id}.run.json\"
        }
    }
}
";

/// Fields of the samples for the page of two runs.
pub const FIELDS: &str = "sample\tplate\nprepared\tP-17\nmetrics\tP-18\n";

/// Tables that MultiQC makes of the results of the pipeline.
const READ_BY_MULTIQC: [&str; 10] = [
    "multiqc_samtools_flagstat",
    "multiqc_samtools_stats",
    "multiqc_picard_dups",
    "multiqc_picard_AlignmentSummaryMetrics",
    "multiqc_picard_QualityYieldMetrics",
    "multiqc_picard_gcbias",
    "multiqc_picard_wgsmetrics",
    "mosdepth_cov_dist",
    "multiqc_readmill_runs",
    "multiqc_general_stats",
];

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
    let multiqc = peers.multiqc()?;
    outcome
        .check(&format!("MultiQC {} reads the results", multiqc.version), || it.check_multiqc(&multiqc));
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
    outcome.check("the modules sort, markdup, prep, qc and report", || it.check_modules());
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
            self.directory.join(outdir).join(sample).join(format!("{sample}{end}"))
        };
        let seen = self.cohort.compare_outputs(place)?;
        let outdir = self.directory.join(outdir);
        let versions = fs::read_to_string(outdir.join("versions.yml"))?;
        ensure!(versions.contains("readmill: "), "versions.yml has no readmill: {versions}");
        let page =
            self.cohort.check_page(&outdir.join("cohort.html"), &outdir.join("cohort_mqc.json"))?;
        Ok(format!("{seen}; {page}"))
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
        // A stub run makes one file of metrics. A real run makes one for each program.
        let is_metrics =
            |name: &String| name.ends_with("_metrics") && !name.contains(".alignment_summary_");
        let (stubs, mut real) = (names("stubs")?, names("results")?);
        real.retain(|name| !is_metrics(name));
        ensure!(stubs == real, "a stub run makes {stubs:?}, a real one {real:?}");
        ensure!(self.directory.join("stubs/cohort.html").exists(), "a stub run makes no page");
        let file = self.directory.join("stubs").join(PAIRED).join(format!("{PAIRED}.cram"));
        ensure!(fs::metadata(file)?.len() == 0, "the CRAM file of a stub run is not empty");
        Ok(format!("{} files a sample", stubs.len()))
    }

    fn check_modules(&self) -> Result<String> {
        let modules = self.home.join("modules/readmill").display().to_string();
        let pipeline = self.directory.join("others.nf");
        fs::write(&pipeline, OTHER_PROCESSES.replace("MODULES", &modules))?;
        fs::write(self.directory.join("others.config"), OTHERS_CONFIG)?;
        fs::write(self.directory.join("fields.tsv"), FIELDS)?;
        self.run_pipeline(&pipeline, &self.cohort.readmill, "-c others.config")?.expect_success()?;
        let others = self.directory.join("others");
        for name in ["fastqc/unsorted_fastqc", "prepared_fastqc"] {
            let summary = others.join(name).join("summary.txt");
            ensure!(summary.exists(), "no {}", summary.display());
        }
        compare_module_outputs(self.cohort, &others)
    }

    /// Runs MultiQC on the results of the pipeline, and checks that each kind of file has a row for each sample.
    fn check_multiqc(&self, multiqc: &Tool) -> Result<String> {
        let mut command = multiqc.command();
        command
            .current_dir(&self.directory)
            .args("--force --no-report --outdir multiqc results".split(' '));
        run_to_end(&mut command, &self.directory.join("multiqc.log"))?.expect_success()?;
        for kind in READ_BY_MULTIQC {
            let path = self.directory.join(format!("multiqc/multiqc_data/{kind}.txt"));
            let text = fs::read_to_string(&path).with_context(|| format!("MultiQC found no {kind}"))?;
            let rows: Vec<&str> =
                text.lines().skip(1).map(|line| line.split('\t').next().unwrap_or(line)).collect();
            ensure!(rows == [PAIRED, SINGLE], "{kind} has the rows {rows:?}");
        }
        Ok(format!("{} tables with a row for each sample", READ_BY_MULTIQC.len()))
    }
}

/// Compares the outputs of `sort`, `markdup` and `prep` of `unsorted.bam`, and of `qc` of the output of `prep`, with
/// direct runs, and checks the page of `prep` and `qc`.
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
         known.vcf --bqsr-table {prepared}.recal.table {} --qc prepared --qc-metrics all --coverage prepared",
        reports(prepared)
    ))?;
    cohort.run_direct(
        "qc prepared.cram -o metrics --sample metrics --metrics all,CollectWgsMetrics --coverage --reference ref.fa",
    )?;
    let ends = |output: &str, ends: &[&str]| -> Vec<String> {
        ends.iter().map(|end| format!("{output}{end}")).collect()
    };
    let names = [
        ends(sorted, &["", ".bai"]),
        ends(marked, &["", ".bai", ".metrics.txt", ".flagstat", ".stats.txt"]),
        ends(prepared, &["", ".crai", ".metrics.txt", ".flagstat", ".stats.txt", ".recal.table"]),
        ends(
            "prepared",
            &[
                ".gc_bias.detail_metrics",
                ".alignment_summary_metrics",
                ".mosdepth.summary.txt",
                ".per-base.bed.gz",
            ],
        ),
        ends("metrics", &[".alignment_summary_metrics", ".wgs_metrics", ".mosdepth.summary.txt"]),
    ]
    .concat();
    for name in &names {
        cohort.compare_file(name, &found.join(name))?;
    }
    for name in ["prepared.html", "prepared.run.json", "metrics.html", "metrics.run.json"] {
        ensure!(found.join(name).exists(), "no {name}");
    }
    let all = found.join("all.html");
    let page = check_page_of(&all, &found.join("all_mqc.json"), &["metrics", "prepared"])?;
    ensure!(fs::read_to_string(&all)?.contains("P-17"), "the page has no fields of the sample sheet");
    Ok(format!("{} files are those of direct runs; {page}", names.len()))
}

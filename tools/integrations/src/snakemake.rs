//! Checks of Snakemake: the workflow, its retry, the wrappers, and a job in stages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use readmill_peers::{Peers, Tool, workspace};

use crate::cohort::Cohort;
use crate::killer::Killer;
use crate::nextflow::{FIELDS, compare_module_outputs};
use crate::outcome::{CheckCounts, Ended, run_to_end};
use crate::stages::{self, InputKind, RerunPolicy, StagedJob};

const OTHER_RULES: &str = r#"
rule all:
    input: "marked.bam", "prepared.cram", "all.html"

rule sort:
    input: "unsorted.bam"
    output: "sorted.bam", idx="sorted.bam.bai"
    log: "sort.log"
    resources: mem_mb=500
    wrapper: "file:WRAPPERS/sort"

rule markdup:
    input: "sorted.bam"
    output:
        "marked.bam", idx="marked.bam.bai", metrics="marked.bam.metrics.txt", flagstat="marked.bam.flagstat",
        stats="marked.bam.stats.txt"
    log: "markdup.log"
    wrapper: "file:WRAPPERS/markdup"

rule prep:
    input: reads="unsorted.bam", ref="ref.fa", known_sites=["known.vcf"]
    output:
        "prepared.cram", idx="prepared.cram.crai", metrics="prepared.cram.metrics.txt",
        flagstat="prepared.cram.flagstat", stats="prepared.cram.stats.txt", table="prepared.cram.recal.table",
        report="prepared.html", json="prepared.run.json",
        qc=["prepared.gc_bias.detail_metrics", "prepared.alignment_summary_metrics"],
        coverage=["prepared.per-base.bed.gz", "prepared.mosdepth.summary.txt"], fastqc=directory("fastqc")
    params: extra="--sort coordinate --mark-duplicates --bqsr --qc-metrics all"
    log: "prep.log"
    threads: 2
    resources: mem_mb=500
    wrapper: "file:WRAPPERS/prep"

rule qc:
    input: "prepared.cram", ref="ref.fa"
    output:
        qc=["metrics.alignment_summary_metrics", "metrics.wgs_metrics"], coverage="metrics.mosdepth.summary.txt",
        fastqc=directory("fastqc-of-cram"), report="metrics.html", json="metrics.run.json"
    params: extra="--metrics all,CollectWgsMetrics --sample metrics"
    log: "qc.log"
    resources: mem_mb=500
    wrapper: "file:WRAPPERS/qc"

rule report:
    input: runs=["metrics.run.json", "prepared.run.json"], sample_sheet="fields.tsv"
    output: "all.html", multiqc="all_mqc.json"
    log: "report.log"
    resources: mem_mb=500
    wrapper: "file:WRAPPERS/report"
"#;

struct Snakemake<'a> {
    cohort: &'a Cohort,
    tool: Tool,
    directory: PathBuf,
}

impl Snakemake<'_> {
    fn run_workflow(&self, snakefile: &Path, program: &Path, config: &[&str]) -> Result<Ended> {
        let mut command = self.tool.command();
        command.current_dir(&self.directory).env("READMILL", program).arg("--snakefile").arg(snakefile);
        command.args(["--cores", "2"]);
        if !config.is_empty() {
            command.arg("--config").args(config);
        }
        run_to_end(&mut command, &self.directory.join("snakemake.log"))
    }

    fn compare_results(&self) -> Result<String> {
        let results = self.directory.join("results");
        let seen = self
            .cohort
            .compare_outputs(|sample, end| results.join(sample).join(format!("{sample}{end}")))?;
        let page =
            self.cohort.check_page(&results.join("cohort.html"), &results.join("cohort_mqc.json"))?;
        Ok(format!("{seen}; {page}"))
    }
}

pub fn check_snakemake(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let tool = peers.snakemake()?;
    outcome.print_title(&format!("Snakemake {}", tool.version));
    let it = Snakemake { cohort, tool, directory: cohort.make_directory("snakemake", false)? };
    let killer = Killer::new(&cohort.readmill, &it.directory)?;
    let home = workspace().join("integrations/snakemake");
    let config = [
        "samples=samples.csv",
        "fasta=ref.fa",
        "known_sites=['known.vcf']",
        "threads=2",
        "mem_mb=1000",
        "index_mem_mb=500",
    ];
    outcome.check(
        "a job that is killed runs again, with more memory; every file is that of a direct run",
        || {
            it.run_workflow(&home.join("Snakefile"), &killer.program, &config)?.expect_success()?;
            let memory = killer.memory_of_attempts()?;
            // 1,000 and 2,000 MB of 10^6 bytes, in units of 2^20 bytes.
            ensure!(memory == ["954M", "1908M"], "-m was {memory:?}");
            it.compare_results()
        },
    );
    outcome.check("a second call runs nothing again", || {
        let said =
            it.run_workflow(&home.join("Snakefile"), &killer.program, &config)?.expect_success()?;
        ensure!(said.contains("Nothing to be done"), "it did something: {said}");
        killer.memory_of_attempts()?;
        it.compare_results()
    });
    outcome.check("the wrappers sort, markdup, prep, qc and report", || {
        fs::write(it.directory.join("fields.tsv"), FIELDS)?;
        let wrappers = home.join("wrappers/readmill").display().to_string();
        let snakefile = it.directory.join("Others");
        fs::write(&snakefile, OTHER_RULES.replace("WRAPPERS", &wrappers))?;
        it.run_workflow(&snakefile, &cohort.readmill, &[])?.expect_success()?;
        for name in ["fastqc/unsorted_fastqc", "fastqc-of-cram/prepared_fastqc"] {
            let summary = it.directory.join(name).join("summary.txt");
            ensure!(summary.exists(), "no {}", summary.display());
        }
        compare_module_outputs(cohort, &it.directory)
    });
    let job = StagedJob::plan_job(cohort, &it.directory, InputKind::Bam, "snakemake", "Stages")?;
    stages::check_restarts(&job, &RerunPolicy::Missing, outcome, || {
        it.run_workflow(&job.workflow, &job.program, &[])
    });
    let job =
        StagedJob::plan_job(cohort, &it.directory, InputKind::Fastq, "snakemake", "StagesOfAlign")?;
    stages::check_kills(&job, outcome, || it.run_workflow(&job.workflow, &job.program, &[]));
    Ok(())
}

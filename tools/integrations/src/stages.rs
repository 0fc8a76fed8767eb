//! Checks of a job in stages (`readmill shard`), which each engine runs as a workflow.
//!
//! ```text
//! plan ─► map 1, map 2 ─► ... ─► write 1, write 2, write 3 ─► join ─► out.bam
//! ```
//!
//! A map and a write are killed and must be repeated. Then the workflow is restarted after its
//! files were removed, truncated or changed. The output must equal that of a direct run each time.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;

use crate::cohort::Cohort;
use crate::outcome::{CheckCounts, Ended, run_to_end};

/// Name of the directory of each job, and of its program. Each character is special to a shell,
/// SLURM, Groovy or Python.
const ODD_NAME: &str = "it's a, \"b\" $HOME %j \\d;e";

const PREP: &str = "prep unsorted.bam --reference ref.fa --sort coordinate --mark-duplicates --bqsr --known-sites known.vcf \
                    -@ 2 -m 300M -l 1";

const ALIGN: &str = "align ref.fa one_1.fq one_2.fq -K 100000 -R @RG\\tID:a\\tSM:s\\tLB:l\\tPL:ILLUMINA --sort coordinate \
                     --mark-duplicates --bqsr --known-sites known.vcf -@ 2 -m 800M -l 1";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    Bam,
    Fastq,
}

impl InputKind {
    fn command_words(self) -> &'static str {
        match self {
            InputKind::Bam => PREP,
            InputKind::Fastq => ALIGN,
        }
    }

    /// Returns the file name of the direct run's output, without extension.
    fn direct_output(self) -> &'static str {
        match self {
            InputKind::Bam => "stages",
            InputKind::Fastq => "stages-align",
        }
    }
}

/// A script that replaces readmill. It records which stages run, and kills the first `map` and the
/// first `write` while they write a file.
const SCRIPT: &str = r#"#!/bin/sh
real=REAL state=STATE stage=$2 work=$4
case ${5-} in -*) number='' ;; *) number=" ${5-}" ;; esac
printf '%s\n' "$stage$number" >>"$state/attempts"
printf '%s\n' "$*" >>"$state/commands"
case $stage in map | write) ;; *) exec "$real" "$@" ;; esac
mkdir "$state/killed-$stage" 2>/dev/null || exec "$real" "$@"
file=$work/$stage-000${number#"${number%?}"}
has_begun() { set -- "$work/.$stage-"*".$pid."*; [ -e "$1" ]; }
# On a machine that is busy, the stage may end before it is seen. Then its file is removed, and it begins once more.
for try in 1 2 3 4 5 6 7 8 9; do
    "$real" "$@" &
    pid=$!
    looks=0
    until has_begun || [ -e "$file" ] || [ $looks = 1000000 ]; do looks=$((looks + 1)); done
    kill -KILL $pid
    code=0
    wait $pid || code=$?
    [ $code = 0 ] || break
    rm -f "$file"
done
echo $code >"$state/killed-$stage/code"
exit $code
"#;

/// A job with two slices of the input and three ranges of the output.
pub struct StagedJob<'a> {
    cohort: &'a Cohort,
    source: InputKind,
    /// The script that the stages run instead of readmill.
    pub program: PathBuf,
    pub workflow: PathBuf,
    output: PathBuf,
    work: PathBuf,
    state: PathBuf,
}

/// The stages that an engine runs when its workflow is restarted.
pub enum RerunPolicy {
    /// All stages. Each detects whether its own file is damaged.
    All,
    /// The last stage, and stages whose files are missing.
    Missing,
}

impl<'a> StagedJob<'a> {
    /// Plans the job below the directory of an engine, does the direct run, and writes the workflow
    /// to `file`.
    pub fn plan_job(
        cohort: &'a Cohort,
        directory: &Path,
        source: InputKind,
        format: &str,
        file: &str,
    ) -> Result<Self> {
        let state =
            directory.join(format!("{ODD_NAME}{}", if source == InputKind::Bam { "" } else { " fq" }));
        fs::create_dir(&state)?;
        if source == InputKind::Fastq {
            cohort.link_index(directory)?;
        }
        let [work, output, program] = ["work", "out.bam", "read mill"].map(|name| state.join(name));
        let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        fs::write(
            &program,
            SCRIPT.replace("REAL", &quoted(&cohort.readmill)).replace("STATE", &quoted(&state)),
        )?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let job = StagedJob {
            cohort,
            source,
            program,
            workflow: directory.join(file),
            output,
            work,
            state: state.clone(),
        };
        let mut plan = Command::new(&cohort.readmill);
        plan.current_dir(directory).args(["shard", "plan", "--shards", "2", "--ranges", "3", "--work"]);
        plan.arg(&job.work).args(source.command_words().split(' ')).arg("-o").arg(&job.output);
        plan.arg("--metrics").arg(job.state.join("out.metrics.txt"));
        run_to_end(&mut plan, &directory.join("plan.log"))?.expect_success()?;
        cohort.run_direct(&format!("{} -o {}.bam", source.command_words(), source.direct_output()))?;
        fs::write(&job.workflow, job.print_graph(format)?)?;
        Ok(job)
    }

    pub fn print_graph(&self, format: &str) -> Result<Vec<u8>> {
        let mut graph = Command::new(&self.cohort.readmill);
        graph.args(["shard", "graph", "--format", format, "--work"]).arg(&self.work);
        let printed = graph.output()?;
        ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        Ok(printed.stdout)
    }

    /// Compares the output with that of the direct run, then removes it.
    fn compare_and_remove_output(&self) -> Result<String> {
        let mut bytes = 0;
        for end in ["bam", "bam.bai"] {
            let file = self.output.with_extension(end);
            bytes +=
                self.cohort.compare_file(&format!("{}.{end}", self.source.direct_output()), &file)?;
            fs::remove_file(file)?;
        }
        // Metrics are not compared, because they contain the name of the output.
        fs::remove_file(self.output.with_extension("metrics.txt")).context("there are no metrics")?;
        Ok(format!("{bytes} bytes are those of a direct run"))
    }

    /// Returns the stages that ran since the last call, one entry per attempt.
    fn take_attempts(&self) -> Result<Vec<String>> {
        let file = self.state.join("attempts");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        // Snakemake pads numbers with zeros.
        Ok(text.lines().map(|line| line.replace(" 000", " ")).collect())
    }

    pub fn last_resources(&self) -> Result<String> {
        let commands = fs::read_to_string(self.state.join("commands"))?;
        let last = commands.lines().last().and_then(|line| line.rsplit_once("/work"));
        Ok(last.context("nothing was run")?.1.trim().to_owned())
    }

    /// Fails unless exactly one task of this stage was killed and repeated once.
    fn expect_killed_once(&self, stage: &str, attempts: &[String]) -> Result<()> {
        let code = fs::read_to_string(self.state.join(format!("killed-{stage}/code")))
            .with_context(|| format!("no {stage} was killed"))?;
        ensure!(code.trim() == "137", "the {stage} that was to be killed ended with {}", code.trim());
        let mut runs: Vec<&String> = attempts.iter().filter(|it| it.starts_with(stage)).collect();
        let number = runs.len();
        runs.sort();
        runs.dedup();
        ensure!(number == runs.len() + 1, "not one {stage} was run again: {attempts:?}");
        Ok(())
    }

    fn remove_stage_file(&self, stage: &str) -> Result<()> {
        fs::remove_file(self.work.join(stage)).with_context(|| format!("{stage} was not there"))
    }

    fn truncate_file(&self, stage: &str) -> Result<()> {
        let file = fs::File::options().write(true).open(self.work.join(stage))?;
        Ok(file.set_len(file.metadata()?.len() - 1)?)
    }

    /// Changes a byte in the data of a file. Only stages that read the data can detect this.
    fn change_byte(&self, stage: &str) -> Result<()> {
        let file = fs::File::options().read(true).write(true).open(self.work.join(stage))?;
        let at = file.metadata()?.len() / 3;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at)?;
        Ok(file.write_all_at(&[byte[0] ^ 0x41], at)?)
    }
}

/// Checks that a map and a write are killed and repeated. `run` starts the workflow and returns
/// when it has ended.
pub fn check_kills(
    job: &StagedJob<'_>,
    outcome: &mut CheckCounts,
    mut run: impl FnMut() -> Result<Ended>,
) {
    let from = if job.source == InputKind::Bam { "BAM" } else { "FASTQ" };
    outcome.check(
        &format!("from {from}: stages that are killed are run again, in a directory with an odd name; the output is that of a direct run"),
        || {
            run()?.expect_success()?;
            let attempts = job.take_attempts()?;
            job.expect_killed_once("map", &attempts)?;
            job.expect_killed_once("write", &attempts)?;
            job.compare_and_remove_output()
        },
    );
}

/// Checks the workflow of a job that reads BAM: kills, restarts, and missing, truncated and changed
/// files.
pub fn check_restarts(
    job: &StagedJob<'_>,
    again: &RerunPolicy,
    outcome: &mut CheckCounts,
    mut run: impl FnMut() -> Result<Ended>,
) {
    check_kills(job, outcome, &mut run);
    outcome.check(
        "started again, it makes the output that was removed, of the files that are there",
        || {
            run()?.expect_success()?;
            let attempts = job.take_attempts()?;
            match again {
                RerunPolicy::All => {
                    ensure!(attempts.len() == 12, "not each stage was run once: {attempts:?}")
                }
                RerunPolicy::Missing => {
                    ensure!(attempts == ["join"], "more was run than join: {attempts:?}")
                }
            }
            job.compare_and_remove_output()
        },
    );
    outcome.check("started again, it makes the files of stages that were removed", || {
        job.remove_stage_file("map-0001")?;
        job.remove_stage_file("write-0002")?;
        run()?.expect_success()?;
        job.take_attempts()?;
        ensure!(job.work.join("map-0001").exists() && job.work.join("write-0002").exists());
        job.compare_and_remove_output()
    });
    outcome.check("a file that was cut short is made again", || {
        job.truncate_file("write-0003")?;
        match again {
            RerunPolicy::All => {
                run()?.expect_success()?;
                let attempts = job.take_attempts()?;
                let runs = attempts.iter().filter(|it| *it == "write 3").count();
                ensure!(
                    [attempts.len(), runs] == [13, 2],
                    "not only write 3 was run again: {attempts:?}"
                );
            }
            RerunPolicy::Missing => {
                run()?.expect_failure()?;
                run()?.expect_success()?;
                job.take_attempts()?;
            }
        }
        job.compare_and_remove_output()
    });
    outcome.check(
        "after data that were changed it fails and says so; started again, it succeeds",
        || {
            job.change_byte("write-0001")?;
            let said = run()?.expect_failure()?;
            for words in ["write-0001", "or start the workflow again"] {
                ensure!(said.contains(words), "{words:?} is not in: {said}");
            }
            run()?.expect_success()?;
            job.take_attempts()?;
            job.compare_and_remove_output()
        },
    );
}

pub fn check_drawing(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let dot = peers.dot()?;
    outcome.print_title("Graphviz");
    outcome.check("the picture of the stages of a job is drawn", || {
        let directory = cohort.make_directory("graphviz", false)?;
        let job = StagedJob::plan_job(cohort, &directory, InputKind::Bam, "dot", "stages.dot")?;
        let mut draw = dot.command();
        draw.arg("-Tsvg").arg(&job.workflow);
        let drawn = run_to_end(&mut draw, &directory.join("dot.log"))?.expect_success()?;
        let nodes = drawn.matches("class=\"node\"").count();
        ensure!(nodes == 7, "{nodes} stages are drawn");
        Ok(format!("{nodes} stages"))
    });
    Ok(())
}

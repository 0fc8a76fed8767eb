//! Exports the stages of a job as a workflow: the command of each stage, and the stages that must
//! be finished before it.
//!
//! All engines run the same commands in one shared directory. readmill, not the engine, decides
//! whether a stage is finished: a stage that is started again exits immediately if its file exists,
//! and otherwise writes the file.

use std::fmt::Write as _;

use readmill_record::{Error, Result};

use super::stage::{JobStage, StageState};
use super::work::PlannedJob;

/// The output format of `readmill shard graph`: a workflow engine, or a description of the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkflowEngine {
    /// One JSON object for each stage. Read by the Python package that runs stages on a Dask
    /// cluster, and by the cost model in `experiments/cluster`.
    Json,
    /// A Graphviz graph of the stages, coloured by state.
    Dot,
    Snakemake,
    Nextflow,
    /// A shell script that submits one SLURM job array for each kind of stage.
    Slurm,
}

struct StageGroup {
    name: &'static str,
    /// Number of stages with this name. `None` for a stage without a number, which exists only
    /// once.
    count: Option<usize>,
    needs: Vec<&'static str>,
}

struct SharedValues {
    work: String,
    /// Threads of each stage, unless the engine overrides it.
    threads: usize,
    /// Memory of each stage in MiB, unless the engine overrides it.
    memory: u64,
}

impl PlannedJob {
    /// Returns the workflow for `engine` as text.
    ///
    /// # Errors
    /// Fails if a workflow cannot contain the path of the job's directory: it is not UTF-8, or
    /// contains control characters (for Snakemake, also braces).
    pub fn render_workflow(&self, engine: WorkflowEngine) -> Result<String> {
        let resources = &self.plan.resources;
        let (threads, memory) = (resources.threads, resources.memory >> 20);
        let common = SharedValues { work: self.directory_name()?, threads, memory };
        Ok(match engine {
            WorkflowEngine::Json => self.render_json(&common.work),
            WorkflowEngine::Dot => self.render_dot()?,
            WorkflowEngine::Snakemake => render_snakefile(&common, &self.group_stages())?,
            WorkflowEngine::Nextflow => render_nextflow(&common, &self.group_stages()),
            WorkflowEngine::Slurm => render_slurm_script(&common, &self.group_stages()),
        })
    }

    fn directory_name(&self) -> Result<String> {
        let path = std::path::absolute(&self.directory).unwrap_or_else(|_| self.directory.clone());
        let name = path.to_str().filter(|name| !name.contains(char::is_control));
        name.map(str::to_string).ok_or_else(|| {
            Error::usage(format!("{path:?} is not UTF-8, or has a line break or control character"))
                .hint(
                    "workflow files cannot contain this name; rename the directory, or create a link to it",
                )
        })
    }

    fn group_stages(&self) -> Vec<StageGroup> {
        let mut steps: Vec<StageGroup> = Vec::new();
        for stage in self.stages() {
            match steps.last_mut().filter(|step| step.name == stage.name()) {
                Some(step) => step.count = stage.number(),
                None => {
                    let mut needs: Vec<_> =
                        self.required_stages(stage).into_iter().map(JobStage::name).collect();
                    needs.dedup();
                    steps.push(StageGroup { name: stage.name(), count: stage.number(), needs });
                }
            }
        }
        steps
    }

    fn render_json(&self, work: &str) -> String {
        let given = std::env::var("READMILL").ok().filter(|program| !program.is_empty());
        let program = given.unwrap_or_else(|| "readmill".to_string());
        let row = |stage: JobStage| {
            let number = stage.number().map(|number| number.to_string());
            let command = [&program, "shard", stage.name(), "--work", work].map(str::to_string);
            serde_json::json!({
                "name": stage.title(),
                "stage": stage.name(),
                "number": stage.number(),
                "needs": Vec::from_iter(self.required_stages(stage).into_iter().map(JobStage::title)),
                "command": Vec::from_iter(command.into_iter().chain(number)),
                "file": format!("{work}/{}", stage.stage_file_name()),
            })
        };
        let rows = Vec::from_iter(self.stages().into_iter().map(|stage| format!("  {}", row(stage))));
        format!("[\n{}\n]\n", rows.join(",\n"))
    }

    fn render_dot(&self) -> Result<String> {
        let mut text = String::from(
            "// The stages of a readmill job. To draw them: dot -Tsvg THIS_FILE > stages.svg\n\
             digraph stages {\n    rankdir=LR\n    node [shape=box, style=filled, fillcolor=white]\n",
        );
        for StageGroup { name, count, needs } in self.group_stages() {
            let mut finished = 0;
            for stage in self.stages().into_iter().filter(|stage| stage.name() == name) {
                finished += usize::from(self.stage_state(stage)? == StageState::Finished);
            }
            let all = count.unwrap_or(1);
            let colour = if finished == all { ", fillcolor=palegreen" } else { "" };
            let _ =
                writeln!(text, "    {name} [label=\"{name}\\n{finished} of {all} finished\"{colour}]");
            for before in needs {
                let _ = writeln!(text, "    {before} -> {name}");
            }
        }
        Ok(text + "}\n")
    }
}

/// The first lines of a Snakefile. `WORK` is replaced by the job's directory.
const SNAKEFILE: &str = r#"# The stages of a readmill job. To run them: snakemake -s THIS_FILE --cores N --rerun-incomplete
# After a failure, run this again: finished stages are not run again.
import os

readmill = os.environ.get("READMILL") or "readmill"
work = WORK
"#;

/// Replaces the output file in the last Snakemake rule. `join` writes the user's output, whose
/// state readmill checks.
const NO_OUTPUT: &str = "    # This rule has no output file, so it always runs: it checks that output, index and reports exist.\n    \
                         default_target: True\n";

fn render_snakefile(common: &SharedValues, steps: &[StageGroup]) -> Result<String> {
    if common.work.contains(['{', '}']) {
        let what = format!("{} contains braces, which are wildcards in Snakemake", common.work);
        return Err(Error::usage(what).hint("rename the directory, or create a link to it"));
    }
    let mut text = SNAKEFILE.replace("WORK", &serde_json::Value::from(common.work.as_str()).to_string());
    let SharedValues { threads, memory, .. } = common;
    let files = |name: &str| {
        let count = steps.iter().find(|step| step.name == name).and_then(|step| step.count);
        count.map_or(format!("work + \"/{name}\""), |count| {
            format!("[work + f\"/{name}-{{n:04d}}\" for n in range(1, {})]", count + 1)
        })
    };
    for StageGroup { name, count, needs, .. } in steps {
        let needs = Vec::from_iter(needs.iter().map(|name| format!("        {},\n", files(name))));
        let input =
            if needs.is_empty() { String::new() } else { format!("    input:\n{}", needs.concat()) };
        let (output, number) = match (*name, count) {
            ("join", _) => (NO_OUTPUT.to_string(), ""),
            (_, None) => (format!("    output: work + \"/{name}\"\n"), ""),
            (_, Some(_)) => {
                let file = format!("    output: work + \"/{name}-{{n}}\"\n");
                (file + "    wildcard_constraints: n=r\"\\d{4}\"\n", " {wildcards.n}")
            }
        };
        let _ = write!(
            text,
            "\nrule {name}:\n{input}{output}    threads: {threads}\n    resources: mem_mib={memory}\n    \
             retries: 3\n    shell: \"{{readmill:q}} shard {name} --work {{work:q}}{number} -@ {{threads}} \
             -m {{resources.mem_mib}}M\"\n"
        );
    }
    Ok(text)
}

/// The first lines of a Nextflow workflow. Nextflow runs each task in its own directory, so the
/// workflow converts the path of the program to an absolute path.
const NEXTFLOW: &str = r#"// The stages of a readmill job. To run them: nextflow run THIS_FILE [--cpus N] [--memory 'N GB']
// After a failure, run this again, with or without -resume. Nextflow does not know the files of the stages, so caching
// is off (cache false): each task runs, and readmill exits at once if the stage is finished.
nextflow.enable.dsl = 2

params.readmill = System.getenv('READMILL') ?: 'readmill'
params.cpus = THREADS
params.memory = 'MEMORY MB'

// The command of a stage, quoted for a shell.
def stage(name, number) {
    def program = params.readmill.contains('/') ? new File(params.readmill).absolutePath : params.readmill
    def words = [program, 'shard', name, '--work', WORK] + number
    words.collect { word -> "'" + word.toString().replace("'", "'\\''") + "'" }.join(' ')
}
"#;

/// The template of a Nextflow process. Words in capitals are replaced.
const NEXTFLOW_PROCESS: &str = r#"
process PROCESS {
    tag "TAG"
    cache false
    cpus params.cpus
    memory params.memory
    errorStrategy { task.exitStatus == 75 || task.exitStatus > 128 ? 'retry' : 'finish' }
    maxRetries 3

    input:
    tuple val(n), val(before)

    output:
    val true

    script:
    """
    ${stage('NAME', NUMBER)} -@ ${task.cpus} -m ${task.memory.toMega()}M
    """
}
"#;

fn render_nextflow(common: &SharedValues, steps: &[StageGroup]) -> String {
    let work = format!("'{}'", common.work.replace('\\', r"\\").replace('\'', r"\'"));
    let (threads, memory) = (common.threads.to_string(), common.memory.to_string());
    // WORK is replaced last, because the path may contain any of the other words.
    let mut text =
        NEXTFLOW.replace("THREADS", &threads).replace("MEMORY", &memory).replace("WORK", &work);
    let mut calls = String::new();
    for StageGroup { name, count, needs, .. } in steps {
        let process = name.to_uppercase();
        let (tag, number) = match count {
            Some(_) => (format!("{name} ${{n}}"), "[n]"),
            None => (name.to_string(), "[]"),
        };
        let words = [("PROCESS", &process[..]), ("TAG", &tag), ("NAME", name), ("NUMBER", number)];
        text += &words
            .iter()
            .fold(NEXTFLOW_PROCESS.to_string(), |text, (word, value)| text.replace(word, value));
        let numbers =
            count.map_or_else(|| "Channel.of(1)".to_string(), |count| format!("Channel.of(1..{count})"));
        // The last earlier stage waits for all others, so it suffices to wait for it.
        let before =
            needs.last().map_or_else(|| "Channel.of(true)".to_string(), |last| format!("{last}_done"));
        let _ = writeln!(
            calls,
            "    {name}_done = {process}({numbers}.combine({before})).collect().map {{ true }}"
        );
    }
    let _ = write!(text, "\nworkflow {{\n{calls}}}\n");
    text
}

/// The first lines of a SLURM script. The values of a stage are written into its job script. As
/// environment variables, they would be lost if a site or a user sets a different `--export`, and
/// commas in them would split the list.
const SLURM: &str = r#"#!/bin/sh
# Submits the stages of a readmill job. Flags are passed to each sbatch: sh THIS_FILE -c 8 --mem 16G
# After a failure, run this again: finished stages exit at once.
set -eu
readmill=${READMILL:-readmill}
work=WORK
# If a SLURM job runs this script, do not pass the variables of that job to the stages.
unset SLURM_CPUS_PER_TASK SLURM_CPUS_ON_NODE SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_RESTART_COUNT

# Quotes a word for a shell.
quoted() {
    printf "'"
    printf %s "$1" | sed "s/'/'\\\\''/g"
    printf "'"
}

# Submits a stage to run after the jobs $1, with more sbatch flags.
submit() {
    after=${1%%;*} stage=$2
    shift 2
    [ -z "$after" ] || set -- --dependency="afterok:$after" --kill-on-invalid-dep=yes "$@"
    {
        printf '#!/bin/sh\nreadmill=%s\nwork=%s\nstage=%s\n' "$(quoted "$readmill")" "$(quoted "$work")" "$stage"
        cat <<'STAGE'
# -@ and -m are the cores and the memory of the task. With --mem=0 (all memory of the node), SLURM gives no number, and -m
# is that of the planned command.
cores=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-}}
memory=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * ${SLURM_CPUS_ON_NODE:-1}))}
set -- shard "$stage" --work "$work" ${SLURM_ARRAY_TASK_ID:-}
[ -z "$cores" ] || set -- "$@" -@ "$cores"
[ "$memory" = 0 ] || set -- "$@" -m "${memory}M"

# SLURM sends SIGTERM to end a task. Such a task is not requeued here.
is_ended='' pid='' code=0
pass_on() { [ -z "$pid" ] || kill -TERM "$pid" || true; }
trap 'is_ended=yes; pass_on' TERM
"$readmill" "$@" &
pid=$!
[ -z "$is_ended" ] || pass_on
wait "$pid" || code=$?
if [ -n "$is_ended" ]; then
    wait "$pid" || true
    exit "$code"
fi
[ "$code" != 0 ] || exit 0

# Code 75: a new attempt may succeed. Above 128: a signal ended the stage.
said="readmill: $stage${SLURM_ARRAY_TASK_ID:+ $SLURM_ARRAY_TASK_ID} ended with $code"
if [ "$code" = 75 ] || [ "$code" -gt 128 ]; then
    if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
        echo "$said; requeueing it" >&2
        # The job ID of the last task is also that of the whole array.
        scontrol requeue "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}" && exit "$code"
    fi
fi
echo "$said; fix the cause, then submit the stages again; finished stages exit at once" >&2
exit "$code"
STAGE
    } | sbatch --parsable --requeue --open-mode=append --job-name="readmill-$stage" "$@"
}

"#;

fn render_slurm_script(common: &SharedValues, steps: &[StageGroup]) -> String {
    let work = format!("'{}'", common.work.replace('\'', r"'\''"));
    let mut text = SLURM.replace("WORK", &work);
    for StageGroup { name, count, needs, .. } in steps {
        let after = needs.last().map_or_else(String::new, |last| format!("${last}"));
        let array = count.map_or_else(String::new, |count| format!(" --array=1-{count}"));
        let _ = writeln!(text, "{name}=$(submit \"{after}\" {name}{array} \"$@\")");
    }
    text.push_str("echo \"the last job is $join\"\n");
    text
}

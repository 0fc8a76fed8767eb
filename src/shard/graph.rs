//! The stages of a job as a workflow for an engine: what each stage runs, and what must be finished before.

use std::fmt::Write as _;

use super::stage::JobStage;
use super::work::Work;

/// An engine that runs stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// None: the stages as JSON, one object for each.
    Json,
    /// A Snakefile.
    Snakemake,
    /// A Nextflow workflow.
    Nextflow,
    /// A shell script that submits job arrays to SLURM.
    Slurm,
}

/// All stages of one name: how many there are, and the names of those before.
struct Step {
    name: &'static str,
    /// How many; `None` if there is one without a number.
    count: Option<usize>,
    needs: Vec<&'static str>,
}

impl Work {
    /// Returns the workflow of the job for an engine.
    pub fn graph(&self, engine: Engine) -> String {
        let directory = std::path::absolute(&self.directory).unwrap_or_else(|_| self.directory.clone());
        let directory = directory.display().to_string();
        match engine {
            Engine::Json => self.json(),
            Engine::Snakemake => snakemake(&directory, &self.steps()),
            Engine::Nextflow => nextflow(&directory, &self.steps()),
            Engine::Slurm => slurm(&directory, &self.steps()),
        }
    }

    /// The stages by their names, in the order in which they can be run.
    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for stage in self.stages() {
            match steps.last_mut().filter(|step| step.name == stage.name()) {
                Some(step) => step.count = stage.number(),
                None => {
                    let mut needs: Vec<_> = self.needs(stage).into_iter().map(JobStage::name).collect();
                    needs.dedup();
                    steps.push(Step { name: stage.name(), count: stage.number(), needs });
                }
            }
        }
        steps
    }

    fn json(&self) -> String {
        let title = |stage: JobStage| stage.title();
        let row = |stage: JobStage| {
            let number = stage.number().map(|number| number.to_string());
            let work = self.directory.display().to_string();
            let command = ["readmill", "shard", stage.name(), "--work", &work];
            let command = command.into_iter().map(str::to_string).chain(number);
            serde_json::json!({
                "stage": stage.title(),
                "needs": Vec::from_iter(self.needs(stage).into_iter().map(title)),
                "command": Vec::from_iter(command),
                "file": self.path(stage),
            })
        };
        let rows = Vec::from_iter(self.stages().into_iter().map(|stage| format!("  {}", row(stage))));
        format!("[\n{}\n]\n", rows.join(",\n"))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn snakemake(directory: &str, steps: &[Step]) -> String {
    let work = serde_json::Value::from(directory).to_string();
    let mut text = format!(
        "# The stages of a job of readmill. Run it: snakemake -s THIS_FILE --cores N\n\
         import os\n\n\
         readmill = os.environ.get(\"READMILL\", \"readmill\")\n\
         work = {work}\n\n\
         rule all:\n    input: work + \"/join\"\n"
    );
    let files = |name: &str| {
        let count = steps.iter().find(|step| step.name == name).and_then(|step| step.count);
        count.map_or(format!("work + \"/{name}\""), |count| {
            format!("[work + f\"/{name}-{{n:04d}}\" for n in range(1, {})]", count + 1)
        })
    };
    for step in steps {
        let Step { name, count, needs } = step;
        let (suffix, number) = if count.is_some() { ("-{n}", " {wildcards.n}") } else { ("", "") };
        let needs = Vec::from_iter(needs.iter().map(|name| format!("        {},\n", files(name))));
        let input =
            if needs.is_empty() { String::new() } else { format!("    input:\n{}", needs.concat()) };
        let only = if count.is_some() { "    wildcard_constraints: n=r\"\\d{4}\"\n" } else { "" };
        let _ = write!(
            text,
            "\nrule {name}:\n{input}    output: work + \"/{name}{suffix}\"\n{only}    threads: 4\n    \
             resources: mem_mib=4096\n    retries: 3\n    shell: \"{{readmill:q}} shard {name} --work {{work:q}}{number} \
             -@ {{threads}} -m {{resources.mem_mib}}M\"\n"
        );
    }
    text
}

fn nextflow(directory: &str, steps: &[Step]) -> String {
    let work = quoted(directory).replace('\\', r"\\").replace('$', r"\$");
    let mut text = String::from(
        "// The stages of a job of readmill. Run it: nextflow run THIS_FILE -resume\n\
         // Memory and threads of a stage are those of its process: process.memory, process.cpus.\n\
         nextflow.enable.dsl = 2\n\n\
         params.readmill = System.getenv('READMILL') ?: 'readmill'\n",
    );
    let mut calls = String::new();
    for Step { name, count, needs } in steps {
        let process = name.to_uppercase();
        let number = if count.is_some() { " ${n}" } else { "" };
        let _ = write!(
            text,
            "\nprocess {process} {{\n    tag \"{name}{number}\"\n    cpus {{ params.cpus ?: 4 }}\n    \
             memory {{ params.memory ?: '4 GB' }}\n    errorStrategy {{ task.exitStatus == 75 || task.exitStatus > 128 ? 'retry' : 'finish' }}\n    maxRetries 3\n\n    \
             input:\n    tuple val(n), val(before)\n\n    output:\n    val true\n\n    script:\n    \"\"\"\n    \
             ${{params.readmill}} shard {name} --work {work}{number} -@ ${{task.cpus}} -m ${{task.memory.toMega()}}M\n    \
             \"\"\"\n}}\n"
        );
        let numbers =
            count.map_or_else(|| "Channel.of(1)".to_string(), |count| format!("Channel.of(1..{count})"));
        // The last of the stages before waits for all others.
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

fn slurm(directory: &str, steps: &[Step]) -> String {
    let work = quoted(directory);
    let mut text = format!(
        "#!/bin/sh\n\
         # Submits the stages of a job of readmill. Flags go to each sbatch: sh THIS_FILE -c 8 --mem 16G\n\
         set -eu\n\
         readmill=${{READMILL:-readmill}}\n\
         work={work}\n\n\
         # Submits a stage, after the jobs $1, with further flags of sbatch.\n\
         submit() {{\n    \
         after=$1 stage=$2\n    shift 2\n    \
         [ -z \"$after\" ] || set -- --dependency=\"afterok:$after\" --kill-on-invalid-dep=yes \"$@\"\n    \
         sbatch --parsable --requeue --job-name=\"readmill-$stage\" --export=ALL,readmill=\"$readmill\",work=\"$work\",stage=\"$stage\" \"$@\" <<'EOF'\n\
         #!/bin/sh\n\
         exec \"$readmill\" shard \"$stage\" --work \"$work\" ${{SLURM_ARRAY_TASK_ID:-}} \\\n    \
         ${{SLURM_CPUS_PER_TASK:+-@ $SLURM_CPUS_PER_TASK}} ${{SLURM_MEM_PER_NODE:+-m ${{SLURM_MEM_PER_NODE}}M}}\n\
         EOF\n\
         }}\n\n"
    );
    for Step { name, count, needs } in steps {
        let after = needs.last().map_or_else(String::new, |last| format!("${last}"));
        let array = count.map_or_else(String::new, |count| format!(" --array=1-{count}"));
        let _ = writeln!(text, "{name}=$(submit \"{after}\" {name}{array} \"$@\")");
    }
    text.push_str("echo \"the last job is $join\"\n");
    text
}

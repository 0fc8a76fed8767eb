//! `readmill shard`: runs a command in stages, on one or several machines. `--resume` of other
//! commands runs all stages in one process, and continues from where an earlier run stopped.
//!
//! `shard plan` writes the job to a directory. Each other stage is a separate invocation of
//! readmill that reads the job from this directory, so an engine such as Nextflow can run stages on
//! different machines (docs/shard.md).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use readmill::Plan;
use readmill::plan::{Choice, Resources, Verbosity, choice_parser};
use readmill::shard::job::JobPlan;
use readmill::shard::{
    self, Division, JobStage, PlannedJob, StageKind, StageOutcome, StageState, WorkflowEngine,
};
use readmill_process::console::Console;
use readmill_process::end_with::end_with_process;
use readmill_process::memory_size::parse_memory;
use readmill_record::{Error, Result};

#[derive(Subcommand)]
pub enum Shard {
    /// Plan a sort, merge, markdup, prep or align job in stages, and write the plan to a directory
    Plan(PlanArgs),
    /// Find where the slices of each lane start (only for align)
    Scan(NumberedArgs),
    /// Sort the reads of one or more slices of the input
    Map(NumberedArgs),
    /// Divide the sorted reads into ranges (needs all slices)
    Cut(StageArgs),
    /// Find duplicates (needs all slices)
    Judge(StageArgs),
    /// Compare one or more ranges with the reference (only for --bqsr-bootstrap)
    Compare(NumberedArgs),
    /// Find sites at which the sample differs from the reference (only for --bqsr-bootstrap)
    Sites(StageArgs),
    /// Count errors in one or more ranges (only for --bqsr)
    Count(NumberedArgs),
    /// Make the recalibration table from the counts (only for --bqsr)
    Table(StageArgs),
    /// Write one or more ranges of the output
    Write(NumberedArgs),
    /// Join the ranges into the output
    Join(StageArgs),
    /// Run all unfinished stages, one after the other
    Run(StageArgs),
    /// Show which stages are finished
    Status(StatusArgs),
    /// Print the stages as a workflow (JSON, Graphviz, Snakemake, Nextflow or SLURM)
    Graph(GraphArgs),
    /// Remove the files of the stages
    Clean(WorkFlag),
}

#[derive(Args)]
pub struct WorkFlag {
    /// Directory for the plan and the files of the stages
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Example: readmill shard plan --work DIR --shards 8 prep in.bam -o out.bam --sort coordinate"
)]
pub struct PlanArgs {
    #[command(flatten)]
    work: WorkFlag,
    /// Divide the input into about N slices, which are sorted separately
    ///
    /// By default, each slice fits into memory and has at most 1 GiB of input.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=shard::MAX_PARTS as i64))]
    shards: Option<u16>,
    /// Divide the output into at most N ranges [default: the number of slices]
    ///
    /// Each range is written separately.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=shard::MAX_PARTS as i64))]
    ranges: Option<u16>,
    /// Command to run in stages, with its usual flags
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Flags of a stage that exists once in a job.
#[derive(Args)]
pub struct StageArgs {
    #[command(flatten)]
    work: WorkFlag,
    #[command(flatten)]
    resources: StageResources,
}

/// Flags of a stage that exists several times in a job, such as `map` for each slice.
#[derive(Args)]
pub struct NumberedArgs {
    #[command(flatten)]
    stage: StageArgs,
    /// Number of the stage (from 1), or a range of numbers: FIRST..LAST
    #[arg(value_name = "N", value_parser = parse_numbers)]
    numbers: [usize; 2],
}

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    work: WorkFlag,
    /// Print the list in this format
    #[arg(long, value_name = "FORM", value_enum, default_value_t = StatusForm::Text)]
    format: StatusForm,
}

#[derive(Args)]
pub struct GraphArgs {
    #[command(flatten)]
    work: WorkFlag,
    /// Print the workflow in this format
    #[arg(long, value_name = "ENGINE", default_value = "json", value_parser = choice_parser(ENGINES))]
    format: WorkflowEngine,
}

const ENGINES: &[Choice<WorkflowEngine>] = &[
    Choice {
        value: WorkflowEngine::Json,
        name: "json",
        aliases: &[],
        help: "Write a JSON list of the stages, with the command of each stage",
    },
    Choice {
        value: WorkflowEngine::Dot,
        name: "dot",
        aliases: &[],
        help: "Write a Graphviz graph of the stages, their dependencies, and the number of finished stages",
    },
    Choice {
        value: WorkflowEngine::Snakemake,
        name: "snakemake",
        aliases: &[],
        help: "Write a Snakefile",
    },
    Choice {
        value: WorkflowEngine::Nextflow,
        name: "nextflow",
        aliases: &[],
        help: "Write a Nextflow workflow",
    },
    Choice {
        value: WorkflowEngine::Slurm,
        name: "slurm",
        aliases: &[],
        help: "Write a script that submits SLURM job arrays",
    },
];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusForm {
    Text,
    Json,
}

/// Resources of a stage. If a flag is not given, the value in the planned command applies.
#[derive(Args)]
struct StageResources {
    /// Total number of threads [default: as in the planned command]
    #[arg(short = '@', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Memory limit of the process, such as 512M or 1.5G [default: as in the planned command]
    #[arg(short, long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,
    /// Directory for temporary files. May be repeated [default: as in the planned command]
    #[arg(short = 'T', long = "temp-dir", value_name = "DIR")]
    temp_dir: Vec<PathBuf>,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Stop, as on SIGTERM, when the process with this ID ends (for workflow engines)
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    end_with: Option<u32>,
}

/// The flag `--resume` of commands that can run in stages.
#[derive(Args)]
pub struct ResumeFlag {
    /// Run in stages, keep them in this directory, and continue a stopped run
    ///
    /// If the run stops for any reason, the same command continues it.
    #[arg(long, value_name = "DIR", help_heading = "Restart")]
    resume: Option<PathBuf>,
}

/// Parses `N` or `FIRST..LAST`, counted from 1. Returns the first and the last number.
fn parse_numbers(text: &str) -> std::result::Result<[usize; 2], String> {
    let number = |text: &str| text.parse().ok().filter(|&number: &usize| number > 0);
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok([first, last]),
        _ => Err(format!("{text:?} is not a positive number or FIRST..LAST")),
    }
}

impl ResumeFlag {
    /// Runs the plan in stages if `--resume` is given, and returns whether it did. `arguments` are
    /// the arguments of this process. The stage files are removed at the end.
    pub fn run(&self, plan: &Plan, arguments: &[OsString]) -> Result<bool> {
        let Some(directory) = &self.resume else { return Ok(false) };
        resume_job(directory, plan, arguments).map_err(shard::mark_retryable).map(|()| true)
    }
}

fn resume_job(directory: &Path, plan: &Plan, arguments: &[OsString]) -> Result<()> {
    let console = Console::new(plan.resources.verbosity);
    let command = utf8_words(arguments.get(1..).unwrap_or_default())?;
    let work =
        PlannedJob::open_or_plan(directory, plan.clone(), command, Division::default(), &console)?;
    let _lock = work.lock_job()?;
    work.run_missing_stages(&console)?;
    PlannedJob::remove_job(directory)
}

impl StageResources {
    fn override_resources(&self, resources: &mut Resources) {
        if let Some(threads) = self.threads {
            resources.threads = threads.into();
        }
        if let Some(memory) = self.memory {
            resources.memory = memory;
        }
        if self.quiet {
            resources.verbosity = Verbosity::Quiet;
        }
    }
}

/// Parses a command line without the program name, and returns its plan. `cli::plan_command` is passed
/// to the subcommands because they cannot call the parser themselves.
pub type MakePlan = fn(&[String]) -> Result<Plan>;

impl Shard {
    /// Runs the subcommand. `make` returns the plan of the command that the job runs in stages.
    pub fn run(&self, make: MakePlan) -> Result<()> {
        self.run_subcommand(make).map_err(shard::mark_retryable)
    }

    fn run_subcommand(&self, make: MakePlan) -> Result<()> {
        match self {
            Shard::Plan(it) => it.plan_job(make),
            Shard::Scan(it) => it.run(make, StageKind::Scan),
            Shard::Map(it) => it.run(make, StageKind::Map),
            Shard::Cut(it) => it.run(make, StageKind::Cut.only()),
            Shard::Judge(it) => it.run(make, StageKind::Judge.only()),
            Shard::Compare(it) => it.run(make, StageKind::Compare),
            Shard::Sites(it) => it.run(make, StageKind::Sites.only()),
            Shard::Count(it) => it.run(make, StageKind::Count),
            Shard::Table(it) => it.run(make, StageKind::Table.only()),
            Shard::Write(it) => it.run(make, StageKind::Write),
            Shard::Join(it) => it.run(make, StageKind::Join.only()),
            Shard::Run(it) => {
                let (work, console) = it.open_job(make)?;
                work.run_missing_stages(&console)
            }
            Shard::Status(it) => it.print_status(make),
            Shard::Graph(it) => it.print_workflow(make),
            Shard::Clean(it) => PlannedJob::remove_job(&it.work),
        }
    }
}

impl PlanArgs {
    fn plan_job(&self, make: MakePlan) -> Result<()> {
        let command = utf8_words(&self.command)?;
        if command.iter().any(|word| word == "--resume" || word.starts_with("--resume=")) {
            return Err(Error::usage(
                "--resume cannot be used with shard plan, because it runs all stages itself",
            )
            .hint("omit --resume, or run the command without shard plan"));
        }
        let plan = make(&command)?;
        let console = Console::new(plan.resources.verbosity);
        let division =
            Division { slices: self.shards.map(usize::from), ranges: self.ranges.map(usize::from) };
        let work = PlannedJob::open_or_plan(&self.work.work, plan, command, division, &console)?;
        let job = work.job();
        console.write_line(&format!(
            "readmill: slices: {}, ranges: {}; next: readmill shard run --work {}",
            job.slices.len(),
            job.ranges,
            self.work.work.display()
        ));
        Ok(())
    }
}

impl StageArgs {
    /// Opens the job, and changes to the directory in which it was planned, because the command may
    /// contain relative paths.
    fn open_job(&self, make: MakePlan) -> Result<(PlannedJob, Console)> {
        self.resources.end_with.map_or(Ok(()), end_with_process)?;
        let [directory, temp_dirs @ ..] =
            &absolute_paths(&self.work.work, &self.resources.temp_dir)?[..]
        else {
            return Err(Error::bug("the path of the job directory is empty"));
        };
        let resources = |resources: &mut Resources| {
            self.resources.override_resources(resources);
            if !temp_dirs.is_empty() {
                resources.temp_dirs = temp_dirs.to_vec();
            }
        };
        let work = self.work.open_job(directory, make, resources)?;
        let console = Console::new(work.verbosity());
        Ok((work, console))
    }

    fn run(&self, make: MakePlan, stage: JobStage) -> Result<()> {
        let (work, console) = self.open_job(make)?;
        run_stage(&work, stage, &console)
    }
}

impl WorkFlag {
    /// Opens the job in `directory`, which is an absolute path because the current directory
    /// changes. `resources` replaces the resources of the planned command.
    fn open_job(
        &self,
        directory: &Path,
        make: MakePlan,
        resources: impl FnOnce(&mut Resources),
    ) -> Result<PlannedJob> {
        let Some(job) = JobPlan::read(directory)? else {
            return Err(Error::usage(format!("{} does not contain a job", self.work.display()))
                .hint("plan one first: readmill shard plan --work DIR COMMAND …"));
        };
        std::env::set_current_dir(&job.directory).map_err(|e| {
            Error::io(
                format!(
                    "cannot change to {}, the directory in which the job was planned",
                    job.directory.display()
                ),
                &e,
            )
            .hint("the directory must exist on all machines")
        })?;
        let plan = make(&job.command)?;
        PlannedJob::open(directory, job, plan, resources)
    }
}

impl NumberedArgs {
    fn run(&self, make: MakePlan, kind: StageKind) -> Result<()> {
        let (work, console) = self.stage.open_job(make)?;
        let [first, last] = self.numbers;
        let all = work.stages();
        for number in first..=last {
            let stage = kind.at(number - 1);
            if !all.contains(&stage) {
                let stage_count = all.iter().filter(|other| other.kind == kind).count();
                return Err(Error::usage(format!("no stage {}", stage.title())).hint(format!(
                    "this job has {stage_count} stages of this kind; to list them, run readmill shard status --work {}",
                    self.stage.work.work.display()
                )));
            }
            run_stage(&work, stage, &console)?;
        }
        Ok(())
    }
}

fn run_stage(work: &PlannedJob, stage: JobStage, console: &Console) -> Result<()> {
    if !work.stages().contains(&stage) {
        return Err(Error::usage(format!("this job has no stage {}", stage.name()))
            .hint("to list its stages, run readmill shard status --work DIR"));
    }
    work.run_stage(stage, console).map(|_: StageOutcome| ())
}

impl StatusArgs {
    fn print_status(&self, make: MakePlan) -> Result<()> {
        let directory = absolute_paths(&self.work.work, &[])?;
        let work = self.work.open_job(&directory[0], make, |_| {})?;
        let stages = work.stages();
        let rows: Vec<(JobStage, StageState)> = stages
            .into_iter()
            .map(|stage| Ok((stage, work.stage_state(stage)?)))
            .collect::<Result<_>>()?;
        if self.format == StatusForm::Json {
            let row = |(stage, state): &(JobStage, StageState)| {
                serde_json::json!({
                    "name": stage.title(),
                    "stage": stage.name(),
                    "number": stage.number(),
                    "state": state.name(),
                    "finished": *state == StageState::Finished,
                    "file": work.stage_path(*stage).to_string_lossy(),
                })
            };
            return print_line(&serde_json::Value::from_iter(rows.iter().map(row)).to_string());
        }
        let row =
            |(stage, state): &(JobStage, StageState)| format!("{}\t{}", stage.title(), state.name());
        print_line(&Vec::from_iter(rows.iter().map(row)).join("\n"))
    }
}

impl GraphArgs {
    fn print_workflow(&self, make: MakePlan) -> Result<()> {
        let directory = absolute_paths(&self.work.work, &[])?;
        print_line(
            self.work.open_job(&directory[0], make, |_| {})?.render_workflow(self.format)?.trim_end(),
        )
    }
}

fn print_line(text: &str) -> Result<()> {
    readmill_process::streams::write_stdout(&format!("{text}\n"))
}

/// Returns absolute paths: first the directory of the job, then the directories for temporary
/// files.
fn absolute_paths(work: &Path, temp_dirs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let all = [work].into_iter().chain(temp_dirs.iter().map(PathBuf::as_path));
    all.map(|path| {
        std::path::absolute(path)
            .map_err(|e| Error::io(format!("{} has no absolute path", path.display()), &e))
    })
    .collect()
}

/// Returns the arguments as text, because the job is stored as JSON. An argument that is not UTF-8
/// is an error.
fn utf8_words(arguments: &[OsString]) -> Result<Vec<String>> {
    let word = |word: &OsString| {
        word.to_str().map(str::to_string).ok_or_else(|| {
            Error::usage(format!("{} is not UTF-8", word.to_string_lossy()))
                .hint("stages need UTF-8 file names; rename the file, or create a link to it")
        })
    };
    arguments.iter().map(word).collect()
}

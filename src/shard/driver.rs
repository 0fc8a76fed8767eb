//! Plans a job in stages (`readmill shard plan`), and runs all unfinished stages (`readmill shard
//! run`).

use std::cell::RefCell;
use std::path::Path;

use readmill_process::console::Console;
use readmill_record::{Error, ErrorKind, Result};

use super::job::{InputIdentity, JobPlan};
use super::names::{PLAN, create_synced_directory, sync_parent_directory};
use super::stage::{JobStage, StageKind, StageState};
use super::work::{PlannedJob, is_stage_name};
use super::{refusals, stages};
use crate::plan::Plan;

/// How a job is divided, as given on the command line. `None` lets the program choose: slices whose
/// records fit into memory, and the same number of ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Division {
    /// Approximate number of slices of the input (`--shards`).
    pub slices: Option<usize>,
    pub ranges: Option<usize>,
}

/// Maximum number of times that `run` starts over after it has removed a damaged file. After that,
/// it returns the error.
const MAX_RESTARTS: usize = 8;

impl PlannedJob {
    /// Plans a job in `directory`, or returns the existing job if it was planned from the same
    /// command. `plan` is the parsed form of `command`, which is stored so that other machines can
    /// parse it again.
    ///
    /// # Errors
    /// Fails if the plan cannot run in stages, if the directory contains a different job, or if an
    /// input has changed since the job was planned.
    pub fn open_or_plan(
        directory: &Path,
        plan: Plan,
        command: Vec<String>,
        division: Division,
        console: &Console,
    ) -> Result<Self> {
        refusals::refuse_unsupported(&plan)?;
        PlannedJob::refuse_stage_names(directory, &plan)?;
        let mut job = JobPlan::new(&plan, command)?;
        if let Some(planned) = JobPlan::read(directory)? {
            if planned.request == job.request && planned.command == job.command {
                job.inputs = planned.inputs.clone();
                job.inputs.iter().try_for_each(InputIdentity::refuse_if_changed)?;
            }
            if !planned.does_the_same_as(&job) {
                let directory = directory.display();
                let what = match planned.request == job.request {
                    true => {
                        format!(
                            "the input of the job in {directory} has changed since the job was planned"
                        )
                    }
                    false => {
                        format!(
                            "{directory} contains another job: readmill {}",
                            planned.command.join(" ")
                        )
                    }
                };
                return Err(Error::usage(what).hint(format!(
                    "use another directory, or clear this one with readmill shard clean --work {directory}"
                )));
            }
            if division.slices.is_some() || division.ranges.is_some() {
                console.write_note(
                    "the job is already planned; continuing with the slices and ranges of that plan",
                );
            }
            // The run that planned the job may have been killed before it synced these
            // names.
            [directory, &directory.join(PLAN)].into_iter().for_each(sync_parent_directory);
            let (hash, sources) = (planned.hash(), RefCell::default());
            return Ok(PlannedJob { directory: directory.into(), hash, job: planned, plan, sources });
        }
        stages::divide_job(&plan, &mut job, division.slices, console)?;
        job.ranges = division.ranges.unwrap_or(job.slices.len());
        // Temporary files of killed runs are ignored: their stage removes them when it starts.
        if let Some(other) = PlannedJob::list_own_files(directory).find(|name| is_stage_name(name)) {
            let what = format!(
                "{} already exists, but a stage needs to write it",
                directory.join(other).display()
            );
            return Err(Error::usage(what).hint("use an empty directory for the stages"));
        }
        create_synced_directory(directory).map_err(|e| {
            Error::io(format!("directory {} cannot be created", directory.display()), &e)
        })?;
        job.write(directory)?;
        let (hash, sources) = (job.hash(), RefCell::default());
        Ok(PlannedJob { directory: directory.into(), hash, job, plan, sources })
    }

    /// Runs all unfinished stages in this process, one after the other. If a stage finds a damaged
    /// file, removes the file and reruns the stage that writes it, at most `MAX_RESTARTS` times.
    pub fn run_missing_stages(&self, console: &Console) -> Result<()> {
        if self.check_finished(StageKind::Join.only())? {
            console.write_line("readmill: all stages were already finished");
            return Ok(());
        }
        let stages = self.stages();
        let is_finished =
            |stage: &JobStage| self.stage_state(*stage).is_ok_and(|it| it == StageState::Finished);
        let finished = stages.iter().filter(|stage| is_finished(stage)).count();
        if finished > 0 {
            console.write_line(&format!(
                "readmill: resumed, {finished} of {} stages already finished",
                stages.len()
            ));
        }
        let mut attempts = 0;
        'again: loop {
            for &stage in &stages {
                self.sources.borrow_mut().clear();
                let found = if is_finished(&stage) { self.check_finished(stage) } else { Ok(false) };
                let run =
                    |found| if found { Ok(()) } else { self.run_stage(stage, console).map(|_| ()) };
                match found.and_then(run) {
                    Ok(()) => {}
                    // A damaged file was found and removed, so its stage must run again.
                    Err(error) if error.kind == ErrorKind::Temporary && attempts < MAX_RESTARTS => {
                        console.write_warning(&format!("{error}"));
                        attempts += 1;
                        continue 'again;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(());
        }
    }
}

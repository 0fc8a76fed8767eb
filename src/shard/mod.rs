//! A job in stages: separate runs of the program that exchange files, on one machine or many. The output is, byte for
//! byte, that of one run without stages.
//!
//! ```text
//! plan ─► map k ─► cut ─► judge ─► [compare j ─► sites] ─► [count j ─► table] ─► write j ─► join
//! ```
//!
//! | stage | what it does | file |
//! |---|---|---|
//! | plan | divides the inputs into slices, and decides what the first reads decide | [`job`], `slice` |
//! | map | sorts the reads of a slice, and their template ends | `stages` |
//! | cut | numbers records over all slices, and divides the output order into ranges | `stages` |
//! | judge | resolves duplicates, where they are marked | `stages` |
//! | compare, sites | find sites at which the sample differs, where none are known | `recalibration` |
//! | count | counts bases of a range of all slices, where qualities are recalibrated | `recalibration` |
//! | table | adds up the counts | `recalibration` |
//! | write | merges a range of all slices into a part of the output | `stages` |
//! | join | puts the parts together, with index and metrics | `stages` |
//!
//! A finished stage is one file ([`stage_file`]), complete under its name or not there at all, so a stage can be run again
//! at any time: it finds its file, or makes the same one. `refusals` lists what cannot be done in stages.

pub mod job;
mod recalibration;
mod refusals;
mod slice;
mod stage_file;
mod stages;

use std::path::{Path, PathBuf};

use readmill_record::{Error, ErrorKind, Result};

use crate::plan::{Plan, Resources};
use crate::process::console::Console;
use job::{Job, JobHash};

/// A stage of a job, but for its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Sorts the slice of this number, from 0.
    Map(usize),
    /// Divides the output order.
    Cut,
    /// Resolves duplicates.
    Judge,
    /// Compares the reads of the range of this number, from 0, with the reference, where no sites are known.
    Compare(usize),
    /// Finds the sites at which the sample differs.
    Sites,
    /// Counts the bases of the range of this number, from 0, for recalibration.
    Count(usize),
    /// Adds up all counts.
    Table,
    /// Writes the range of this number, from 0.
    Write(usize),
    /// Puts the output together.
    Join,
}

impl Stage {
    /// Its name, as it is given on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Map(_) => "map",
            Stage::Cut => "cut",
            Stage::Judge => "judge",
            Stage::Compare(_) => "compare",
            Stage::Sites => "sites",
            Stage::Count(_) => "count",
            Stage::Table => "table",
            Stage::Write(_) => "write",
            Stage::Join => "join",
        }
    }

    /// Its number among those of its name, from 1; `None` if there is only one.
    pub fn number(self) -> Option<usize> {
        match self {
            Stage::Map(n) | Stage::Compare(n) | Stage::Count(n) | Stage::Write(n) => Some(n + 1),
            Stage::Cut | Stage::Judge | Stage::Sites | Stage::Table | Stage::Join => None,
        }
    }

    /// The name of its file.
    fn file_name(self) -> String {
        match self.number() {
            Some(number) => format!("{}-{number:04}", self.name()),
            None => self.name().to_string(),
        }
    }

    /// As it is named in messages.
    pub fn title(self) -> String {
        self.number()
            .map_or_else(|| self.name().to_string(), |number| format!("{} {number}", self.name()))
    }
}

/// What became of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It had been finished before.
    Found,
    /// It was carried out.
    Done,
}

/// A planned job.
pub struct Work {
    /// The directory of its files.
    directory: PathBuf,
    job: Job,
    hash: JobHash,
    plan: Plan,
}

/// How a job is divided; `None` leaves it to the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Division {
    /// Into how many slices the inputs are divided, about.
    pub slices: Option<usize>,
    /// Into how many ranges the output is divided.
    pub ranges: Option<usize>,
}

/// Bytes of input for each slice, where the number of slices is left to the program.
const SLICE: u64 = 1 << 30;

/// The most slices and ranges: each slice takes memory while ranges are written.
pub const MOST: usize = 4096;

/// How many times `run` makes damaged files anew.
const ATTEMPTS: usize = 3;

impl Work {
    /// Plans `plan`, which `command` stands for, in `directory`. If the same was planned there before, that job goes on.
    ///
    /// # Errors
    /// It cannot be done in stages, or another job was planned in the directory.
    pub fn plan(
        directory: &Path,
        plan: Plan,
        command: Vec<String>,
        division: Division,
        console: &Console,
    ) -> Result<Self> {
        refusals::check(&plan)?;
        let mut job = Job::new(&plan, command)?;
        if let Some(planned) = Job::read(directory)? {
            if !planned.does_the_same_as(&job) {
                let what = format!("{} has another job, or its input has changed", directory.display());
                return Err(Error::usage(what)
                    .hint("use another directory, or empty this one: readmill shard clean"));
            }
            return Ok(Work { directory: directory.into(), hash: planned.hash(), job: planned, plan });
        }
        std::fs::create_dir_all(directory)
            .map_err(|e| Error::io(format!("{} cannot be made", directory.display()), &e))?;
        let bytes: u64 = job.inputs.iter().map(|input| input.size).sum();
        let usual = (bytes.div_ceil(SLICE) as usize).clamp(1, MOST);
        let slices = division.slices.unwrap_or(usual);
        stages::plan(&plan, &mut job, slices, console)?;
        job.ranges = division.ranges.unwrap_or(job.slices.len());
        job.write(directory)?;
        Ok(Work { directory: directory.into(), hash: job.hash(), job, plan })
    }

    /// The job of a directory, whose plan `plan` makes of its command. Its resources are replaced by `resources`.
    ///
    /// # Errors
    /// There is none; or its command means something else now.
    pub fn open(
        directory: &Path,
        job: Job,
        plan: Plan,
        resources: impl FnOnce(&mut Resources),
    ) -> Result<Self> {
        let (mut plan, hash) = (plan, job.hash());
        if !Job::new(&plan, Vec::new())?.does_the_same_as(&job) {
            job.inputs.iter().try_for_each(job::InputIdentity::check)?;
            return Err(Error::input("the command of this job means something else now")
                .hint("run its stages in the environment in which it was planned, or plan it anew"));
        }
        resources(&mut plan.resources);
        Ok(Work { directory: directory.into(), job, hash, plan })
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// All stages, in an order in which they can be run.
    pub fn stages(&self) -> Vec<Stage> {
        let ranges = |stage: fn(usize) -> Stage| (0..self.job.ranges).map(stage);
        let mut stages: Vec<Stage> = (0..self.job.slices.len()).map(Stage::Map).collect();
        stages.push(Stage::Cut);
        stages.extend(self.marks_duplicates().then_some(Stage::Judge));
        if self.finds_sites() {
            stages.extend(ranges(Stage::Compare).chain([Stage::Sites]));
        }
        if self.recalibrates() {
            stages.extend(ranges(Stage::Count).chain([Stage::Table]));
        }
        stages.extend(ranges(Stage::Write).chain([Stage::Join]));
        stages
    }

    /// The stages whose files a stage reads.
    pub fn needs(&self, stage: Stage) -> Vec<Stage> {
        let needs = |other: &Stage| match (stage, other) {
            (Stage::Map(_), _) => false,
            (Stage::Cut, other) => matches!(other, Stage::Map(_)),
            (Stage::Judge, other) => matches!(other, Stage::Map(_) | Stage::Cut),
            (Stage::Compare(_), other) => matches!(other, Stage::Map(_) | Stage::Cut | Stage::Judge),
            (Stage::Sites, other) => matches!(other, Stage::Compare(_)),
            (Stage::Count(_), other) => {
                matches!(other, Stage::Map(_) | Stage::Cut | Stage::Judge | Stage::Sites)
            }
            (Stage::Table, other) => matches!(other, Stage::Count(_)),
            (Stage::Write(_), other) => {
                matches!(other, Stage::Map(_) | Stage::Cut | Stage::Judge | Stage::Sites | Stage::Table)
            }
            (Stage::Join, other) => {
                matches!(other, Stage::Cut | Stage::Judge | Stage::Table | Stage::Write(_))
            }
        };
        self.stages().into_iter().filter(needs).collect()
    }

    fn marks_duplicates(&self) -> bool {
        self.plan.steps.duplicates.is_some()
    }

    /// Whether sites are found from the reads.
    fn finds_sites(&self) -> bool {
        let recalibration = self.plan.steps.recalibration.as_ref();
        recalibration.and_then(|it| it.table_request()).is_some_and(|request| request.bootstrap)
    }

    /// Whether qualities are recalibrated by counts of these reads.
    fn recalibrates(&self) -> bool {
        let recalibration = self.plan.steps.recalibration.as_ref();
        recalibration.is_some_and(|it| it.table_request().is_some() && it.apply.is_some())
    }

    /// The file of a stage.
    pub fn path(&self, stage: Stage) -> PathBuf {
        self.directory.join(stage.file_name())
    }

    /// Whether a stage is finished. Its file is not examined.
    pub fn is_finished(&self, stage: Stage) -> bool {
        self.path(stage).exists()
    }

    /// Carries out all stages that are missing, one after the other.
    pub fn run(&self, console: &Console) -> Result<()> {
        let stages = self.stages();
        let mut attempts = 0;
        'again: loop {
            for &stage in &stages {
                match self.run_stage(stage, console) {
                    Ok(_) => {}
                    // A file was damaged, and has been removed.
                    Err(error) if error.kind == ErrorKind::Temporary && attempts < ATTEMPTS => {
                        console.warn(&format!("{error}"));
                        attempts += 1;
                        continue 'again;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(());
        }
    }

    /// Removes the files of the job, and the directory if nothing else is in it.
    pub fn clean(directory: &Path) -> Result<()> {
        let failed =
            |e: std::io::Error| Error::io(format!("{} cannot be emptied", directory.display()), &e);
        let is_ours = |name: &str| {
            let name = name.strip_prefix('.').unwrap_or(name);
            ["map-", "compare-", "count-", "write-"].iter().any(|start| name.starts_with(start))
                || ["cut", "judge", "sites", "table", "join", job::FILE_NAME].iter().any(|own| {
                    name == *own || name.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'))
                })
        };
        if Job::read(directory)?.is_none() {
            return Err(Error::usage(format!("{} has no job in stages", directory.display()))
                .hint("name the directory that was given to shard plan by --work"));
        }
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().is_some_and(is_ours) {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        let _ = std::fs::remove_dir(directory); // other files may be there
        Ok(())
    }
}

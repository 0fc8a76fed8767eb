//! A planned job: its stages, and their files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Ledger, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::job::{self, Job, JobHash};
use super::stage::Stage;
use super::stage_file::{StageFile, StageWriter};
use crate::plan::{Plan, Resources};
use crate::run::stages::FirstDecisions;

/// A planned job.
pub struct Work {
    /// The directory of its files.
    pub(super) directory: PathBuf,
    pub(super) job: Job,
    pub(super) hash: JobHash,
    pub(super) plan: Plan,
}

/// The output, as it was when it was joined.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinFile {
    /// Bytes of each file, and when it was changed last, in nanoseconds from 1970.
    outputs: Vec<(u64, i64)>,
}

impl Work {
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

    pub(super) fn marks_duplicates(&self) -> bool {
        self.plan.steps.duplicates.is_some()
    }

    /// Whether sites are found from the reads.
    pub(super) fn finds_sites(&self) -> bool {
        let recalibration = self.plan.steps.recalibration.as_ref();
        recalibration.and_then(|it| it.table_request()).is_some_and(|request| request.bootstrap)
    }

    /// Whether qualities are recalibrated by counts of these reads.
    pub(super) fn recalibrates(&self) -> bool {
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

    /// Whether a stage is finished, and its file is whole.
    pub(super) fn find(&self, stage: Stage) -> Result<bool> {
        let ledger = Ledger::unlimited();
        Ok(match stage {
            Stage::Join => {
                let found = self.open_file::<JoinFile>(stage, &ledger)?;
                found.is_some_and(|found| self.outputs().is_some_and(|now| now == found.footer))
            }
            _ => StageFile::<()>::exists(&self.path(stage), self.hash)?,
        })
    }

    fn open_file<T: DeserializeOwned>(
        &self,
        stage: Stage,
        ledger: &Ledger,
    ) -> Result<Option<StageFile<T>>> {
        StageFile::open(&self.path(stage), self.hash, ledger)
    }

    /// Opens the file of a stage that must be finished.
    pub(super) fn need<T: DeserializeOwned>(
        &self,
        stage: Stage,
        ledger: &Ledger,
    ) -> Result<StageFile<T>> {
        let missing = || {
            let what =
                format!("{} is missing: {} is not finished", self.path(stage).display(), stage.title());
            Error::input(what).hint("run that stage first, or all that are missing: readmill shard run")
        };
        self.open_file(stage, ledger)?.ok_or_else(missing)
    }

    pub(super) fn create(&self, stage: Stage) -> Result<StageWriter> {
        StageWriter::create(&self.path(stage), self.hash)
    }

    pub(super) fn decided(&self) -> FirstDecisions {
        let duplicates = self.job.duplicates.map(|it| (it.mate_pairing, it.optical_distance));
        FirstDecisions { anchor: self.job.anchor.clone(), duplicates }
    }

    /// The output files as they are; `None` if one is missing.
    pub(super) fn outputs(&self) -> Option<JoinFile> {
        let state = |path: &Path| {
            std::fs::metadata(path)
                .ok()
                .map(|meta| (meta.len(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec()))
        };
        let files = self.plan.destination.main()?.files();
        Some(JoinFile { outputs: files.iter().map(|path| state(path)).collect::<Option<_>>()? })
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

//! A planned job on disk: its stages, which of them are finished, and their files.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use readmill_process::exclusive::FileId;
use readmill_process::older_indexes::index_names;
use readmill_record::{Error, Ledger, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::job::{self, JobHash, JobPlan};
use super::names::{PLAN, final_name_of_temporary, sync_parent_directory};
use super::stage::{
    JobStage, JobsWithStage, STAGES, StageCount, StageKind, StageState, is_stage_file_name,
};
use super::stage_file::{self, StageFile, StageFileState, StageSource, StageWriter, UndecodedFile};
use crate::outputs::report_files;
use crate::plan::{Plan, Resources, Verbosity};
use crate::run::stages::FirstDecisions;

/// A planned job in its directory. `plan` creates it, and each stage opens it from `job.json`.
pub struct PlannedJob {
    pub(super) directory: PathBuf,
    pub(super) job: JobPlan,
    pub(super) hash: JobHash,
    pub(super) plan: Plan,
    /// The stage files that the current stage has opened. They are stored in the stage's file as
    /// its sources.
    pub(super) sources: RefCell<Vec<(StageSource, FileId)>>,
}

/// The footer of the `join` stage: the state of all output files after they were written. If a file
/// has changed since, the stage is stale and runs again.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinFooter {
    /// Size and modification time (seconds since 1970, nanoseconds) of each file; `None` for a file
    /// that does not exist.
    outputs: Vec<Option<(u64, [i64; 2])>>,
}

impl PlannedJob {
    /// Opens the job of a directory. `plan` was made from the command in `job`. `resources`
    /// replaces the plan's threads and memory by those of this stage.
    ///
    /// # Errors
    /// Fails if the meaning of the command has changed since it was planned, for example because a
    /// file on the command line has changed.
    pub fn open(
        directory: &Path,
        job: JobPlan,
        plan: Plan,
        resources: impl FnOnce(&mut Resources),
    ) -> Result<Self> {
        let (mut plan, hash) = (plan, job.hash());
        if !JobPlan::new(&plan, job.command.clone())?.does_the_same_as(&job) {
            job.inputs.iter().try_for_each(job::InputIdentity::refuse_if_changed)?;
            return Err(Error::input(
                "the command of this job now has a different meaning, or a file that it reads has changed",
            )
            .hint("run the stages in the same environment as shard plan, or plan the job again"));
        }
        resources(&mut plan.resources);
        Ok(PlannedJob { directory: directory.into(), job, hash, plan, sources: RefCell::default() })
    }

    pub fn verbosity(&self) -> Verbosity {
        self.plan.resources.verbosity
    }

    pub fn job(&self) -> &JobPlan {
        &self.job
    }

    /// Returns all stages of this job, in an order in which they can be run one after the other.
    pub fn stages(&self) -> Vec<JobStage> {
        let count = |count| match count {
            StageCount::Once => 1,
            StageCount::PerLane => self.lane_count(),
            StageCount::PerSlice => self.job.slices.len(),
            StageCount::PerRange => self.job.ranges,
        };
        let is_part = |jobs| match jobs {
            JobsWithStage::All => true,
            JobsWithStage::Aligning => self.aligns(),
            JobsWithStage::MarkingDuplicates => self.marks_duplicates(),
            JobsWithStage::FindingSites => self.finds_sites(),
            JobsWithStage::Counting => self.counts_for_recalibration(),
        };
        let rows = STAGES.iter().filter(|row| is_part(row.jobs));
        rows.flat_map(|row| (0..count(row.count)).map(|index| row.kind.at(index))).collect()
    }

    pub fn required_stages(&self, stage: JobStage) -> Vec<JobStage> {
        let is_of_other_lane = |other: &JobStage| {
            other.kind == StageKind::Scan && other.index != self.job.slices[stage.index].input
        };
        let needs = |other: &JobStage| {
            stage.kind.row().needs.contains(&other.kind)
                && !(stage.kind == StageKind::Map && is_of_other_lane(other))
        };
        self.stages().into_iter().filter(needs).collect()
    }

    pub(super) fn aligns(&self) -> bool {
        self.plan.aligning.is_some()
    }

    pub(super) fn lane_count(&self) -> usize {
        self.plan.aligning.as_ref().map_or(0, |aligning| aligning.lanes.len())
    }

    pub(super) fn marks_duplicates(&self) -> bool {
        self.plan.steps.duplicates.is_some()
    }

    /// Returns whether the sites that recalibration excludes are found from the reads themselves.
    pub(super) fn finds_sites(&self) -> bool {
        let recalibration = self.plan.steps.recalibration.as_ref();
        recalibration.and_then(|it| it.table_request()).is_some_and(|request| request.bootstrap)
    }

    /// Returns whether qualities are recalibrated by a table that is counted from the same reads.
    pub(super) fn counts_for_recalibration(&self) -> bool {
        let recalibration = self.plan.steps.recalibration.as_ref();
        recalibration.is_some_and(|it| it.table_request().is_some() && it.apply.is_some())
    }

    pub fn stage_path(&self, stage: JobStage) -> PathBuf {
        self.directory.join(stage.stage_file_name())
    }

    /// Returns the state of a stage's file, for the status of the job and for workflow graphs.
    /// Unlike `check_finished`, removes nothing.
    pub fn stage_state(&self, stage: JobStage) -> Result<StageState> {
        match StageFileState::examine(&self.stage_path(stage), self.hash, &Ledger::unlimited())? {
            StageFileState::Missing => Ok(StageState::Missing),
            StageFileState::Damaged(_) => Ok(StageState::Damaged),
            StageFileState::Whole(file) => self.state_of(stage, file),
        }
    }

    /// Returns whether a stage is finished. Then its file also survives a power failure, even if
    /// the run that wrote it was killed before it synced the name. Removes a stale file.
    ///
    /// # Errors
    /// Fails if the file is damaged, after removing it.
    pub(super) fn check_finished(&self, stage: JobStage) -> Result<bool> {
        let is_finished = self.discard_unless_current(stage)?;
        if is_finished {
            sync_parent_directory(&self.stage_path(stage));
        }
        Ok(is_finished)
    }

    /// Returns whether a stage is finished. Removes its file if it is stale or damaged.
    fn discard_unless_current(&self, stage: JobStage) -> Result<bool> {
        let Some(found) = self.open_file(stage, &Ledger::unlimited())? else { return Ok(false) };
        self.remove_damaged_sources(&found.sources)?;
        let id = found.id;
        let is_finished = self.state_of(stage, found)? == StageState::Finished;
        if !is_finished {
            let _ = stage_file::remove_stale(&self.stage_path(stage), id); // the stage will write it again
        }
        Ok(is_finished)
    }

    /// Returns the state of a stage whose file is complete: finished, or stale because one of its
    /// sources was replaced. For `join`, the output files must also be unchanged.
    fn state_of(&self, stage: JobStage, file: UndecodedFile) -> Result<StageState> {
        let is_current = self.is_current(&file.sources)?
            && (stage.kind != StageKind::Join
                || file.decode::<JoinFooter>()?.footer == self.read_output_state());
        Ok(if is_current { StageState::Finished } else { StageState::Stale })
    }

    pub(super) fn open_file(&self, stage: JobStage, ledger: &Ledger) -> Result<Option<UndecodedFile>> {
        let path = self.stage_path(stage);
        StageFileState::examine(&path, self.hash, ledger)?.into_whole_or_remove(&path)
    }

    /// Returns whether the existing files have the identities in `sources`. Ignores missing and
    /// damaged files, because they will be written again with the same content.
    fn is_current(&self, sources: &[StageSource]) -> Result<bool> {
        for source in sources {
            let path = self.directory.join(&source.name);
            if stage_file::read_identity(&path).is_some_and(|now| now != source.identity)
                && matches!(
                    StageFileState::examine(&path, self.hash, &Ledger::unlimited())?,
                    StageFileState::Whole(_)
                )
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes damaged files among `sources`, and returns an error if there was one. Examines only
    /// files whose identity differs from the recorded one.
    fn remove_damaged_sources(&self, sources: &[StageSource]) -> Result<()> {
        for source in sources {
            let path = self.directory.join(&source.name);
            if stage_file::read_identity(&path).is_some_and(|now| now != source.identity) {
                StageFileState::examine(&path, self.hash, &Ledger::unlimited())?
                    .into_whole_or_remove(&path)?;
            }
        }
        Ok(())
    }

    /// Opens the file of an earlier stage, and records it as a source of the current stage.
    ///
    /// # Errors
    /// Fails with a temporary error if the earlier stage is not finished, or if its file is damaged
    /// or stale.
    pub(super) fn open_required<T: DeserializeOwned>(
        &self,
        stage: JobStage,
        ledger: &Ledger,
    ) -> Result<StageFile<T>> {
        let path = self.stage_path(stage);
        // The file may have been removed because it was damaged. On a shared file system, a file
        // written by another machine may also become visible late.
        let missing = || {
            let what =
                format!("{} is missing, because {} is not finished", path.display(), stage.title());
            Error::temporary(what)
                .hint("to run all missing stages, use readmill shard run, or start the workflow again")
        };
        let file = self.open_file(stage, ledger)?.ok_or_else(missing)?;
        self.remove_damaged_sources(&file.sources)?;
        if !self.is_current(&file.sources)? {
            return Err(stage_file::remove_stale(&path, file.id));
        }
        let file = file.decode()?;
        let source = StageSource { name: stage.stage_file_name(), identity: file.identity };
        self.sources.borrow_mut().push((source, file.id));
        Ok(file)
    }

    /// Completes the file of the current stage. All files opened by [`PlannedJob::open_required`]
    /// become its sources.
    pub(super) fn finish_stage(&self, file: StageWriter, footer: &impl Serialize) -> Result<()> {
        let sources = Vec::from_iter(self.sources.borrow().iter().map(|(source, _)| source.clone()));
        file.finish(&sources, footer)
    }

    /// Locks the job until the returned file is closed, so that only one process works on it. Has
    /// no effect on file systems without locks.
    ///
    /// # Errors
    /// Fails with a temporary error if another process holds the lock.
    pub fn lock_job(&self) -> Result<File> {
        let path = self.directory.join(PLAN);
        let failed = |e| Error::io(format!("{} cannot be read", path.display()), &e);
        // Over NFS, only a file that is open for writing can be locked.
        let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
        let is_locked = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if is_locked || !FileId::of(&file).map_err(failed)?.is_at(&path) {
            let what =
                format!("another readmill process is running the job in {}", self.directory.display());
            return Err(
                Error::temporary(what).hint("wait until that process ends, then run this command again")
            );
        }
        Ok(file)
    }

    /// If `path` is a file that the current stage has read, removes it as damaged, and returns the
    /// error for it.
    pub(super) fn remove_damaged_source(&self, path: &Path) -> Option<Error> {
        let name = path.file_name()?;
        let sources = self.sources.borrow();
        let (_, id) = sources.iter().find(|(source, _)| name == source.name.as_str())?;
        Some(stage_file::remove_damaged(path, *id))
    }

    pub(super) fn create_stage_file(&self, stage: JobStage) -> Result<StageWriter> {
        StageWriter::create(&self.stage_path(stage), self.hash)
    }

    pub(super) fn first_decisions(&self) -> FirstDecisions {
        let duplicates = self.job.duplicates.map(|it| (it.mate_pairing, it.optical_distance));
        FirstDecisions { anchor: self.job.anchor.clone(), duplicates, slices: self.job.slices.len() }
    }

    pub(super) fn read_output_state(&self) -> JoinFooter {
        let main = self.plan.destination.main_output();
        let names = main.into_iter().flat_map(|output| {
            output.data_files().into_iter().chain(index_names(&output.path)).collect::<Vec<_>>()
        });
        let reports =
            report_files::planned_files(&self.plan).into_iter().map(|(_, file)| file.path.to_path_buf());
        let state = |path: PathBuf| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.len(), [meta.mtime(), meta.mtime_nsec()]))
        };
        JoinFooter { outputs: names.chain(reports).map(state).collect() }
    }

    /// Returns a usage error if an input or output has the name of a stage file in the job's
    /// directory.
    pub(super) fn refuse_stage_names(directory: &Path, plan: &Plan) -> Result<()> {
        let directory = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        let is_there = |path: &Path| {
            let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            std::fs::canonicalize(parent.unwrap_or(Path::new(".")))
                .is_ok_and(|parent| parent == directory)
        };
        let outputs = plan.destination.main_output().map_or_else(Vec::new, |output| output.data_files());
        let reports =
            report_files::planned_files(plan).into_iter().map(|(_, file)| file.path.to_path_buf());
        let mut all = plan.inputs.iter().cloned().chain(outputs).chain(reports);
        match all.find(|path| is_there(path) && path.file_name().is_some_and(is_own_name)) {
            None => Ok(()),
            Some(path) => Err(Error::usage(format!("{} has the name of a stage file", path.display()))
                .hint("use another directory for the stages, or a different file name")),
        }
    }

    pub(super) fn list_own_files(directory: &Path) -> impl Iterator<Item = OsString> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).filter(|name| is_own_name(name))
    }

    /// Removes the files of the job, and then the directory if it is empty (`readmill shard
    /// clean`).
    pub fn remove_job(directory: &Path) -> Result<()> {
        let failed =
            |e: std::io::Error| Error::io(format!("{} cannot be emptied", directory.display()), &e);
        if !directory.join(PLAN).exists() {
            return Err(Error::usage(format!("{} does not contain a job", directory.display()))
                .hint("use the directory that was given to shard plan --work"));
        }
        let mut names: Vec<OsString> = PlannedJob::list_own_files(directory).collect();
        // The process may be killed here. `join`, which marks the job as finished, is removed near
        // the end, and the plan last: without the plan, files that reappear after a power failure
        // would not belong to any job.
        names.sort_by_key(|name| [name == PLAN, name == "join"]);
        for name in names {
            if name == PLAN {
                sync_parent_directory(&directory.join(PLAN));
            }
            match std::fs::remove_file(directory.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {} // another process may remove the same file
            }
        }
        let _ = std::fs::remove_dir(directory); // fails if other files are there
        Ok(())
    }
}

fn is_own_name(name: &OsStr) -> bool {
    is_stage_name(name)
        || name
            .to_str()
            .and_then(final_name_of_temporary)
            .is_some_and(|target| is_stage_name(target.as_ref()))
}

/// Returns whether `name` is the name of the plan or of a complete stage file, such as `cut` or
/// `map-0001`.
pub(super) fn is_stage_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    name == PLAN || is_stage_file_name(name)
}

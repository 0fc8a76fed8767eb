//! The plan of a job in stages: the command, and how its work is divided. It is written once, to
//! `job.json`, and never changes.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use readmill_markdup::MatePairing;
use readmill_process::exclusive;
use readmill_process::signal;
use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::names::{PLAN, find_temporary_files, sync_parent_directory, temporary_name};
use crate::aligning::index_files;
use crate::outputs::report_files;
use crate::plan::Plan;

/// Version of the plan and of the stage files. A program with a different version refuses the job.
const FORMAT_VERSION: u32 = 3;

fn replan_hint(directory: &Path) -> String {
    format!(
        "plan the job again in another directory, or clear this one first with readmill shard clean --work {}",
        directory.display()
    )
}

/// Maximum number of slices, and of ranges. Each slice uses memory while ranges are written.
pub const MAX_PARTS: usize = 4096;

/// A hash of the whole plan. Every stage file begins with it, so that files of other jobs are
/// recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHash(pub [u8; 16]);

/// A planned job, as stored in `job.json`. Each stage is a separate process that reads this plan,
/// parses `command` again, and checks that its meaning has not changed (`request`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlan {
    pub format: u32,
    /// The version of the program, and a hash of its executable. All stages of a job must be run by
    /// the same build.
    pub program: String,
    /// The working directory of the command, to which its paths are relative.
    pub directory: PathBuf,
    /// The command that is run in stages, without the program name.
    pub command: Vec<String>,
    /// A hash of everything that determines the output. Two jobs with the same `request` and
    /// `inputs` write the same bytes.
    pub request: String,
    pub inputs: Vec<InputIdentity>,
    /// The slices of all inputs, in input order. Slice `k` is the input of stage `map k`.
    pub slices: Vec<Slice>,
    pub ranges: usize,
    /// The name of the first read. Sort keys of read names are shortened relative to it, so all
    /// stages must use the same name.
    pub anchor: Vec<u8>,
    /// How duplicates are found. `None` if duplicates are not marked.
    pub duplicates: Option<DuplicateChoice>,
    /// A hash of all other fields, which reveals an edited or damaged plan.
    pub checksum: String,
}

/// The only field of `job.json` that every version of the program can read. It is read first, so
/// that a plan of another build is not reported as damaged.
#[derive(Deserialize)]
struct PlanOrigin {
    program: Option<String>,
}

/// Size and modification time of an input when the job was planned. Stages refuse an input that has
/// changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputIdentity {
    pub path: PathBuf,
    pub size: u64,
    /// Time of the last modification: seconds since 1970, and nanoseconds.
    pub changed: [i64; 2],
}

/// A part of an input file, or of a lane of reads to be aligned. Each slice is the input of one
/// `map` stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    pub input: usize,
    pub part: SlicePart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlicePart {
    /// The whole input, because files of this kind cannot be divided.
    Whole,
    /// The records between two positions, both at the start of a template.
    Between(SliceBounds),
    /// A part of a lane of reads to be aligned. Its bounds are not known when the job is planned:
    /// the `scan` stage finds them at borders between cohorts.
    Scanned {
        /// 0-based index among the slices of the lane.
        number: usize,
        of: usize,
    },
}

impl Slice {
    /// Returns the bounds of the slice, if the plan contains them. `None` for a slice of reads to
    /// be aligned, whose bounds the `scan` stage finds.
    pub fn bounds(&self) -> Option<SliceBounds> {
        match self.part {
            SlicePart::Between(bounds) => Some(bounds),
            SlicePart::Whole | SlicePart::Scanned { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceBounds {
    pub from: VirtualOffset,
    /// The first position after the slice. `None` if the slice ends with the file.
    pub to: Option<VirtualOffset>,
}

/// A position in an input: a BGZF virtual file offset (SAM specification, section 4.1.1). For SAM
/// text and CRAM, a file offset with `within` set to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VirtualOffset {
    pub offset: u64,
    pub within: u32,
}

/// Decisions about duplicate marking that depend on the first reads of the input. `plan` makes them
/// once, so that all stages agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateChoice {
    pub mate_pairing: MatePairing,
    /// Maximum pixel distance of optical duplicates, if it is derived from the first read name.
    pub optical_distance: Option<i32>,
}

impl InputIdentity {
    /// Returns the current identity of a file.
    ///
    /// # Errors
    /// Fails for a pipe or a directory, because stages read an input more than once.
    pub fn read_identity(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(format!("{} cannot be read", path.display()), &e);
        let meta = std::fs::metadata(path).map_err(failed)?;
        if !meta.is_file() {
            return Err(Error::usage(format!("{} is not a regular file", path.display()))
                .hint("stages read the input more than once; give a file, not a pipe"));
        }
        let path = std::path::absolute(path).map_err(failed)?;
        Ok(InputIdentity { path, size: meta.len(), changed: [meta.mtime(), meta.mtime_nsec()] })
    }

    pub fn refuse_if_changed(&self) -> Result<()> {
        let now = InputIdentity::read_identity(&self.path)?;
        if now == *self {
            return Ok(());
        }
        Err(Error::input(format!("{} has changed since the job was planned", self.path.display()))
            .hint("plan the job again in another directory"))
    }
}

impl JobPlan {
    /// Creates the job for `plan`. The caller adds the slices, the ranges and the decisions about
    /// duplicates.
    pub fn new(plan: &Plan, command: Vec<String>) -> Result<Self> {
        let directory = std::env::current_dir()
            .map_err(|e| Error::io("the current directory cannot be read", &e))?;
        let inputs: Vec<InputIdentity> =
            plan.inputs.iter().map(|path| InputIdentity::read_identity(path)).collect::<Result<_>>()?;
        let mut paths = inputs.iter().map(|input| input.path.clone()).chain([directory.clone()]);
        if let Some(path) = paths.find(|path| path.to_str().is_none()) {
            return Err(Error::usage(format!("{} is not UTF-8", path.display()))
                .hint("stages need UTF-8 file names; rename the file, or create a link to it"));
        }
        Ok(JobPlan {
            format: FORMAT_VERSION,
            program: program_identity()?,
            directory,
            request: hash_request(plan, &command)?,
            command,
            inputs,
            slices: Vec::new(),
            ranges: 0,
            anchor: Vec::new(),
            duplicates: None,
            checksum: String::new(),
        })
    }

    /// Reads the job planned in a directory. Returns `None` if there is none.
    ///
    /// # Errors
    /// Fails if the plan is damaged or edited, or was written by another build of the program.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(PLAN);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("{} cannot be read", path.display()), &error)),
        };
        let other_build = |program: &str| {
            let what =
                format!("{} was planned by a different build of readmill ({program})", path.display());
            Error::input(what)
                .hint("run all stages with the same build, or plan the job again in another directory")
        };
        // Another build may write different fields, so only the name of the build is read first.
        if let Ok(PlanOrigin { program: Some(by) }) = serde_json::from_slice(&text)
            && by != program_identity()?
        {
            return Err(other_build(&by));
        }
        let job: JobPlan = serde_json::from_slice(&text).map_err(|error| {
            Error::input(format!("the plan is damaged: {error}"))
                .file(&path)
                .hint(replan_hint(directory))
        })?;
        if job.checksum != job.compute_checksum() {
            return Err(Error::input("the plan was edited or is damaged")
                .file(&path)
                .hint(replan_hint(directory)));
        }
        if job.format != FORMAT_VERSION {
            return Err(other_build(&job.program));
        }
        Ok(Some(job))
    }

    fn compute_checksum(&self) -> String {
        let text = JobPlan { checksum: String::new(), ..self.clone() }.to_json();
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Writes the plan to `job.json` in `directory`. The plan must be complete, because the file
    /// never changes.
    ///
    /// # Errors
    /// Fails if the directory already contains a plan, even if another process has only just
    /// written it.
    pub fn write(&mut self, directory: &Path) -> Result<()> {
        self.checksum = self.compute_checksum();
        let path = directory.join(PLAN);
        let failed = |e: std::io::Error| Error::io(format!("{} cannot be written", path.display()), &e);
        let temporary = temporary_name(&path);
        // No other process uses temporary files of a killed run.
        for other in find_temporary_files(&path) {
            exclusive::remove_leftover(&other);
        }
        let mut file = signal::create_output_file(&temporary, &path)?;
        let mut write = || {
            std::io::Write::write_all(&mut file, self.to_json().as_bytes())?;
            file.sync_all()?;
            // Linking fails if the name exists, so the first of two concurrent plans wins.
            std::fs::hard_link(&temporary, &path)
        };
        let written = write().map_err(failed);
        signal::remove_unfinished(&temporary);
        written?;
        sync_parent_directory(&path);
        Ok(())
    }

    fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    pub fn hash(&self) -> JobHash {
        JobHash(xxh3_128(self.to_json().as_bytes()).to_be_bytes())
    }

    /// Returns whether another job writes the same output, even if it is divided differently.
    pub fn does_the_same_as(&self, other: &JobPlan) -> bool {
        (&self.request, &self.inputs) == (&other.request, &other.inputs)
    }
}

/// Returns a hash of everything in a plan that determines its output, including the state of the
/// files on the command line. `words` is the command line.
fn hash_request(plan: &Plan, words: &[String]) -> Result<String> {
    let Plan {
        command,
        inputs,
        regions: _,
        aligning,
        merging: _, // `plan_command` refuses merge-alignment, so no plan in stages has this field
        steps,
        destination,
        reports,
        resources,
    } = plan;
    let add_ons = reports.add_ons.iter().map(|add_on| add_on.stage_identity());
    let add_ons = Vec::from_iter(add_ons.filter(|identity| !identity.is_empty()));
    let mut said = format!(
        "{} {command:?} {inputs:?} {steps:?} {destination:?} {add_ons:?} {} {:?} {:?} {}",
        plan.command_line(),
        reports.verify,
        reports.sample,
        resources.reference,
        resources.allow_missing_eof,
    );
    said += &describe_side_files(plan, words);
    if let Some(aligning) = aligning {
        said += &format!(" {aligning:?}");
        index_files(aligning)?.iter().for_each(|path| said += &describe_file_state(path));
    }
    Ok(format!("{:032x}", xxh3_128(said.as_bytes())))
}

fn describe_file_state(path: &Path) -> String {
    let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    meta.map_or_else(String::new, |meta| {
        let state = [meta.len() as i64, meta.mtime(), meta.mtime_nsec()];
        format!(" {} {state:?}", path.display())
    })
}

/// Returns the state of all files on the command line except reads and outputs, such as the
/// reference or known sites. If one of them changes, the job would write a different output.
fn describe_side_files(plan: &Plan, words: &[String]) -> String {
    let outputs = plan.destination.main_output().map_or_else(Vec::new, |output| output.all_file_names());
    let reports = report_files::planned_files(plan).into_iter().map(|(_, file)| file.path.to_path_buf());
    let others: Vec<PathBuf> = outputs.into_iter().chain(reports).chain(plan.inputs.clone()).collect();
    let mut text = String::new();
    for path in words.iter().flat_map(|word| word.split('=')).map(Path::new) {
        if !others.iter().any(|other| other == path) {
            text += &describe_file_state(path);
        }
    }
    text
}

/// Returns the version of this program and a hash of its executable, which is computed once per
/// process.
fn program_identity() -> Result<String> {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    match PROGRAM.get() {
        Some(program) => Ok(program.clone()),
        None => Ok({
            let program = hash_program()?;
            PROGRAM.get_or_init(|| program).clone()
        }),
    }
}

fn hash_program() -> Result<String> {
    let failed = |e| Error::io("the executable file of readmill cannot be read", &e);
    let path = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().map_err(failed)?
    };
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut bytes) = (Xxh3::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut bytes).map_err(failed)? {
            0 => return Ok(format!("{} {:016x}", env!("CARGO_PKG_VERSION"), hasher.digest())),
            n => hasher.update(&bytes[..n]),
        }
    }
}

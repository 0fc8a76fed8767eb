//! A job in stages: what is to be done, and how it is divided. It is written once, as `job.json`, and never changes.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use readmill_markdup::MatePairing;
use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::names::{PLAN, sync_directory, temporary_files, temporary_name};
use crate::aligning::index_files;
use crate::outputs::{exclusive, report_files, signal};
use crate::plan::Plan;

/// The version of stage files; another version cannot read them.
const FORMAT: u32 = 3;

/// Returns the way out where a plan is damaged.
fn plan_anew(directory: &Path) -> String {
    format!(
        "plan the job anew, in another directory, or in this one once it is empty: readmill shard clean --work {}",
        directory.display()
    )
}

/// The most slices and ranges: each slice takes memory while ranges are written.
pub const MOST: usize = 4096;

/// The hash of a job: all of its stage files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHash(pub [u8; 16]);

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Version of the stage files.
    pub format: u32,
    /// The program: its version, and a hash of its bytes.
    pub program: String,
    /// The directory in which the command was given: its relative paths start there.
    pub directory: PathBuf,
    /// The command that is done in stages, without the name of the program.
    pub command: Vec<String>,
    /// A hash of all that decides the output.
    pub request: String,
    /// The inputs.
    pub inputs: Vec<InputIdentity>,
    /// The slices of the inputs, in their order; each is the input of one `map`.
    pub slices: Vec<Slice>,
    /// How many ranges of the output order are written separately.
    pub ranges: usize,
    /// The first read name, by which keys of names are shortened.
    pub anchor: Vec<u8>,
    /// How duplicates are found, where they are marked.
    pub duplicates: Option<DuplicateChoice>,
    /// A hash of all of the above: nobody edits a plan.
    pub checksum: String,
}

/// The program that wrote a plan.
#[derive(Deserialize)]
struct Written {
    program: Option<String>,
}

/// A file, as it was when the job was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputIdentity {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// When it was changed last: seconds from 1970, and nanoseconds.
    pub changed: [i64; 2],
}

/// A part of an input, or of a lane that is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The number of the input, or of the lane.
    pub input: usize,
    /// Which part of it.
    pub part: Part,
}

/// Which part of an input a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// All of it, as it is of a kind that is not divided.
    Whole,
    /// Whole records between these positions.
    Between(Bounds),
    /// The cohorts of a lane from one place to another, which its scan finds.
    Scanned {
        /// Its number among the slices of the lane, from 0.
        number: usize,
        /// How many these are.
        of: usize,
    },
}

impl Slice {
    /// Its bounds, if it has any before anything is scanned.
    pub fn bounds(&self) -> Option<Bounds> {
        match self.part {
            Part::Between(bounds) => Some(bounds),
            Part::Whole | Part::Scanned { .. } => None,
        }
    }
}

/// The positions between which a slice lies: offsets in the file, and in the inflated block there (0 for text).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Its first byte.
    pub from: VirtualOffset,
    /// The first byte behind it; `None` at the end of the file.
    pub to: Option<VirtualOffset>,
}

/// A position in an input (SAM specification, section 4.1.1; in text and CRAM, only an offset in the file).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VirtualOffset {
    /// Offset in the file, of a BGZF block where the file has blocks.
    pub offset: u64,
    /// Offset in the inflated block.
    pub within: u32,
}

/// Decisions about duplicates that the first reads of the input make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateChoice {
    /// How mates find each other.
    pub mate_pairing: MatePairing,
    /// The distance of optical duplicates, where it follows from the first read name.
    pub optical_distance: Option<i32>,
}

impl InputIdentity {
    /// A file as it is now.
    pub fn of(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(format!("{} cannot be read", path.display()), &e);
        let meta = std::fs::metadata(path).map_err(failed)?;
        if !meta.is_file() {
            return Err(Error::usage(format!("{} is not a regular file", path.display()))
                .hint("a job in stages reads its input more than once: give a file, not a pipe"));
        }
        let path = std::path::absolute(path).map_err(failed)?;
        Ok(InputIdentity { path, size: meta.len(), changed: [meta.mtime(), meta.mtime_nsec()] })
    }

    /// Refuses the file if it has changed.
    pub fn check(&self) -> Result<()> {
        let now = InputIdentity::of(&self.path)?;
        if now == *self {
            return Ok(());
        }
        Err(Error::input(format!("{} was changed after the job had been planned", self.path.display()))
            .hint("plan it anew, in another directory"))
    }
}

impl Job {
    /// Makes a job of the plan of `command`, not yet divided.
    pub fn new(plan: &Plan, command: Vec<String>) -> Result<Self> {
        let directory = std::env::current_dir()
            .map_err(|e| Error::io("the current directory cannot be read", &e))?;
        let inputs: Vec<InputIdentity> =
            plan.inputs.iter().map(|path| InputIdentity::of(path)).collect::<Result<_>>()?;
        let mut paths = inputs.iter().map(|input| input.path.clone()).chain([directory.clone()]);
        if let Some(path) = paths.find(|path| path.to_str().is_none()) {
            return Err(Error::usage(format!("{} is not UTF-8", path.display()))
                .hint("a job in stages needs names that are: rename the file, or link to it"));
        }
        Ok(Job {
            format: FORMAT,
            program: program()?,
            directory,
            request: request(plan, &command)?,
            command,
            inputs,
            slices: Vec::new(),
            ranges: 0,
            anchor: Vec::new(),
            duplicates: None,
            checksum: String::new(),
        })
    }

    /// Reads the job of a directory; `None` if none was planned there.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(PLAN);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("{} cannot be read", path.display()), &error)),
        };
        let other_build = |program: &str| {
            let what =
                format!("{} was planned by another build of readmill ({program})", path.display());
            Error::input(what)
                .hint("run all stages by one build, or plan the job anew in another directory")
        };
        // Another version may have other fields.
        if let Ok(Written { program: Some(by) }) = serde_json::from_slice(&text)
            && by != program()?
        {
            return Err(other_build(&by));
        }
        let job: Job = serde_json::from_slice(&text).map_err(|error| {
            Error::input(format!("the plan is damaged: {error}")).file(&path).hint(plan_anew(directory))
        })?;
        if job.checksum != job.sum() {
            return Err(Error::input("the plan was edited, or is damaged")
                .file(&path)
                .hint(plan_anew(directory)));
        }
        if job.format != FORMAT {
            return Err(other_build(&job.program));
        }
        Ok(Some(job))
    }

    /// The hash of everything but itself.
    fn sum(&self) -> String {
        let text = Job { checksum: String::new(), ..self.clone() }.text();
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Writes the job, to which nothing is added later, into a directory.
    pub fn write(&mut self, directory: &Path) -> Result<()> {
        self.checksum = self.sum();
        let path = directory.join(PLAN);
        let failed = |e: std::io::Error| Error::io(format!("{} cannot be written", path.display()), &e);
        let temporary = temporary_name(&path);
        // What a killed run left behind of its plan is nobody's.
        for other in temporary_files(&path) {
            exclusive::clean_up(&other);
        }
        let mut file = signal::create(&temporary, &path)?;
        let mut write = || {
            std::io::Write::write_all(&mut file, self.text().as_bytes())?;
            file.sync_all()?;
            // The first of two plans counts.
            std::fs::hard_link(&temporary, &path)
        };
        let written = write().map_err(failed);
        signal::remove(&temporary);
        written?;
        sync_directory(&path);
        Ok(())
    }

    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The hash that its stage files have.
    pub fn hash(&self) -> JobHash {
        JobHash(xxh3_128(self.text().as_bytes()).to_be_bytes())
    }

    /// Whether another job does the same, however it is divided.
    pub fn does_the_same_as(&self, other: &Job) -> bool {
        (&self.request, &self.inputs) == (&other.request, &other.inputs)
    }
}

/// A hash of all that decides the output of a plan, whose words are `words`.
fn request(plan: &Plan, words: &[String]) -> Result<String> {
    let Plan {
        command,
        inputs,
        regions: _,
        aligning,
        merging: _, // merges are not done in stages
        steps,
        destination,
        tallies,
        resources,
    } = plan;
    let files = Vec::from_iter(tallies.files.iter().map(|(spec, path)| (spec.name, path)));
    let qc = tallies.qc.iter().map(|it| format!(" {it:?}")).collect::<String>();
    let said = format!(
        "{} {command:?} {inputs:?} {steps:?} {destination:?} {files:?} {} {:?} {:?} {}",
        plan.command_line(),
        tallies.verify,
        tallies.sample,
        resources.reference,
        resources.allow_missing_eof,
    );
    let coverage = tallies.coverage.iter().map(|it| format!(" {it:?}")).collect::<String>();
    let mut said = said + &qc + &coverage + &side_files(plan, words);
    if let Some(aligning) = aligning {
        said += &format!(" {aligning:?}");
        index_files(aligning)?.iter().for_each(|path| said += &state_of(path));
    }
    Ok(format!("{:032x}", xxh3_128(said.as_bytes())))
}

/// The name and the state of a file; empty if it is none.
fn state_of(path: &Path) -> String {
    let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    meta.map_or_else(String::new, |meta| {
        let state = [meta.len() as i64, meta.mtime(), meta.mtime_nsec()];
        format!(" {} {state:?}", path.display())
    })
}

/// The files besides reads that the words of a command name, such as the reference, and their state.
fn side_files(plan: &Plan, words: &[String]) -> String {
    let outputs = plan.destination.main().map_or_else(Vec::new, |output| output.names());
    let reports = report_files::paths(plan).into_iter().map(|(_, path)| path.to_path_buf());
    let others: Vec<PathBuf> = outputs.into_iter().chain(reports).chain(plan.inputs.clone()).collect();
    let mut text = String::new();
    for path in words.iter().flat_map(|word| word.split('=')).map(Path::new) {
        if !others.iter().any(|other| other == path) {
            text += &state_of(path);
        }
    }
    text
}

/// The version of this program, and a hash of its bytes: stages of one job are run by one build.
fn program() -> Result<String> {
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
    let failed = |e| Error::io("the program's own file cannot be read", &e);
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

//! Runs one command line once under time and memory limits, and collects all its outputs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use readmill_peers::usage::Usage;

use crate::measured::{self, MeasuredRun};

const MAX_KEPT_BYTES: u64 = 8 << 20;

pub struct FuzzRun<'a> {
    pub program: &'a Path,
    pub words: &'a [String],
    /// Input file for standard input, relative to `directory`.
    pub stdin: Option<&'a str>,
    pub directory: &'a Path,
    pub threads: usize,
    pub memory: u64,
}

pub struct RunOutcome {
    /// `None` if a signal ended the run.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub hangs: bool,
    pub usage: Usage,
    pub stderr: String,
    /// Standard output and all files below the working directory, by name. Links are skipped, and
    /// an empty directory counts as an empty file.
    pub outputs: BTreeMap<String, Vec<u8>>,
    /// Names of entries left in the directory for temporary files.
    pub temporary: Vec<String>,
}

pub const STDOUT: &str = "standard output";

impl FuzzRun<'_> {
    /// Runs the program, waits for it and collects its outputs. An error means that the run itself
    /// could not be started or observed.
    pub fn run(&self) -> Result<RunOutcome> {
        let beside = self.directory.parent().context("a working directory of its own")?;
        let temporary = fresh_directory(&beside.join("temporary"))?;
        let (stdout, stderr) = (beside.join("stdout"), beside.join("stderr"));
        let stdin = match self.stdin {
            Some(name) => File::open(self.directory.join(name))?.into(),
            None => Stdio::null(),
        };
        let report = beside.join("report");
        let mut command = measured::measuring_command(&report, self.program)?;
        command.current_dir(self.directory).args(self.words).stdin(stdin);
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        command.env("TMPDIR", &temporary).env("RUST_BACKTRACE", "0");
        command.env("READMILL_THREADS", self.threads.to_string());
        command.env("READMILL_MEMORY", format!("{}M", self.memory));
        command.env_remove("REF_PATH").env_remove("REF_CACHE");
        let MeasuredRun { hangs, status, usage } = measured::run_and_read_report(&mut command, &report)?;
        let mut outputs = BTreeMap::new();
        outputs.insert(STDOUT.to_owned(), read_start(&stdout)?);
        collect_files(self.directory, "", &mut outputs)?;
        let names =
            fs::read_dir(&temporary)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(RunOutcome {
            code: status.code(),
            signal: status.signal(),
            hangs,
            usage,
            stderr: String::from_utf8_lossy(&read_start(&stderr)?).into_owned(),
            outputs,
            temporary: names.collect(),
        })
    }
}

pub fn fresh_directory(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path).with_context(|| path.display().to_string())?;
    Ok(path.to_owned())
}

/// Returns the first [`MAX_KEPT_BYTES`] bytes of a file. If it is longer, its length is appended, so that
/// files of different lengths differ.
fn read_start(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    file.take(MAX_KEPT_BYTES).read_to_end(&mut bytes)?;
    if length > MAX_KEPT_BYTES {
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

fn collect_files(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let before = files.len();
            collect_files(&entry.path(), &format!("{name}/"), files)?;
            if files.len() == before {
                files.insert(format!("{name}/"), Vec::new());
            }
        } else if kind.is_file() {
            files.insert(name, read_start(&entry.path())?);
        }
    }
    Ok(())
}

//! Runs one command line once, with limits on time and memory, and collects all that it leaves.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use readmill_peers::usage::Usage;

use crate::measured::{self, Ended};

/// Maximum number of bytes of a message or an output that are kept.
const MAX_KEPT: u64 = 8 << 20;

/// One run to be done.
pub struct Run<'a> {
    /// The program.
    pub program: &'a Path,
    /// The words behind the program's name.
    pub words: &'a [String],
    /// The file that standard input is read from.
    pub stdin: Option<&'a str>,
    /// The working directory.
    pub directory: &'a Path,
    /// Threads and memory, if they are limited.
    pub threads: usize,
    /// Memory in MiB.
    pub memory: u64,
}

/// What a run did.
pub struct Outcome {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// Whether it was ended because it took too long.
    pub hangs: bool,
    /// Time and memory.
    pub usage: Usage,
    /// Its messages.
    pub stderr: String,
    /// Standard output and every file below the working directory, except links.
    pub outputs: BTreeMap<String, Vec<u8>>,
    /// Names of what is left in the directory of temporary files.
    pub temporary: Vec<String>,
}

/// The name of standard output among outputs.
pub const STDOUT: &str = "standard output";

impl Run<'_> {
    /// Runs the program and waits for its end.
    pub fn outcome(&self) -> Result<Outcome> {
        let beside = self.directory.parent().context("a working directory of its own")?;
        let temporary = fresh_directory(&beside.join("temporary"))?;
        let (stdout, stderr) = (beside.join("stdout"), beside.join("stderr"));
        let stdin = match self.stdin {
            Some(name) => File::open(self.directory.join(name))?.into(),
            None => Stdio::null(),
        };
        let report = beside.join("report");
        let mut command = measured::command(&report, self.program)?;
        command.current_dir(self.directory).args(self.words).stdin(stdin);
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        command.env("TMPDIR", &temporary).env("RUST_BACKTRACE", "0");
        command.env("READMILL_THREADS", self.threads.to_string());
        command.env("READMILL_MEMORY", format!("{}M", self.memory));
        command.env_remove("REF_PATH").env_remove("REF_CACHE");
        let Ended { hangs, status, usage } = measured::ended(&mut command, &report)?;
        let mut outputs = BTreeMap::new();
        outputs.insert(STDOUT.to_owned(), read_start(&stdout)?);
        collect(self.directory, "", &mut outputs)?;
        let names =
            fs::read_dir(&temporary)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(Outcome {
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

/// Makes an empty directory.
pub fn fresh_directory(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path).with_context(|| path.display().to_string())?;
    Ok(path.to_owned())
}

/// The first bytes of a file; of a long one, its length stands for the rest.
fn read_start(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    file.take(MAX_KEPT).read_to_end(&mut bytes)?;
    if length > MAX_KEPT {
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

fn collect(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let before = files.len();
            collect(&entry.path(), &format!("{name}/"), files)?;
            if files.len() == before {
                files.insert(format!("{name}/"), Vec::new());
            }
        } else if kind.is_file() {
            files.insert(name, read_start(&entry.path())?);
        }
    }
    Ok(())
}

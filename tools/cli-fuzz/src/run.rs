//! Runs one command line once, with limits on time and memory, and collects all that it leaves.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use readmill_peers::usage::{self, Usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, pidfd_open, prlimit};

/// Time between two looks at a run, and number of looks after which it hangs: nearly all end within a fraction of a
/// second, but a busy machine may hold one up.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOKS: u32 = 20;

/// Ticks of CPU time, a hundredth of a second each, after which a run hangs.
const MAX_TICKS: u64 = 6000;

/// Address space of a run, so that a broken limit does not take the machine's memory.
const ADDRESS_SPACE: u64 = 16 << 30;

/// Bytes of one file that a run may write; it gets SIGXFSZ beyond.
const MAX_FILE: u64 = 1 << 30;

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
        let mut command = Command::new(self.program);
        command.current_dir(self.directory).args(self.words).stdin(stdin);
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        command.env("TMPDIR", &temporary).env("RUST_BACKTRACE", "0");
        command.env("READMILL_THREADS", self.threads.to_string());
        command.env("READMILL_MEMORY", format!("{}M", self.memory));
        command.env_remove("REF_PATH").env_remove("REF_CACHE");
        let (hangs, status, usage) = wait(command.spawn().context("readmill does not start")?)?;
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

/// Waits for the end of a child, which is killed if it takes too long. Returns whether it was.
fn wait(mut child: Child) -> Result<(bool, std::process::ExitStatus, Usage)> {
    let pid = Pid::from_child(&child);
    for (resource, bytes) in [(Resource::As, ADDRESS_SPACE), (Resource::Fsize, MAX_FILE)] {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // A child that has ended needs no limit.
        _ = prlimit(Some(pid), resource, limit);
    }
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("no handle of a process")?;
    let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let mut looks = 0;
    let hangs = loop {
        match poll(&mut ended, Some(&patience)) {
            Ok(0) => {
                looks += 1;
                if looks == LOOKS || cpu_ticks(child.id()) >= MAX_TICKS {
                    break true;
                }
            }
            Ok(_) => break false,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a process"),
        }
    };
    if hangs {
        child.kill()?;
    }
    let (status, mut usage) = usage::wait(child)?;
    // The peak of a child includes what its parent had in memory when it began, so a lower one is not known.
    if usage.peak <= usage::own_usage()?.peak {
        usage.peak = 0;
    }
    Ok((hangs, status, usage))
}

/// The CPU time of a process so far; 0 where the system does not say.
fn cpu_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may have blanks; its state is the first word behind it.
    let words = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    words.skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_is_known() {
        let mut number = 1_u64;
        while cpu_ticks(std::process::id()) < 2 {
            (0..1_000_000).for_each(|i| number = std::hint::black_box(number.wrapping_mul(3) ^ i));
        }
        assert_eq!(cpu_ticks(u32::MAX), 0);
    }
}

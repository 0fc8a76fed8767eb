//! Folders to run the binary in, and assertions on its end.
#![allow(unsafe_code, reason = "a test of the system's ways")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use crate::support::ending::wait;

/// The folders of one test: `in`, `out` and `tmp` (the program's temporary directory).
pub struct TestFolders {
    dir: TempDir,
}

impl TestFolders {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["in", "out", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        TestFolders { dir }
    }

    /// A file for the program to read.
    pub fn input(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join("in").join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A name in the output folder.
    pub fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join("out").join(name)
    }

    pub fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// The names in the output folder and the temporary folder, in order.
    pub fn left(&self) -> Vec<String> {
        let names = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
        let all = names(self.dir.path().join("out")).chain(names(self.tmp()));
        let mut all: Vec<String> = all.map(|name| name.into_string().unwrap()).collect();
        all.sort();
        all
    }

    /// The program as a command, not started.
    pub fn command(&self) -> Command {
        self.prepare(Command::new(env!("CARGO_BIN_EXE_readmill")))
    }

    /// The shell running `script`, in which `$0` is the program.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_readmill"));
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command.current_dir(self.dir.path()).env("TMPDIR", self.tmp()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn readmill<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        self.run(self.command().args(args))
    }

    /// Runs `command` to its end.
    pub fn run(&self, command: &mut Command) -> Ended {
        self.start(command).ended()
    }

    /// Starts `command`.
    pub fn start(&self, command: &mut Command) -> Running {
        self.start_saying(None, command)
    }

    /// Starts `command`, whose standard error is a pipe if one is given.
    pub fn start_saying(&self, into: Option<PipeWriter>, command: &mut Command) -> Running {
        let logs = [self.log("stdout"), self.log("stderr")];
        let [out, err] = logs.each_ref().map(|path| File::create(path).unwrap());
        let err = into.map_or(Stdio::from(err), Stdio::from);
        Running { child: command.stdout(out).stderr(err).spawn().unwrap(), logs }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the records of a file as SAM text, read by the program itself.
    pub fn lines(&self, file: &Path) -> Vec<String> {
        let ended = self.readmill(["prep".as_ref(), file.as_os_str(), "-O".as_ref(), "sam".as_ref()]);
        ended.succeeds();
        let text = String::from_utf8(ended.stdout).unwrap();
        text.lines().filter(|line| !line.starts_with('@')).map(str::to_string).collect()
    }
}

/// A run under way.
pub struct Running {
    pub child: Child,
    logs: [PathBuf; 2],
}

impl Running {
    /// Sends it a signal.
    pub fn send(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).unwrap();
        // SAFETY: `kill` has no requirement on memory; the child has not been waited for, so it has its number.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// Waits for its end.
    pub fn ended(self) -> Ended {
        let status = wait(self.child, "readmill");
        let [stdout, stderr] = self.logs.map(|log| std::fs::read(log).unwrap());
        Ended { status, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

/// How a run ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub fn succeeds(&self) {
        assert_eq!(self.status.code(), Some(0), "{:?}: {}", self.status, self.stderr);
        assert!(!self.stderr.contains("error"), "{}", self.stderr);
    }

    /// Ended with `code` and one error message that contains all `words`.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.status.code(), Some(code), "{:?}: {}", self.status, self.stderr);
        let message = self.stderr.lines().find(|line| line.contains("error: "));
        let message = message.unwrap_or_else(|| panic!("no error message in {:?}", self.stderr));
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

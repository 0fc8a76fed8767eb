//! A run of this program whose output the native line of a front reads, where one line of another tool is two of ours.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use readmill_record::{Error, Result};

/// Exit code of a run whose reader has left.
const READER_HAS_LEFT: u8 = 141;

/// The run, and the end of its pipe.
pub struct Source {
    child: Child,
    output: Option<ChildStdout>,
}

/// Starts the run, if there is one to start, and returns the arguments with the name of its pipe as the last.
pub fn start(
    mut arguments: Vec<OsString>,
    words: Option<&[OsString]>,
) -> Result<(Vec<OsString>, Option<Source>)> {
    let Some(words) = words else { return Ok((arguments, None)) };
    let (path, source) = run(words)?;
    if let Some(input) = arguments.last_mut() {
        *input = path.into();
    }
    Ok((arguments, Some(source)))
}

/// Starts a run of this program with these arguments, whose standard output can be read at the path that is returned.
pub fn run(words: &[OsString]) -> Result<(PathBuf, Source)> {
    let failed = |error: std::io::Error| Error::io("readmill cannot be started", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    let mut child = command.args(words).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take();
    let descriptor = output.as_ref().map_or(0, AsRawFd::as_raw_fd);
    Ok((format!("/dev/fd/{descriptor}").into(), Source { child, output }))
}

impl Source {
    /// Waits for the end of the run; returns its exit code if it failed by itself.
    pub fn failure(&mut self) -> Option<ExitCode> {
        self.output = None; // so that it does not wait for a reader
        let code = self.child.wait().ok()?.code().unwrap_or(101);
        u8::try_from(code).ok().filter(|&code| code != 0 && code != READER_HAS_LEFT).map(ExitCode::from)
    }
}

//! A second process of this program, whose output the main process reads. It is needed if a command
//! line of another tool corresponds to two readmill commands, and if `merge-alignment` sorts its
//! input.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use readmill_record::{Error, Result};

/// Exit code of a process whose reader closed the pipe (128 + SIGPIPE).
const READER_HAS_LEFT: u8 = 141;

/// The running process, and the pipe from which its output is read.
pub struct Source {
    child: Child,
    output: Option<ChildStdout>,
}

/// Starts the process if `words` contains its arguments. Replaces the last of `arguments`, which is
/// a placeholder, by the path of the pipe.
pub fn start_source(
    mut arguments: Vec<OsString>,
    words: Option<&[OsString]>,
) -> Result<(Vec<OsString>, Option<Source>)> {
    let Some(words) = words else { return Ok((arguments, None)) };
    let (path, source) = start_second_process(words)?;
    if let Some(input) = arguments.last_mut() {
        *input = path.into();
    }
    Ok((arguments, Some(source)))
}

/// Starts a process of this program with arguments `words`. Its standard output can be read at the
/// returned path, `/dev/fd/N`.
pub fn start_second_process(words: &[OsString]) -> Result<(PathBuf, Source)> {
    let failed = |error: std::io::Error| Error::io("readmill cannot be started", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    let mut child = command.args(words).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take();
    let descriptor = output.as_ref().map_or(0, AsRawFd::as_raw_fd);
    Ok((format!("/dev/fd/{descriptor}").into(), Source { child, output }))
}

impl Source {
    /// Waits until the process ends. Returns its exit code if it failed for a reason other than a
    /// closed pipe; the process has then logged its error.
    pub fn wait_for_failure(&mut self) -> Option<ExitCode> {
        self.output = None; // closes the pipe, so that the process cannot wait for a reader
        let code = self.child.wait().ok()?.code().unwrap_or(101);
        u8::try_from(code).ok().filter(|&code| code != 0 && code != READER_HAS_LEFT).map(ExitCode::from)
    }
}

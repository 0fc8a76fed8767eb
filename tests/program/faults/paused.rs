//! Pauses the program at a named moment of its run, so that a test can act at that moment.
#![allow(unsafe_code, reason = "a test of the system's ways")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, PipeWriter, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use readmill_process::pause::Moment;

use crate::faults::fixtures::{Ended, Running, TestFolders};

/// All signals that stop a run.
pub const STOPPING: [(i32, &str); 18] = [
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGPWR, "SIGPWR"),
    (libc::SIGSTKFLT, "SIGSTKFLT"),
    (libc::SIGSYS, "SIGSYS"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (40, "signal 40"),
];

/// How a program is started.
#[derive(Default)]
pub struct Start {
    /// A signal that is ignored.
    pub ignored: Option<i32>,
    /// The pipe that is its standard error, in place of a file.
    pub stderr: Option<PipeWriter>,
}

/// A run that waits.
pub struct Paused {
    running: Running,
    /// As long as this is open, the program waits.
    go_on: PipeWriter,
}

impl Paused {
    /// Starts the program and returns at that moment, when it occurs for the `time`-th time (from 1). No signal is
    /// ignored.
    pub fn at<S: AsRef<OsStr>>(
        folders: &TestFolders,
        (moment, time): (Moment, u32),
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::with(Start::default(), folders, (moment, time), args)
    }

    /// As [`at`](Self::at), with other settings at the start.
    pub fn with<S: AsRef<OsStr>>(
        Start { ignored, stderr }: Start,
        folders: &TestFolders,
        (moment, time): (Moment, u32),
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let ((said, say), (wait, go_on)) = (pipe().unwrap(), pipe().unwrap());
        let (to_say, to_wait) = (say.as_raw_fd(), wait.as_raw_fd());
        let mut command = folders.command();
        let paused = format!("{moment:?}#{time}:/dev/fd/{to_say}:/dev/fd/{to_wait}");
        command.args(args).env("READMILL_PAUSE_AT", paused);
        prepare(&mut command, ignored, [to_say, to_wait]);
        let running = folders.start_saying(stderr, &mut command);
        drop(command);
        drop((say, wait)); // the program alone has them now, so that its end is seen
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).unwrap();
        if line.trim_end() != format!("{moment:?}") {
            panic!("{moment:?} #{time} did not come: {}", running.ended().stderr);
        }
        Paused { running, go_on }
    }

    /// Continues the program to its end.
    pub fn go_on(self) -> Ended {
        drop(self.go_on);
        self.running.ended()
    }

    /// Sends a signal, then continues the program to its end.
    pub fn go_on_with(self, signal: i32) -> Ended {
        self.running.send(signal);
        self.go_on()
    }

    /// Sends a signal that must end the paused program.
    pub fn stop_by(self, signal: i32) -> Ended {
        self.running.send(signal);
        self.running.ended()
    }

    /// Continues the program, and does not wait for it.
    pub fn leave(self) -> Running {
        drop(self.go_on);
        self.running
    }
}

/// Resets signals to their defaults, because a child inherits signals that its parent ignores (under `nohup`, for
/// example), and lets the child inherit two files.
fn prepare(command: &mut Command, ignored: Option<i32>, files: [RawFd; 2]) {
    let set_up = move || {
        for (signal, _) in STOPPING {
            let action = if ignored == Some(signal) { libc::SIG_IGN } else { libc::SIG_DFL };
            // SAFETY: neither action is a function.
            unsafe { libc::signal(signal, action) };
        }
        for file in files {
            // SAFETY: this has no requirement on memory.
            unsafe { libc::fcntl(file, libc::F_SETFD, 0) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `set_up` calls only what may be called in a signal handler.
    unsafe { command.pre_exec(set_up) };
}

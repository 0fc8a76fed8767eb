//! Ends this process when another one ends, however that does: an engine that is killed leaves no stages behind.

use std::time::Duration;

use readmill_record::{Error, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};

/// How often a system that does not tell of the end of processes is asked whether one is there.
const INTERVAL: Duration = Duration::from_millis(500);

/// Sends SIGTERM to this process as soon as the process `pid` is no more.
///
/// # Errors
/// There is no such process, or no thread can be started.
pub fn end_with(pid: u32) -> Result<()> {
    let gone = || Error::usage(format!("--end-with: there is no process {pid} on this machine"));
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let end = End::of(pid).ok_or_else(gone)?;
    let watch = move || {
        end.wait();
        let _ = kill_process(getpid(), Signal::TERM);
    };
    let thread = std::thread::Builder::new().name("end-with".into());
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits as long as the process lives, beside all work"
    )]
    let started = thread.spawn(watch);
    started.map(|_| ()).map_err(|e| Error::io("--end-with: no thread can be started", &e))
}

/// The end of a process.
enum End {
    /// The system tells of it by this descriptor (Linux 5.3 and later).
    #[cfg(target_os = "linux")]
    Told(std::os::fd::OwnedFd),
    /// The system must be asked.
    Asked(Pid),
}

impl End {
    /// That of this process; `None` if it has come.
    fn of(pid: Pid) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(descriptor) => return Some(End::Told(descriptor)),
                Err(Errno::SRCH) => return None,
                Err(_) => {}
            }
        }
        is_there(pid).then_some(End::Asked(pid))
    }

    fn wait(&self) {
        match self {
            #[cfg(target_os = "linux")]
            End::Told(descriptor) => {
                use rustix::event::{PollFd, PollFlags, poll};
                let mut ended = [PollFd::new(descriptor, PollFlags::IN)];
                while poll(&mut ended, None).is_err() {}
            }
            End::Asked(pid) => {
                while is_there(*pid) {
                    std::thread::sleep(INTERVAL);
                }
            }
        }
    }
}

/// Whether there is such a process, of whatever user.
fn is_there(pid: Pid) -> bool {
    test_kill_process(pid) != Err(Errno::SRCH)
}

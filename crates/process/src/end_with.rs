//! Ends this process when another process ends for any reason (`--end-with`), so that stages do not
//! outlive a workflow engine that was killed.

use std::time::Duration;

use readmill_record::{Error, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};

const INTERVAL: Duration = Duration::from_millis(500);

/// Starts a thread that sends SIGTERM to this process as soon as process `pid` has ended.
///
/// # Errors
/// Fails if there is no process `pid`, or the thread cannot be started.
pub fn end_with_process(pid: u32) -> Result<()> {
    let gone = || Error::usage(format!("--end-with: there is no process {pid} on this machine"));
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let end = ProcessEnd::of(pid).ok_or_else(gone)?;
    let watch = move || {
        end.wait_for_end();
        let _ = kill_process(getpid(), Signal::TERM);
    };
    let thread = std::thread::Builder::new().name("end-with".into());
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits as long as the process lives, in addition to all work"
    )]
    let started = thread.spawn(watch);
    started.map(|_| ()).map_err(|e| Error::io("--end-with: cannot start a thread", &e))
}

enum ProcessEnd {
    /// A pidfd (Linux 5.3 and later), which becomes readable when the process ends.
    #[cfg(target_os = "linux")]
    Told(std::os::fd::OwnedFd),
    Asked(Pid),
}

impl ProcessEnd {
    fn of(pid: Pid) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(descriptor) => return Some(ProcessEnd::Told(descriptor)),
                Err(Errno::SRCH) => return None,
                Err(_) => {}
            }
        }
        process_exists(pid).then_some(ProcessEnd::Asked(pid))
    }

    fn wait_for_end(&self) {
        match self {
            #[cfg(target_os = "linux")]
            ProcessEnd::Told(descriptor) => {
                use rustix::event::{PollFd, PollFlags, poll};
                let mut ended = [PollFd::new(descriptor, PollFlags::IN)];
                while poll(&mut ended, None).is_err() {}
            }
            ProcessEnd::Asked(pid) => {
                while process_exists(*pid) {
                    std::thread::sleep(INTERVAL);
                }
            }
        }
    }
}

/// Returns whether the process exists, even if it belongs to another user.
fn process_exists(pid: Pid) -> bool {
    test_kill_process(pid) != Err(Errno::SRCH)
}

//! The end of a child process, or of one that hangs.
#![allow(unsafe_code, reason = "a test of the system's ways")]

use std::process::{Child, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A run that takes longer than this hangs: all end within seconds, and on a busy machine within a minute.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for the child without polling. Ends it, and fails the test, if it hangs.
pub fn wait(mut child: Child, what: &str) -> ExitStatus {
    if let Ok(Some(status)) = child.try_wait() {
        return status; // it may have been waited for before
    }
    let pid = child.id();
    let (tell, told) = channel::<()>();
    let guard = std::thread::spawn(move || {
        let hangs = told.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hangs {
            let pid = i32::try_from(pid).expect("a process number");
            // SAFETY: `kill` has no requirement on memory; the child is waited for after this thread has ended.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        hangs
    });
    await_end(pid);
    drop(tell);
    let hangs = guard.join().expect("the guard");
    let status = child.wait().expect("a child that can be waited for");
    assert!(!hangs, "hangs: {what}");
    status
}

/// Waits until the child has ended. It keeps its number until it is waited for once more.
fn await_end(pid: u32) {
    loop {
        // SAFETY: all zeros are a value of this plain structure of C.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `info` is there to be written to.
        let waited =
            unsafe { libc::waitid(libc::P_PID, pid, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
        let error = std::io::Error::last_os_error();
        match waited {
            0 => return,
            _ => assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}"),
        }
    }
}

//! CPU time and memory of processes, as measured by the kernel.
#![allow(unsafe_code, reason = "asks the system for a child's usage")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Time and memory of a process and of the children it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    /// Peak resident memory in bytes.
    ///
    /// Linux includes the memory of the parent at the start of the process. So a program that
    /// measures others must stay small.
    pub peak: u64,
}

/// Waits for a child and returns its exit status and usage. Retries if a signal interrupts the
/// call.
pub fn wait_with_usage(child: Child) -> io::Result<(ExitStatus, Usage)> {
    let (mut status, mut usage) = (0, MaybeUninit::zeroed());
    loop {
        // SAFETY: both pointers are to live variables of the types that wait4 fills in.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a valid rusage, and wait4 wrote the true one.
    Ok((ExitStatus::from_raw(status), Usage::from(unsafe { usage.assume_init() })))
}

/// Returns the time and memory that this process has used so far.
pub fn own_usage() -> io::Result<Usage> {
    let mut usage = MaybeUninit::zeroed();
    // SAFETY: the pointer is to a live variable of the type that getrusage fills in.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are a valid rusage, and getrusage wrote the true one.
    Ok(Usage::from(unsafe { usage.assume_init() }))
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        Usage {
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            peak: usage.ru_maxrss as u64 * 1024, // Linux counts in KiB
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_measured() {
        let loops = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3";
        let child = Command::new("sh").args(["-c", loops]).spawn().unwrap();
        let (status, usage) = wait_with_usage(child).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.cpu > Duration::from_millis(5) && usage.peak > 100_000, "{usage:?}");
        assert!(own_usage().unwrap().peak > 100_000);
    }
}

//! Standard input, output and error that were closed before this process started (`readmill … >&-`).
//!
//! The standard library opens `/dev/null` for each of them before `main`, so that no file gets descriptor 0, 1 or 2. What is
//! written to standard output would then be lost without an error. So it is looked at before the standard library does.
#![allow(unsafe_code, reason = "runs before main")]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use readmill_record::{Error, Result, input_file};

/// A bit for each of the descriptors 0 and 1 that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Called by the loader of the program, before the standard library starts.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds pointers to functions of the C calling convention, which this is one of.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    for descriptor in [0, 1] {
        // SAFETY: `fcntl` takes any number, and asks only whether it is an open descriptor.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

/// Passes on that standard input is closed to whoever reads it. Call it first in `main`.
pub fn begin() {
    if CLOSED.load(Relaxed) & 1 != 0 {
        input_file::set_stdin_closed();
    }
}

/// Returns standard output as a file.
///
/// # Errors
/// It was closed when the process started.
pub fn stdout_file() -> Result<File> {
    let failed = |e: &std::io::Error| Error::io("standard output cannot be written", e);
    if CLOSED.load(Relaxed) & 2 != 0 {
        return Err(failed(&std::io::Error::other("it is closed"))
            .hint("name a file by -o, or give the command a standard output, such as >/dev/null"));
    }
    std::io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(|e| failed(&e))
}

/// Writes text to standard output.
///
/// # Errors
/// It is closed, or cannot be written.
pub fn print(text: &str) -> Result<()> {
    let written = stdout_file()?.write_all(text.as_bytes());
    written.map_err(|e| Error::io("standard output cannot be written", &e))
}

//! Detects a standard input or output that was closed before this process started (`readmill … >&-`).
//!
//! Before `main`, the standard library opens `/dev/null` for each closed standard stream, so that
//! no file gets descriptor 0, 1 or 2. Output to a closed standard output would then be lost without
//! an error. So the descriptors are checked before the standard library starts.
#![allow(unsafe_code, reason = "runs before main")]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use readmill_record::{Error, Result, input_file};

static CLOSED_STREAMS: AtomicU8 = AtomicU8::new(0);

/// Called by the program loader before the standard library starts.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds pointers to functions of the C calling convention, which this is one of.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = note_closed_streams;

#[cfg(target_os = "linux")]
extern "C" fn note_closed_streams() {
    for descriptor in [0, 1] {
        // SAFETY: `fcntl` takes any number, and asks only whether it is an open descriptor.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED_STREAMS.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

/// Makes reads from standard input fail if it was closed. Must be called first in `main`.
pub fn report_closed_stdin() {
    if CLOSED_STREAMS.load(Relaxed) & 1 != 0 {
        input_file::set_stdin_closed();
    }
}

/// Returns standard output as a file.
///
/// # Errors
/// Fails if standard output was closed when the process started.
pub fn stdout_file() -> Result<File> {
    let failed = |e: &std::io::Error| Error::io("standard output cannot be written", e);
    if CLOSED_STREAMS.load(Relaxed) & 2 != 0 {
        return Err(failed(&std::io::Error::other("the stream is closed"))
            .hint("give an output file with -o, or redirect standard output, such as >/dev/null"));
    }
    std::io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(|e| failed(&e))
}

/// Writes text to standard output.
///
/// # Errors
/// Fails if standard output was closed when the process started, or cannot be written.
pub fn write_stdout(text: &str) -> Result<()> {
    let written = stdout_file()?.write_all(text.as_bytes());
    written.map_err(|e| Error::io("standard output cannot be written", &e))
}

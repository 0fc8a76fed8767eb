//! Raises the limit on open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const OTHER_FILES: u64 = 256;

/// Raises the limit so that `files` files can be open, as far as the system allows an unprivileged
/// process. If that is not enough, opening a file fails later with its own error.
pub fn raise_open_file_limit(files: usize) {
    let needed = files as u64 + OTHER_FILES;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_some_and(|current| current < needed) {
        let current = Some(limits.maximum.map_or(needed, |max_files| max_files.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limits }); // on error, the limit stays unchanged
    }
}

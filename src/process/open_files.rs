//! Raises the number of files that this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that any run may have open besides.
const OTHERS: u64 = 256;

/// Raises the limit as far as `files` files need, and the system lets an unprivileged process. If that is not enough, opening
/// one of them fails with a message of its own.
pub fn allow(files: usize) {
    let needed = files as u64 + OTHERS;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_some_and(|current| current < needed) {
        let current = Some(limits.maximum.map_or(needed, |most| most.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limits }); // it stays as it is
    }
}

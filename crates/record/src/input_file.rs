//! Keeps track of the files that this process reads, so that no output replaces one of them.
//!
//! Code that opens a file named by the user, or a file next to it (an index, a reference, a list), does
//! so with [`open_input`]. Before an output is created, the caller asks [`is_input`]. Files that the run
//! created, such as those of stages, are not registered.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device and inode of each regular file that was opened, which identify it under any name or link.
static OPENED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

static STDIN_IS_CLOSED: AtomicBool = AtomicBool::new(false);

fn lock_opened() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens an input for reading, and remembers its device and inode.
///
/// # Errors
/// Returns the error of [`File::open`], with an explanation if the path is a URL.
pub fn open_input(path: impl AsRef<Path>) -> io::Result<File> {
    let file = File::open(&path).map_err(|error| explain_url_error(error, path.as_ref()))?;
    if let Ok(meta) = file.metadata() {
        remember_input(&meta);
    }
    Ok(file)
}

/// Replaces "not found" with an explanation if the path is a URL; returns any other error unchanged.
pub fn explain_url_error(error: io::Error, path: &Path) -> io::Error {
    let is_address = error.kind() == io::ErrorKind::NotFound && path.to_string_lossy().contains("://");
    if !is_address {
        return error;
    }
    let what = "this is a URL, but readmill reads and writes only files: copy the file with another program, or use - and a pipe";
    io::Error::new(io::ErrorKind::NotFound, what)
}

/// Returns standard input, and remembers the file if it is redirected from one.
///
/// # Errors
/// Fails if standard input was closed when the process started (`<&-`). Without this check, the standard
/// library would read `/dev/null`, and a missing input would look like an empty one.
pub fn open_stdin() -> io::Result<io::Stdin> {
    if STDIN_IS_CLOSED.load(Relaxed) {
        return Err(io::Error::other("the stream is closed"));
    }
    let stdin = io::stdin();
    if let Ok(meta) = stdin.as_fd().try_clone_to_owned().and_then(|copy| File::from(copy).metadata()) {
        remember_input(&meta);
    }
    Ok(stdin)
}

/// Records that standard input was closed when the process started. `main` calls it before any file is
/// opened.
pub fn set_stdin_closed() {
    STDIN_IS_CLOSED.store(true, Relaxed);
}

/// Remembers an input that was opened elsewhere. Pipes and devices are not remembered.
pub fn remember_input(meta: &Metadata) {
    if meta.is_file() {
        lock_opened().insert((meta.dev(), meta.ino()));
    }
}

/// Returns whether this file, under any name or link, is an input of the run.
pub fn is_input(meta: &Metadata) -> bool {
    meta.is_file() && lock_opened().contains(&(meta.dev(), meta.ino()))
}

/// Forgets all inputs after a run, because the next run of this process may write to them.
pub fn forget_inputs() {
    lock_opened().clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_known_by_each_of_its_names() {
        let dir = std::env::temp_dir().join(format!("readmill-inputs-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (file, linked, other) = (dir.join("a"), dir.join("b"), dir.join("c"));
        std::fs::write(&file, "a").unwrap();
        std::fs::hard_link(&file, &linked).unwrap();
        std::fs::write(&other, "a").unwrap();
        let is_known = |path: &Path| is_input(&std::fs::metadata(path).unwrap());
        assert!(!is_known(&file));
        drop(open_input(&file).unwrap());
        assert!(is_known(&file) && is_known(&linked) && !is_known(&other) && !is_known(&dir));
        forget_inputs();
        assert!(!is_known(&file));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

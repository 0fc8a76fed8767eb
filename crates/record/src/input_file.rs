//! The files that this process reads, so that no output replaces one of them.
//!
//! Whoever opens a file that the user named, or that stands beside such a file (an index, a reference, a list), opens it
//! by [`open`]. Files that the run itself made, such as those of stages, are not among them.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device and inode of each regular file that was opened.
static OPENED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Whether standard input was closed when the process started.
static STDIN_IS_CLOSED: AtomicBool = AtomicBool::new(false);

fn opened() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens an input for reading, and remembers which file it is.
///
/// # Errors
/// Those of [`File::open`].
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let file = File::open(&path).map_err(|error| explain(error, path.as_ref()))?;
    if let Ok(meta) = file.metadata() {
        remember(&meta);
    }
    Ok(file)
}

/// Says of an address of the net why it cannot be opened; leaves any other error.
pub fn explain(error: io::Error, path: &Path) -> io::Error {
    let is_address = error.kind() == io::ErrorKind::NotFound && path.to_string_lossy().contains("://");
    if !is_address {
        return error;
    }
    let what = "it is an address, and readmill reads and writes files only: copy it with a program of its \
                store, or give - and use a pipe";
    io::Error::new(io::ErrorKind::NotFound, what)
}

/// Returns standard input, and remembers which file it is.
///
/// # Errors
/// It was closed when the process started (`<&-`). The standard library then reads `/dev/null` in its place, and an input
/// that is missing would be taken for an empty one.
pub fn stdin() -> io::Result<io::Stdin> {
    if STDIN_IS_CLOSED.load(Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    let stdin = io::stdin();
    if let Ok(meta) = stdin.as_fd().try_clone_to_owned().and_then(|copy| File::from(copy).metadata()) {
        remember(&meta);
    }
    Ok(stdin)
}

/// Says that standard input was closed when the process started.
pub fn set_stdin_closed() {
    STDIN_IS_CLOSED.store(true, Relaxed);
}

/// Remembers an input that was open already, such as standard input. Pipes and devices are not remembered.
pub fn remember(meta: &Metadata) {
    if meta.is_file() {
        opened().insert((meta.dev(), meta.ino()));
    }
}

/// Whether this file, by whatever name or link, is an input.
pub fn is_input(meta: &Metadata) -> bool {
    meta.is_file() && opened().contains(&(meta.dev(), meta.ino()))
}

/// Forgets all inputs: a run has ended, and the next one of this process may write to them.
pub fn forget_all() {
    opened().clear();
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
        drop(open(&file).unwrap());
        assert!(is_known(&file) && is_known(&linked) && !is_known(&other) && !is_known(&dir));
        forget_all();
        assert!(!is_known(&file));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

//! What happens when the process is told to stop: unfinished output goes, and so does the process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Files that must not survive a signal.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a file that is not complete yet.
pub fn guard(path: &Path) {
    unfinished().push(path.to_path_buf());
}

/// Forgets a file that is complete, or gone.
pub fn release(path: &Path) {
    unfinished().retain(|other| other != path);
}

/// Starts the thread that waits for SIGTERM, SIGINT and SIGHUP (it does no work, so it does not count as
/// a thread). On one of them unfinished files are removed and the process ends with 128 + its number;
/// spilled data has no name and goes by itself. It is done here rather than by a flag because a
/// thread that waits for a pipe would not look at a flag.
pub fn watch() -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let files = unfinished();
            for path in files.iter() {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(128 + signal); // the lock is held: no file can be made anew
        }
    })?;
    Ok(())
}

//! What happens when the process is told to stop: unfinished output goes, and so does the process.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// Files that must not survive a signal.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a file that goes if a signal comes before it is [released](release).
pub fn create(path: &Path) -> std::io::Result<File> {
    let mut files = unfinished(); // held while the file is made, so that no signal comes between
    let file = loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(std::io::Error::other("another run is writing it"));
        }
        // Between opening and locking, another run may have finished and renamed what was opened.
        let (opened, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino())) {
            break file;
        }
    };
    file.set_len(0)?;
    files.push(path.to_path_buf());
    Ok(file)
}

/// Has files go if a signal comes, which others make.
pub fn remove_too(paths: Vec<PathBuf>) {
    unfinished().extend(paths);
}

/// Forgets a file that is complete, or gone.
pub fn release(path: &Path) {
    unfinished().retain(|other| other != path);
}

/// Gives files their names, all or none; a signal comes before the first or behind the last. Of several, the last name is
/// free before the first is given: if the machine stops between them, the end is missing, and that is seen. On failure,
/// gives the number of the one that could not be renamed, too.
pub fn rename_all(files: &[&(PathBuf, PathBuf)]) -> Result<(), (usize, std::io::Error)> {
    let mut unfinished = unfinished();
    if let [_, .., (_, last)] = files {
        let _ = std::fs::remove_file(last);
    }
    for (number, (partial, name)) in files.iter().enumerate() {
        if let Err(error) = std::fs::rename(partial, name) {
            for (partial, name) in &files[..number] {
                let _ = std::fs::rename(name, partial);
            }
            return Err((number, error));
        }
    }
    unfinished.retain(|path| !files.iter().any(|(partial, _)| partial == path));
    Ok(())
}

/// Starts the thread that waits for SIGTERM, SIGINT and SIGHUP (it does no work, so it does not count as
/// a thread). On one of them unfinished files are removed and the process ends with 128 + its number;
/// spilled data has no name and goes by itself. It is done here rather than by a flag because a
/// thread that waits for a pipe would not look at a flag. What was ignored at the start, as under
/// `nohup`, stays ignored. A file-size limit becomes an error of the write that meets it.
pub fn watch() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let ignored = ignored_signals();
    let wanted = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0);
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let files = unfinished();
            for path in files.iter() {
                let _ = std::fs::remove_file(path);
            }
            #[allow(clippy::disallowed_methods)] // the lock is held: no file can be made anew
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// The signals this process was told to ignore, as a set of bits.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

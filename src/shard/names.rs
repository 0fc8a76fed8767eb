//! Names of the files in a job's directory, which other machines also use.

use std::path::{Path, PathBuf};

use readmill_process::atomic_file::sync_directories;

pub const PLAN: &str = "job.json";

/// Returns the final name of a file with a temporary name. `None` if `name` does not have the form
/// of [`temporary_name`].
pub fn final_name_of_temporary(name: &str) -> Option<&str> {
    let (rest, nonce) = name.strip_prefix('.')?.rsplit_once('.')?;
    let (rest, process) = rest.rsplit_once('.')?;
    let is_ours = !nonce.is_empty()
        && nonce.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit());
    // Host names may contain dots. Stage names contain none, and the name of the plan contains one.
    let target = if rest.starts_with(PLAN) { PLAN } else { rest.split('.').next()? };
    is_ours.then_some(target)
}

/// Lists the temporary files of `path` in its directory. Killed runs leave them.
pub fn find_temporary_files(path: &Path) -> Vec<PathBuf> {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_ours = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()
            .and_then(final_name_of_temporary)
            .is_some_and(|target| path.file_name() == Some(target.as_ref()))
    };
    entries.filter(is_ours).map(|entry| entry.path()).collect()
}

/// Returns a name in the same directory that no other process on any machine uses. It contains the
/// host name, the process ID and the time.
pub fn temporary_name(path: &Path) -> PathBuf {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "-");
    let nonce = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{host}.{}.{nonce:x}", std::process::id()));
    path.with_file_name(name)
}

/// Creates a directory and its missing parents, and syncs them so that they survive a power
/// failure.
pub fn create_synced_directory(directory: &Path) -> std::io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    std::fs::create_dir_all(directory)?;
    sync_parent_directory(directory); // even if it exists: the run that created it may have been killed before syncing it
    missing.into_iter().skip(1).for_each(sync_parent_directory);
    Ok(())
}

/// Syncs the directory that contains `path`, so that a new name in it survives a power failure.
pub fn sync_parent_directory(path: &Path) {
    sync_directories([path]);
}

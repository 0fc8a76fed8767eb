//! Names of files in the directory of a job, which other machines see, too.

use std::path::{Path, PathBuf};

use readmill_process::atomic_file::sync_directories;

pub const PLAN: &str = "job.json";

/// Returns the final name of a file with this temporary name. `None` if `name` is not a
/// temporary name as [`temporary_name`] makes them.
pub fn final_name_of_temporary(name: &str) -> Option<&str> {
    let (rest, nonce) = name.strip_prefix('.')?.rsplit_once('.')?;
    let (rest, process) = rest.rsplit_once('.')?;
    let is_ours = !nonce.is_empty()
        && nonce.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit());
    // The name of a host may have dots. Names of stages have none, and the name of the
    // plan has one.
    let target = if rest.starts_with(PLAN) { PLAN } else { rest.split('.').next()? };
    is_ours.then_some(target)
}

/// Lists the temporary files next to `path` that were meant to become `path`. Runs that
/// were killed leave them.
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

/// Returns a name in the same directory that no other process on any machine uses: it
/// contains the host, the process id and the time.
pub fn temporary_name(path: &Path) -> PathBuf {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "-");
    let nonce = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{host}.{}.{nonce:x}", std::process::id()));
    path.with_file_name(name)
}

/// Creates a directory and its missing parents, and syncs them so that they survive a
/// power loss.
pub fn create_synced_directory(directory: &Path) -> std::io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    std::fs::create_dir_all(directory)?;
    sync_parent_directory(directory); // even if it was there: the run that made it may have been killed before it synced
    missing.into_iter().skip(1).for_each(sync_parent_directory);
    Ok(())
}

/// Syncs the directory that contains `path`, so that a new name in it survives a power
/// loss.
pub fn sync_parent_directory(path: &Path) {
    sync_directories([path]);
}

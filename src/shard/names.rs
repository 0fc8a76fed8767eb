//! Names of files that other machines see, too.

use std::fs::File;
use std::path::{Path, PathBuf};

/// A name in the same directory that no other process uses, on whatever machine.
pub fn temporary_name(path: &Path) -> PathBuf {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "-");
    let nonce = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{host}.{}.{nonce:x}", std::process::id()));
    path.with_file_name(name)
}

/// Syncs the directory of a file, so that its name survives a loss of power.
pub fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let _ = File::open(parent.unwrap_or(Path::new("."))).and_then(|dir| dir.sync_all()); // not every file system can
}

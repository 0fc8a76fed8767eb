//! What the files of an index are called: a prefix, and an ending for each.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// `prefix` with `suffix` behind it.
pub(crate) fn named(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    PathBuf::from(name)
}

/// The prefix under which a reference has a whole index: its own name, or that name without `.gz`, or without `.fasta`,
/// `.fa` or `.fna` too.
pub(crate) fn find(reference: &Path, is_whole: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut prefix = reference.to_path_buf();
    loop {
        if is_whole(&prefix) {
            return Some(prefix);
        }
        let extension = prefix.extension()?.to_str()?;
        if !["gz", "bgz", "fasta", "fa", "fna"].contains(&extension) {
            return None;
        }
        prefix.set_extension("");
    }
}

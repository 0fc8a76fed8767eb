//! What the files of an index are called: a prefix, and an ending for each.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// `prefix` with `suffix` behind it.
pub(crate) fn named(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    PathBuf::from(name)
}

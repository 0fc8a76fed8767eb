//! The Rust files of the workspace, and their maximum length.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories with Rust source, relative to the workspace root.
pub const SOURCE_DIRECTORIES: [&str; 7] =
    ["src", "tests", "crates", "experiments", "examples", "tools", "fuzz"];

/// Maximum lines of code in a file. Comments and blank lines are not counted, so that the limit
/// does not discourage documentation.
const MAX_LINES: usize = 500;
const MAX_TEST_LINES: usize = 800;

/// Adds the Rust files below a directory, except those in build directories.
pub fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether all code of the file is test code.
pub fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// Returns a finding if a file is too long.
pub fn check_length(path: &Path) -> Result<Option<String>> {
    let text = read(path)?;
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = text.lines().filter(is_code).count();
    let max_lines = if is_test(path) { MAX_TEST_LINES } else { MAX_LINES };
    Ok((lines > max_lines)
        .then(|| format!("{}: {lines} lines, {max_lines} at most: divide it", path.display())))
}

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

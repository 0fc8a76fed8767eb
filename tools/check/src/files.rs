//! The Rust files of the workspace, and how long they may be.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories with Rust source, below the root of the workspace.
pub const PLACES: [&str; 7] = ["src", "tests", "crates", "experiments", "examples", "tools", "fuzz"];

/// Lines of a file that are not blank; tests may have more.
const MOST_LINES: usize = 500;
const MOST_TEST_LINES: usize = 800;

/// Adds the Rust files below a directory, without those of builds.
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

/// Whether the whole file is a test.
pub fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The finding that a file is too long.
pub fn check_length(path: &Path) -> Result<Option<String>> {
    let text = read(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let most = if is_test(path) { MOST_TEST_LINES } else { MOST_LINES };
    Ok((lines > most).then(|| format!("{}: {lines} lines, {most} at most: divide it", path.display())))
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

//! The Rust files of the workspace, and how long they may be.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories with Rust source, below the root of the workspace.
pub const PLACES: [&str; 7] = ["src", "tests", "crates", "experiments", "examples", "xtask", "fuzz"];

/// The leaf files in which `unsafe` may stand; tests may use it anywhere, with their reasons.
const UNSAFE: [&str; 15] = [
    "crates/align/src/bwa/failure.rs",
    "crates/align/src/bwa/ffi.rs",
    "crates/align/src/bwa/initialisers.rs",
    "crates/align/src/bwa/memory.rs",
    "crates/align/src/bwa/quiet.rs",
    "crates/align/src/bwa/settings.rs",
    "crates/align/src/bwa/shared_tests.rs",
    "crates/align/src/minibwa/ffi.rs",
    "crates/align/src/minibwa/hits.rs",
    "crates/align/src/minibwa/memory.rs",
    "crates/format/src/bgzf/codec/igzip.rs",
    "crates/record/src/arena.rs",
    "src/process/allocator.rs",
    "src/run/audit.rs",
    "xtask/src/bench/usage.rs",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Source::new(path.into(), text.into())).len()
    }

    #[test]
    fn long_files_and_functions_are_found() {
        assert_eq!(count("src/a.rs", &"use a;\n\n".repeat(500)), 0);
        assert_eq!(count("src/a.rs", &"use a;\n".repeat(501)), 1);
        assert_eq!(count("tests/a.rs", &"use a;\n".repeat(501)), 0);
        let body = |n| format!("fn f() {{\n{}}}\n", "g();\n".repeat(n));
        assert_eq!(count("src/a.rs", &body(98)), 0);
        assert_eq!(count("src/a.rs", &body(99)), 1);
    }

    #[test]
    fn unsafe_has_its_files_and_its_reasons() {
        let bare = "fn f() { unsafe { g() } }\n";
        let reasoned = "// SAFETY: g is sound.\nfn f() { unsafe { g() } }\n";
        assert_eq!(count("src/run/mod.rs", reasoned), 1);
        assert_eq!(count("src/process/allocator.rs", reasoned), 0);
        assert_eq!(count("src/process/allocator.rs", bare), 1);
        let asking = "/// # Safety\n///\n/// `p` is not null.\nunsafe fn f(p: *const u8) {}\n";
        assert_eq!(count("src/process/allocator.rs", asking), 0);
    }

    #[test]
    fn unfinished_work_is_found_in_code_alone() {
        assert_eq!(count("src/a.rs", "fn f() { todo!() } // dbg!\n"), 1);
    }
}

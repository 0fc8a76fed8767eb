//! A library that builds no program for its unit tests has none: they would never run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::files;

/// Returns the files below `src` with tests, of crates whose manifest says `test = false`.
pub fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for entry in fs::read_dir(root.join("crates"))?.flatten() {
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("[lib]\ntest = false\n") {
            continue;
        }
        let source = entry.path().join("src");
        for file in files.iter().filter(|file| file.starts_with(&source)) {
            if has_tests(&files::read(file)?) {
                findings.push(format!(
                    "{}: unit tests do not run here: move them to tests/, or remove test = false from Cargo.toml",
                    file.display()
                ));
            }
        }
    }
    Ok(findings)
}

fn has_tests(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim_start(), "#[test]" | "#[cfg(test)]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_test_in_a_crate_without_a_program_for_it_is_found() {
        let root = tempfile::tempdir().unwrap();
        let (crates, mut files) = (root.path().join("crates"), Vec::new());
        for (name, manifest) in [("with", "[lib]\n"), ("without", "[lib]\ntest = false\n")] {
            let source = crates.join(name).join("src");
            fs::create_dir_all(&source).unwrap();
            fs::write(crates.join(name).join("Cargo.toml"), manifest).unwrap();
            for (file, text) in [("a.rs", "#[test]\nfn a() {}\n"), ("b.rs", "fn b() {}\n")] {
                fs::write(source.join(file), text).unwrap();
                files.push(source.join(file));
            }
        }
        let findings = check(root.path(), &files).unwrap();
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("crates/without/src/a.rs: "));
    }
}

//! What documents promise: README stays short, and every path that CONTRIBUTING sends a reader to exists.

use std::path::Path;

use anyhow::{Context, Result};

/// Lines a README may have.
const README_LINES: usize = 200;

/// The heading above the table of places, without its case.
const TABLE: &str = "where do i change";

/// Checks the documents that exist.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    if let Some(text) = read(&root.join("README.md"))? {
        let lines = text.lines().count();
        if lines > README_LINES {
            findings
                .push(format!("README.md: {lines} lines, {README_LINES} at most: move some to docs/"));
        }
    }
    if let Some(text) = read(&root.join("CONTRIBUTING.md"))? {
        let paths = table_paths(&text);
        if paths.is_empty() {
            findings.push("CONTRIBUTING.md: its table \"where do I change …?\" names no path".into());
        }
        let missing = paths.iter().filter(|(_, path)| !root.join(path).exists());
        findings.extend(
            missing.map(|(line, path)| format!("CONTRIBUTING.md:{line}: {path} does not exist")),
        );
    }
    Ok(findings)
}

fn read(path: &Path) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    std::fs::read_to_string(path).map(Some).with_context(|| format!("cannot read {}", path.display()))
}

/// The paths in backticks in the rows below the heading, with their lines. Of `crates/x/<name>.rs` the part
/// before the first place that is left open counts.
fn table_paths(text: &str) -> Vec<(usize, String)> {
    let (mut inside, mut found) = (false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            inside = line.to_lowercase().contains(TABLE);
        }
        if !(inside && line.starts_with('|')) {
            continue;
        }
        for quoted in line.split('`').skip(1).step_by(2).filter(|quoted| looks_like_path(quoted)) {
            let open = quoted.find(['<', '*', '{', '…']).unwrap_or(quoted.len());
            let known = match quoted[..open].rfind('/') {
                Some(end) if open < quoted.len() => &quoted[..end],
                _ => &quoted[..open],
            };
            found.push((number + 1, known.to_owned()));
        }
    }
    found
}

fn looks_like_path(quoted: &str) -> bool {
    let is_file = [".rs", ".md", ".toml", ".txt"].iter().any(|end| quoted.ends_with(end));
    (quoted.contains('/') || is_file) && !quoted.contains([' ', '(']) && !quoted.starts_with(['-', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_table_alone() {
        let text = "see `a/b.rs`\n## Where do I change …?\n| what | where |\n|---|---|\n\
                    | a filter | `crates/filters/src/<name>.rs`, `src/plan.rs`, `--flag` |\n\
                    ## Other\n| `x/y` |\n";
        let paths: Vec<String> = table_paths(text).into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths, ["crates/filters/src", "src/plan.rs"]);
    }
}

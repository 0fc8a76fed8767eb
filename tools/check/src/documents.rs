//! Documents: the README stays short, and paths that documents name exist.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::files;

/// Lines of the README.
const MOST_README_LINES: usize = 200;

/// Checks README, CONTRIBUTING and the pages of `docs`.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for directory in [root.join("docs"), root.join("docs/design")] {
        pages.extend(fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let mut findings = Vec::new();
    for page in &pages {
        findings.extend(missing(root, page)?);
    }
    let lines = files::read(&pages[1])?.lines().count();
    if lines > MOST_README_LINES {
        findings.push(format!("README.md: {lines} lines, {MOST_README_LINES} at most"));
    }
    Ok(findings)
}

/// The paths that a page names and that do not exist.
fn missing(root: &Path, page: &Path) -> Result<Vec<String>> {
    let text = files::read(page)?;
    let mut findings = Vec::new();
    for (line, quoted) in paths(&text).filter(|(_, path)| !root.join(path).exists()) {
        findings.push(format!("{}:{line}: {quoted} does not exist", page.display()));
    }
    Ok(findings)
}

/// The paths in backticks that begin with a directory of source, each with its line; of `src/x/<name>.rs` the part before
/// what is left open.
fn paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let quoted = (1..).zip(text.lines()).flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |quoted| (number, quoted))
    });
    quoted.filter(|(_, quoted)| is_path(quoted)).map(|(number, quoted)| {
        let open = quoted.find(['<', '*', '{', '…', ' ', ':']).unwrap_or(quoted.len());
        let known = &quoted[..open];
        (
            number,
            if open < quoted.len() {
                known.rfind('/').map_or(known, |end| &known[..end])
            } else {
                known
            },
        )
    })
}

fn is_path(quoted: &str) -> bool {
    files::PLACES
        .iter()
        .any(|place| quoted.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_as_far_as_they_are_stated() {
        let text = "see `src/plan.rs` or\n`crates/x/src/<name>.rs`, `--flag`, `crates/x/{a,b}`, `src/a.rs: b`\n";
        let found: Vec<_> = paths(text).collect();
        assert_eq!(found, [(1, "src/plan.rs"), (2, "crates/x/src"), (2, "crates/x"), (2, "src")]);
    }
}

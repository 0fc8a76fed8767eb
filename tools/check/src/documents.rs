//! Rules for documents: the README is short, links and named paths lead somewhere, and no merge
//! conflict is left. `./dev docs` checks the links, too.

use std::path::Path;

use anyhow::Result;
use readmill_check::{links, pages};

use super::files;

const MAX_README_LINES: usize = 200;

/// Checks the README, the pages in `docs` and the other documents: their links, the paths they
/// name, and marks of merge conflicts.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = links::check_documents(root)?;
    for document in pages::list_documents(root)? {
        let page = root.join(&document);
        findings.extend(find_missing_paths(root, &page)?);
        for line in conflict_lines(&files::read(&page)?) {
            findings.push(format!("{}:{line}: a merge left both sides here", page.display()));
        }
    }
    let lines = files::read(&root.join("README.md"))?.lines().count();
    if lines > MAX_README_LINES {
        findings.push(format!("README.md: {lines} lines, {MAX_README_LINES} at most"));
    }
    Ok(findings)
}

/// Finds paths that a page names but that do not exist.
fn find_missing_paths(root: &Path, page: &Path) -> Result<Vec<String>> {
    let text = files::read(page)?;
    let mut findings = Vec::new();
    for (line, quoted) in quoted_source_paths(&text).filter(|(_, path)| !root.join(path).exists()) {
        findings.push(format!("{}:{line}: {quoted} does not exist", page.display()));
    }
    Ok(findings)
}

/// Returns the numbers of lines with git conflict markers.
fn conflict_lines(text: &str) -> impl Iterator<Item = usize> {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    (1..).zip(text.lines()).filter(move |(_, line)| is_mark(line)).map(|(number, _)| number)
}

/// Returns the paths in backticks that begin with a source directory, each with its line number. A
/// path is cut at its first placeholder, for example `<name>` in `src/x/<name>.rs`.
fn quoted_source_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
    files::SOURCE_DIRECTORIES
        .iter()
        .any(|place| quoted.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_as_far_as_they_are_stated() {
        let text = "see `src/plan.rs` or\n`crates/x/src/<name>.rs`, `--flag`, `crates/x/{a,b}`, `src/a.rs: b`\n";
        let found: Vec<_> = quoted_source_paths(text).collect();
        assert_eq!(found, [(1, "src/plan.rs"), (2, "crates/x/src"), (2, "crates/x"), (2, "src")]);
    }

    #[test]
    fn both_sides_of_a_conflict_are_found() {
        let text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n    <<<<<<< quoted\n";
        assert_eq!(conflict_lines(text).collect::<Vec<_>>(), [2, 6]);
    }
}

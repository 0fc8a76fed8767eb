//! Links of the documentation: each leads to a file that exists and to an anchor of its page, and
//! each page is in the table of contents.
//!
//! Anchors follow GitHub's rules. mdBook has the same rules, so a link that is correct here is
//! correct on the site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::markdown::{LineKind, find_link_targets, parse_page};
use crate::pages::{SUMMARY, is_markdown, is_url, list_documents, list_pages, read, resolve_link};

/// Words that a block of shell commands may have after `sh`.
pub const BLOCK_WORDS: [&str; 3] = ["ci", "slow", "network"];

/// Checks all documents. Returns a finding for each broken link, for each page that is not exactly
/// once in the table of contents, and for each block of commands with an unknown word.
pub fn check_documents(root: &Path) -> Result<Vec<String>> {
    let documents = list_documents(root)?;
    let mut texts = BTreeMap::new();
    for document in &documents {
        texts.insert(document.clone(), read(&root.join(document))?);
    }
    let parsed: BTreeMap<_, _> = texts.iter().map(|(path, text)| (path, parse_page(text))).collect();
    let anchors: BTreeMap<_, _> = parsed.iter().map(|(path, page)| (*path, page.anchors())).collect();
    let mut findings = Vec::new();
    for (document, page) in &parsed {
        for (number, line) in (1..).zip(&page.lines).filter(|(_, line)| line.kind == LineKind::Text) {
            for target in find_link_targets(line.text) {
                let target = &line.text[target];
                if let Some(fault) = find_fault(root, document, target, &anchors) {
                    findings.push(format!("{}:{number}: {target}: {fault}", document.display()));
                }
            }
        }
        for block in &page.blocks {
            let unknown = block.words.iter().filter(|word| !BLOCK_WORDS.contains(&word.as_str()));
            let place = format!("{}:{}", document.display(), block.start_line);
            findings.extend(unknown.map(|word| {
                format!("{place}: a block has the word {word}; the words are {}", BLOCK_WORDS.join(", "))
            }));
        }
    }
    findings.extend(check_summary(root, &texts[Path::new(SUMMARY)])?);
    Ok(findings)
}

/// Returns what is wrong with a link, if anything.
fn find_fault(
    root: &Path,
    document: &Path,
    target: &str,
    anchors: &BTreeMap<&PathBuf, BTreeSet<String>>,
) -> Option<&'static str> {
    if is_url(target) {
        return None;
    }
    let Some((path, anchor)) = resolve_link(document, target) else {
        return Some("this link leaves the repository");
    };
    if !root.join(&path).exists() {
        return Some("this file does not exist");
    }
    let anchors = anchors.get(&path).filter(|_| is_markdown(&path))?;
    let is_there = anchor.is_none_or(|anchor| anchors.contains(anchor));
    (!is_there).then_some("this anchor does not exist")
}

/// Returns a finding for each page that is not exactly once in the table of contents.
fn check_summary(root: &Path, summary: &str) -> Result<Vec<String>> {
    let mut uses: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for line in summary.lines() {
        for target in find_link_targets(line) {
            if let Some((path, _)) = resolve_link(Path::new(SUMMARY), &line[target]) {
                *uses.entry(path).or_default() += 1;
            }
        }
    }
    let mut findings = Vec::new();
    for page in list_pages(root)?.into_iter().filter(|page| page != Path::new(SUMMARY)) {
        match uses.get(&page) {
            Some(1) => {}
            Some(count) => {
                findings.push(format!("{SUMMARY}: {} is listed {count} times", page.display()))
            }
            None => findings.push(format!("{SUMMARY}: {} is not listed", page.display())),
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check_documents(root.path()).unwrap()
    }

    #[test]
    fn broken_links_and_anchors_are_found_with_their_lines() {
        let findings = check(&[
            ("README.md", "[a](docs/a.md#part)\n[b](docs/none.md)\n"),
            ("docs/SUMMARY.md", "- [A](a.md)\n"),
            ("docs/a.md", "# A\n## Part\n[top](#a) [bad](#b)\n[out](../../x)\n[r](../README.md#none)\n"),
        ]);
        let expected = [
            "README.md:2: docs/none.md: this file does not exist",
            "docs/a.md:3: #b: this anchor does not exist",
            "docs/a.md:4: ../../x: this link leaves the repository",
            "docs/a.md:5: ../README.md#none: this anchor does not exist",
        ];
        assert_eq!(findings, expected);
    }

    #[test]
    fn each_page_is_listed_once() {
        let findings = check(&[
            ("docs/SUMMARY.md", "- [A](a.md)\n- [A](a.md)\n- [C](sub/c.md)\n"),
            ("docs/a.md", "# A\n"),
            ("docs/sub/b.md", "# B\n"),
            ("docs/sub/c.md", "# C\n"),
        ]);
        let expected = [
            "docs/SUMMARY.md: docs/a.md is listed 2 times",
            "docs/SUMMARY.md: docs/sub/b.md is not listed",
        ];
        assert_eq!(findings, expected);
    }

    #[test]
    fn unknown_words_of_blocks_are_found() {
        let page = "```sh ci\n```\n```sh silent\n```\n<!-- sh touch a -->\n";
        let findings = check(&[("docs/SUMMARY.md", "- [A](a.md)\n"), ("docs/a.md", page)]);
        assert_eq!(findings.len(), 3);
        assert_eq!(
            findings[0],
            "docs/a.md:3: a block has the word silent; the words are ci, slow, network"
        );
    }
}

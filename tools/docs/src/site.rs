//! Prepares the input of mdBook from `docs`.
//!
//! The pages in `docs` are written for GitHub. Staging makes copies that suit mdBook:
//!
//! - Links that leave `docs` lead to the repository instead.
//! - `README.md`, which GitHub shows for a folder, becomes `index.md`.
//! - Hidden blocks of commands are removed, and so are words after the language `sh`.
//! - Pages that are still being written are left out of the table of contents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use readmill_check::markdown::{LineKind, find_link_targets, parse_page};
use readmill_check::pages::{DIRECTORY, SUMMARY, is_markdown, is_url, list_files, read, resolve_link};

/// Configuration and styles of the site.
const CONFIGURATION: &str = "tools/docs/site";

/// The repository, in which links lead to files that are not part of the site.
const REPOSITORY: &str = "https://github.com/readmill/readmill";

/// Writes the input of mdBook to the directory `to`. Writes only files whose contents changed, so
/// that a running `mdbook serve` builds nothing else. Removes files that no longer exist.
pub fn stage_site(root: &Path, to: &Path) -> Result<()> {
    let mut staged = BTreeSet::new();
    for file in list_files(root, Path::new(CONFIGURATION))? {
        let name = file.strip_prefix(CONFIGURATION)?.to_owned();
        write_if_changed(&to.join(&name), &fs::read(root.join(&file))?)?;
        staged.insert(name);
    }
    // `mdbook serve` ignores files that git ignores; the nearest such list is used.
    write_if_changed(&to.join(".gitignore"), b"")?;
    staged.insert(PathBuf::from(".gitignore"));
    for file in list_files(root, Path::new(DIRECTORY))? {
        let name = staged_name(&file);
        if is_markdown(&file) {
            let page = stage_page(root, &file, &read(&root.join(&file))?);
            write_if_changed(&to.join(&name), page.as_bytes())?;
        } else {
            write_if_changed(&to.join(&name), &fs::read(root.join(&file))?)?;
        }
        staged.insert(name);
    }
    for file in list_files(to, Path::new(""))?.iter().filter(|file| !staged.contains(*file)) {
        fs::remove_file(to.join(file))?;
    }
    Ok(())
}

fn write_if_changed(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the name of a page or file of `docs` in the staged copy.
fn staged_name(file: &Path) -> PathBuf {
    match file.file_name() {
        Some(name) if name == "README.md" => file.with_file_name("index.md"),
        _ => file.to_owned(),
    }
}

/// Returns the staged text of a page.
fn stage_page(root: &Path, page: &Path, text: &str) -> String {
    let mut staged = String::with_capacity(text.len());
    for line in parse_page(text).lines {
        match line.kind {
            LineKind::Hidden => continue,
            LineKind::FenceStart => staged.push_str(&without_words(line.text)),
            LineKind::Text if page == Path::new(SUMMARY) && is_missing(root, page, line.text) => {
                continue;
            }
            LineKind::Text => staged.push_str(&stage_links(root, page, line.text)),
            LineKind::Code | LineKind::Comment => staged.push_str(line.text),
        }
        staged.push('\n');
    }
    staged
}

/// Returns the first line of a block of code without words after the language `sh`.
fn without_words(line: &str) -> String {
    match line.split_once("sh ") {
        Some((mark, _)) if mark.trim_start().chars().all(|letter| ['`', '~'].contains(&letter)) => {
            format!("{mark}sh")
        }
        _ => line.to_owned(),
    }
}

/// Returns whether a line of the table of contents leads to a page that does not exist. Such a page
/// is still being written, or the check of links has found it.
fn is_missing(root: &Path, page: &Path, line: &str) -> bool {
    find_link_targets(line).into_iter().any(|target| {
        resolve_link(page, &line[target]).is_some_and(|(path, _)| !root.join(path).exists())
    })
}

fn stage_links(root: &Path, page: &Path, line: &str) -> String {
    let mut staged = String::with_capacity(line.len());
    let mut written = 0;
    for range in find_link_targets(line) {
        staged.push_str(&line[written..range.start]);
        staged.push_str(&stage_link(root, page, &line[range.clone()]));
        written = range.end;
    }
    staged.push_str(&line[written..]);
    staged
}

/// Returns the target of a link on the site.
fn stage_link(root: &Path, page: &Path, target: &str) -> String {
    let Some((path, anchor)) = resolve_link(page, target) else { return target.to_owned() };
    if is_url(target) || target.starts_with('#') {
        return target.to_owned();
    }
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    let full = root.join(&path);
    let (given, _) = target.split_once('#').unwrap_or((target, ""));
    let given = given.trim_end_matches('/');
    if !path.starts_with(DIRECTORY) || full.is_dir() && !full.join("README.md").exists() {
        let kind = if full.is_dir() { "tree" } else { "blob" };
        return format!("{REPOSITORY}/{kind}/main/{}{anchor}", path.display());
    }
    if full.is_dir() {
        return format!("{given}/index.md{anchor}");
    }
    let start = given.strip_suffix("README.md").filter(|start| start.is_empty() || start.ends_with('/'));
    match start {
        Some(start) => format!("{start}index.md{anchor}"),
        None => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in
            ["docs/design/README.md", "docs/data/a.tsv", "docs/sort.md", "src/plan/mod.rs", "README.md"]
        {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "# A\n").unwrap();
        }
        root
    }

    #[test]
    fn links_that_leave_the_site_lead_to_the_repository() {
        let root = root();
        let cases = [
            ("sort.md#rows", "sort.md#rows"),
            ("#here", "#here"),
            ("https://example.org/README.md", "https://example.org/README.md"),
            ("data/a.tsv", "data/a.tsv"),
            ("data", "https://github.com/readmill/readmill/tree/main/docs/data"),
            ("../src/plan/mod.rs", "https://github.com/readmill/readmill/blob/main/src/plan/mod.rs"),
            ("../README.md#a", "https://github.com/readmill/readmill/blob/main/README.md#a"),
            ("design", "design/index.md"),
            ("design/README.md#a", "design/index.md#a"),
        ];
        for (target, expected) in cases {
            assert_eq!(stage_link(root.path(), Path::new("docs/view.md"), target), expected);
        }
    }

    #[test]
    fn hidden_blocks_and_words_are_removed() {
        let text = "a\n<!-- sh ci\nmake\n-->\n```sh slow\n[x](../README.md)\n```\n  ~~~sh\n~~~\n";
        let staged = stage_page(root().path(), Path::new("docs/view.md"), text);
        assert_eq!(staged, "a\n```sh\n[x](../README.md)\n```\n  ~~~sh\n~~~\n");
    }

    #[test]
    fn a_second_staging_writes_only_what_changed_and_removes_the_rest() {
        let root = root();
        let to = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("tools/docs/site")).unwrap();
        fs::write(root.path().join("tools/docs/site/book.toml"), "").unwrap();
        fs::write(root.path().join("docs/SUMMARY.md"), "- [S](sort.md)\n- [T](start/tour.md)\n")
            .unwrap();
        stage_site(root.path(), to.path()).unwrap();
        let staged = |name: &str| to.path().join(name);
        let summary = fs::read_to_string(staged("docs/SUMMARY.md")).unwrap();
        assert_eq!(summary, "- [S](sort.md)\n");
        assert!(staged("docs/design/index.md").exists() && staged("book.toml").exists());

        let time = |name: &str| fs::metadata(staged(name)).unwrap().modified().unwrap();
        let before = time("docs/data/a.tsv");
        fs::remove_file(root.path().join("docs/sort.md")).unwrap();
        stage_site(root.path(), to.path()).unwrap();
        assert!(!staged("docs/sort.md").exists());
        assert_eq!(time("docs/data/a.tsv"), before);
    }
}

//! The pages of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The directory of pages, relative to the workspace root.
pub const DIRECTORY: &str = "docs";

/// The table of contents of the site.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Documents outside of the directory of pages.
const OTHER_DOCUMENTS: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "integrations/README.md",
    "packaging/README.md",
    "packaging/packages.md",
    "python/README.md",
];

/// Returns all pages, relative to the root, in order of their names.
pub fn list_pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = list_files(root, Path::new(DIRECTORY))?;
    pages.retain(|page| is_markdown(page));
    Ok(pages)
}

/// Returns all pages and the documents outside of their directory, relative to the root.
pub fn list_documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut documents: Vec<_> = OTHER_DOCUMENTS.map(PathBuf::from).into();
    documents.retain(|document| root.join(document).exists());
    documents.extend(list_pages(root)?);
    Ok(documents)
}

/// Returns all files below a directory, relative to the root, in order of their names.
pub fn list_files(root: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(root.join(directory))
        .with_context(|| format!("cannot read the directory {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            files.extend(list_files(root, &path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

pub fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the path that a link on a page leads to, relative to the root, and its anchor. Returns
/// `None` for links to other sites, and for links that leave the root.
pub fn resolve_link<'a>(page: &Path, target: &'a str) -> Option<(PathBuf, Option<&'a str>)> {
    if is_url(target) {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let mut resolved = page.parent()?.to_owned();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if !resolved.pop() => return None,
            ".." => {}
            name => resolved.push(name),
        }
    }
    Some((resolved, anchor))
}

/// Returns whether the target of a link names a site or an address instead of a file.
pub fn is_url(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(|letter| letter.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_from_their_page() {
        let resolve = |target| resolve_link(Path::new("docs/design/0001.md"), target);
        assert_eq!(resolve("../sort.md#a"), Some((PathBuf::from("docs/sort.md"), Some("a"))));
        assert_eq!(resolve("#here"), Some((PathBuf::from("docs/design/0001.md"), Some("here"))));
        assert_eq!(resolve("../../src/plan/"), Some((PathBuf::from("src/plan"), None)));
        assert_eq!(resolve("../../../x.md"), None);
        assert_eq!(resolve("https://example.org/a.md"), None);
        assert_eq!(resolve("mailto:a@example.org"), None);
    }
}

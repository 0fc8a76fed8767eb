//! The picture of crates and modules in docs/ARCHITECTURE.md, generated from the manifests and from
//! each `lib.rs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::drawn::DrawnPart;

const PICTURE: DrawnPart = DrawnPart {
    document: "docs/ARCHITECTURE.md",
    begin: "<!-- drawn by `./dev picture` -->\n```\n",
    end: "```\n<!-- end of the picture -->",
};

/// Maximum line width in characters.
const WIDTH: usize = 118;

/// A crate of the program.
struct Crate {
    /// Workspace crates that it uses.
    uses: Vec<String>,
    modules: Vec<String>,
}

/// Returns a finding if the picture in the document is out of date.
pub fn check(root: &Path) -> Result<Option<String>> {
    PICTURE.check(root, &draw(root)?)
}

/// Writes the picture into the document.
pub fn write(root: &Path) -> Result<()> {
    PICTURE.write(root, &draw(root)?)
}

/// Draws the crates from the bottom to the top, each with those directly below it and with its
/// modules.
fn draw(root: &Path) -> Result<String> {
    let mut crates = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let directory = entry?.path();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        crates.insert(name, read(&directory)?);
    }
    crates.insert("readmill".to_string(), read(root)?);
    let mut rows: Vec<&String> = crates.keys().collect();
    rows.sort_by_key(|name| (dependency_depth(&crates, name), *name));
    let mut picture = String::new();
    for name in rows {
        let Crate { uses, modules } = &crates[name];
        let by_another =
            |it: &&String| uses.iter().any(|other| other != *it && depends_on(&crates, other, it));
        let below: Vec<&str> = uses.iter().filter(|it| !by_another(it)).map(String::as_str).collect();
        let arrow =
            if below.is_empty() { String::new() } else { format!("─► {}", below.join(", ")) };
        writeln!(picture, "{name:<9} {arrow}")?;
        let mut line = String::new();
        for module in modules {
            if line.len() + module.len() + 14 > WIDTH {
                writeln!(picture, "            {line}")?;
                line.clear();
            }
            line = if line.is_empty() { module.clone() } else { line + "  " + module };
        }
        if !line.is_empty() {
            writeln!(picture, "            {line}")?;
        }
    }
    Ok(picture)
}

fn read(directory: &Path) -> Result<Crate> {
    let manifest = std::fs::read_to_string(directory.join("Cargo.toml"))?;
    let used = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let used = used.split("\n[").next().unwrap_or_default();
    let ours = |line: &str| {
        let name = line.strip_prefix("readmill-")?.split(['.', ' ', '=']).next()?;
        Some(name.to_string())
    };
    let mut modules = Vec::new();
    for file in ["lib.rs", "main.rs"] {
        let Ok(text) = std::fs::read_to_string(directory.join("src").join(file)) else { continue };
        let mut before = "";
        for line in text.lines() {
            let module = line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod "));
            let module = module.and_then(|rest| rest.strip_suffix(';'));
            modules.extend(module.filter(|_| !before.contains("cfg(test)")).map(str::to_string));
            before = line;
        }
    }
    modules.sort();
    Ok(Crate { uses: used.lines().filter_map(ours).collect(), modules })
}

/// Returns the length of the longest dependency chain below a crate.
fn dependency_depth(crates: &BTreeMap<String, Crate>, name: &str) -> usize {
    let below = crates.get(name).map_or(&[][..], |it| &it.uses);
    below.iter().map(|it| 1 + dependency_depth(crates, it)).max().unwrap_or(0)
}

/// Returns whether a crate uses another one, directly or indirectly.
fn depends_on(crates: &BTreeMap<String, Crate>, from: &str, to: &str) -> bool {
    let below = crates.get(from).map_or(&[][..], |it| &it.uses);
    below.iter().any(|it| it == to || depends_on(crates, it, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_what_lies_directly_below() {
        let of = |uses: &[&str]| Crate {
            uses: uses.iter().map(|it| it.to_string()).collect(),
            modules: Vec::new(),
        };
        let crates = [("a", of(&[])), ("b", of(&["a"])), ("c", of(&["a", "b"]))]
            .map(|(name, it)| (name.to_string(), it));
        let crates = BTreeMap::from(crates);
        assert_eq!(["a", "b", "c"].map(|name| dependency_depth(&crates, name)), [0, 1, 2]);
        assert!(depends_on(&crates, "c", "a") && !depends_on(&crates, "a", "c"));
    }
}

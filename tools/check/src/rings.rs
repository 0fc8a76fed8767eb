//! The two rings of the program: the core does not name add-ons. It knows them only through the
//! trait `AddOn` and the table in src/addons/table.rs, so that each can be read, changed or omitted
//! alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Item, UseTree};

use super::files;

/// Directories of the core.
const CORE: [&str; 5] = ["src/run/", "src/outputs/", "src/plan/", "src/pipeline/", "src/aligning/"];

/// Crates that only add-ons use.
const CRATES: [&str; 6] = [
    "readmill_coverage",
    "readmill_fastqc",
    "readmill_fingerprint",
    "readmill_qc",
    "readmill_report",
    "readmill_stats",
];

/// The file that declares the modules of add-ons and re-exports their names.
const ADD_ONS: &str = "src/addons/mod.rs";

/// Modules in the directory of add-ons that do not belong to an add-on.
const GENERAL: [&str; 5] = ["add_on", "input_counter", "planned_file", "reported_tally", "table"];

/// Finds names of add-ons in the core.
pub fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<String>> {
    let text = files::read(&root.join(ADD_ONS))?;
    let names = names_of_add_ons(&text).with_context(|| format!("cannot parse {ADD_ONS}"))?;
    let mut findings = Vec::new();
    for path in paths {
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        if CORE.iter().any(|folder| shown.starts_with(folder)) {
            findings.extend(find_names(&shown, &files::read(path)?, &names));
        }
    }
    Ok(findings)
}

/// Returns the names that only add-ons may use: their crates, the paths of their modules, and the
/// types that `src/addons/mod.rs` re-exports from these.
fn names_of_add_ons(text: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::from_iter(CRATES.map(String::from));
    for item in syn::parse_file(text)?.items {
        match item {
            Item::Mod(module) if !is_general(&module.ident.to_string()) => {
                names.insert(format!("addons::{}", module.ident));
            }
            Item::Use(item) => {
                if let UseTree::Path(path) = &item.tree
                    && path.ident != "crate"
                    && !is_general(&path.ident.to_string())
                {
                    add_leaves(&path.tree, &mut names);
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn is_general(module: &str) -> bool {
    GENERAL.contains(&module)
}

/// Adds the names that a `use` imports.
fn add_leaves(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => add_leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_leaves(tree, names)),
        UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        UseTree::Rename(rename) => drop(names.insert(rename.rename.to_string())),
        UseTree::Glob(_) => {}
    }
}

/// Returns a finding for each line of a file that contains one of the names as a whole word,
/// including in comments.
fn find_names(shown: &str, text: &str, names: &BTreeSet<String>) -> Vec<String> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let has_word = |line: &str, name: &str| {
        line.match_indices(name).any(|(start, _)| {
            let (before, after) = (&line[..start], &line[start + name.len()..]);
            !before.ends_with(is_letter) && !after.starts_with(is_letter)
        })
    };
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let found = names.iter().filter(|name| has_word(line, name));
        findings.extend(found.map(|name| {
            format!(
                "{shown}:{number}: the core names {name}, an add-on; let the add-on state what is needed (src/addons/add_on.rs)"
            )
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &str = "mod add_on;\nmod qc;\npub use add_on::{AddOn, RunFacts};\n\
        pub use qc::{QcRequest, old::Name as QcName};\npub use crate::pipeline::tap::Tap;\n";

    #[test]
    fn names_are_those_of_the_modules_that_are_not_general() {
        let names = names_of_add_ons(MODULES).unwrap();
        let own = names.iter().filter(|name| !CRATES.contains(&name.as_str()));
        assert_eq!(Vec::from_iter(own), ["QcName", "QcRequest", "addons::qc"]);
    }

    #[test]
    fn a_core_that_names_an_add_on_is_found() {
        let names = names_of_add_ons(MODULES).unwrap();
        let find = |text: &str| find_names("src/run/mod.rs", text, &names).len();
        assert_eq!(find("use crate::addons::{AddOn, QcRequest};\n"), 1);
        assert_eq!(find("use readmill_qc::QcTally;\nfn f() { crate::addons::qc::g() }\n"), 2);
        assert_eq!(find("/// As `QcRequest` does.\n"), 1);
        assert_eq!(find("use crate::addons::{AddOn, RunFacts};\nstruct NoQcRequestHere;\n"), 0);
    }
}

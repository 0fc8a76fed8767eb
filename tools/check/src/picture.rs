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

/// The rings of the program, from the inside to the outside, and their crates. A crate only uses
/// crates of its own ring and of rings before it. The root crate composes the program: it has the
/// table of add-ons, so it may use all of them.
const RINGS: [(&str, &str, &[&str]); 4] = [
    (
        "core",
        "what every run needs",
        &[
            "align", "bqsr", "cram", "engine", "fastq", "filters", "format", "input", "jmath",
            "markdup", "process", "record", "sort", "trim", ROOT,
        ],
    ),
    (
        "add-ons",
        "count or describe reads; each is a row of the table of add-ons",
        &[
            "assembly",
            "caller",
            "coverage",
            "fastqc",
            "fingerprint",
            "genotypes",
            "likelihoods",
            "pairwise",
            "qc",
            "regions",
            "report",
            "stats",
        ],
    ),
    ("faces", "command lines of other tools, and commands on whole files", &["files", "fronts"]),
    ("workshop", "not part of a run", &["simulate"]),
];

/// The crate that composes the program.
const ROOT: &str = "readmill";

/// A crate of the program.
struct Crate {
    /// Workspace crates that it uses.
    uses: Vec<String>,
    modules: Vec<String>,
}

/// Returns a finding if a crate uses one of an outer ring, or if the picture in the document is out
/// of date.
pub fn check(root: &Path) -> Result<Option<String>> {
    let wrong = wrong_edges(&read_crates(root)?);
    if !wrong.is_empty() {
        return Ok(Some(wrong.join("\n")));
    }
    PICTURE.check(root, &draw(root)?)
}

/// Writes the picture into the document.
pub fn write(root: &Path) -> Result<()> {
    PICTURE.write(root, &draw(root)?)
}

/// Draws the rings, and the crates of each from the bottom to the top, each with those directly below
/// it and with its modules.
fn draw(root: &Path) -> Result<String> {
    let crates = read_crates(root)?;
    let mut picture = String::new();
    for (ring, what, members) in RINGS {
        let mut rows: Vec<&str> =
            members.iter().copied().filter(|name| crates.contains_key(*name)).collect();
        rows.sort_by_key(|name| (dependency_depth(&crates, name), *name));
        if !picture.is_empty() {
            picture.push('\n');
        }
        writeln!(picture, "── {ring}: {what} ──")?;
        rows.into_iter().try_for_each(|name| draw_crate(&mut picture, &crates, name))?;
    }
    Ok(picture)
}

fn draw_crate(picture: &mut String, crates: &BTreeMap<String, Crate>, name: &str) -> Result<()> {
    let Crate { uses, modules } = &crates[name];
    let by_another =
        |it: &&String| uses.iter().any(|other| other != *it && depends_on(crates, other, it));
    let below: Vec<&str> = uses.iter().filter(|it| !by_another(it)).map(String::as_str).collect();
    let arrow = if below.is_empty() { String::new() } else { format!("─► {}", below.join(", ")) };
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
    Ok(())
}

/// Returns a finding for each crate that is in no ring, and for each edge from a ring to one further out.
fn wrong_edges(crates: &BTreeMap<String, Crate>) -> Vec<String> {
    let ring_of = |name: &str| RINGS.iter().position(|(_, _, members)| members.contains(&name));
    let mut found = Vec::new();
    for (name, Crate { uses, .. }) in crates {
        let Some(ring) = ring_of(name) else {
            found.push(format!(
                "the crate {name} is in no ring: add it to RINGS in tools/check/src/picture.rs"
            ));
            continue;
        };
        let outer = uses.iter().filter(|used| name != ROOT && ring_of(used).is_some_and(|it| it > ring));
        found.extend(outer.map(|used| {
            let [(inner, ..), (outer, ..)] = [ring, ring_of(used).unwrap_or(ring)].map(|it| RINGS[it]);
            format!(
                "the crate {name} ({inner}) uses {used} ({outer}): a ring must not know one further out"
            )
        }));
    }
    found
}

fn read_crates(root: &Path) -> Result<BTreeMap<String, Crate>> {
    let mut crates = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let directory = entry?.path();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        crates.insert(name, read(&directory)?);
    }
    crates.insert(ROOT.to_string(), read(root)?);
    Ok(crates)
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

    fn crates_of(edges: &[(&str, &[&str])]) -> BTreeMap<String, Crate> {
        let of = |uses: &[&str]| Crate {
            uses: uses.iter().map(|it| it.to_string()).collect(),
            modules: Vec::new(),
        };
        edges.iter().map(|(name, uses)| (name.to_string(), of(uses))).collect()
    }

    #[test]
    fn a_picture_shows_what_lies_directly_below() {
        let crates = crates_of(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]);
        assert_eq!(["a", "b", "c"].map(|name| dependency_depth(&crates, name)), [0, 1, 2]);
        assert!(depends_on(&crates, "c", "a") && !depends_on(&crates, "a", "c"));
    }

    #[test]
    fn an_inner_ring_must_not_use_an_outer_one() {
        let right = crates_of(&[("record", &[]), ("qc", &["record"]), (ROOT, &["qc", "record"])]);
        assert_eq!(wrong_edges(&right), Vec::<String>::new());
        let wrong =
            wrong_edges(&crates_of(&[("filters", &["coverage"]), ("coverage", &[]), ("new", &[])]));
        assert_eq!(wrong.len(), 2);
        assert!(wrong[0].contains("filters (core) uses coverage (add-ons)"), "{wrong:?}");
        assert!(wrong[1].contains("new is in no ring"), "{wrong:?}");
    }
}

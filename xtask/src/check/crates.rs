//! Which crate may use which, and what a crate must not know.

use std::path::Path;

use anyhow::{Context, Result};

use super::source::Source;

/// The directions: a crate, and the crates of this workspace it may use.
const MAY_USE: [(&str, &[&str]); 11] = [
    ("engine", &[]),
    ("record", &[]),
    ("format", &["readmill-record"]),
    ("fastq", &["readmill-record", "readmill-format"]),
    ("sort", &["readmill-record", "readmill-format"]),
    ("markdup", &["readmill-record", "readmill-format", "readmill-sort"]),
    ("bqsr", &["readmill-record", "readmill-format"]),
    ("filters", &["readmill-record", "readmill-format"]),
    ("simulate", &[]),
    ("align", &["readmill-record"]),
    ("contention", &["readmill-engine", "readmill-record", "readmill-fastq", "readmill-simulate"]),
];

/// What no library crate may use: the command line and untyped errors belong to the root, and threads
/// that somebody else starts are in nobody's budget.
const ROOT_ONLY: [&str; 8] =
    ["anyhow", "clap", "crossbeam", "futures", "indicatif", "rayon", "tokio", "tracing"];

const LOCKS_AND_STREAMS: [&str; 6] = ["Mutex", "RwLock", "Condvar", "println", "eprintln", "stdout"];
const OWN_SCRATCH: &str = "a step has its own scratch: it needs no lock, and errors say what is wrong";

/// Words of production code, and where they must not stand.
const FORBIDDEN: [(&str, &[&str], &str); 8] = [
    ("crates/record", &["std::fs", "File", "println", "eprintln"], "a record knows no files or streams"),
    ("crates/format", &["println", "eprintln", "stdout"], "a format says what is wrong by an error"),
    ("crates/sort", &LOCKS_AND_STREAMS, OWN_SCRATCH),
    ("crates/markdup", &LOCKS_AND_STREAMS, OWN_SCRATCH),
    ("crates/bqsr", &LOCKS_AND_STREAMS, OWN_SCRATCH),
    ("crates/filters", &LOCKS_AND_STREAMS, OWN_SCRATCH),
    ("crates/contention", &["println", "eprintln", "stdout"], "what is measured goes to the caller"),
    ("crates/simulate", &["println", "eprintln", "stdout"], "what is simulated goes to the caller"),
];

/// What the engine carries is not its business.
const UNKNOWN_TO_ENGINE: [&str; 10] =
    ["bam", "bgzf", "cigar", "cram", "fastq", "flag", "flags", "qname", "read group", "sam"];

/// Checks the manifests of the library crates.
pub fn manifests(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let directory = entry?.path();
        let manifest = directory.join("Cargo.toml");
        if !manifest.exists() {
            continue;
        }
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        findings.extend(manifest_findings(&name, &text));
    }
    Ok(findings)
}

fn manifest_findings(name: &str, manifest: &str) -> Vec<String> {
    let shown = format!("crates/{name}/Cargo.toml");
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{shown}: say in xtask/src/check/crates.rs what this crate may use")];
    };
    let mut findings = Vec::new();
    for dependency in dependencies(manifest) {
        if dependency.starts_with("readmill") && !allowed.contains(&dependency.as_str()) {
            findings.push(format!("{shown}: {name} must not use {dependency}"));
        }
        if ROOT_ONLY.iter().any(|banned| dependency.split('-').next() == Some(*banned)) {
            findings.push(format!("{shown}: {dependency} is not for a library crate"));
        }
    }
    findings
}

/// The names under `[dependencies]`, whatever the target; those for tests are free.
fn dependencies(manifest: &str) -> Vec<String> {
    let (mut found, mut inside) = (Vec::new(), false);
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let (before, name) = section.rsplit_once('.').unwrap_or(("", section));
            inside = matches!(name, "dependencies" | "build-dependencies");
            if matches!(before, "dependencies" | "build-dependencies") {
                found.push(name.to_owned());
            }
        } else if inside && !line.starts_with('#') && !line.is_empty() {
            let end = line.find(['=', '.', ' ']).unwrap_or(line.len());
            found.push(line[..end].trim_matches('"').to_owned());
        }
    }
    found
}

/// Checks what the crates' sources name.
pub fn sources(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| [forbidden(source), spawning(source), engine(source)])
        .flatten()
        .collect()
}

fn forbidden(source: &Source) -> Vec<String> {
    let rules = FORBIDDEN.iter().filter(|(directory, ..)| source.is_in(directory));
    let mut findings = Vec::new();
    for (_, names, why) in rules {
        for name in *names {
            let found = find_words(&source.production, name);
            findings.extend(found.map(|at| source.finding(at, format!("{name}: {why}"))));
        }
    }
    findings
}

/// The engine alone starts threads; the root has one more, which waits for signals, and the crate that measures what threads
/// cost each other has those.
fn spawning(source: &Source) -> Vec<String> {
    let free = ["crates/engine", "crates/contention", "xtask", "src/signal.rs", "fuzz"];
    if free.iter().any(|place| source.is_in(place)) {
        return Vec::new();
    }
    let names = ["thread::spawn", "thread::scope", "thread::Builder"];
    let places = names.iter().flat_map(|name| find_words(&source.production, name));
    places.map(|at| source.finding(at, "threads are started by readmill_engine::run alone")).collect()
}

fn engine(source: &Source) -> Vec<String> {
    if !source.is_in("crates/engine/src") {
        return Vec::new();
    }
    let text = source.text.to_lowercase();
    let known =
        UNKNOWN_TO_ENGINE.iter().flat_map(|word| find_words(&text, word).map(move |at| (word, at)));
    known
        .map(|(word, at)| source.finding(at, format!("the engine must not know the word {word:?}")))
        .collect()
}

/// Offsets at which `word` stands by itself.
fn find_words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !joins(text[..at].chars().next_back()) && !joins(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_form_are_seen_and_those_of_tests_are_not() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n# no\n\"b\" = \"1\"\n\
                        [dev-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n\
                        [dependencies.e]\nversion = \"1\"\n[features]\nf = []\n";
        assert_eq!(dependencies(manifest), ["a", "b", "d", "e"]);
    }

    #[test]
    fn a_wrong_direction_is_named() {
        let manifest = "[dependencies]\nreadmill-sort.workspace = true\nclap = \"4\"\n";
        let findings = manifest_findings("format", manifest);
        assert_eq!(findings.len(), 2);
        assert!(findings[0].contains("format must not use readmill-sort"));
        assert_eq!(manifest_findings("sort", "[dependencies]\nreadmill-format = \"1\"\n").len(), 0);
        assert_eq!(manifest_findings("new", "").len(), 1);
    }

    #[test]
    fn words_stand_by_themselves() {
        assert_eq!(find_words("same sam a_sam sam.", "sam").collect::<Vec<_>>(), [5, 15]);
        let source = Source::new("crates/engine/src/a.rs".into(), "// a FLAG\nfn f() {}\n".into());
        assert_eq!(sources(&[source]).len(), 1);
        let spawns = "fn f() { std::thread::spawn(g); }\n";
        assert_eq!(sources(&[Source::new("src/run.rs".into(), spawns.into())]).len(), 1);
        assert_eq!(sources(&[Source::new("src/signal.rs".into(), spawns.into())]).len(), 0);
    }
}

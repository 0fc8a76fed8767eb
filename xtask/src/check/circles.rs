//! Circles of imports: files of a crate that can be understood only together.
//!
//! A file imports another when its production code names something through `crate::`, `super::`, `self::`
//! or one of its child modules. What is passed on by `pub use` counts for the file that defines it, so a
//! parent that presents its children's items imports nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::source::Source;

/// A place in a crate: the names of the modules that lead to it.
type Module = Vec<String>;

/// A crate's files by module, and the names that each module imports from elsewhere.
#[derive(Default)]
struct Crate<'a> {
    files: BTreeMap<Module, &'a Source>,
    imports: BTreeMap<Module, Vec<Import>>,
}

/// A path that a file names, already from the root of the crate.
struct Import {
    path: Module,
    /// What it is called in the file that names it, if by a `use`.
    name: Option<String>,
    /// Whether it is only passed on.
    passed_on: bool,
}

/// Finds the circles of every crate.
pub fn check(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<PathBuf, Crate<'_>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        if let Some((root, module)) = place(&source.path) {
            let entry = crates.entry(root).or_default();
            entry.imports.entry(module.clone()).or_default().extend(imports(source, &module));
            entry.files.insert(module, source);
        }
    }
    crates.values().flat_map(Crate::circles).collect()
}

/// The source directory of a file's crate, and its module. `lib.rs` and `main.rs` are both the root.
fn place(path: &Path) -> Option<(PathBuf, Module)> {
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let source = parts.iter().position(|part| part == "src")?;
    let mut module = parts[source + 1..].to_vec();
    let file = module.pop()?;
    let stem = file.trim_end_matches(".rs");
    if stem != "mod" && !(module.is_empty() && matches!(stem, "lib" | "main")) {
        module.push(stem.to_owned());
    }
    Some((parts[..=source].iter().collect(), module))
}

/// Everything that the file names in its own crate.
fn imports(source: &Source, module: &Module) -> Vec<Import> {
    let words: Vec<&str> = source.words().into_iter().map(|(_, word)| word).collect();
    let word = |i: usize| words.get(i).copied().unwrap_or_default();
    let children: BTreeSet<&str> =
        words.windows(3).filter(|w| w[0] == "mod" && w[2] == ";").map(|w| w[1]).collect();
    let mut found = Vec::new();
    for i in 0..words.len() {
        let before = i.checked_sub(1).map_or("", word);
        let starts = matches!(word(i), "crate" | "super" | "self") || children.contains(word(i));
        if !starts || word(i + 1) != "::" || matches!(before, "::" | "." | "mod") {
            continue;
        }
        let (used, passed_on) =
            (before == "use", before == "use" && i >= 2 && is_public(&words[..i - 1]));
        let mut leaves = Vec::new();
        tree(&words, i, &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            let name = used.then_some(name);
            found.push(Import { path: from_root(&path, module), name, passed_on });
        }
    }
    found
}

/// Whether the words before a `use` end with `pub` or `pub(…)`.
fn is_public(before: &[&str]) -> bool {
    matches!(before, [.., "pub"] | [.., "pub", "(", _, ")"])
}

/// Collects the paths of a `use` tree, or the one path of an expression, each with its last name; returns
/// where it ends.
fn tree(words: &[&str], mut i: usize, prefix: &mut Module, out: &mut Vec<(Module, String)>) -> usize {
    let word = |i: usize| words.get(i).copied().unwrap_or_default();
    let depth = prefix.len();
    if word(i) == "{" {
        i += 1;
        while !matches!(word(i), "}" | "") {
            i = tree(words, i, prefix, out).max(i + 1);
            i += usize::from(word(i) == ",");
        }
        return i + 1;
    }
    if !(word(i) == "self" && depth > 0) {
        prefix.push(word(i).to_owned());
    }
    let next = word(i + 2).chars().next().unwrap_or(' ');
    let end = if word(i + 1) == "::" && (next.is_alphanumeric() || "_{*".contains(next)) {
        tree(words, i + 2, prefix, out)
    } else {
        let renamed = word(i + 1) == "as";
        let name = if renamed { word(i + 2) } else { prefix.last().map_or("", String::as_str) };
        out.push((prefix.clone(), name.to_owned()));
        i + if renamed { 3 } else { 1 }
    };
    prefix.truncate(depth);
    end
}

/// The path from the root of the crate.
fn from_root(path: &[String], module: &Module) -> Module {
    let mut base = module.clone();
    let mut rest = path;
    match path.first().map(String::as_str) {
        Some("crate") => (base, rest) = (Module::new(), &path[1..]),
        Some("self") => rest = &path[1..],
        _ => {}
    }
    while rest.first().is_some_and(|word| word == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base
}

impl Crate<'_> {
    /// The module in whose file the thing at `path` is defined.
    fn owner(&self, path: &[String], passes: usize) -> Module {
        let mut at = Module::new();
        for (i, name) in path.iter().enumerate() {
            at.push(name.clone());
            if self.files.contains_key(&at) {
                continue;
            }
            at.pop();
            let mut known = self.imports.get(&at).into_iter().flatten();
            let import = known.find(|import| import.name.as_ref() == Some(name));
            return match import {
                Some(import) if passes < 8 => {
                    self.owner(&[&import.path, &path[i + 1..]].concat(), passes + 1)
                }
                _ => at,
            };
        }
        at
    }

    /// Which module's file imports which.
    fn edges(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let targets = |module: &Module, imports: &[Import]| {
            let own = imports.iter().filter(|import| !import.passed_on);
            own.map(|import| self.owner(&import.path, 0)).filter(|target| target != module).collect()
        };
        self.imports.iter().map(|(module, imports)| (module, targets(module, imports))).collect()
    }

    /// The shortest circle through each import, without those that hold a smaller one.
    fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let mut circles: Vec<Vec<Module>> = Vec::new();
        for (&from, targets) in &edges {
            circles.extend(targets.iter().filter_map(|target| way(&edges, target, from)));
        }
        circles.sort_by_key(Vec::len);
        let mut smallest: Vec<Vec<Module>> = Vec::new();
        for circle in circles {
            if !smallest.iter().any(|other| other.iter().all(|module| circle.contains(module))) {
                smallest.push(circle);
            }
        }
        smallest.iter().map(|circle| self.describe(circle)).collect()
    }

    fn describe(&self, circle: &[Module]) -> String {
        let files = circle.iter().chain(circle.first()).filter_map(|module| self.files.get(module));
        let paths: Vec<String> = files.map(|source| source.path.display().to_string()).collect();
        format!("imports go in a circle: {}", paths.join(" -> "))
    }
}

/// The shortest way from one module to another, both included.
fn way(edges: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module, to: &Module) -> Option<Vec<Module>> {
    let mut ways = VecDeque::from([vec![from.clone()]]);
    let mut seen = BTreeSet::from([from.clone()]);
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        if last == to {
            return Some(way);
        }
        for next in edges.get(last).into_iter().flatten() {
            if seen.insert(next.clone()) {
                ways.push_back([&way[..], std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| {
            Source::new(PathBuf::from(format!("crates/x/src/{path}")), (*text).into())
        };
        check(&files.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_passed_on_counts_for_its_owner() {
        let parent = "mod a;\nmod b;\npub use a::{A, A2 as Other};\npub const N: usize = 1;\n";
        let b = "use super::{A, N};\nuse crate::Other;\nfn f() -> A { super::N }\n";
        assert!(
            circles(&[("lib.rs", parent), ("a.rs", "use crate::N;\npub struct A;\n"), ("b.rs", b)])
                .is_empty()
        );
        let back = "use crate::b;\npub struct A;\n";
        let found = circles(&[("lib.rs", parent), ("a.rs", back), ("b.rs", b)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("a.rs -> crates/x/src/b.rs")
                || found[0].contains("b.rs -> crates/x/src/a.rs")
        );
    }

    #[test]
    fn a_parent_that_calls_a_child_that_needs_the_parent_is_a_circle() {
        let parent = "mod a;\nfn f() { a::g() }\npub struct P;\n";
        assert_eq!(circles(&[("m/mod.rs", parent), ("m/a.rs", "use super::P;\n")]).len(), 1);
        assert_eq!(
            circles(&[("m/mod.rs", parent), ("m/a.rs", "#[cfg(test)]\nmod t { use super::P; }\n")])
                .len(),
            0
        );
    }

    #[test]
    fn circles_of_three_are_found_once() {
        let files = [
            ("a.rs", "use crate::b::X;\n"),
            ("b.rs", "use crate::c::{Y};\n"),
            ("c.rs", "use super::a::Z;\n"),
        ];
        assert_eq!(circles(&files).len(), 1);
    }
}

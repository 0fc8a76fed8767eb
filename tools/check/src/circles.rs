//! Circular imports: files of a crate that can only be understood together.
//!
//! A file imports another if its production code names something through `crate::`, `super::`,
//! `self::` or one of its child modules. A name re-exported by `pub use` counts for the file that
//! defines it. Paths inside macros are not detected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemUse, UseTree, Visibility};

use super::files;

/// The path of a module within a crate.
type Module = Vec<String>;

/// The modules of a crate that have files, and the names that each imports.
#[derive(Default)]
struct Graph {
    files: BTreeMap<Module, PathBuf>,
    imports: BTreeMap<Module, Vec<Import>>,
}

struct Import {
    /// Path from the root of the crate.
    path: Module,
    /// Its name in the file, if a `use` imports it.
    name: Option<String>,
    /// Whether the file only re-exports it.
    is_reexport: bool,
}

/// Finds the circular imports of all crates.
pub fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<String>> {
    let mut graphs: BTreeMap<PathBuf, Graph> = BTreeMap::new();
    for path in paths.iter().filter(|path| !files::is_test(path)) {
        let shown = path.strip_prefix(root).unwrap_or(path);
        if let Some((source, module)) = module(shown) {
            let text = files::read(path)?;
            let graph = graphs.entry(source).or_default();
            let imports = collect_imports(&text, &module)
                .with_context(|| format!("cannot parse {}", path.display()))?;
            graph.imports.entry(module.clone()).or_default().extend(imports);
            graph.files.insert(module, shown.to_path_buf());
        }
    }
    Ok(graphs.values().flat_map(Graph::find_circles).collect())
}

/// Returns the source directory of a file's crate, and the file's module. `lib.rs` and `main.rs`
/// are both the root.
fn module(path: &Path) -> Option<(PathBuf, Module)> {
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

fn collect_imports(text: &str, module: &Module) -> Result<Vec<Import>> {
    let file = syn::parse_file(text)?;
    let children = file.items.iter().filter_map(|item| match item {
        Item::Mod(child) if child.content.is_none() => Some(child.ident.to_string()),
        _ => None,
    });
    let mut finder = Finder { module, children: children.collect(), found: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'a> {
    module: &'a Module,
    children: BTreeSet<String>,
    found: Vec<Import>,
}

impl Finder<'_> {
    fn add(&mut self, path: &[String], name: Option<String>, is_reexport: bool) {
        let Some(first) = path.first() else { return };
        let (mut base, mut rest) = match first.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => (self.module.clone(), path),
            child if self.children.contains(child) => (self.module.clone(), path),
            _ => return,
        };
        while let [first, others @ ..] = rest
            && first == "super"
        {
            base.pop();
            rest = others;
        }
        base.extend_from_slice(rest);
        self.found.push(Import { path: base, name, is_reexport });
    }

    fn add_tree(&mut self, tree: &UseTree, path: &mut Vec<String>, is_reexport: bool) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.add_tree(&inner.tree, path, is_reexport);
                path.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(tree, path, is_reexport));
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.add(path, path.last().cloned(), is_reexport)
            }
            UseTree::Name(name) => {
                let whole = [&path[..], &[name.ident.to_string()]].concat();
                self.add(&whole, Some(name.ident.to_string()), is_reexport);
            }
            UseTree::Rename(rename) => {
                let whole = [&path[..], &[rename.ident.to_string()]].concat();
                self.add(&whole, Some(rename.rename.to_string()), is_reexport);
            }
            UseTree::Glob(_) => self.add(path, None, is_reexport),
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !function.attrs.iter().any(is_for_tests) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        self.add_tree(&item.tree, &mut Vec::new(), is_reexport);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
            self.add(&names, None, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let mut tests = false;
    if attribute.path().is_ident("cfg") {
        let _ = attribute.parse_nested_meta(|meta| {
            tests |= meta.path.is_ident("test");
            Ok(())
        });
    }
    tests
}

impl Graph {
    /// Returns the module whose file defines the item at `path`.
    fn defining_module(&self, path: &[String], passes: usize) -> Module {
        let mut at = Module::new();
        for (i, name) in path.iter().enumerate() {
            at.push(name.clone());
            if self.files.contains_key(&at) {
                continue;
            }
            at.pop();
            let mut known = self.imports.get(&at).into_iter().flatten();
            return match known.find(|import| import.name.as_ref() == Some(name)) {
                Some(import) if passes < 8 => {
                    self.defining_module(&[&import.path, &path[i + 1..]].concat(), passes + 1)
                }
                _ => at,
            };
        }
        at
    }

    /// Returns each circle once: modules that reach themselves through their imports.
    fn find_circles(&self) -> Vec<String> {
        let mut edges: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, imports) in &self.imports {
            let own = imports.iter().filter(|import| !import.is_reexport);
            let targets =
                own.map(|import| self.defining_module(&import.path, 0)).filter(|to| to != module);
            edges.insert(module, targets.collect());
        }
        let reach = |from: &Module| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
            while let Some(targets) = left.pop().and_then(|module| edges.get(module)) {
                left.extend(targets.iter().filter(|target| seen.insert(Module::clone(target))));
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            edges.keys().map(|&m| (m, reach(m))).collect();
        let circle = |module: &Module| -> BTreeSet<Module> {
            let others = reached[module]
                .iter()
                .filter(|other| reached.get(other).is_some_and(|it| it.contains(module)));
            others.cloned().collect()
        };
        let circles: BTreeSet<BTreeSet<Module>> =
            edges.keys().map(|module| circle(module)).filter(|circle| !circle.is_empty()).collect();
        circles.iter().map(|circle| self.describe(circle)).collect()
    }

    fn describe(&self, circle: &BTreeSet<Module>) -> String {
        let paths = circle.iter().filter_map(|module| self.files.get(module));
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        format!("imports go in a circle: {}", paths.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph::default();
        for (path, text) in files {
            let path = Path::new("crates/x/src").join(path);
            let (_, module) = module(&path).unwrap();
            graph.imports.insert(module.clone(), collect_imports(text, &module).unwrap());
            graph.files.insert(module, path);
        }
        graph.find_circles()
    }

    #[test]
    fn a_reexport_counts_for_the_file_that_defines_the_name() {
        let parent = "mod a;\nmod b;\npub use a::{A, A2 as Other};\npub const N: usize = 1;\n";
        let b = "use super::{A, N};\nuse crate::Other;\nfn f() -> A { super::N }\n";
        let a = "use crate::N;\npub struct A;\n";
        assert!(circles(&[("lib.rs", parent), ("a.rs", a), ("b.rs", b)]).is_empty());
        let back = "use crate::b;\npub struct A;\n";
        let found = circles(&[("lib.rs", parent), ("a.rs", back), ("b.rs", b)]);
        assert_eq!(found, ["imports go in a circle: crates/x/src/a.rs, crates/x/src/b.rs"]);
    }

    #[test]
    fn a_parent_that_calls_a_child_that_needs_the_parent_is_a_circle() {
        let parent = "mod a;\nfn f() { a::g() }\npub struct P;\n";
        assert_eq!(circles(&[("m/mod.rs", parent), ("m/a.rs", "use super::P;\n")]).len(), 1);
        let tests = "#[cfg(test)]\nmod t { use super::P; }\n";
        assert!(circles(&[("m/mod.rs", parent), ("m/a.rs", tests)]).is_empty());
    }

    #[test]
    fn a_circle_of_three_is_found_once() {
        let files = [
            ("a.rs", "use crate::b::X;\n"),
            ("b.rs", "use crate::c::{Y};\n"),
            ("c.rs", "fn f(_: super::a::Z) {}\n"),
        ];
        assert_eq!(circles(&files).len(), 1);
    }
}

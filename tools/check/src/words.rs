//! Wording that a machine can judge: docs that only repeat a name, adjectives as names of actions,
//! `most` and `least` instead of max and min, type names with several meanings, and long commit
//! subjects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, Field, FnArg, ImplItemFn, Item, ItemImpl, Lit, Meta, ReturnType, Signature,
    TraitItemFn, Variant,
};

use super::files;

/// The last commit before subjects were limited.
const FIRST_COMMIT: &str = "1558dddbfbc8415e490299e492f3a372438f333f";

/// Maximum length of a commit subject in characters.
const MAX_SUBJECT_CHARS: usize = 72;

/// Maximum number of words of a doc comment that is checked for being a mere repetition.
const MAX_STUB_WORDS: usize = 4;

/// Maximum number of definitions of a type name, not counting modules that make the name
/// unambiguous.
const MAX_DEFINITIONS: usize = 2;

/// Words of a doc comment that carry no information about an item.
const EMPTY_WORDS: [&str; 24] = [
    "a", "an", "the", "of", "its", "it", "this", "is", "are", "in", "to", "and", "for", "returns",
    "creates", "makes", "gives", "gets", "one", "all", "some", "new", "own", "as",
];

/// Verbs that end like participles.
const VERBS: [&str; 7] = ["need", "seed", "feed", "embed", "exceed", "proceed", "shed"];

/// Type names that each module defines for itself and that are always written with the module.
const PLAIN_BY_MODULE: [&str; 1] = ["Error"];

/// Names that come from another tool, here Picard's MergeBamAlignment.
const TOOLS_NAMES: [&str; 2] = ["MostDistant", "choose_most_distant"];

/// Finds such wording.
pub fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in paths.iter().filter(|path| !files::is_test(path)) {
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let file = syn::parse_file(&files::read(path)?);
        let file = file.with_context(|| format!("cannot parse {}", path.display()))?;
        let mut words = WordFindings { owner: String::new(), findings: Vec::new(), types: Vec::new() };
        words.visit_file(&file);
        findings.extend(words.findings.into_iter().map(|finding| format!("{shown}: {finding}")));
        for name in words.types {
            types.entry(name).or_default().push(shown.clone());
        }
    }
    for (name, places) in types {
        if places.len() > MAX_DEFINITIONS && !PLAIN_BY_MODULE.contains(&name.as_str()) {
            findings.push(format!(
                "the type {name} has {} meanings ({}): put its role into its name",
                places.len(),
                places.join(", ")
            ));
        }
    }
    findings.extend(check_subjects(root));
    Ok(findings)
}

/// Returns the commit subjects that are too long. Without git or without history, there are none.
fn check_subjects(root: &Path) -> Vec<String> {
    let range = format!("{FIRST_COMMIT}..HEAD");
    let log = Command::new("git")
        .current_dir(root)
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else { return Vec::new() };
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    let long = commits.filter(|(_, subject)| subject.chars().count() > MAX_SUBJECT_CHARS);
    let finding = |(hash, subject)| {
        format!("the subject of commit {hash} has more than {MAX_SUBJECT_CHARS} letters: {subject}")
    };
    long.map(finding).collect()
}

struct WordFindings {
    /// The type whose items are being visited.
    owner: String,
    findings: Vec<String>,
    types: Vec<String>,
}

impl WordFindings {
    fn check_doc(&mut self, attributes: &[Attribute], name: &str, more: &str) {
        let doc = doc_text(attributes);
        let words: Vec<String> = split_words(&doc);
        if words.is_empty() || words.len() > MAX_STUB_WORDS {
            return;
        }
        let known = [split_words(name), split_words(more), split_words(&self.owner)].concat();
        let says_nothing = |word: &String| {
            EMPTY_WORDS.contains(&word.as_str()) || known.iter().any(|known| is_same_word(known, word))
        };
        if words.iter().all(says_nothing) {
            self.findings.push(format!("the doc of {name} repeats its name: {:?}", doc.trim()));
        }
    }

    fn check_name(&mut self, name: &str) {
        if TOOLS_NAMES.contains(&name) {
            return;
        }
        let words = split_words(name);
        for (number, word) in words.iter().enumerate() {
            let better = match word.as_str() {
                "most" => "max",
                "least" => "min",
                _ => continue,
            };
            let is_phrase = number > 0 && words[number - 1] == "at"; // at_least, at_most
            if !is_phrase {
                self.findings.push(format!("{name}: say {better}, not {word}"));
            }
        }
    }

    fn check_function(&mut self, attributes: &[Attribute], signature: &Signature) {
        let name = signature.ident.to_string();
        self.check_doc(attributes, &name, "");
        self.check_name(&name);
        let is_participle =
            name.ends_with("ed") && !name.contains('_') && !VERBS.contains(&name.as_str());
        let takes_self = signature.inputs.iter().any(|input| matches!(input, FnArg::Receiver(_)));
        if is_participle && matches!(signature.output, ReturnType::Default) {
            let way_out =
                if takes_self { "name what it does" } else { "name what it does, and to what" };
            self.findings
                .push(format!("{name} is a state, and the function returns nothing: {way_out}"));
        }
    }
}

impl<'ast> Visit<'ast> for WordFindings {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(item) {
            return;
        }
        match item {
            Item::Fn(it) => self.check_function(&it.attrs, &it.sig),
            Item::Const(it) => {
                self.check_doc(&it.attrs, &it.ident.to_string(), "");
                self.check_name(&it.ident.to_string());
            }
            Item::Static(it) => self.check_name(&it.ident.to_string()),
            Item::Struct(it) => self.begin_type(&it.attrs, &it.ident.to_string()),
            Item::Enum(it) => self.begin_type(&it.attrs, &it.ident.to_string()),
            Item::Trait(it) => self.begin_type(&it.attrs, &it.ident.to_string()),
            _ => {}
        }
        visit::visit_item(self, item);
        self.owner.clear();
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.trait_.is_some() {
            return; // the names are those of the trait
        }
        if let syn::Type::Path(path) = &*item.self_ty
            && let Some(last) = path.path.segments.last()
        {
            self.owner = last.ident.to_string();
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.check_function(&item.attrs, &item.sig);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.check_function(&item.attrs, &item.sig);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if let Some(name) = &field.ident
            && !has_attribute(&field.attrs, "arg")
        {
            self.check_doc(&field.attrs, &name.to_string(), "");
            self.check_name(&name.to_string());
        }
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        if !has_attribute(&variant.attrs, "value") {
            self.check_name(&variant.ident.to_string());
        }
    }
}

impl WordFindings {
    fn begin_type(&mut self, attributes: &[Attribute], name: &str) {
        self.check_doc(attributes, name, "");
        self.check_name(name);
        self.types.push(name.to_string());
        self.owner = name.to_string();
    }
}

fn has_attribute(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

fn is_for_tests(item: &Item) -> bool {
    let Item::Mod(module) = item else { return false };
    module.attrs.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}

/// Returns the text of an item's doc comments.
fn doc_text(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            text.push_str(&line.value());
            text.push(' ');
        }
    }
    text
}

/// Returns the words of a name or a text in lower case, the same for `max_bytes`, `MaxBytes` and
/// "Max bytes."
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        let begins = letter.is_uppercase() && was_lower;
        if (begins || !letter.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether two words differ only in their ending: `piece` and `pieces`, `len` and `length`.
fn is_same_word(left: &str, right: &str) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    short == long || short.len() >= 3 && long.starts_with(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(source: &str) -> Vec<String> {
        let mut words = WordFindings { owner: String::new(), findings: Vec::new(), types: Vec::new() };
        words.visit_file(&syn::parse_file(source).unwrap());
        words.findings
    }

    #[test]
    fn docs_that_repeat_a_name_are_found() {
        assert_eq!(findings("/// The length.\nfn len() -> usize { 0 }").len(), 1);
        assert_eq!(findings("/// Returns the bytes.\nfn bytes() -> u64 { 0 }").len(), 1);
        assert_eq!(findings("struct Page { /// The file.\n file: u8 }").len(), 1);
        assert_eq!(findings("struct Page { /// Of the page.\n file: u8 }").len(), 1);
        assert!(findings("/// Bytes of all pages.\nfn bytes() -> u64 { 0 }").is_empty());
        assert!(findings("struct Page { /// 0-based.\n start: u8 }").is_empty());
        assert!(findings("fn len() -> usize { 0 }").is_empty());
    }

    #[test]
    fn states_are_no_names_of_actions() {
        assert_eq!(findings("fn damaged(path: &Path) {}").len(), 1);
        assert!(findings("fn damaged(path: &Path) -> bool { true }").is_empty());
        assert!(findings("fn remove_damaged(path: &Path) {}").is_empty());
        assert!(findings("fn feed(path: &Path) {}").is_empty());
    }

    #[test]
    fn max_and_min_are_said() {
        assert_eq!(findings("const MOST_READS: u8 = 1;"), ["MOST_READS: say max, not most"]);
        assert_eq!(findings("struct A { least_bytes: u8 }"), ["least_bytes: say min, not least"]);
        assert!(findings("fn almost() -> bool { true }").is_empty());
        assert!(findings("fn at_least(self, least: u8) -> u64 { 0 }").is_empty());
    }
}

//! Memory that grows with the input is charged before it is allocated (docs/design/0005-memory.md).
//! The compiler cannot check this, but three code patterns that violate it can be detected:
//!
//! - A charge that ends with the call to which it is lent, as in
//!   `read(path, &mut ledger.empty("names"))`: the data outlives it.
//! - A charge that is set to memory already in use (`Charge::resize`), which cannot be refused.
//!   Allowed only in files of [`FILES_THAT_RESIZE`], whose memory was charged by an upper bound before.
//! - A table held by a struct in a file that charges nothing. Allowed only in files of
//!   [`FILES_WITH_BOUNDED_TABLES`], each with the reason why the table is bounded.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprMethodCall, ExprReference, Field, ImplItemFn, Item, Local, Pat};

use super::files;

/// Files that set charges to memory already in use, and what was charged before.
const FILES_THAT_RESIZE: [(&str, &str); 14] = [
    ("crates/cram/src/decode/mod.rs", "gives back what a container took"),
    ("crates/format/src/sites/layers.rs", "gives back what layers that are merged took"),
    ("crates/format/src/intervals/set.rs", "gives back what united regions took"),
    ("crates/input/src/lib.rs", "gives back what a long line took"),
    (
        "crates/record/src/header/mod.rs",
        "lines were charged as they were read; changes of steps are few",
    ),
    ("crates/record/src/ledger/mod.rs", "is the ledger"),
    ("crates/sort/src/frame.rs", "frames are charged by the room of the merge, or by the run"),
    ("src/outputs/sink.rs", "the index was charged by the header, and grows by what batches hold"),
    ("src/outputs/staged_parts.rs", "parts were charged as reads"),
    ("src/pipeline/ingest/mod.rs", "within what a claim reserved"),
    ("src/pipeline/long_reads.rs", "the next claim waits until it is free again"),
    ("src/pipeline/sort_buffer.rs", "within what a claim reserved"),
    ("src/pipeline/stream.rs", "gives back what a part does not need"),
    ("src/run/marking.rs", "gives back what was decided"),
];

/// More such files, in a list of their own because they remain to be fixed.
const FILES_THAT_RESIZE_TO_FIX: [(&str, &str); 2] = [
    ("src/pipeline/ingest/claim.rs", "the largest record, which its limit bounds"),
    ("src/shard/recalibration.rs", "counts of a stage, which its share bounds"),
];

/// Files with tables that are not charged, and what bounds their size.
const FILES_WITH_BOUNDED_TABLES: [(&str, &str); 18] = [
    ("crates/bqsr/src/report/write.rs", "contexts and cycles, which the table charges"),
    ("crates/cram/src/decode/mates.rs", "records of a container, each of which is charged"),
    ("crates/fastqc/src/gc.rs", "lengths are rounded: up to 3 MiB, which are charged"),
    ("crates/files/src/compare/line.rs", "tags: two letters each"),
    ("crates/files/src/compare/reads.rs", "read groups, which the header charges"),
    ("crates/filters/src/expression/variable.rs", "read groups, which the header charges"),
    ("crates/filters/src/route.rs", "outputs, 500 at most"),
    ("crates/markdup/src/libraries.rs", "read groups, which the header charges; 65,534 at most"),
    ("crates/markdup/src/metrics/mod.rs", "sizes of sets: together they are the number of reads"),
    ("crates/qc/src/substitutions.rs", "read groups, which the header charges"),
    ("crates/record/src/header/merge/groups.rs", "charged by Header::merge"),
    ("crates/regions/src/intake/mod.rs", "read groups, which the header charges"),
    ("crates/report/src/sheet.rs", "a file of a few MiB at most"),
    ("crates/sort/src/key/template.rs", "read groups, which the header charges"),
    ("crates/stats/src/stats/output.rs", "sections of a report, whose value is charged"),
    ("crates/stats/src/stats/selection.rs", "read groups, which the header charges"),
    ("src/aligning/input_counts.rs", "batches in progress"),
    ("src/outputs/extra_writer.rs", "pages under way, whose bytes are charged"),
];

/// Words in code that charges memory, or that tells callers how much to charge.
const CHARGING_WORDS: [&str; 10] = [
    "ledger",
    "Ledger",
    "Charge",
    "charge",
    "Prepaid",
    "Room",
    "room",
    "heap_bytes",
    "max_bytes",
    "fn bytes",
];

const TABLES: [&str; 6] = ["HashMap", "HashSet", "BTreeMap", "BTreeSet", "HashTable", "ByName"];

/// Crates and modules that run without a ledger, or that process no input.
const EXEMPT_PATHS: [&str; 5] =
    ["crates/simulate/", "crates/engine/", "src/cli/", "src/cluster/", "src/demo/"];

/// Finds these patterns.
pub fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let (mut settling, mut bounded) = (Vec::new(), Vec::new());
    for path in paths.iter().filter(|path| !files::is_test(path)) {
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        if !(shown.starts_with("src/") || shown.starts_with("crates/") && shown.contains("/src/")) {
            continue;
        }
        let text = files::read(path)?;
        let seen = find_patterns(&text).with_context(|| format!("cannot parse {}", path.display()))?;
        findings.extend(seen.temporary.iter().map(|line| {
            format!("{shown}, fn {line}: this charge ends with the call; let what it pays for hold it")
        }));
        let may_settle =
            FILES_THAT_RESIZE.iter().chain(&FILES_THAT_RESIZE_TO_FIX).any(|(file, _)| *file == shown);
        match seen.settles.first() {
            Some(_) if may_settle => settling.push(shown.clone()),
            Some(line) => findings.push(format!(
                "{shown}, fn {line}: Charge::resize cannot refuse; use Charge::around or Charge::grow_to, before the memory is taken"
            )),
            None => {}
        }
        let is_paid = CHARGING_WORDS.iter().any(|word| text.contains(word));
        let is_apart = EXEMPT_PATHS.iter().any(|place| shown.starts_with(place));
        let is_bounded = FILES_WITH_BOUNDED_TABLES.iter().any(|(file, _)| *file == shown);
        let unpaid = seen.tables.first().filter(|_| !is_paid && !is_apart);
        if is_bounded && unpaid.is_some() {
            bounded.push(shown.clone());
        }
        if let Some(line) = unpaid.filter(|_| !is_bounded) {
            findings.push(format!(
                "{shown}, field {line}: nobody pays for this table; charge it, or say in tools/check/src/memory.rs what bounds it"
            ));
        }
    }
    let unused = FILES_THAT_RESIZE
        .iter()
        .chain(&FILES_THAT_RESIZE_TO_FIX)
        .filter(|(file, _)| !settling.contains(&(*file).to_string()));
    findings.extend(unused.map(|(file, _)| {
        format!(
            "tools/check/src/memory.rs: {file} does not call Charge::resize; take it out of the list"
        )
    }));
    let unused =
        FILES_WITH_BOUNDED_TABLES.iter().filter(|(file, _)| !bounded.contains(&(*file).to_string()));
    findings.extend(unused.map(|(file, _)| {
        format!("tools/check/src/memory.rs: {file} has no table that nobody pays for; take it out of the list")
    }));
    Ok(findings)
}

/// The functions (`temporary`, `settles`) and fields (`tables`) of production code with each
/// pattern.
#[derive(Debug, Default, PartialEq, Eq)]
struct ChargePatterns {
    temporary: Vec<String>,
    settles: Vec<String>,
    tables: Vec<String>,
    /// The function that is being visited.
    function: String,
}

fn find_patterns(text: &str) -> Result<ChargePatterns> {
    let mut seen = ChargePatterns::default();
    seen.visit_file(&syn::parse_file(text)?);
    Ok(seen)
}

/// Returns whether an expression creates a charge: `ledger.empty(name)`,
/// `ledger.charge(name, bytes)?`.
fn makes_charge(expression: &Expr) -> bool {
    match expression {
        Expr::Try(inner) => makes_charge(&inner.expr),
        Expr::Paren(inner) => makes_charge(&inner.expr),
        Expr::MethodCall(call) => {
            let arguments = match call.method.to_string().as_str() {
                "empty" => 1,
                "charge" | "try_charge" => 2,
                _ => return false,
            };
            call.args.len() == arguments
        }
        _ => false,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl Visit<'_> for ChargePatterns {
    fn visit_item(&mut self, item: &Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => {
                self.function = item.sig.ident.to_string();
                &item.attrs
            }
            Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function = item.sig.ident.to_string();
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_reference(&mut self, expression: &ExprReference) {
        if expression.mutability.is_some() && makes_charge(&expression.expr) {
            self.temporary.push(self.function.clone());
        }
        visit::visit_expr_reference(self, expression);
    }

    fn visit_local(&mut self, local: &Local) {
        let is_dropped = matches!(local.pat, Pat::Wild(_));
        if is_dropped && local.init.as_ref().is_some_and(|init| makes_charge(&init.expr)) {
            self.temporary.push(self.function.clone());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        // (Resizing a list takes two arguments.)
        if call.method == "resize" && call.args.len() == 1 {
            self.settles.push(self.function.clone());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_field(&mut self, field: &Field) {
        let mut finder = TableFinder(false);
        finder.visit_type(&field.ty);
        if finder.0 {
            self.tables.push(field.ident.as_ref().map_or("of a tuple".into(), ToString::to_string));
        }
        visit::visit_field(self, field);
    }
}

/// Finds tables in a type that are owned, not borrowed.
struct TableFinder(bool);

impl Visit<'_> for TableFinder {
    fn visit_type_reference(&mut self, _: &syn::TypeReference) {}

    fn visit_path_segment(&mut self, segment: &syn::PathSegment) {
        self.0 |= TABLES.iter().any(|table| segment.ident == table);
        visit::visit_path_segment(self, segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_not_paid_for_is_seen() {
        let text = "struct A { names: HashMap<u64, u32>, lent: &'static HashMap<u8, u8>, list: Vec<u8> }\n\
                    fn a(ledger: &Ledger) -> Result<()> {\n\
                    read(&mut ledger.empty(NAMES))?;\n\
                    let mut held = ledger.empty(NAMES);\n\
                    read(&mut held)?;\n\
                    let _ = ledger.charge(NAMES, 7)?;\n\
                    let _held = ledger.charge(NAMES, 7)?;\n\
                    held.resize(9);\n\
                    list.resize(9, 0);\n\
                    read(&mut context.ledger.charge(NAMES, 7)?)\n\
                    }\n\
                    #[cfg(test)]\nmod tests { fn b() { read(&mut ledger.empty(NAMES)); held.resize(9); } }\n";
        let seen = find_patterns(text).unwrap();
        assert_eq!(seen.temporary, ["a", "a", "a"]);
        assert_eq!((seen.settles, seen.tables), (vec!["a".to_string()], vec!["names".to_string()]));
    }
}

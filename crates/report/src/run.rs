//! Access to the JSON description of a run.
//!
//! Sections and metrics read the description only through [`RunPart`], which returns a number as a
//! [`Quantity`] with its JSON pointers. Two functions help to limit memory: [`drop_hidden_reports`]
//! removes data that no page shows, and [`page_bytes`] bounds the memory for building a page.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::text::NumberFormat;

/// The JSON description of a run, as written by `--json`, or a part of it (such as a list or a row
/// of a report) with its JSON pointer.
///
/// Lookups take a path relative to this part: a field name, a JSON pointer (RFC 6901) without its
/// first slash, or the empty string for the part itself. They treat `null` like a missing value.
/// Reports are below `reports`, most of them under the file names that the original tools use:
///
/// ```text
/// reads/read                                 records read
/// reports/flagstat/primary/passed            a count of samtools flagstat
/// reports/insert_size_metrics/rows/0/...     Picard's metrics, one object for each row
/// reports/insert_size_metrics/histograms/0   Picard's histogram, one list for each column
/// ```
///
/// Sections read numbers for the page with [`RunPart::number`] or [`RunPart::cell`], and
/// deserialize other data of known structure with [`RunPart::read`].
#[derive(Clone)]
pub struct RunPart<'a> {
    value: &'a Value,
    pointer: String,
}

/// A number, with its source in the description.
///
/// The page contains both, so that `./dev page` can recompute the number from the JSON and compare
/// it with the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub value: f64,
    /// JSON pointer of the number, or of the data it is computed from. For a sum, several pointers
    /// joined by ` + `.
    pub json: String,
    rule: NumberRule,
    /// The number of reads or bases in the share, if the value is a share and the run has the number.
    pub count: Option<f64>,
}

/// How a number is computed from the JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberRule {
    /// The number at the pointer, or the sum of the numbers at all pointers.
    Sum,
    /// A sum as for `Sum`, divided by the sum of the numbers at these pointers.
    Share(String),
    /// The fraction of counts whose key in the list at `keys` is less than `below` (if `is` is
    /// `below`) or not less than `below` (if `is` is `from`).
    Bins { is: &'static str, keys: String, below: f64 },
    /// A function, named by `is`, of the values at the pointer or of their field `key`.
    Function { is: &'static str, key: Option<&'static str> },
    /// 0, because the largest depth in the list at the pointer is less than this depth.
    NoneAbove(u32),
    /// The mean GC of the lane with this name; see `lanes`.
    LaneGc(String),
}

impl Quantity {
    pub fn new(value: f64, json: impl Into<String>, rule: NumberRule) -> Self {
        Quantity { value, json: json.into(), rule, count: None }
    }

    /// Adds the number of reads or bases in a share.
    pub fn with_count(self, count: Option<f64>) -> Self {
        Quantity { count, ..self }
    }

    /// Adds numbers. `None` if a number is missing or the list is empty.
    pub fn sum(numbers: impl IntoIterator<Item = Option<Quantity>>) -> Option<Quantity> {
        let numbers: Vec<Quantity> = numbers.into_iter().collect::<Option<_>>()?;
        let pointers: Vec<&str> = numbers.iter().map(|it| it.json.as_str()).collect();
        let sum = numbers.iter().map(|it| it.value).sum();
        (!numbers.is_empty()).then(|| Quantity::new(sum, pointers.join(" + "), NumberRule::Sum))
    }

    /// Divides `part` by `whole`. `None` if either is missing, or if `whole` is 0.
    pub fn share(part: Option<Quantity>, whole: Option<Quantity>) -> Option<Quantity> {
        let (part, whole) = (part?, whole?);
        let share = part.value / whole.value;
        let count = Some(part.value);
        let rule = NumberRule::Share(whole.json);
        (whole.value > 0.0).then(|| Quantity::new(share, part.json, rule).with_count(count))
    }

    /// Returns the attributes that say how to compute the number from the JSON, by their names after
    /// `data-`. They are the attributes of [`Quantity::to_html`].
    pub fn source_attributes(&self) -> Vec<(&'static str, String)> {
        let mut list = vec![("json", self.json.clone())];
        match &self.rule {
            NumberRule::Sum => {}
            NumberRule::Share(whole) => list.push(("of", whole.clone())),
            NumberRule::Bins { is, keys, below } => {
                list.extend([
                    ("is", (*is).into()),
                    ("keys", keys.clone()),
                    ("below", below.to_string()),
                ]);
            }
            NumberRule::Function { is, key } => {
                list.push(("is", (*is).into()));
                list.extend(key.map(|key| ("key", key.into())));
            }
            NumberRule::NoneAbove(depth) => {
                list.extend([("is", "none-above".into()), ("above", depth.to_string())]);
            }
            NumberRule::LaneGc(lane) => list.extend([("is", "gc".into()), ("lane", lane.clone())]),
        }
        list
    }

    /// Returns the number as a `<data>` element, whose attributes say how to compute the number from
    /// the JSON.
    pub fn to_html(&self, form: NumberFormat) -> Markup {
        let Quantity { value, json, rule, .. } = self;
        let text = form.format_number(*value);
        match rule {
            NumberRule::Sum => html! { data value=(value) data-json=(json) { (text) } },
            NumberRule::Share(whole) => {
                html! { data value=(value) data-json=(json) data-of=(whole) { (text) } }
            }
            NumberRule::Bins { is, keys, below } => html! {
                data value=(value) data-is=(is) data-json=(json) data-keys=(keys) data-below=(below) {
                    (text)
                }
            },
            NumberRule::Function { is, key } => {
                html! { data value=(value) data-is=(is) data-json=(json) data-key=[key] { (text) } }
            }
            NumberRule::NoneAbove(depth) => html! {
                data value=(value) data-is="none-above" data-json=(json) data-above=(depth) { (text) }
            },
            NumberRule::LaneGc(lane) => {
                html! { data value=(value) data-json=(json) data-is="gc" data-lane=(lane) { (text) } }
            }
        }
    }
}

impl<'a> RunPart<'a> {
    /// Creates the part that is the whole description.
    pub fn new(description: &'a Value) -> Self {
        RunPart { value: description, pointer: String::new() }
    }

    /// Returns the JSON pointer of a path, from the root of the description.
    pub fn pointer(&self, path: &str) -> String {
        if path.is_empty() { self.pointer.clone() } else { format!("{}/{path}", self.pointer) }
    }

    /// Returns the value at a path. `None` if the value is missing or `null`.
    pub fn at(&self, path: &str) -> Option<&'a Value> {
        // Tries a plain field name first: there are many rows, and parsing a pointer is slower.
        let value = self.value.get(path).or_else(|| match path {
            "" => Some(self.value),
            path => self.value.pointer(&format!("/{path}")),
        });
        value.filter(|value| !value.is_null())
    }

    pub fn part(&self, path: &str) -> Option<RunPart<'a>> {
        Some(RunPart { value: self.at(path)?, pointer: self.pointer(path) })
    }

    pub fn list(&self, path: &str) -> &'a [Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the items of the list at a path. Empty if the list is missing.
    pub fn items(&self, path: &str) -> impl Iterator<Item = RunPart<'a>> + use<'a> {
        let (items, list) = (self.list(path).iter().enumerate(), self.pointer(path));
        items.map(move |(i, value)| RunPart { value, pointer: format!("{list}/{i}") })
    }

    /// Returns the field names of this part. Empty if it is not an object.
    pub fn keys(&self) -> impl Iterator<Item = &'a String> {
        self.value.as_object().into_iter().flat_map(Map::keys)
    }

    /// Deserializes the value at a path. `None` if the value is missing or does not match `T`.
    pub fn read<T: Deserialize<'a>>(&self, path: &str) -> Option<T> {
        T::deserialize(self.at(path)?).ok()
    }

    pub fn text(&self, path: &str) -> &'a str {
        self.at(path).and_then(Value::as_str).unwrap_or("")
    }

    pub fn value(&self, path: &str) -> Option<f64> {
        self.at(path)?.as_f64()
    }

    pub fn number(&self, path: &str) -> Option<Quantity> {
        Some(Quantity::new(self.value(path)?, self.pointer(path), NumberRule::Sum))
    }

    /// Returns whether the regions of `--coverage-by` are windows of a fixed size, which cover the
    /// whole genome, rather than the targets of a BED file.
    pub fn has_coverage_windows(&self) -> bool {
        let words: Vec<&str> = self.read("command/arguments").unwrap_or_default();
        let is_size = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let next = words.iter().skip(1).chain(std::iter::once(&""));
        words.iter().zip(next).any(|(word, next)| match word.strip_prefix("--coverage-by") {
            Some("") => is_size(next),
            Some(value) => value.strip_prefix('=').is_some_and(is_size),
            None => false,
        })
    }

    /// Returns the numbers of a list, such as a histogram column. Elements that are not numbers
    /// become 0.
    pub fn column(&self, path: &str) -> Vec<f64> {
        self.list(path).iter().map(|value| value.as_f64().unwrap_or(0.0)).collect()
    }

    /// Returns the rows of a report for which `is_wanted` is true.
    pub fn rows(&self, report: &str, is_wanted: impl Fn(&RunPart<'a>) -> bool) -> Vec<RunPart<'a>> {
        self.items(&format!("reports/{report}/rows")).filter(is_wanted).collect()
    }

    /// Returns the first row of a report that covers all reads and for which `is_wanted` is true.
    pub fn first_row_of_all(
        &self,
        report: &str,
        is_wanted: impl Fn(&RunPart<'a>) -> bool,
    ) -> Option<RunPart<'a>> {
        let mut rows = self.items(&format!("reports/{report}/rows"));
        rows.find(|row| row.is_of_all() && is_wanted(row))
    }

    /// Returns whether a row of a Picard report covers all reads, rather than one sample, library or
    /// read group. Picard writes rows for each level of `METRIC_ACCUMULATION_LEVEL`.
    pub fn is_of_all(&self) -> bool {
        ["SAMPLE", "LIBRARY", "READ_GROUP"].iter().all(|name| self.at(name).is_none())
    }

    pub fn is_of_lane(&self) -> bool {
        self.at("READ_GROUP").is_some()
    }

    /// Returns the lane name of a row, from `READ_GROUP`. Picard writes the PU of the read group there.
    pub fn lane_name(&self) -> String {
        self.name("READ_GROUP")
    }

    /// Returns the name at a path. A name of digits, such as contig 1, is a number in the description.
    pub fn name(&self, path: &str) -> String {
        match self.at(path) {
            Some(Value::String(name)) => name.clone(),
            other => other.map_or_else(String::new, Value::to_string),
        }
    }
}

/// Reports that no page shows. They are the largest ones.
const HIDDEN_REPORTS: [&str; 3] =
    ["bait_bias_detail_metrics", "pre_adapter_detail_metrics", "oxog_metrics"];

/// FastQC modules of which the page shows only the status, because their tables are long or another
/// section shows the same data.
const STATUS_ONLY_MODULES: [&str; 4] =
    ["Basic Statistics", "Per tile sequence quality", "Per base sequence content", "Per base N content"];

/// Removes the data that no page shows from a description. Returns the memory of the rest in bytes,
/// which the caller charges.
///
/// `readmill report` calls this for each file, so that hundreds of samples fit into memory.
///
/// ```
/// use readmill_report::drop_hidden_reports;
/// use serde_json::json;
///
/// let mut run = json!({"reports": {"oxog_metrics": {"rows": []}, "flagstat": {}}});
/// drop_hidden_reports(&mut run);
/// assert_eq!(run, json!({"reports": {"flagstat": {}}}));
/// ```
pub fn drop_hidden_reports(description: &mut Value) -> u64 {
    if let Some(reports) = description.get_mut("reports").and_then(Value::as_object_mut) {
        reports.retain(|name, _| !HIDDEN_REPORTS.contains(&name.as_str()));
        if let Some(stats) = reports.get_mut("stats").and_then(Value::as_object_mut) {
            stats.retain(|section, _| ["MAPQ", "SN"].contains(&section.as_str()));
        }
        let files = reports.get_mut("fastqc").and_then(Value::as_array_mut).into_iter().flatten();
        let modules = files.filter_map(|file| file.get_mut("modules")?.as_array_mut()).flatten();
        for module in modules.filter_map(Value::as_object_mut) {
            let name = module.get("name").and_then(Value::as_str).unwrap_or("");
            if STATUS_ONLY_MODULES.contains(&name) {
                module.insert("columns".into(), Value::Object(Map::new()));
            }
        }
    }
    value_bytes(description)
}

/// Reports of which the page lists no rows, or only a few, in its tables.
const UNLISTED_REPORTS: [&str; 2] = ["idxstats", "gc_bias.detail_metrics"];

/// Ratio of the memory for building a page to the memory of the values that it shows. The HTML of a
/// table cell is longer than its value, and the HTML of a table is copied into its section and then
/// into the page.
const PAGE_MEMORY_FACTOR: u64 = 4;

/// Returns an upper bound, in bytes, of the memory for building the page of this description.
///
/// Small descriptions also need a few MiB, so the caller should charge at least that much.
pub fn page_bytes(description: &Value) -> u64 {
    let reports = description.get("reports").and_then(Value::as_object).into_iter().flatten();
    let shown = reports.filter(|(name, _)| {
        !HIDDEN_REPORTS.contains(&name.as_str()) && !UNLISTED_REPORTS.contains(&name.as_str())
    });
    PAGE_MEMORY_FACTOR * shown.map(|(_, report)| value_bytes(report)).sum::<u64>()
}

/// Returns the memory of a JSON value in bytes, inline and on the heap. For a field of an object,
/// this includes the key and its share of a tree node.
fn value_bytes(value: &Value) -> u64 {
    let of = size_of::<Value>() as u64;
    of + match value {
        Value::String(text) => text.capacity() as u64,
        Value::Array(list) => {
            list.iter().map(value_bytes).sum::<u64>() + (list.capacity() - list.len()) as u64 * of
        }
        Value::Object(fields) => {
            let name = |name: &String| 3 * of + name.capacity() as u64;
            fields.iter().map(|(key, value)| name(key) + value_bytes(value)).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_no_page_shows_is_dropped() {
        let mut value = json!({"reports": {"oxog_metrics": {}, "stats": {"MAPQ": [[0, 1]], "GCF": [1], "SN": {}}, "flagstat": {}}});
        let bytes = drop_hidden_reports(&mut value);
        assert_eq!(value, json!({"reports": {"stats": {"MAPQ": [[0, 1]], "SN": {}}, "flagstat": {}}}));
        assert!(bytes > 300 && bytes < 2000, "{bytes}");
    }

    #[test]
    fn of_some_modules_the_verdict_is_left() {
        let module = |name: &str| json!({"name": name, "status": "fail", "columns": {"Tile": [1, 2]}});
        let mut value = json!({"reports": {"fastqc": [{"file": "a", "modules": [module("Per tile sequence quality"), module("x")]}]}});
        drop_hidden_reports(&mut value);
        let modules = &value["reports"]["fastqc"][0]["modules"];
        assert_eq!(
            modules[0],
            json!({"name": "Per tile sequence quality", "status": "fail", "columns": {}})
        );
        assert_eq!(modules[1], module("x"));
    }

    #[test]
    fn windows_of_a_number_are_no_targets() {
        let is_of = |words: &[&str]| {
            RunPart::new(&json!({"command": {"arguments": words}})).has_coverage_windows()
        };
        assert!(is_of(&["prep", "--coverage-by", "500"]) && is_of(&["prep", "--coverage-by=500"]));
        assert!(!is_of(&["prep", "--coverage-by", "500.bed"]) && !is_of(&["prep", "--coverage-by"]));
        assert!(!is_of(&[]));
    }

    #[test]
    fn sums_and_shares_say_what_they_are_made_of() {
        let value = json!({"a": 1, "b": 3, "c": {"x \"y": 8}});
        let run = RunPart::new(&value);
        let sum = Quantity::sum([run.number("a"), run.number("b")]);
        let share = Quantity::share(sum, run.number("c/x \"y")).unwrap();
        assert_eq!(
            share.to_html(NumberFormat::Share).into_string(),
            "<data value=\"0.5\" data-json=\"/a + /b\" data-of=\"/c/x &quot;y\">50.0\u{a0}%</data>"
        );
        assert_eq!((Quantity::sum([]), Quantity::share(run.number("a"), run.number("z"))), (None, None));
        assert_eq!(html! { (run.cell("z", NumberFormat::Plain)) }.into_string(), "–");
    }
}

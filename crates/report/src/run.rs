//! Access to the JSON description of a run, by JSON pointer.
//!
//! Sections and metrics read the description only through [`Run`]. It returns a number as a
//! [`Quantity`], which remembers the pointers it was computed from. Here are also the two functions
//! that bound memory: `drop_hidden_reports` drops reports that no page shows, and `page_bytes` estimates the size
//! of a page.

use serde_json::{Map, Value};

use crate::text::{NumberFormat, escape_html};

/// The JSON description of one run, as `--json` writes it.
///
/// Lookups take a JSON pointer (RFC 6901) such as `/time/seconds`, and treat `null` like a missing
/// value. Reports are below `/reports`, each under the name of the file that the tool it imitates
/// would write:
///
/// ```text
/// /reads/read                                 records read
/// /reports/flagstat/primary/passed            one number
/// /reports/insert_size_metrics/rows/0/...     Picard's metrics, one object for each row
/// /reports/insert_size_metrics/histograms/0   Picard's histogram, one list for each column
/// ```
#[derive(Clone, Copy)]
pub struct RunDescription<'a> {
    value: &'a Value,
}

/// A number and the HTML attributes that tell where in the description it comes from.
///
/// `data-json` holds the pointer, or several joined by ` + ` for a sum; `data-of` holds the
/// denominator of a share. `./dev page` computes the number again from the JSON and compares it
/// with the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub value: f64,
    attributes: String,
}

impl Quantity {
    /// Takes the attributes ready to be placed in a tag; pointers in them must be escaped already.
    pub fn new(value: f64, attributes: String) -> Self {
        Quantity { value, attributes }
    }

    /// Returns the number as a `<data>` element with its attributes.
    pub fn to_html(&self, form: NumberFormat) -> String {
        format!(
            "<data value=\"{}\" {}>{}</data>",
            self.value,
            self.attributes,
            form.format_number(self.value)
        )
    }
}

impl<'a> RunDescription<'a> {
    pub fn new(value: &'a Value) -> Self {
        RunDescription { value }
    }

    /// Returns the value at a JSON pointer; `None` if it is missing or `null`.
    pub fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.value.pointer(pointer).filter(|value| !value.is_null())
    }

    pub fn report(&self, name: &str) -> Option<&'a Value> {
        self.value.get("reports")?.get(name)
    }

    pub fn text(&self, pointer: &str) -> &'a str {
        self.at(pointer).and_then(Value::as_str).unwrap_or("")
    }

    pub fn list(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub fn sample(&self) -> &'a str {
        self.text("/sample")
    }

    pub fn number(&self, pointer: &str) -> Option<Quantity> {
        let value = self.at(pointer)?.as_f64()?;
        Some(Quantity::new(value, format!("data-json=\"{}\"", escape_html(pointer))))
    }

    /// Adds the numbers at some pointers. `None` if one of them is missing or the list is empty.
    pub fn sum(&self, pointers: &[String]) -> Option<Quantity> {
        let values: Vec<f64> = pointers.iter().map(|it| self.at(it)?.as_f64()).collect::<Option<_>>()?;
        if values.is_empty() {
            return None;
        }
        let attributes = format!("data-json=\"{}\"", escape_html(&pointers.join(" + ")));
        Some(Quantity::new(values.iter().sum(), attributes))
    }

    /// Divides one sum of numbers by another. `None` if a number is missing or the divisor is 0.
    pub fn share(&self, part: &[String], whole: &[String]) -> Option<Quantity> {
        let (up, down) = (self.sum(part)?.value, self.sum(whole)?.value);
        let attributes = format!(
            "data-json=\"{}\" data-of=\"{}\"",
            escape_html(&part.join(" + ")),
            escape_html(&whole.join(" + "))
        );
        (down > 0.0).then(|| Quantity::new(up / down, attributes))
    }

    /// Returns the number at a pointer as a `<data>` element, or a dash if it is missing.
    pub fn number_html(&self, pointer: &str, form: NumberFormat) -> String {
        self.number(pointer).map_or("–".into(), |number| number.to_html(form))
    }

    /// Returns an array as numbers, 0 for each element that is not a number. Used for the columns
    /// of histograms.
    pub fn column(&self, pointer: &str) -> Vec<f64> {
        self.list(pointer).iter().map(|value| value.as_f64().unwrap_or(0.0)).collect()
    }

    pub fn rows(&self, report: &str, is_wanted: impl Fn(&Value) -> bool) -> Vec<(String, &'a Value)> {
        let rows = self.report(report).and_then(|it| it.get("rows")).and_then(Value::as_array);
        let rows = rows.map_or(&[][..], Vec::as_slice).iter().enumerate();
        let wanted = rows.filter(|(_, row)| is_wanted(row));
        wanted.map(|(i, row)| (format!("/reports/{report}/rows/{i}"), row)).collect()
    }

    /// Returns the pointer of the first wanted row that covers all reads, and not one sample,
    /// library or read group.
    pub fn first_row_of_all(&self, report: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<String> {
        self.rows(report, |row| row_level(row) == RowLevel::All && is_wanted(row))
            .into_iter()
            .next()
            .map(|row| row.0)
    }
}

/// Reports that no page shows. They are the longest ones.
const HIDDEN_REPORTS: [&str; 3] =
    ["bait_bias_detail_metrics", "pre_adapter_detail_metrics", "oxog_metrics"];

/// FastQC modules of which the page shows only the status: their tables are long, or another
/// section shows the same data.
const STATUS_ONLY_MODULES: [&str; 4] =
    ["Basic Statistics", "Per tile sequence quality", "Per base sequence content", "Per base N content"];

/// Removes the parts of a description that no page shows, to save memory. Returns the bytes of
/// memory that the rest occupies, which the caller charges.
///
/// `readmill report` calls it for each file, so that hundreds of samples fit into memory together.
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
            stats.retain(|section, _| section == "MAPQ");
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

/// Reports that are read for single numbers but whose rows appear in no table.
const UNLISTED_REPORTS: [&str; 2] = ["idxstats", "gc_bias.detail_metrics"];

/// Ratio of the memory used while a page is built to the memory of the values it shows. A table
/// cell is longer than its value, and the text of a table is copied into its section and then into
/// the page.
const PAGE_MEMORY_FACTOR: u64 = 4;

/// Returns an upper bound in bytes for the memory that building the page of this description takes.
///
/// The caller charges this amount, but at least a few MiB, which any page needs.
pub fn page_bytes(description: &Value) -> u64 {
    let reports = description.get("reports").and_then(Value::as_object).into_iter().flatten();
    let shown = reports.filter(|(name, _)| {
        !HIDDEN_REPORTS.contains(&name.as_str()) && !UNLISTED_REPORTS.contains(&name.as_str())
    });
    PAGE_MEMORY_FACTOR * shown.map(|(_, report)| value_bytes(report)).sum::<u64>()
}

/// Returns the heap and inline bytes of a JSON value. For a field of an object it adds the key and
/// the field's share of a tree node.
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

/// The reads that a row of one of Picard's reports covers. Picard writes one row for each level of
/// `METRIC_ACCUMULATION_LEVEL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLevel {
    All,
    Sample,
    Library,
    Lane,
}

/// Tells the level of a row from the columns `SAMPLE`, `LIBRARY` and `READ_GROUP` that are filled.
pub fn row_level(row: &Value) -> RowLevel {
    let has = |name: &str| row.get(name).is_some_and(|value| !value.is_null());
    match () {
        () if has("READ_GROUP") => RowLevel::Lane,
        () if has("LIBRARY") => RowLevel::Library,
        () if has("SAMPLE") => RowLevel::Sample,
        () => RowLevel::All,
    }
}

/// Returns the lane of a row. Picard writes the PU field of the read group into `READ_GROUP`.
pub fn lane_name(row: &Value) -> String {
    match row.get("READ_GROUP") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_no_page_shows_is_dropped() {
        let mut value = json!({"reports": {"oxog_metrics": {}, "stats": {"MAPQ": [[0, 1]], "GCF": [1]}, "flagstat": {}}});
        let bytes = drop_hidden_reports(&mut value);
        assert_eq!(value, json!({"reports": {"stats": {"MAPQ": [[0, 1]]}, "flagstat": {}}}));
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
    fn sums_and_shares_say_what_they_are_made_of() {
        let value = json!({"a": 1, "b": 3, "c": {"x \"y": 8}});
        let run = RunDescription::new(&value);
        let share = run.share(&["/a".into(), "/b".into()], &["/c/x \"y".into()]).unwrap();
        assert_eq!(
            share.to_html(NumberFormat::Share),
            "<data value=\"0.5\" data-json=\"/a + /b\" data-of=\"/c/x &quot;y\">50.0\u{a0}%</data>"
        );
        assert_eq!((run.sum(&[]), run.share(&["/a".into()], &["/z".into()])), (None, None));
        assert_eq!(run.number_html("/z", NumberFormat::Plain), "–");
    }
}

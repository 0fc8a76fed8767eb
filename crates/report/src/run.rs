//! A run as its JSON describes it, and numbers of it with the place that they come from.

use serde_json::{Map, Value};

use crate::text::{Form, escape};

/// The description of one run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    value: &'a Value,
}

/// A number, and the attributes that say where in the description it comes from: a test reads both.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    attributes: String,
}

impl Quantity {
    /// A number of these attributes.
    pub fn new(value: f64, attributes: String) -> Self {
        Quantity { value, attributes }
    }

    /// Returns the element of the number.
    pub fn html(&self, form: Form) -> String {
        format!("<data value=\"{}\" {}>{}</data>", self.value, self.attributes, form.text(self.value))
    }
}

impl<'a> Run<'a> {
    /// The run that is described so.
    pub fn new(value: &'a Value) -> Self {
        Run { value }
    }

    /// A part of the description by its JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.value.pointer(pointer).filter(|value| !value.is_null())
    }

    /// A report by its name.
    pub fn report(&self, name: &str) -> Option<&'a Value> {
        self.value.get("reports")?.get(name)
    }

    /// A text.
    pub fn text(&self, pointer: &str) -> &'a str {
        self.at(pointer).and_then(Value::as_str).unwrap_or("")
    }

    /// The lines of a list.
    pub fn list(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The name of the sample.
    pub fn sample(&self) -> &'a str {
        self.text("/sample")
    }

    /// A number.
    pub fn number(&self, pointer: &str) -> Option<Quantity> {
        let value = self.at(pointer)?.as_f64()?;
        Some(Quantity::new(value, format!("data-json=\"{}\"", escape(pointer))))
    }

    /// The sum of some numbers.
    pub fn sum(&self, pointers: &[String]) -> Option<Quantity> {
        let values: Vec<f64> = pointers.iter().map(|it| self.at(it)?.as_f64()).collect::<Option<_>>()?;
        if values.is_empty() {
            return None;
        }
        let attributes = format!("data-json=\"{}\"", escape(&pointers.join(" + ")));
        Some(Quantity::new(values.iter().sum(), attributes))
    }

    /// The share that one sum has of another.
    pub fn share(&self, part: &[String], whole: &[String]) -> Option<Quantity> {
        let (up, down) = (self.sum(part)?.value, self.sum(whole)?.value);
        let attributes = format!(
            "data-json=\"{}\" data-of=\"{}\"",
            escape(&part.join(" + ")),
            escape(&whole.join(" + "))
        );
        (down > 0.0).then(|| Quantity::new(up / down, attributes))
    }

    /// The element of a number, or a dash.
    pub fn shown(&self, pointer: &str, form: Form) -> String {
        self.number(pointer).map_or("–".into(), |number| number.html(form))
    }

    /// The numbers of a column of a histogram, or of another list of numbers.
    pub fn column(&self, pointer: &str) -> Vec<f64> {
        self.list(pointer).iter().map(|value| value.as_f64().unwrap_or(0.0)).collect()
    }

    /// The rows of a report of Picard that are wanted, each with its pointer.
    pub fn rows(&self, report: &str, is_wanted: impl Fn(&Value) -> bool) -> Vec<(String, &'a Value)> {
        let rows = self.report(report).and_then(|it| it.get("rows")).and_then(Value::as_array);
        let rows = rows.map_or(&[][..], Vec::as_slice).iter().enumerate();
        let wanted = rows.filter(|(_, row)| is_wanted(row));
        wanted.map(|(i, row)| (format!("/reports/{report}/rows/{i}"), row)).collect()
    }

    /// The pointer of the first row for all reads that is wanted.
    pub fn row_of_all(&self, report: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<String> {
        self.rows(report, |row| level(row) == Level::All && is_wanted(row))
            .into_iter()
            .next()
            .map(|row| row.0)
    }
}

/// Reports that no page shows, since they are long.
const NOT_SHOWN: [&str; 3] = ["bait_bias_detail_metrics", "pre_adapter_detail_metrics", "oxog_metrics"];

/// Modules of FastQC of which pages show the verdict alone: their tables are long, or in other sections.
const VERDICT_ALONE: [&str; 4] =
    ["Basic Statistics", "Per tile sequence quality", "Per base sequence content", "Per base N content"];

/// Drops what no page shows of a description, and returns the bytes of memory that the rest takes.
pub fn trim(description: &mut Value) -> u64 {
    if let Some(reports) = description.get_mut("reports").and_then(Value::as_object_mut) {
        reports.retain(|name, _| !NOT_SHOWN.contains(&name.as_str()));
        if let Some(stats) = reports.get_mut("stats").and_then(Value::as_object_mut) {
            stats.retain(|section, _| section == "MAPQ");
        }
        let files = reports.get_mut("fastqc").and_then(Value::as_array_mut).into_iter().flatten();
        let modules = files.filter_map(|file| file.get_mut("modules")?.as_array_mut()).flatten();
        for module in modules.filter_map(Value::as_object_mut) {
            let name = module.get("name").and_then(Value::as_str).unwrap_or("");
            if VERDICT_ALONE.contains(&name) {
                module.insert("columns".into(), Value::Object(Map::new()));
            }
        }
    }
    bytes(description)
}

/// Reports without a section of their own, or whose rows no section shows.
const WITHOUT_ROWS: [&str; 2] = ["idxstats", "gc_bias.detail_metrics"];

/// What a page takes while it is made, as often as the values that it shows: cells of HTML are longer than values, and the
/// text of a table becomes part of that of a section, which becomes part of that of the page.
const TEXTS: u64 = 4;

/// The most bytes of memory that making the page of a description takes, beside a few MiB that every page does.
pub fn page_bytes(description: &Value) -> u64 {
    let reports = description.get("reports").and_then(Value::as_object).into_iter().flatten();
    let shown = reports.filter(|(name, _)| {
        !NOT_SHOWN.contains(&name.as_str()) && !WITHOUT_ROWS.contains(&name.as_str())
    });
    TEXTS * shown.map(|(_, report)| bytes(report)).sum::<u64>()
}

/// The bytes of memory of a value; a field of an object has a name and its share of a node.
fn bytes(value: &Value) -> u64 {
    let of = size_of::<Value>() as u64;
    of + match value {
        Value::String(text) => text.capacity() as u64,
        Value::Array(list) => {
            list.iter().map(bytes).sum::<u64>() + (list.capacity() - list.len()) as u64 * of
        }
        Value::Object(fields) => {
            let name = |name: &String| 3 * of + name.capacity() as u64;
            fields.iter().map(|(key, value)| name(key) + bytes(value)).sum()
        }
        _ => 0,
    }
}

/// Whose reads a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// All reads.
    All,
    /// Those of a sample.
    Sample,
    /// Those of a library.
    Library,
    /// Those of a read group, mostly a lane.
    Lane,
}

/// Whose reads a row of Picard is about.
pub fn level(row: &Value) -> Level {
    let has = |name: &str| row.get(name).is_some_and(|value| !value.is_null());
    match () {
        () if has("READ_GROUP") => Level::Lane,
        () if has("LIBRARY") => Level::Library,
        () if has("SAMPLE") => Level::Sample,
        () => Level::All,
    }
}

/// The name of the lane of a row: Picard has PU of the read group there.
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
        let bytes = trim(&mut value);
        assert_eq!(value, json!({"reports": {"stats": {"MAPQ": [[0, 1]]}, "flagstat": {}}}));
        assert!(bytes > 300 && bytes < 2000, "{bytes}");
    }

    #[test]
    fn of_some_modules_the_verdict_is_left() {
        let module = |name: &str| json!({"name": name, "status": "fail", "columns": {"Tile": [1, 2]}});
        let mut value = json!({"reports": {"fastqc": [{"file": "a", "modules": [module("Per tile sequence quality"), module("x")]}]}});
        trim(&mut value);
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
        let run = Run::new(&value);
        let share = run.share(&["/a".into(), "/b".into()], &["/c/x \"y".into()]).unwrap();
        assert_eq!(
            share.html(Form::Share),
            "<data value=\"0.5\" data-json=\"/a + /b\" data-of=\"/c/x &quot;y\">50.0\u{a0}%</data>"
        );
        assert_eq!((run.sum(&[]), run.share(&["/a".into()], &["/z".into()])), (None, None));
        assert_eq!(run.shown("/z", Form::Plain), "–");
    }
}

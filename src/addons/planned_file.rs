//! A report file that a plan requests.

use std::path::Path;

use readmill_format::report::ReportContents;
use readmill_record::Result;
use serde_json::Value;

/// A report file that a plan requests. It is opened before the run, so that a path that cannot be
/// written is reported early.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFile<'a> {
    /// The name among the reports and outputs of `--json`.
    pub name: &'static str,
    pub path: &'a Path,
    /// How the text becomes a value among the reports of `--json`; `None` omits it.
    pub json: Option<ReportJson>,
    /// When the file is written.
    pub time: FileTime,
    /// Whether missing directories of the path are created.
    pub creates_directory: bool,
}

/// Writes the add-on's next file.
pub type WriteReport<'a> = dyn FnMut(ReportContents) -> Result<()> + 'a;

/// When a report file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTime {
    /// After all reads are counted, by
    /// [`RunningAddOn::write_reports`](super::RunningAddOn::write_reports).
    AtEnd,
    /// While reads are counted. The add-on receives the open file in
    /// [`RunningAddOn::open_files`](super::RunningAddOn::open_files).
    WhileCounting,
    /// After the run is described, from this description, by
    /// [`RunningAddOn::text_of_run`](super::RunningAddOn::text_of_run). The description does not list the file.
    AfterDescription,
}

/// How the text of a report becomes a value of `--json`.
#[derive(Clone, Copy, Debug)]
pub enum ReportJson {
    /// The value under the name of the file.
    Value(fn(&str) -> Value),
    /// An item of the list under the name of the file, which several files share.
    ListItem(fn(&str) -> Value),
}

impl<'a> PlannedFile<'a> {
    /// Creates a file that is written at the end, to an existing directory, and is not part of
    /// `--json`.
    pub fn new(name: &'static str, path: &'a Path) -> Self {
        PlannedFile { name, path, json: None, time: FileTime::AtEnd, creates_directory: false }
    }

    /// Includes the text in `--json`, as the value that `value` returns.
    pub fn with_json(self, value: fn(&str) -> Value) -> Self {
        PlannedFile { json: Some(ReportJson::Value(value)), ..self }
    }
}

impl ReportJson {
    /// Adds a text to the reports, under the name of its file.
    pub fn insert_into(self, reports: &mut serde_json::Map<String, Value>, name: &str, text: &str) {
        match self {
            ReportJson::Value(value) => {
                reports.insert(name.into(), value(text));
            }
            ReportJson::ListItem(item) => {
                let list = reports.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                if let Some(list) = list.as_array_mut() {
                    list.push(item(text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn files_that_share_a_name_become_a_list() {
        let mut reports = Map::new();
        for text in ["a", "b"] {
            ReportJson::ListItem(|text| json!(text)).insert_into(&mut reports, "list", text);
            ReportJson::Value(|text| json!(text)).insert_into(&mut reports, "value", text);
        }
        assert_eq!(Value::Object(reports), json!({ "list": ["a", "b"], "value": "b" }));
    }
}

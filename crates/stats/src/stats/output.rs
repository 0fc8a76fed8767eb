//! What becomes of the rows of the statistics: the lines of the text, or values.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Display, Write as _};

use readmill_format::report::cell_value;
use serde_json::{Map, Value};

/// Receives the rows. They are written once as text and, if the run is described, once more as values
/// after the text has gone to its file.
pub(super) trait StatsOutput {
    fn add_comment(&mut self, _comment: Arguments<'_>) {}

    fn add_row(&mut self, tag: &'static str, cells: impl IntoIterator<Item = impl Display>);

    /// Adds a row of section SN.
    fn add_summary(&mut self, name: &str, value: &str, comment: &str);
}

// Writing to a string cannot fail.
impl StatsOutput for String {
    fn add_comment(&mut self, comment: Arguments<'_>) {
        let _ = writeln!(self, "# {comment}");
    }

    fn add_row(&mut self, tag: &'static str, cells: impl IntoIterator<Item = impl Display>) {
        self.push_str(tag);
        cells.into_iter().for_each(|cell| _ = write!(self, "\t{cell}"));
        self.push('\n');
    }

    fn add_summary(&mut self, name: &str, value: &str, comment: &str) {
        let space = if comment.is_empty() { "" } else { "\t# " };
        let _ = writeln!(self, "SN\t{name}:\t{value}{space}{comment}");
    }
}

/// The numbers of section SN by their names, and the rows of each other section by its tag.
#[derive(Default)]
pub(super) struct StatsValues {
    summary: Map<String, Value>,
    sections: BTreeMap<&'static str, Vec<Value>>,
}

impl StatsOutput for StatsValues {
    fn add_row(&mut self, tag: &'static str, cells: impl IntoIterator<Item = impl Display>) {
        let cells = cells.into_iter().map(|cell| cell_value(&cell.to_string()));
        self.sections.entry(tag).or_default().push(cells.collect());
    }

    fn add_summary(&mut self, name: &str, value: &str, _: &str) {
        self.summary.insert(name.into(), cell_value(value));
    }
}

impl StatsValues {
    pub fn into_value(self) -> Value {
        let sections = self.sections.into_iter().map(|(tag, rows)| (tag.into(), rows.into()));
        Value::Object(sections.chain([("SN".into(), Value::Object(self.summary))]).collect())
    }
}

//! Reports of a run: files of text, most of whose numbers are also in the description of the run
//! (`--json`).

use serde_json::{Map, Value};

/// What counted, at the end of a run: it formats its file, and makes the value of the same counts
/// for the description of the run.
///
/// A run writes the text and drops it, pays for the value ([`max_value_bytes`]), and only then makes
/// the value. So a long report is never in memory twice, and a run that is not described makes no
/// value. Each number of the value is the number of the text: where the text rounds, the value
/// is made of the formatted cell, by [`cell_value`].
///
/// ```
/// use readmill_format::report::{DescribedReport, cell_value};
/// use serde_json::{Value, json};
///
/// struct GcShare(f64);
///
/// impl GcShare {
///     fn cell(&self) -> String {
///         format!("{:.2}", self.0)
///     }
/// }
///
/// impl DescribedReport for GcShare {
///     fn format_text(&self) -> Vec<u8> {
///         format!("GC\t{}\n", self.cell()).into_bytes()
///     }
///     fn to_value(&self) -> Value {
///         json!({ "GC": cell_value(&self.cell()) })
///     }
/// }
///
/// let report = GcShare(0.40625);
/// assert_eq!(report.format_text(), b"GC\t0.41\n");
/// assert_eq!(report.to_value().to_string(), r#"{"GC":0.41}"#);
/// ```
pub trait DescribedReport: Send {
    /// Returns the text of the file.
    fn format_text(&self) -> Vec<u8>;

    /// Returns the value in the description of the run.
    fn to_value(&self) -> Value;
}

/// Names that report files may contain.
#[derive(Clone, Copy)]
pub struct RunNames<'a> {
    /// The path of the main output or, if there is none, of the first input.
    pub file: &'a str,
    pub sample: &'a str,
    /// Returns the command line of the run in the form that this tool of Picard would write it to
    /// its metrics file.
    pub picard_command_line: &'a dyn Fn(&str) -> String,
    /// The text that is written instead of a date, because equal runs have to write equal bytes.
    pub started: &'a str,
}

/// The contents of a report file.
pub enum ReportContents {
    /// Text that is not part of the run description.
    Text(Vec<u8>),
    /// Like `Text`, but in parts, because the whole text would take too much memory.
    Parts(Box<dyn Iterator<Item = Vec<u8>> + Send>),
    Described(Box<dyn DescribedReport>),
}

impl From<Vec<u8>> for ReportContents {
    fn from(text: Vec<u8>) -> Self {
        ReportContents::Text(text)
    }
}

impl<R: DescribedReport + 'static> From<R> for ReportContents {
    fn from(report: R) -> Self {
        ReportContents::Described(Box::new(report))
    }
}

/// Returns the value of a formatted cell: a number if it is one, null if nothing is stated, else
/// text.
///
/// ```
/// use readmill_format::report::cell_value;
/// use serde_json::json;
///
/// let values = ["7", "0.25", "1e-05", "?", "", "chr1"].map(cell_value);
/// assert_eq!(json!(values), json!([7, 0.25, 1e-5, null, null, "chr1"]));
/// ```
pub fn cell_value(text: &str) -> Value {
    if text.is_empty() || text == "?" {
        return Value::Null;
    }
    let whole = text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from));
    // Rust parses `inf` and `nan` as numbers, too, which are names as well.
    let is_decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let decimal = || text.bytes().all(is_decimal).then(|| text.parse::<f64>().ok().map(Value::from))?;
    whole.ok().or_else(decimal).unwrap_or_else(|| text.into())
}

/// Returns an object of these values. Names without a value get null.
pub fn named_values<'a>(
    names: impl IntoIterator<Item = &'a str>,
    values: impl Iterator<Item = Value>,
) -> Value {
    let values = values.chain(std::iter::repeat(Value::Null));
    let named = names.into_iter().map(String::from).zip(values);
    Value::Object(named.collect::<Map<String, Value>>())
}

/// Returns the maximum number of bytes that the value of a report takes in memory, by its text: a
/// line is an object, with a node for each eleven cells, a name for each of them, and a place in a
/// list that may be twice as long.
pub fn max_value_bytes(text: &[u8]) -> u64 {
    const NODE: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 32;
    let row = |line: &[u8]| {
        let cells = 1 + line.iter().filter(|&&byte| byte == b'\t').count();
        let nodes = if cells <= 11 { NODE } else { (2 * cells).div_ceil(11) * (NODE + 96) };
        nodes + cells * (size_of::<String>() + 24) + line.len() + 3 * size_of::<Value>()
    };
    text.split(|&byte| byte == b'\n').map(|line| row(line) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_are_numbers_if_they_look_like_some() {
        let cells = ["7", "-7", "0.25", "1e-05", "?", "", "inf", "chr1", "18446744073709551615", "1-2"];
        let values = cells.map(cell_value);
        let wanted = json!([7, -7, 0.25, 1e-5, null, null, "inf", "chr1", u64::MAX, "1-2"]);
        assert_eq!(json!(values), wanted);
    }

    #[test]
    fn names_without_a_value_get_null() {
        let value = named_values(["a", "b", "c"], [json!(1), json!("x")].into_iter());
        assert_eq!(value, json!({"a": 1, "b": "x", "c": null}));
    }
}

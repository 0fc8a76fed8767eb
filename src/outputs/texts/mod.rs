//! Reports as JSON, parsed from the texts that a run writes. So each number in JSON equals the
//! number in the text.

mod picard;
mod recalibration;

use serde_json::{Map, Value, json};

pub use picard::metrics;
pub use recalibration::recalibration;

/// Returns the maximum memory of `text` as JSON values, in bytes. Each row is an object with a node
/// per eleven cells, a name for each cell, and a place in a list that may be twice as long.
pub fn max_bytes(text: &[u8]) -> u64 {
    const NODE: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 32;
    let row = |line: &[u8]| {
        let cells = 1 + line.iter().filter(|&&byte| byte == b'\t').count();
        let nodes = if cells <= 11 { NODE } else { (2 * cells).div_ceil(11) * (NODE + 96) };
        nodes + cells * (size_of::<String>() + 24) + line.len() + 3 * size_of::<Value>()
    };
    text.split(|&byte| byte == b'\n').map(|line| row(line) as u64).sum()
}

/// Returns the value of a table cell: a number if it is one, null if it is empty or `?`, otherwise
/// a string.
pub fn cell(text: &str) -> Value {
    match text {
        "" | "?" => Value::Null,
        _ => text
            .parse::<u64>()
            .map(Value::from)
            .or_else(|_| text.parse::<i64>().map(Value::from))
            .ok()
            .or_else(|| is_decimal(text).then(|| text.parse::<f64>().ok().map(Value::from))?)
            .unwrap_or_else(|| json!(text)),
    }
}

/// Returns whether a text is a decimal number, with or without an exponent. Rust also parses `inf`
/// and `nan` as numbers, but they can be names.
fn is_decimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
}

/// Returns a table line as an object. `names` are the column names.
pub fn row(names: &[&str], line: &str) -> Value {
    let cells = line.split('\t').map(cell).chain(std::iter::repeat(Value::Null));
    let named = names.iter().map(|name| name.to_string()).zip(cells);
    Value::Object(named.collect::<Map<String, Value>>())
}

/// Returns the columns of a table by name. The first line contains the names.
pub fn columns<'a>(mut lines: impl Iterator<Item = &'a str>) -> Value {
    let names: Vec<&str> = lines.next().map_or_else(Vec::new, |line| line.split('\t').collect());
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        let cells = line.split('\t').map(cell).chain(std::iter::repeat(Value::Null));
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    let named = names.iter().map(|name| name.to_string()).zip(columns.into_iter().map(Value::Array));
    Value::Object(named.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_where_they_are_some() {
        let cells = ["7", "-7", "0.25", "1e-05", "?", "", "inf", "chr1", "18446744073709551615", "1-2"];
        let values = cells.map(cell);
        let wanted = json!([7, -7, 0.25, 1e-5, null, null, "inf", "chr1", u64::MAX, "1-2"]);
        assert_eq!(json!(values), wanted);
    }

    #[test]
    fn a_line_of_too_few_cells_has_nulls() {
        assert_eq!(row(&["a", "b", "c"], "1\tx"), json!({"a": 1, "b": "x", "c": null}));
        assert_eq!(columns("a\tb\n1\t2\n3".lines()), json!({"a": [1, 3], "b": [2, null]}));
    }
}

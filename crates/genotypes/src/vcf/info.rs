//! Values of fields, and their text.

use std::io::Write as _;

use readmill_jmath::text::{format_fixed, format_scientific};

/// The value of a field of INFO.
#[derive(Clone, Debug, PartialEq)]
pub enum InfoValue {
    /// Whole numbers, one of each allele or one in all.
    Integers(Vec<i32>),
    /// Numbers that are rounded by their size.
    Numbers(Vec<f64>),
    /// Text that is written as it is.
    Text(String),
}

impl InfoValue {
    /// Appends the text, a dot if there is no value.
    pub(super) fn append_text(&self, line: &mut Vec<u8>) {
        match self {
            InfoValue::Integers(values) => append_integers(line, values),
            InfoValue::Numbers(values) if values.is_empty() => line.push(b'.'),
            InfoValue::Numbers(values) => {
                for (index, &value) in values.iter().enumerate() {
                    if index > 0 {
                        line.push(b',');
                    }
                    line.extend_from_slice(format_number(value).as_bytes());
                }
            }
            InfoValue::Text(text) => line.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Formats a number like `VCFEncoder.formatVCFDouble`: with two or three decimals, or if it is below
/// 0.01, with an exponent.
fn format_number(value: f64) -> String {
    if value < 0.01 {
        return if value.abs() >= 1e-20 { format_scientific(value, 3) } else { "0.00".to_owned() };
    }
    format_fixed(value, if value < 1.0 { 3 } else { 2 })
}

/// Appends a whole number.
pub(super) fn append_integer(line: &mut Vec<u8>, value: i64) {
    // Writing to a vector cannot fail.
    let _ = write!(line, "{value}");
}

/// Appends whole numbers with commas, a dot if there is none.
pub(super) fn append_integers(line: &mut Vec<u8>, values: &[i32]) {
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        append_integer(line, i64::from(value));
    }
    if values.is_empty() {
        line.push(b'.');
    }
}

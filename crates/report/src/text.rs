//! Formatting of numbers, dates and names for the page.

use serde_json::Value;

/// The format of a number. The space between number and unit is non-breaking, except before `s`,
/// `min` and `h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberFormat {
    /// A count or a measured value, with thousands separators and without needless digits:
    /// `12,345`, see [`rounded_number`].
    Plain,
    /// A fixed number of decimal places, then the unit.
    Decimal(usize, &'static str),
    /// A fraction as a percentage: `12.3 %`.
    Share,
    /// A difference of two fractions: `1.2 percentage points`.
    Points,
    /// A number of bases of a sample: `1.26 Gb`, `36.1 Mb`.
    Bases,
    Bytes,
    Seconds,
}

impl NumberFormat {
    pub fn format_number(self, value: f64) -> String {
        match self {
            NumberFormat::Plain => rounded_number(value),
            NumberFormat::Decimal(digits, unit) => format!("{}{unit}", fixed_decimals(value, digits)),
            NumberFormat::Share => {
                format!("{}\u{a0}%", fixed_decimals(100.0 * value, share_digits(value)))
            }
            NumberFormat::Points => {
                format!("{} percentage points", fixed_decimals(100.0 * value, 1))
            }
            NumberFormat::Bases => format_bases(value),
            NumberFormat::Bytes => format_bytes(value),
            NumberFormat::Seconds => format_seconds(value),
        }
    }
}

/// The unit of a number format, and the factor of the values in this unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberUnit {
    pub name: &'static str,
    pub factor: f64,
}

impl NumberFormat {
    /// Returns the unit that the page shows, for axes and for headings of files. The name is empty for
    /// numbers without a unit.
    pub fn unit(self) -> NumberUnit {
        let (name, factor) = match self {
            NumberFormat::Plain => ("", 1.0),
            NumberFormat::Decimal(_, unit) => (unit.trim_start_matches('\u{a0}'), 1.0),
            NumberFormat::Share => ("%", 100.0),
            NumberFormat::Points => ("percentage points", 100.0),
            NumberFormat::Bases => ("bases", 1.0),
            NumberFormat::Bytes => ("bytes", 1.0),
            NumberFormat::Seconds => ("s", 1.0),
        };
        NumberUnit { name, factor }
    }
}

/// Returns the number of decimal places of a percentage. Small values get more, so that they are
/// not shown as 0.
fn share_digits(share: f64) -> usize {
    match share.abs() {
        0.0 => 0,
        share if share < 0.0001 => 4,
        share if share < 0.01 => 2,
        _ => 1,
    }
}

/// Returns a number that somebody chose, such as a threshold or a bin, with at most four decimal
/// places and with thousands separators.
pub fn plain_number(value: f64) -> String {
    trimmed_decimals(value, 4)
}

/// Returns a measured number with about four significant digits of its fraction: no decimals from
/// 1,000 on, at most two from 10 on, at most four below. Readers cannot compare numbers with all
/// digits of a double, and the JSON has them. Numbers below 0.001 are in scientific notation, so
/// that they do not become 0.
pub fn rounded_number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => fixed_decimals(value, 0),
        size if size >= 10.0 => trimmed_decimals(value, 2),
        size if size >= 0.001 || size == 0.0 => trimmed_decimals(value, 4),
        size if size.is_finite() => format!("{value:.1e}"),
        _ => "–".into(),
    }
}

/// Returns the number with a fixed number of decimals. A number that rounds to 0 has no sign.
fn fixed_decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'.' | b'0'));
    add_separators(if is_zero { text.trim_start_matches('-') } else { &text })
}

/// Returns the number with at most this number of decimals, without zeros at the end.
fn trimmed_decimals(value: f64, max_digits: usize) -> String {
    let text = fixed_decimals(value, max_digits);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Inserts thousands separators into the integer part. Returns text such as `NaN` unchanged.
fn add_separators(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.find('.').map_or((rest, ""), |at| rest.split_at(at));
    if !whole.bytes().all(|digit| digit.is_ascii_digit()) {
        return number.to_string();
    }
    let mut text = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

fn format_bases(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{}\u{a0}Gb", fixed_decimals(value / 1e9, 2)),
        value if value >= 1e6 => format!("{}\u{a0}Mb", fixed_decimals(value / 1e6, 1)),
        value => format!("{}\u{a0}bases", fixed_decimals(value, 0)),
    }
}

fn format_bytes(value: f64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (value, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{}\u{a0}{}", fixed_decimals(value, usize::from(unit > 0)), units[unit])
}

fn format_seconds(value: f64) -> String {
    if value < 60.0 {
        return format!("{value:.1} s");
    }
    let whole = value.round();
    let (hours, minutes, rest) =
        ((whole / 3600.0).floor(), (whole % 3600.0 / 60.0).floor(), whole % 60.0);
    if hours > 0.0 { format!("{hours} h {minutes} min") } else { format!("{minutes} min {rest} s") }
}

pub fn format_date(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Counts days from 1 March of year 0 in 400-year cycles, so that a leap day is the last day of
    // its year.
    let days = days + 719_468;
    let (cycle, day_of_cycle) = (days / 146_097, days % 146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * cycle + year_of_cycle + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// Returns the text of a table cell. Integers keep all digits, other numbers are rounded as by
/// [`rounded_number`]; `null` becomes a dash.
pub fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, rounded_number)
        }
        Value::Number(number) => add_separators(&number.to_string()),
        other => other.to_string(),
    }
}

/// Joins words with commas and "and": `a, b and c`.
pub fn join_words(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_plainly() {
        let cases = [
            (NumberFormat::Plain, 1_234_567.0, "1,234,567"),
            (NumberFormat::Plain, 999.0, "999"),
            (NumberFormat::Plain, -1234.6, "-1,235"),
            (NumberFormat::Plain, 866_005.5, "866,006"),
            (NumberFormat::Plain, 6151.0, "6,151"),
            (NumberFormat::Plain, 89.716_496_763_154_03, "89.72"),
            (NumberFormat::Plain, 7.25, "7.25"),
            (NumberFormat::Plain, -0.0, "0"),
            (NumberFormat::Decimal(1, ""), -0.04, "0.0"),
            (NumberFormat::Share, -1e-12, "0.0000\u{a0}%"),
            (NumberFormat::Decimal(1, " bases"), 1234.56, "1,234.6 bases"),
            (NumberFormat::Share, 0.1234, "12.3\u{a0}%"),
            (NumberFormat::Share, 0.00123, "0.12\u{a0}%"),
            (NumberFormat::Share, 0.00001, "0.0010\u{a0}%"),
            (NumberFormat::Share, 0.0, "0\u{a0}%"),
            (NumberFormat::Points, 0.0234, "2.3 percentage points"),
            (NumberFormat::Bytes, 1536.0, "1.5\u{a0}KiB"),
            (NumberFormat::Bytes, 12.0, "12\u{a0}bytes"),
            (NumberFormat::Bases, 1_263_000_000.0, "1.26\u{a0}Gb"),
            (NumberFormat::Bases, 36_060_000.0, "36.1\u{a0}Mb"),
            (NumberFormat::Bases, 1_500.0, "1,500\u{a0}bases"),
            (NumberFormat::Seconds, 12.34, "12.3 s"),
            (NumberFormat::Seconds, 245.0, "4 min 5 s"),
            (NumberFormat::Seconds, 7260.0, "2 h 1 min"),
        ];
        for (form, value, wanted) in cases {
            assert_eq!(form.format_number(value), wanted);
        }
        assert_eq!(cell_text(&serde_json::json!(12345.25)), "12,345");
        assert_eq!(cell_text(&serde_json::json!(6151.0)), "6,151");
        assert_eq!(cell_text(&serde_json::json!(1.26e-7)), "1.3e-7");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(format_date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(format_date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(format_date(1_767_225_599.0), "2025-12-31 23:59 UTC");
    }

    #[test]
    fn words_are_joined_as_in_a_sentence() {
        assert_eq!(join_words(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}

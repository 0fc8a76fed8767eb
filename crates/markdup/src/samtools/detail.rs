//! The details of a duplicate that samtools markdup reports in addition to flag 0x400: whether it
//! is optical (`-d`, field `dt`), which read is kept instead (`-t`, `do`), and how many reads the
//! kept read represents (`--duplicate-count`, `dc`).

use readmill_record::{Error, Result};
use regex::bytes::{Regex, RegexBuilder};

#[derive(Clone, Debug, Default)]
pub struct DuplicateDetails {
    pub optical: Option<OpticalReads>,
    pub originals: bool,
    pub counts: bool,
    /// Compare a duplicate only with the read that first replaced it, and report this read's name.
    /// Otherwise the duplicate is also compared with all better reads of its group.
    pub first_only: bool,
}

impl DuplicateDetails {
    /// Returns whether any detail is requested. Otherwise groups of duplicates need not be
    /// collected.
    pub fn is_wanted(&self) -> bool {
        self.optical.is_some() || self.originals || self.counts
    }
}

#[derive(Clone, Debug)]
pub struct OpticalReads {
    pub distance: i64,
    pub coords: ReadCoords,
}

/// How a flow cell location is parsed from a read name (`--read-coords`).
#[derive(Clone, Debug, Default)]
pub enum ReadCoords {
    /// Illumina's formats: 7 or 8 fields between colons, with x and y in the sixth and seventh, or
    /// 4 or 5 fields, with x and y last. Everything before x must be equal for two reads to be
    /// near.
    #[default]
    Illumina,
    Regex {
        regex: Regex,
        /// The group numbers of the part that must be equal (optional), of x and of y.
        groups: [Option<usize>; 3],
    },
}

const ORDERS: [&str; 8] = ["txy", "tyx", "xyt", "yxt", "xty", "ytx", "xy", "yx"];

pub const DEFAULT_ORDER: &str = ORDERS[0];

impl ReadCoords {
    /// Parses a regular expression. `order` names its groups in order; `t` is a part of the name
    /// that must be equal.
    ///
    /// # Errors
    /// The order is unknown, the expression is invalid, or it has fewer groups than the order.
    pub fn parse(text: &str, order: &str) -> Result<Self> {
        if !ORDERS.contains(&order) {
            return Err(Error::usage(format!("{order} is not a valid order of groups"))
                .hint(format!("use one of {}", ORDERS.join(", "))));
        }
        let regex = RegexBuilder::new(text).unicode(false).build().map_err(|error| {
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default();
            Error::usage(format!("read coordinates: `{text}` is not a valid regular expression: {why}"))
        })?;
        if regex.captures_len() <= order.len() {
            let what = format!("read coordinates: `{text}` has fewer groups than the order {order}");
            return Err(
                Error::usage(what).hint("put each of t, x and y in parentheses; the order xy has no t")
            );
        }
        let groups = ['t', 'x', 'y'].map(|letter| order.find(letter).map(|at| at + 1));
        Ok(ReadCoords::Regex { regex, groups })
    }

    /// Returns the regular expression and the order of its groups, as on the command line, or
    /// `None` for Illumina's formats.
    pub fn regex_and_order(&self) -> Option<(&str, String)> {
        let ReadCoords::Regex { regex, groups } = self else { return None };
        let mut order: Vec<(usize, char)> = groups
            .iter()
            .zip("txy".chars())
            .filter_map(|(group, letter)| Some(((*group)?, letter)))
            .collect();
        order.sort_unstable();
        Some((regex.as_str(), order.into_iter().map(|(_, letter)| letter).collect()))
    }

    /// Returns the location of a read, or `None` if its name has none.
    ///
    /// # Errors
    /// The regular expression does not match the name.
    pub fn parse_location(&self, name: &[u8]) -> Result<Option<FlowCellPlace>> {
        match self {
            ReadCoords::Illumina => Ok(parse_illumina(name)),
            ReadCoords::Regex { regex, groups } => {
                let found = regex.captures(name).ok_or_else(|| {
                    Error::input("the read name does not match --read-coords").qname(name)
                })?;
                let [part, x, y] = groups.map(|group| Some(found.get(group?)?.as_bytes()));
                let place = |x, y| {
                    Some(FlowCellPlace::new(
                        part.unwrap_or_default(),
                        parse_number(x)?,
                        parse_number(y)?,
                    ))
                };
                Ok(x.zip(y).and_then(|(x, y)| place(x, y)))
            }
        }
    }
}

/// The location of a read on the flow cell, with a hash of the name part that must be equal.
///
/// Like samtools, and unlike [`Location`](crate::location::Location), it has 64-bit coordinates,
/// and the text before x instead of a tile number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCellPlace {
    pub part: u64,
    pub x: i64,
    pub y: i64,
}

impl FlowCellPlace {
    fn new(part: &[u8], x: i64, y: i64) -> Self {
        FlowCellPlace { part: xxhash_rust::xxh3::xxh3_64(part), x, y }
    }

    pub fn is_near(&self, other: &Self, distance: i64) -> bool {
        let near = |a: i64, b: i64| a.abs_diff(b) <= distance.unsigned_abs();
        self.part == other.part && near(self.x, other.x) && near(self.y, other.y)
    }
}

fn parse_illumina(name: &[u8]) -> Option<FlowCellPlace> {
    let mut starts = [0; 8];
    let mut colons = 0;
    for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b':') {
        colons += 1;
        *starts.get_mut(colons)? = at + 1;
    }
    let first = match colons {
        3 => 2,
        4 => 3,
        6 | 7 => 5,
        _ => return None,
    };
    let [x, y] = [starts[first], starts[first + 1]];
    Some(FlowCellPlace::new(&name[..x], parse_number(&name[x..])?, parse_number(&name[y..])?))
}

/// Parses the number at the start of a string as C's strtol does: blanks, a sign and digits. Values
/// beyond 64 bits are clamped.
fn parse_number(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (is_negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = digits[..length]
        .iter()
        .fold(0i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    (length > 0).then_some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_illumina_tell_x_and_y() {
        let place = |name: &str| ReadCoords::Illumina.parse_location(name.as_bytes()).unwrap();
        for (name, part, x, y) in [
            ("M:1:FC:1:1101:5:-6", "M:1:FC:1:1101:", 5, -6),
            ("M:1:FC:1:1101:5.5:6:ACGT", "M:1:FC:1:1101:", 5, 6),
            ("HWI:1:1101:5:6#0/1", "HWI:1:1101:", 5, 6),
            ("1:1101:+5: 6", "1:1101:", 5, 6),
            ("a:1:1:99999999999999999999:6", "a:1:1:", i64::MAX, 6),
        ] {
            assert_eq!(place(name), Some(FlowCellPlace::new(part.as_bytes(), x, y)), "{name}");
        }
        for name in ["r", "1:2:3", "a:b:c:d:5:6", "1:2:3:4:5:6:7:8:9", "a:1:1:x:6", "a:1:1:5:"] {
            assert_eq!(place(name), None, "{name}");
        }
    }

    #[test]
    fn groups_of_an_expression_are_what_the_order_says() {
        let place = |regex: &str, order: &str, name: &str| {
            ReadCoords::parse(regex, order).and_then(|coords| coords.parse_location(name.as_bytes()))
        };
        let expected = Some(FlowCellPlace::new(b"L1", 5, 6));
        assert_eq!(place("(.+)_([0-9]+)_([0-9]+)", "txy", "L1_5_6").unwrap(), expected);
        assert_eq!(place("^([0-9]+)_([0-9]+)_(.+)", "yxt", "6_5_L1").unwrap(), expected);
        let without = Some(FlowCellPlace::new(b"", 5, 6));
        assert_eq!(place("^([[:digit:]]+):([[:digit:]]+)", "xy", "5:6:x").unwrap(), without);
        assert!(place("^([0-9]+):([0-9]+)", "xy", "r").is_err());
        assert!(place("^([0-9]+):([0-9]+)", "txy", "5:6").is_err());
        assert!(place("(.)(.)(.)", "tx", "abc").is_err() && place("(", "txy", "abc").is_err());
    }

    #[test]
    fn places_are_near_up_to_the_distance_on_one_part() {
        let at = |part: &str, x, y| FlowCellPlace::new(part.as_bytes(), x, y);
        assert!(at("t", 1, 1).is_near(&at("t", 11, -9), 10));
        assert!(!at("t", 1, 1).is_near(&at("t", 12, 1), 10));
        assert!(!at("t", 1, 1).is_near(&at("u", 1, 1), 10));
        assert!(!at("t", i64::MAX, 1).is_near(&at("t", i64::MIN, 1), 10));
    }
}

//! Read names as Picard MarkDuplicates 3.4.0 reads them.

use regex::bytes::Regex;

use super::{Location, colons, split_last};

/// Parses a name as Picard 3.4 does by default. A name that starts with a colon counts one field less than it
/// has.
pub fn location(qname: &[u8]) -> Option<Location> {
    let leading = usize::from(qname.first() == Some(&b':'));
    if !matches!(colons(qname) + 1 - leading, 5 | 7) {
        return None;
    }
    let part = |field| leading_int(field).map(|number| i32::from(number as i16));
    let (rest, y) = split_last(qname)?;
    let (rest, x) = split_last(rest)?;
    let (_, tile) = split_last(rest)?;
    Some(Location { tile: part(tile)?, x: part(x)?, y: part(y)? })
}

/// Parses an optional minus and digits; the rest is ignored, and 32 bits wrap.
fn leading_int(field: &[u8]) -> Option<i32> {
    let (negative, digits) = match field.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, field),
    };
    let mut value = 0i32;
    let mut count = 0;
    for byte in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
        count += 1;
    }
    (count > 0).then_some(if negative { value.wrapping_neg() } else { value })
}

/// Parses a name as Picard 3.4 does with READ_NAME_REGEX.
pub fn by_regex(regex: &Regex, qname: &[u8]) -> Option<Location> {
    let groups = regex.captures(qname)?;
    let part = |group| {
        let text = std::str::from_utf8(groups.get(group)?.as_bytes()).ok()?;
        text.parse::<i32>().ok().map(|number| i32::from(number as i16))
    };
    let mut location = Location { tile: part(1)?, ..Location::NONE };
    if let Some(x) = part(2) {
        location.x = x;
        location.y = part(3).unwrap_or(-1);
    }
    Some(location)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::ReadNames;

    fn t(names: &ReadNames, name: &str, expected: Option<(i32, i32, i32)>) {
        let expected = expected.map(|(tile, x, y)| Location { tile, x, y });
        assert_eq!(names.location(name.as_bytes()), expected, "{name}");
    }

    #[test]
    fn five_and_seven_fields() {
        let t = |name, expected| t(&ReadNames::Picard, name, expected);
        t("M:1:1101:20:30", Some((1101, 20, 30)));
        t("M:1:F:1:1101:20:30", Some((1101, 20, 30)));
        t("M:1:F:1:1101:20:30#ACGT/1", Some((1101, 20, 30)));
        t("M:1:F:1:65535:-4:40000", Some((-1, -4, -25536)));
        t("M:1:F:1:1101:4294967297:2147483648", Some((1101, 1, 0)));
        t("M:F:1:1101:20:30", None);
        t("M:1:F:1:1101:20:30:ACGT", None);
        t("a:b:c:d:e:f:g:h:1:2:3", None);
        t("M:1:F:1:1101:20:x30", None);
        t("M:1:F:1:1101:-:30", None);
        t("M:1:F:1:1101::30", None);
        t(":a:b:1:2:3", Some((1, 2, 3)));
        t(":a:b:c:d:1:2:3", Some((1, 2, 3)));
        t(":a:1:2:3", None);
        t(":::::::", None);
        t("plain", None);
        t("", None);
    }

    /// Whether what is no integer ends a location, and after which part, is Picard's own answer.
    #[test]
    fn groups_of_a_regular_expression() {
        let names = ReadNames::parse("t([^_]*)_([^_]*)_(.*)").unwrap();
        let t = |name, expected| t(&names, name, expected);
        t("t5_7_1", Some((5, 7, 1)));
        t("t+5_-7_0001", Some((5, -7, 1)));
        t("t65541_65543_32768", Some((5, 7, -32768)));
        t("tq_7_1", None);
        t("t_7_1", None);
        t("t5_x_1", Some((5, -1, -1)));
        t("t5_99999999999_1", Some((5, -1, -1)));
        t("t5_7_q", Some((5, 7, -1)));
        t("xt5_7_1", None);
        t("t5_7", None);
        t("", None);
    }

    #[test]
    fn a_regular_expression_is_for_the_whole_name() {
        let names = ReadNames::parse("a([0-9])([0-9])?([0-9])|a.*").unwrap();
        t(&names, "a123", Some((1, 2, 3)));
        // Groups that take no part are no integers.
        t(&names, "a13", Some((1, -1, -1)));
        t(&names, "abc", None);
        t(&names, "a1234", None);
    }
}

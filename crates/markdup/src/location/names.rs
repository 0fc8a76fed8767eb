//! Read name formats: their command-line spelling, and parsing as in Picard MarkDuplicates 3.4.0.

use std::fmt;

use readmill_record::{Error, Result};
use regex::bytes::{Regex, RegexBuilder};

use super::{Location, count_colons, full, split_last};

/// How locations are parsed from read names (Picard's READ_NAME_REGEX).
///
/// ```
/// use readmill_markdup::location::{Location, ReadNames};
///
/// let name = b"A00887:518:HGCKJDRX2:2:2268:10691:21731";
/// let expected = Location { tile: 2268, x: 10691, y: 21731 };
/// assert_eq!(ReadNames::Picard.parse_location(name), Some(expected));
/// assert_eq!(ReadNames::parse("null").unwrap().parse_location(name), None);
/// ```
#[derive(Clone, Debug, Default)]
pub enum ReadNames {
    /// Names are not parsed, so no read has a location.
    Off,
    /// Picard 3.4's default: the last three of exactly five or seven fields between colons are tile,
    /// x and y.
    ///
    /// Each field is an optional minus sign and digits. Other text after the digits is ignored, and
    /// a field without digits gives no location. Numbers are truncated to signed 16 bits, so an x
    /// of 40000 becomes -25536. Lanes and flow cells are not compared.
    #[default]
    Picard,
    /// A regular expression that matches the whole name. Its groups 1 to 3 are tile, x and y:
    /// 32-bit integers with an optional sign, truncated to 16 bits as in [`Self::Picard`].
    ///
    /// If a group after the tile is not an integer, only the groups before it count, as in Picard.
    /// Picard also drops the read group of such a read; readmill keeps it.
    PicardRegex(Regex),
    /// The formats in the table of [`super`], without truncating numbers.
    ///
    /// The tile is shifted by a hash of everything before it. Tiles of one lane always differ;
    /// tiles of different lanes, runs and flow cells collide with a probability of one in a
    /// million. A name with an out-of-range number has no location.
    Full,
}

/// The text that Picard prints for its default in command lines.
const PICARD_DEFAULT: &str = "<optimized capture of last three ':' separated fields as numeric values>";

impl ReadNames {
    /// Parses the value of the option: `null` or `off` (no locations, as in Picard), `picard`,
    /// `full`, or a regular expression.
    ///
    /// # Errors
    /// The expression is invalid, has fewer than three groups, or uses look-around or back
    /// references, which Java supports.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "null" | "off" => return Ok(ReadNames::Off),
            "picard" | PICARD_DEFAULT => return Ok(ReadNames::Picard),
            "full" => return Ok(ReadNames::Full),
            _ => {}
        }
        let whole = format!(r"\A(?:{text})\z");
        let regex = RegexBuilder::new(&whole).unicode(false).build().map_err(|error| {
            let error = error.to_string();
            let what = error.lines().last().unwrap_or_default();
            Error::usage(format!("read names: `{text}` is not a supported regular expression: {what}"))
                .hint("use null, picard, full, or a regular expression without look-around")
        })?;
        if regex.captures_len() < 4 {
            return Err(Error::usage(format!("read names: `{text}` has fewer than three groups"))
                .hint("groups 1 to 3 must be tile, x and y"));
        }
        Ok(ReadNames::PicardRegex(regex))
    }

    pub fn parse_location(&self, qname: &[u8]) -> Option<Location> {
        match self {
            ReadNames::Off => None,
            ReadNames::Picard => parse_picard_location(qname),
            ReadNames::PicardRegex(regex) => parse_regex_location(regex, qname),
            ReadNames::Full => full::parse_location(qname),
        }
    }
}

impl fmt::Display for ReadNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReadNames::Off => "null",
            ReadNames::Picard => "picard",
            ReadNames::PicardRegex(regex) => {
                let whole = regex.as_str();
                whole.strip_prefix(r"\A(?:").and_then(|rest| rest.strip_suffix(r")\z")).unwrap_or(whole)
            }
            ReadNames::Full => "full",
        })
    }
}

impl PartialEq for ReadNames {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (ReadNames::PicardRegex(a), ReadNames::PicardRegex(b)) => a.as_str() == b.as_str(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for ReadNames {}

/// Parses a name as Picard 3.4 does by default. Like Picard, it counts one field fewer if the name
/// starts with a colon.
fn parse_picard_location(qname: &[u8]) -> Option<Location> {
    let leading = usize::from(qname.first() == Some(&b':'));
    if !matches!(count_colons(qname) + 1 - leading, 5 | 7) {
        return None;
    }
    let part = |field| parse_leading_int(field).map(|number| i32::from(number as i16));
    let (rest, y) = split_last(qname)?;
    let (rest, x) = split_last(rest)?;
    let (_, tile) = split_last(rest)?;
    Some(Location { tile: part(tile)?, x: part(x)?, y: part(y)? })
}

/// Parses an optional minus sign and digits. The rest is ignored, and values wrap at 32 bits.
fn parse_leading_int(field: &[u8]) -> Option<i32> {
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
fn parse_regex_location(regex: &Regex, qname: &[u8]) -> Option<Location> {
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

    #[test]
    fn ways_are_parsed_and_shown() {
        for (text, names) in
            [("null", ReadNames::Off), ("picard", ReadNames::Picard), ("full", ReadNames::Full)]
        {
            assert_eq!(ReadNames::parse(text).unwrap(), names);
            assert_eq!(names.to_string(), text);
        }
        assert_eq!(ReadNames::parse(PICARD_DEFAULT).unwrap(), ReadNames::default());
        let text = "(?:.*:)?([0-9]+)[^:]*:([0-9]+)[^:]*:([0-9]+)[^:]*$";
        let names = ReadNames::parse(text).unwrap();
        assert_eq!(names.to_string(), text);
        assert_eq!(names, ReadNames::parse(text).unwrap());
        assert_ne!(names, ReadNames::parse("(.)(.)(.)").unwrap());
        assert_ne!(names, ReadNames::Picard);
    }

    #[test]
    fn what_is_no_regular_expression_is_refused() {
        for (text, what) in [
            ("t([0-9]+)_.*", "fewer than three groups"),
            ("([0-9]+", "unclosed group"),
            ("(?=x)(.)(.)(.)", "look-around"),
        ] {
            let error = ReadNames::parse(text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn off_gives_no_location() {
        assert_eq!(ReadNames::Off.parse_location(b"M:1:1101:20:30"), None);
    }

    fn t(names: &ReadNames, name: &str, expected: Option<(i32, i32, i32)>) {
        let expected = expected.map(|(tile, x, y)| Location { tile, x, y });
        assert_eq!(names.parse_location(name.as_bytes()), expected, "{name}");
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

    /// Locations of names in which a group is not an integer, as observed with Picard.
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
        // A group that does not participate in the match is not an integer.
        t(&names, "a13", Some((1, -1, -1)));
        t(&names, "abc", None);
        t(&names, "a1234", None);
    }
}

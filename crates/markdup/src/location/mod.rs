//! The location of a read on the flow cell, parsed from its name.
//!
//! | names | example | tile, x, y |
//! |---|---|---|
//! | Illumina since 1.8, Element, Singular, with or without more fields | `A00887:518:HGCKJDRX2:2:2268:10691:21731:TAAGTC` | 2268, 10691, 21731 |
//! | Illumina before, with or without more fields | `HWI-ST550_0201:3:1101:1626:2216#ACAGTG/1` | 1101, 1626, 2216 |
//! | MGI DNBSEQ | `E100003218L1C034R0294035623` | column 34 and row 29, spot 4035623 |
//!
//! [`ReadNames::Full`] reads all of these, Picard's own rules the first two without more fields. Names of
//! Ultima, Oxford Nanopore, PacBio and archives have no comparable location. Nor do those of Ion Torrent,
//! which name wells of a chip.

mod full;
mod picard;

use std::fmt;

use readmill_record::{Error, Result};
use regex::bytes::{Regex, RegexBuilder};

/// The location of a read on the flow cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Tile, -32768 to 1,015,807. -1 if unknown.
    pub tile: i32,
    /// In the unit of the name (Illumina: a tenth of a pixel), -32768 to 4,161,535.
    pub x: i32,
    /// As [`Self::x`].
    pub y: i32,
}

impl Location {
    /// No location. In Picard's reading a tile of 65535 becomes none, too.
    pub const NONE: Location = Location { tile: -1, x: -1, y: -1 };
}

/// Returns the number of colons in a name.
fn colons(qname: &[u8]) -> usize {
    qname.iter().filter(|&&byte| byte == b':').count()
}

/// Splits a name at its last colon.
fn split_last(qname: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = qname.iter().rposition(|&byte| byte == b':')?;
    Some((&qname[..colon], &qname[colon + 1..]))
}

/// The format by which read names are parsed.
#[derive(Clone, Debug, Default)]
pub enum ReadNames {
    /// Names are not parsed: no read has a location.
    Off,
    /// Picard 3.4's default: the last three of exactly five or seven fields between colons are tile, x and y.
    /// In each an optional minus and digits count, and what follows does not; a field without digits makes
    /// the name one without location. Numbers are cut to 16 signed bits, so x or y of 40000 is -25536. Lanes
    /// and flow cells are not compared.
    #[default]
    Picard,
    /// By a regular expression for the whole name, whose groups 1 to 3 are tile, x and y: integers with an
    /// optional sign, in 32 bits, cut to 16 as in [`Self::Picard`]. If tile or x are integers and what follows
    /// is none, Picard keeps what it has, and so do we; it forgets the read group of such a read, which
    /// we keep.
    PicardRegex(Regex),
    /// The formats in the table of [`super`], with numbers unchanged. The tile is offset by a hash of
    /// everything before it: tiles of one lane always differ, those of other lanes, runs and flow cells
    /// collide for one pair in a million. A number that is out of range makes a name one without location.
    Full,
}

/// The text for the default in Picard's own command lines.
const PICARD_DEFAULT: &str = "<optimized capture of last three ':' separated fields as numeric values>";

impl ReadNames {
    /// `null` for off, as in Picard; `picard`; `full`; anything else is a regular expression. Java's
    /// look-around and back references are refused.
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
            Error::usage(format!("read names: `{text}` is no regular expression known here: {what}"))
                .hint("write null, picard, full, or a regular expression without look-around")
        })?;
        if regex.captures_len() < 4 {
            return Err(Error::usage(format!("read names: `{text}` has fewer than three groups"))
                .hint("groups 1 to 3 are tile, x and y"));
        }
        Ok(ReadNames::PicardRegex(regex))
    }

    /// Parses the location of a name; `None` if it has none.
    pub fn location(&self, qname: &[u8]) -> Option<Location> {
        match self {
            ReadNames::Off => None,
            ReadNames::Picard => picard::location(qname),
            ReadNames::PicardRegex(regex) => picard::by_regex(regex, qname),
            ReadNames::Full => full::location(qname),
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
        assert_eq!(ReadNames::Off.location(b"M:1:1101:20:30"), None);
    }
}

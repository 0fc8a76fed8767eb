//! Regions of an indexed file in samtools syntax: `chr1`, `chr1:1000`, `chr1:1,000-2,000`,
//! `chr1:-2000`, `{HLA:01}:5-9`, `*` for reads without a position, `.` for all reads.
//!
//! They differ from GATK intervals ([`crate::intervals`]): `chr1:1000` extends to the end of the
//! contig.

use readmill_record::Header;

/// A selection of reads from a coordinate-sorted file. The variants are in file order.
///
/// ```
/// use readmill_format::region::{ContigPart, Region};
/// use readmill_record::Header;
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:5000\n@SQ\tSN:chr2\tLN:900\n").unwrap();
/// let part = ContigPart { contig: 1, start: 99, end: 200 };
/// assert_eq!(Region::parse("chr2:100-200", &header), Ok(Region::Part(part)));
/// assert_eq!(Region::parse("*", &header), Ok(Region::Unplaced));
/// assert!(Region::parse("2:100-200", &header).unwrap_err().contains("write chr2"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    All,
    Part(ContigPart),
    Unplaced,
}

/// A range of positions on a contig, 0-based and half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContigPart {
    pub contig: u32,
    pub start: i64,
    /// The base after the last one. It may lie beyond the end of the contig ([`NO_END`]).
    pub end: i64,
}

/// The end of a region without a stated end: no read has a larger position.
pub const NO_END: i64 = i32::MAX as i64;

impl ContigPart {
    /// Returns whether a read that extends from `pos` to `end` (0-based, half-open) shares a base
    /// with this part.
    #[inline]
    pub fn overlaps(&self, pos: i64, end: i64) -> bool {
        pos < self.end && end > self.start
    }
}

impl Region {
    /// Parses a region in samtools syntax.
    ///
    /// Contig names may contain colons, so the whole text may be a name, or only the part before
    /// its last colon. If both are names in the header, the text is ambiguous, and the user must
    /// use braces.
    ///
    /// # Errors
    /// Fails if the text names no contig of the header, or is not a region. The message suggests a
    /// correction.
    pub fn parse(text: &str, header: &Header) -> Result<Self, String> {
        match text {
            "." => return Ok(Region::All),
            "*" => return Ok(Region::Unplaced),
            _ => {}
        }
        let names = header.references().iter().map(|contig| &contig.name[..]);
        let find = |name: &[u8]| header.reference_id(name).and_then(|id| u32::try_from(id).ok());
        ContigPart::parse(text, find, || unknown_contig_words("the header", names.clone()))
            .map(Region::Part)
    }
}

impl ContigPart {
    /// Parses a contig, with or without a range of positions. The caller supplies the names: `find`
    /// returns the index of a contig, and `others` returns two phrases for the message about an
    /// unknown contig (see [`unknown_contig_words`]).
    ///
    /// # Errors
    /// The same as for [`Region::parse`].
    pub fn parse(
        text: &str,
        find: impl Fn(&[u8]) -> Option<u32>,
        others: impl Fn() -> [String; 2],
    ) -> Result<Self, String> {
        let id = |name: &str| find(name.as_bytes());
        let unknown = |name: &str| unknown_contig_message(name, &find, others());
        let whole = |contig| Ok(ContigPart { contig, start: 0, end: NO_END });
        if let Some(quoted) = text.strip_prefix('{') {
            let (name, rest) =
                quoted.split_once('}').ok_or_else(|| format!("{text:?} has no closing brace"))?;
            let contig = id(name).ok_or_else(|| unknown(name))?;
            return match rest.strip_prefix(':') {
                Some(range) => parse_range(contig, range, text),
                None if rest.is_empty() => whole(contig),
                None => Err(format!("{text:?} has {rest:?} after the brace, but a colon is expected")),
            };
        }
        let all = id(text);
        let Some((name, range)) = text.rsplit_once(':') else {
            return all.map_or_else(|| Err(unknown(text)), whole);
        };
        match (all, id(name)) {
            (Some(_), Some(_)) => Err(format!(
                "{text:?} can mean contig {text} or a part of contig {name}: write {{{text}}} or {{{name}}}:{range}"
            )),
            (Some(contig), None) => whole(contig),
            (None, Some(contig)) => parse_range(contig, range, text),
            (None, None) => Err(unknown(name)),
        }
    }
}

fn parse_range(contig: u32, range: &str, text: &str) -> Result<ContigPart, String> {
    let position = |digits: &str| {
        parse_position(digits).ok_or_else(|| format!("{digits:?} in {text:?} is not a position"))
    };
    let (first, last) = match range.split_once('-') {
        None if range.is_empty() => (1, NO_END),
        None => (position(range)?, NO_END),
        Some(("", last)) => (1, position(last)?),
        Some((first, "")) => (position(first)?, NO_END),
        Some((first, last)) => (position(first)?, position(last)?),
    };
    let start = (first - 1).max(0);
    if last <= start {
        return Err(format!("{text:?} ends ({last}) before it starts ({first})"));
    }
    Ok(ContigPart { contig, start, end: last })
}

/// Parses a position, which may contain commas or end in K, M or G (thousand, million, billion).
/// Numbers above [`NO_END`] become [`NO_END`].
fn parse_position(text: &str) -> Option<i64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'm' | b'M' => (&text[..text.len() - 1], 1_000_000),
        b'g' | b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let digits = digits.replace(',', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<i64>().unwrap_or(NO_END);
    Some(number.saturating_mul(unit).min(NO_END))
}

pub fn unknown_contig_words<'a>(place: &str, mut names: impl Iterator<Item = &'a [u8]>) -> [String; 2] {
    let first: Vec<String> =
        names.by_ref().take(5).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    [place.to_string(), first.join(", ") + more]
}

/// Returns the message for an unknown contig, with the name that the user may have meant: with or
/// without `chr`, or the other name of the mitochondrial genome.
fn unknown_contig_message(
    name: &str,
    find: impl Fn(&[u8]) -> Option<u32>,
    [place, names]: [String; 2],
) -> String {
    let other = match name.strip_prefix("chr") {
        Some(bare) => bare.to_string(),
        None => format!("chr{name}"),
    };
    let mitochondrion = match name {
        "chrM" | "M" => Some("MT"),
        "MT" | "chrMT" => Some("chrM"),
        _ => None,
    };
    let known = |name: &&str| find(name.as_bytes()).is_some();
    let what = format!("{place} has no contig {name:?}");
    match [Some(other.as_str()), mitochondrion].into_iter().flatten().find(known) {
        Some(meant) => format!("{what}, but it has {meant}: write {meant}"),
        None if names.is_empty() => what,
        None => format!("{what}; it has {names}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let names = ["chr1", "chr2", "HLA:01", "HLA:01:5", "HLA", "x:y", "7", "MT"];
        let lines = names.map(|name| format!("@SQ\tSN:{name}\tLN:1000\n"));
        Header::parse(lines.concat().as_bytes()).unwrap()
    }

    fn parse(text: &str) -> Result<Region, String> {
        Region::parse(text, &header())
    }

    #[test]
    fn regions_are_those_of_samtools() {
        for (text, contig, start, end) in [
            ("chr1", 0, 0, NO_END),
            ("chr1:", 0, 0, NO_END),
            ("chr1:100", 0, 99, NO_END),
            ("chr1:100-", 0, 99, NO_END),
            ("chr1:-200", 0, 0, 200),
            ("chr1:0-200", 0, 0, 200),
            ("chr1:1,00-2,00", 0, 99, 200),
            ("chr1:1k-2M", 0, 999, 2_000_000),
            ("chr1:5-5", 0, 4, 5),
            ("chr2:3-99999999999", 1, 2, NO_END),
            ("{chr1}:7-9", 0, 6, 9),
            ("{HLA:01}", 2, 0, NO_END),
            ("{HLA:01}:5", 2, 4, NO_END),
            ("{HLA}:01-5", 4, 0, 5),
            ("HLA:01:5:2-3", 3, 1, 3),
            ("x:y", 5, 0, NO_END),
            ("x:y:3-4", 5, 2, 4),
            ("7:1-2", 6, 0, 2),
        ] {
            assert_eq!(parse(text), Ok(Region::Part(ContigPart { contig, start, end })), "{text}");
        }
        assert_eq!(parse("*"), Ok(Region::Unplaced));
        assert_eq!(parse("."), Ok(Region::All));
    }

    #[test]
    fn what_is_no_region_is_named_with_what_was_meant() {
        for (text, what) in [
            ("HLA:01", "{HLA:01} or {HLA}:01"),
            ("HLA:01:5", "{HLA:01:5} or {HLA:01}:5"),
            ("chr7", "but it has 7: write 7"),
            ("1:5-9", "but it has chr1: write chr1"),
            ("chrM", "but it has MT: write MT"),
            ("chr9", "no contig \"chr9\"; it has chr1, chr2, HLA:01, HLA:01:5, HLA, …"),
            ("chr1:9-5", "ends (5) before it starts (9)"),
            ("chr1:x", "\"x\" in \"chr1:x\" is not a position"),
            ("chr1:5-x", "not a position"),
            ("chr1:1-2-3", "not a position"),
            ("chr1:-", "not a position"),
            ("chr1:0-0", "before it starts"),
            ("{chr1", "closing brace"),
            ("{chr1}5", "a colon is expected"),
            ("", "no contig \"\""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn one_shared_base_is_an_overlap() {
        let part = ContigPart { contig: 0, start: 10, end: 20 };
        for (pos, end, answer) in [
            (9, 10, false),
            (9, 11, true),
            (19, 20, true),
            (20, 21, false),
            (-1, 0, false),
            (0, 99, true),
        ] {
            assert_eq!(part.overlaps(pos, end), answer, "{pos} {end}");
        }
    }
}

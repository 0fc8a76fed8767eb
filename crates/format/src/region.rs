//! Regions of the reads of an indexed file, as samtools names them: `chr1`, `chr1:1000`, `chr1:1,000-2,000`,
//! `chr1:-2000`, `{HLA:01}:5-9`, `*` for reads without a position, `.` for all.
//!
//! They differ from intervals of GATK ([`crate::intervals`]): `chr1:1000` begins there and has no end.

use readmill_record::Header;

/// A part of the reads of a file in coordinate order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// All reads of the file.
    All,
    /// Reads that overlap a part of a contig.
    Part(Part),
    /// Reads without a contig, which are the last ones.
    Unplaced,
}

/// A part of a contig: 0-based, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Number of the contig in the header.
    pub contig: u32,
    /// Its first base.
    pub start: i64,
    /// The base after its last one, which may lie beyond the contig.
    pub end: i64,
}

/// The end of a region that names none: no position of a read is larger.
pub const NO_END: i64 = i32::MAX as i64;

impl Part {
    /// Whether a read that extends from `pos` up to `end` (exclusive) shares a base with it.
    #[inline]
    pub fn overlaps(&self, pos: i64, end: i64) -> bool {
        pos < self.end && end > self.start
    }
}

impl Region {
    /// Reads the text of a region.
    ///
    /// Names of contigs may contain colons: the whole text may be a name, or the part before its last colon. Where
    /// both are, braces tell which is meant.
    ///
    /// # Errors
    /// It names no contig of the header, or is no region; the message says which of them to write instead.
    pub fn parse(text: &str, header: &Header) -> Result<Self, String> {
        match text {
            "." => return Ok(Region::All),
            "*" => return Ok(Region::Unplaced),
            _ => {}
        }
        let names = header.references().iter().map(|contig| &contig.name[..]);
        let find = |name: &[u8]| header.reference_id(name).and_then(|id| u32::try_from(id).ok());
        Part::parse(text, find, || unknown_names("the header", names.clone())).map(Region::Part)
    }
}

impl Part {
    /// Reads the text of a part of a contig, or of a whole one. `find` returns the number of the contig of a name, and
    /// `others` a message about the contigs that there are, for one that has none.
    ///
    /// # Errors
    /// Those of [`Region::parse`].
    pub fn parse(
        text: &str,
        find: impl Fn(&[u8]) -> Option<u32>,
        others: impl Fn() -> [String; 2],
    ) -> Result<Self, String> {
        let id = |name: &str| find(name.as_bytes());
        let unknown = |name: &str| unknown(name, &find, others());
        let whole = |contig| Ok(Part { contig, start: 0, end: NO_END });
        if let Some(quoted) = text.strip_prefix('{') {
            let (name, rest) =
                quoted.split_once('}').ok_or_else(|| format!("{text:?} lacks its closing brace"))?;
            let contig = id(name).ok_or_else(|| unknown(name))?;
            return match rest.strip_prefix(':') {
                Some(range) => part(contig, range, text),
                None if rest.is_empty() => whole(contig),
                None => {
                    Err(format!("{text:?} has {rest:?} behind the brace, where a colon is expected"))
                }
            };
        }
        let all = id(text);
        let Some((name, range)) = text.rsplit_once(':') else {
            return all.map_or_else(|| Err(unknown(text)), whole);
        };
        match (all, id(name)) {
            (Some(_), Some(_)) => Err(format!(
                "{text:?} can be contig {text} and a part of contig {name}: write {{{text}}} or {{{name}}}:{range}"
            )),
            (Some(contig), None) => whole(contig),
            (None, Some(contig)) => part(contig, range, text),
            (None, None) => Err(unknown(name)),
        }
    }
}

/// The part of a contig that the text behind its colon means.
fn part(contig: u32, range: &str, text: &str) -> Result<Part, String> {
    let position = |digits: &str| {
        position(digits).ok_or_else(|| format!("{digits:?} in {text:?} is not a position"))
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
    Ok(Part { contig, start, end: last })
}

/// A number with commas, or with K, M or G behind it; at most [`NO_END`].
fn position(text: &str) -> Option<i64> {
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

/// What lacks a contig, and a list of the first contigs that it has, for messages.
pub fn unknown_names<'a>(place: &str, mut names: impl Iterator<Item = &'a [u8]>) -> [String; 2] {
    let first: Vec<String> =
        names.by_ref().take(5).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    [place.to_string(), first.join(", ") + more]
}

/// The message for a contig that is not there, with the name that may have been meant.
fn unknown(name: &str, find: impl Fn(&[u8]) -> Option<u32>, [place, names]: [String; 2]) -> String {
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
        Some(meant) => format!("{what}, but {meant}: write {meant}"),
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
            assert_eq!(parse(text), Ok(Region::Part(Part { contig, start, end })), "{text}");
        }
        assert_eq!(parse("*"), Ok(Region::Unplaced));
        assert_eq!(parse("."), Ok(Region::All));
    }

    #[test]
    fn what_is_no_region_is_named_with_what_was_meant() {
        for (text, what) in [
            ("HLA:01", "{HLA:01} or {HLA}:01"),
            ("HLA:01:5", "{HLA:01:5} or {HLA:01}:5"),
            ("chr7", "but 7: write 7"),
            ("1:5-9", "but chr1: write chr1"),
            ("chrM", "but MT: write MT"),
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
        let part = Part { contig: 0, start: 10, end: 20 };
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

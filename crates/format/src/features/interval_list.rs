//! Picard's interval list: a SAM header, then contig, start (1-based), end (inclusive), strand and name between tabs
//! (htsjdk 4.2, `IntervalListCodec`).

use readmill_record::{Header, Ledger, Result};

use super::dictionary::Dictionary;
use super::place::{Spot, number, shown};
use crate::text::LineReader;

/// Reads the header, a line at a time.
pub(super) fn header(lines: &mut LineReader, ledger: &Ledger) -> Result<Dictionary> {
    let mut dictionary = Dictionary::new(ledger);
    while lines.advance()? {
        if !lines.line().starts_with(b"@") {
            lines.go_back();
            break;
        }
        let header = Header::parse(lines.line()).map_err(|e| e.file(lines.path()))?;
        let mut contigs = header.references().iter();
        let pushed = contigs.try_for_each(|it| dictionary.push(&it.name, Some(it.length)));
        pushed.map_err(|e| e.file(lines.path()))?;
    }
    Ok(dictionary)
}

/// The place of a line's interval.
pub(super) fn spot(line: &[u8]) -> Result<Option<Spot>, String> {
    if line.starts_with(b"@") || line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let columns: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let [contig, start, end, strand, _] = columns[..] else {
        let what =
            "an interval has five columns (contig, start, end, strand, name) between tabs, this line";
        return Err(format!("{what} has {}", columns.len()));
    };
    let wrong = |what, text| format!("the {what} of an interval is not a position: {}", shown(text));
    let first = number(start).filter(|&n| n > 0).ok_or_else(|| wrong("start", start))?;
    let last = number(end).ok_or_else(|| wrong("end", end))?;
    if first > last + 1 {
        return Err(format!("an interval ends ({last}) before it starts ({first})"));
    }
    if !matches!(strand, b"+" | b"-") {
        return Err(format!("the strand of an interval is + or -, not {}", shown(strand)));
    }
    Ok(Some(Spot { name: contig.len(), start: first - 1, end: last }))
}

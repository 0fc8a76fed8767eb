//! BED: contig, start (0-based), end (exclusive); other columns are ignored (htsjdk 4.2, `BEDCodec`).

use super::place::{Spot, number, shown};

/// The place of a line's feature. A line of two columns is one base; header lines may be anywhere.
pub(super) fn spot(line: &[u8]) -> Result<Option<Spot>, String> {
    let header = [&b"#"[..], b"track", b"browser"].iter().any(|start| line.starts_with(start));
    if header || line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut columns = Columns(Some(line));
    let contig = columns.next().unwrap_or_default();
    let Some(start) = columns.next() else {
        return Err(format!("a BED line has a contig, a start and an end, this one is {}", shown(line)));
    };
    let wrong = |what, text| format!("the {what} of a BED line is not a position: {}", shown(text));
    let first = number(start).ok_or_else(|| wrong("start", start))?;
    let end = match columns.next() {
        None => {
            number(start)
                .filter(|&start| start < i32::MAX as u32)
                .ok_or_else(|| wrong("start", start))?
                + 1
        }
        Some(end) => number(end).ok_or_else(|| wrong("end", end))?,
    };
    if end < first {
        return Err(format!("a BED line ends ({end}) before it starts ({first})"));
    }
    Ok(Some(Spot { name: contig.len(), start: first, end }))
}

/// Columns are separated by single tabs or any number of spaces.
struct Columns<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Columns<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0?;
        let Some(end) = text.iter().position(|byte| b"\t ".contains(byte)) else {
            self.0 = None;
            return Some(text);
        };
        let spaces = text[end..].iter().take_while(|&&byte| byte == b' ').count();
        self.0 = Some(&text[end + spaces.max(1)..]);
        Some(&text[..end])
    }
}

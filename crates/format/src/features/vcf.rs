//! VCF: a record extends from POS to END of INFO, or over the length of REF (htsjdk 4.2, `AbstractVCFCodec`).

use std::sync::LazyLock;

use memchr::{memchr, memmem};
use readmill_record::{Ledger, Result};

use super::dictionary::Dictionary;
use super::place::{Spot, number, shown};
use crate::text::LineReader;

/// Reads the header, up to the line of column names.
pub(super) fn header(lines: &mut LineReader, ledger: &Ledger) -> Result<Dictionary> {
    let mut dictionary = Dictionary::new(ledger);
    while lines.advance()? {
        let line = lines.line();
        if let Some(fields) = line.strip_prefix(b"##contig=<") {
            let (name, length) = contig(fields);
            let Some(name) = name else { return Err(lines.wrong("##contig without ID")) };
            dictionary.push(name, length.and_then(number)).map_err(|e| e.file(lines.path()))?;
        } else if line.starts_with(b"#CHROM") {
            return Ok(dictionary);
        } else if !line.starts_with(b"##") {
            return Err(
                lines.wrong("the line of column names (#CHROM POS ...) is missing before the records")
            );
        }
    }
    Err(lines.wrong("the file ends inside its header").hint("get the file again"))
}

/// ID and length of a ##contig line. Values in quotes may hold commas.
pub(super) fn contig(mut fields: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let (mut name, mut length) = (None, None);
    while let Some(equals) = memchr(b'=', fields) {
        let (key, value) = (&fields[..equals], &fields[equals + 1..]);
        let quoted =
            value.strip_prefix(b"\"").and_then(|value| memchr(b'"', value)).map_or(0, |n| n + 2);
        let ends = value[quoted..].iter().position(|byte| b",>".contains(byte));
        let end = ends.map_or(value.len(), |n| quoted + n);
        match key.trim_ascii() {
            b"ID" => name = Some(&value[..end]),
            b"length" => length = Some(value[..end].trim_ascii()),
            _ => {}
        }
        fields = value.get(end + 1..).unwrap_or_default();
    }
    (name, length)
}

/// Columns that every record has: CHROM POS ID REF ALT QUAL FILTER INFO.
const COLUMNS: usize = 8;

/// The place of a line's record.
pub(super) fn spot(line: &[u8]) -> Result<Option<Spot>, String> {
    if line.starts_with(b"#") {
        return Ok(None);
    }
    let mut columns: [&[u8]; COLUMNS] = [b""; COLUMNS];
    let mut rest = line;
    for (i, column) in columns.iter_mut().enumerate() {
        let end = memchr(b'\t', rest);
        *column = &rest[..end.unwrap_or(rest.len())];
        match end {
            Some(end) => rest = &rest[end + 1..],
            None if i + 1 == COLUMNS => {}
            None if line.trim_ascii().is_empty() => return Ok(None),
            None => return Err(format!("a record has {COLUMNS} columns at least, this one {}", i + 1)),
        }
    }
    let [contig, pos, _, reference, .., info] = columns;
    let first = number(pos).ok_or_else(|| format!("POS is not a position: {}", shown(pos)))?;
    if reference.is_empty() || info.is_empty() {
        return Err("REF or INFO is empty".into());
    }
    let last = match end_of(info) {
        None => (first + reference.len() as u32).saturating_sub(1),
        // An END before POS, which some callers of translocations write, leaves nothing for GATK to mask.
        Some(value) => number(value)
            .map(|end| end.max(first.saturating_sub(1)))
            .ok_or_else(|| format!("END of INFO is not a position: {}", shown(value)))?,
    };
    // Position 0 is the telomere before the first base, which cannot be masked.
    Ok(Some(Spot { name: contig.len(), start: first.saturating_sub(1), end: last }))
}

/// The start of END among other keys.
static END: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"END="));

/// The value of END; the last one counts.
fn end_of(info: &[u8]) -> Option<&[u8]> {
    END.find(info)?; // most records have no END
    info.split(|&byte| byte == b';').rev().find_map(|field| field.strip_prefix(b"END="))
}

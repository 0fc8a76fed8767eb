//! Parses the position of a feature from a line of VCF, BED, a Picard interval list or elPrep's
//! sites.
//!
//! - VCF: a record extends from POS to END of INFO, or over the length of REF (htsjdk 4.2,
//!   `AbstractVCFCodec`).
//! - BED: contig, start (0-based), end (exclusive). Other columns are ignored (htsjdk 4.2,
//!   `BEDCodec`).
//! - Picard's interval list: a SAM header, then contig, start (1-based), end (inclusive), strand
//!   and name, separated by tabs (htsjdk 4.2, `IntervalListCodec`).
//! - elPrep's sites: a line that names the format, then contig, start (1-based) and end
//!   (inclusive), separated by tabs, as elPrep 5 makes them from VCF. elPrep also reads sites that
//!   it made from BED as 1-based, and so does this module.

use std::sync::LazyLock;

use memchr::{memchr, memmem};
use readmill_record::{Header, Ledger, Result};

use super::dictionary::FeatureDictionary;
use crate::text::LineReader;

/// The position of a feature on a contig, 0-based and half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturePlace<'a> {
    pub contig: &'a [u8],
    pub start: u32,
    /// The base after the last one. Equal to `start` for a feature without bases: BED and interval
    /// lists may contain such features, and VCF may contain records at position 0 (before the first
    /// base) and records that end before they start.
    pub end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineFeature {
    pub name: usize,
    pub start: u32,
    pub end: u32,
}

/// Parses a non-negative number like Java's `int`, with an optional plus sign.
pub(crate) fn parse_java_int(text: &[u8]) -> Option<u32> {
    let digit = |sum: u32, byte: &u8| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    };
    let text = text.strip_prefix(b"+").unwrap_or(text);
    if text.is_empty() { None } else { text.iter().try_fold(0, digit).filter(|&n| n <= i32::MAX as u32) }
}

/// Parses a position of BED. A number above 2^31 - 1, the maximum of BAM, becomes 2^31 - 1, because
/// users write such numbers to mean the end of the contig.
pub fn parse_bed_position(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| parse_java_int(digits).unwrap_or(i32::MAX as u32))
}

pub(super) fn quoted_start(text: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(60)]))
}

pub(super) fn read_vcf_header(lines: &mut LineReader, ledger: &Ledger) -> Result<FeatureDictionary> {
    let mut dictionary = FeatureDictionary::new(ledger);
    while lines.advance_line()? {
        let line = lines.line();
        if let Some(fields) = line.strip_prefix(b"##contig=<") {
            let (name, length) = parse_vcf_contig(fields);
            let Some(name) = name else { return Err(lines.line_error("a ##contig line has no ID")) };
            dictionary
                .push_contig(name, length.and_then(parse_java_int))
                .map_err(|e| e.file(lines.path()))?;
        } else if line.starts_with(b"#CHROM") {
            return Ok(dictionary);
        } else if !line.starts_with(b"##") {
            return Err(lines
                .line_error("the line of column names (#CHROM POS ...) is missing before the records"));
        }
    }
    Err(lines.line_error("the file ends inside its header").hint("download or create the file again"))
}

pub(super) fn parse_vcf_contig(mut fields: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
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

/// Number of columns that every record has: CHROM POS ID REF ALT QUAL FILTER INFO.
const VCF_COLUMNS: usize = 8;

pub(super) fn parse_vcf_line(line: &[u8]) -> Result<Option<LineFeature>, String> {
    if line.starts_with(b"#") {
        return Ok(None);
    }
    let mut columns: [&[u8]; VCF_COLUMNS] = [b""; VCF_COLUMNS];
    let mut rest = line;
    for (i, column) in columns.iter_mut().enumerate() {
        let end = memchr(b'\t', rest);
        *column = &rest[..end.unwrap_or(rest.len())];
        match end {
            Some(end) => rest = &rest[end + 1..],
            None if i + 1 == VCF_COLUMNS => {}
            None if line.trim_ascii().is_empty() => return Ok(None),
            None => {
                return Err(format!(
                    "a record must have at least {VCF_COLUMNS} columns, but this one has {}",
                    i + 1
                ));
            }
        }
    }
    let [contig, pos, _, reference, .., info] = columns;
    let first =
        parse_java_int(pos).ok_or_else(|| format!("POS is not a position: {}", quoted_start(pos)))?;
    if reference.is_empty() || info.is_empty() {
        return Err("REF or INFO is empty".into());
    }
    let last = match info_end(info) {
        None => (first + reference.len() as u32).saturating_sub(1),
        // Some translocation callers write an END before POS, for which GATK masks nothing.
        Some(value) => parse_java_int(value)
            .map(|end| end.max(first.saturating_sub(1)))
            .ok_or_else(|| format!("END of INFO is not a position: {}", quoted_start(value)))?,
    };
    // Position 0 is the telomere before the first base, which cannot be masked.
    Ok(Some(LineFeature { name: contig.len(), start: first.saturating_sub(1), end: last }))
}

/// Searches for `END=`, to recognise records without END quickly.
static END: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"END="));

fn info_end(info: &[u8]) -> Option<&[u8]> {
    END.find(info)?; // most records have no END
    info.split(|&byte| byte == b';').rev().find_map(|field| field.strip_prefix(b"END="))
}

/// Parses the position of a BED line. Returns `None` for a header line, which may occur anywhere. A
/// line with two columns is a feature of one base.
pub(super) fn parse_bed_line(line: &[u8]) -> Result<Option<LineFeature>, String> {
    let header = [&b"#"[..], b"track", b"browser"].iter().any(|start| line.starts_with(start));
    if header || line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut columns = BedColumns(Some(line));
    let contig = columns.next().unwrap_or_default();
    let Some(start) = columns.next() else {
        return Err(format!(
            "a BED line must have a contig, a start and an end, but this one is {}",
            quoted_start(line)
        ));
    };
    let wrong =
        |what, text| format!("the {what} of a BED line is not a position: {}", quoted_start(text));
    let first = parse_bed_position(start).ok_or_else(|| wrong("start", start))?;
    let end = match columns.next() {
        None => {
            parse_java_int(start)
                .filter(|&start| start < i32::MAX as u32)
                .ok_or_else(|| wrong("start", start))?
                + 1
        }
        Some(end) => parse_bed_position(end).ok_or_else(|| wrong("end", end))?,
    };
    if end < first {
        return Err(format!("a BED line ends ({end}) before it starts ({first})"));
    }
    Ok(Some(LineFeature { name: contig.len(), start: first, end }))
}

pub(super) fn bed_name_and_strand(line: &[u8]) -> (Option<&[u8]>, bool) {
    let mut columns = BedColumns(Some(line.trim_ascii_end())).skip(3);
    let name = columns.next().filter(|name| !name.is_empty());
    (name, columns.nth(1) == Some(b"-"))
}

/// The columns of a BED line, separated by single tabs or any number of spaces.
struct BedColumns<'a>(Option<&'a [u8]>);

impl<'a> Iterator for BedColumns<'a> {
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

pub(super) const ELSITES: &[u8] = b"# elsites format version 1.0\n";

/// Parses the position of a line of elPrep's sites. A site at position 0 lies before the first
/// base, and a site may end before it starts.
pub(super) fn parse_elsites_line(line: &[u8]) -> Result<Option<LineFeature>, String> {
    if line.starts_with(b"#") || line.is_empty() {
        return Ok(None);
    }
    let mut columns = line.splitn(3, |&byte| byte == b'\t');
    let (Some(contig), Some(start), Some(end)) = (columns.next(), columns.next(), columns.next()) else {
        return Err(format!(
            "a site must have a contig, a start and an end, but this line is {}",
            quoted_start(line)
        ));
    };
    let place = |what, text| {
        parse_java_int(text)
            .ok_or_else(|| format!("the {what} of a site is not a position: {}", quoted_start(text)))
    };
    let start = place("start", start)?.saturating_sub(1);
    Ok(Some(LineFeature { name: contig.len(), start, end: place("end", end)?.max(start) }))
}

pub(super) fn read_list_header(lines: &mut LineReader, ledger: &Ledger) -> Result<FeatureDictionary> {
    let mut dictionary = FeatureDictionary::new(ledger);
    while lines.advance_line()? {
        if !lines.line().starts_with(b"@") {
            lines.go_back();
            break;
        }
        let header = Header::parse(lines.line()).map_err(|e| e.file(lines.path()))?;
        let mut contigs = header.references().iter();
        let pushed = contigs.try_for_each(|it| dictionary.push_contig(&it.name, Some(it.length)));
        pushed.map_err(|e| e.file(lines.path()))?;
    }
    Ok(dictionary)
}

pub(super) fn parse_list_line(line: &[u8]) -> Result<Option<LineFeature>, String> {
    if line.starts_with(b"@") || line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let columns: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let [contig, start, end, strand, _] = columns[..] else {
        let what = "an interval must have five columns separated by tabs (contig, start, end, strand, name), but this line";
        return Err(format!("{what} has {}", columns.len()));
    };
    let wrong =
        |what, text| format!("the {what} of an interval is not a position: {}", quoted_start(text));
    let first = parse_java_int(start).filter(|&n| n > 0).ok_or_else(|| wrong("start", start))?;
    let last = parse_java_int(end).ok_or_else(|| wrong("end", end))?;
    if first > last + 1 {
        return Err(format!("an interval ends ({last}) before it starts ({first})"));
    }
    if !matches!(strand, b"+" | b"-") {
        return Err(format!("the strand of an interval must be + or -, not {}", quoted_start(strand)));
    }
    Ok(Some(LineFeature { name: contig.len(), start: first - 1, end: last }))
}

pub(super) fn list_name_and_strand(line: &[u8]) -> (Option<&[u8]>, bool) {
    let mut columns = line.split(|&byte| byte == b'\t').skip(3);
    let strand = columns.next();
    (columns.next(), strand == Some(b"-"))
}

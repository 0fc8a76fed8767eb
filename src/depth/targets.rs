//! Reads the regions of a file as `samtools depth -b` does: BED, or a list of contigs and
//! positions.

use std::path::Path;

use readmill_format::intervals::{IntervalCollector, IntervalSet};
use readmill_format::text::LineReader;
use readmill_format::unknown_contigs::UnknownContigs;
use readmill_record::{Error, Header, Ledger, Result};

/// Reads regions. A line has a contig and two numbers, as in BED, or a contig and one number, which
/// is a 1-based position. Further columns, empty lines, and lines that begin with `#`, `browser` or
/// `track` are ignored. Omits regions on contigs that the header lacks, and also returns these
/// contigs for a warning.
///
/// # Errors
/// Fails if the file cannot be read, or if no number follows a contig.
pub fn read_targets(
    path: &Path,
    header: &Header,
    ledger: &Ledger,
) -> Result<(IntervalSet, UnknownContigs)> {
    let (mut lines, mut list) = (LineReader::open(path, ledger)?, IntervalCollector::new(ledger));
    let mut unknown = UnknownContigs::default();
    while lines.advance_line()? {
        let mut words = lines.line().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(contig) = words.next().filter(|contig| !contig.starts_with(b"#")) else { continue };
        let (start, end) = match (parse_leading_number(words.next()), parse_leading_number(words.next()))
        {
            (Some(start), Some(end)) if start <= end => (start, end),
            (Some(position), None) if position > 0 => (position - 1, position),
            _ if contig == b"browser" || contig == b"track" => continue,
            (Some(0), None) => {
                return Err(lines.line_error("position 0 is not valid: positions are 1-based"));
            }
            (Some(start), Some(end)) => {
                return Err(
                    lines.line_error(format!("the region ends ({end}) before it starts ({start})"))
                );
            }
            _ => {
                return Err(lines.line_error(
                    "expected a contig and its first and last position, or a contig and one position",
                ));
            }
        };
        match header.reference_id(contig) {
            Some(contig) if start < end => list.push_interval(contig as u32, start, end),
            Some(_) => {}
            None => unknown.add_place(contig),
        }
    }
    list.check_memory().map_err(|error: Error| error.file(path))?;
    Ok((list.into_set(header.references().len())?, unknown))
}

/// Returns the number at the start of a word, or `None` if there is none. Numbers above 2^32 - 1
/// are clamped to 2^32 - 1.
fn parse_leading_number(word: Option<&[u8]>) -> Option<u32> {
    let digits = word?.iter().take_while(|byte| byte.is_ascii_digit());
    let add = |sum: Option<u64>, digit: &u8| {
        Some(sum.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    };
    digits.fold(None, add).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

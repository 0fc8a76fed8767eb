//! Writes records as FASTQ: four lines per read, in sequencing direction.
//!
//! The format follows `samtools fastq`; trimming follows Picard SamToFastq
//! ([`crate::fastq_trim`]).

use readmill_record::bases::{COMPLEMENTS, LETTERS};
use readmill_record::tag::{Field, Tag};
use readmill_record::{RecordRef, tag};

use crate::fastq_trim::FastqTrim;
use crate::sam;

/// How reads are written as FASTQ.
///
/// ```
/// use readmill_format::fastq::{FastqStyle, write_record};
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Header, RecordRef};
///
/// let mut raw = Vec::new();
/// let line = b"r1\t16\t*\t0\t0\t*\t*\t0\t0\tAACG\tABCD";
/// LineParser::new(&Header::parse(b"")?).parse(line, &mut raw)?;
///
/// let mut text = Vec::new();
/// write_record(&FastqStyle::default(), RecordRef::new(&raw), &mut text);
/// assert_eq!(text, b"@r1\nCGTT\n+\nDCBA\n", "a reverse read is turned back");
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastqStyle {
    /// Append /1 or /2 to the names of read 1 and read 2.
    pub suffix: bool,
    pub tags: TagSelection,
    /// Write the qualities of the OQ field instead of QUAL, if the field has the right length.
    pub original_qualities: bool,
    /// Phred quality to write for each base of a read without qualities.
    pub default_quality: u8,
    pub trim: FastqTrim,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagSelection {
    Some(Vec<Tag>),
    All,
}

impl Default for FastqStyle {
    fn default() -> Self {
        FastqStyle {
            suffix: false,
            tags: TagSelection::Some(Vec::new()),
            original_qualities: false,
            default_quality: 33, // samtools writes this value, regardless of its option -v
            trim: FastqTrim::default(),
        }
    }
}

impl FastqStyle {
    fn is_selected(&self, field: &Field<'_>) -> bool {
        match &self.tags {
            TagSelection::All => true,
            TagSelection::Some(tags) => tags.contains(&field.tag),
        }
    }
}

/// Returns the number of the read in its template: 1 if only flag 0x40 is set, 2 if only 0x80 is
/// set, and `None` if both or neither are set.
pub fn segment_number(record: RecordRef<'_>) -> Option<u8> {
    let flags = record.flags();
    match (flags.is_first(), flags.is_last()) {
        (true, false) => Some(1),
        (false, true) => Some(2),
        _ => None,
    }
}

pub fn write_record(style: &FastqStyle, record: RecordRef<'_>, out: &mut Vec<u8>) {
    out.push(b'@');
    out.extend_from_slice(record.qname());
    if let Some(segment) = segment_number(record).filter(|_| style.suffix) {
        out.extend([b'/', b'0' + segment]);
    }
    for field in record.fields().filter(|field| style.is_selected(field)) {
        sam::write_field(field, out);
    }
    out.push(b'\n');
    let bases = out.len();
    push_bases(record, out);
    out.extend_from_slice(QUALITY_SEPARATOR);
    push_qualities(style, record, out);
    if !style.trim.is_nothing() {
        trim_last_record(&style.trim, record, bases, out);
    }
    out.push(b'\n');
}

const QUALITY_SEPARATOR: &[u8] = b"\n+\n";

fn trim_last_record(trim: &FastqTrim, record: RecordRef<'_>, start: usize, out: &mut Vec<u8>) {
    let length = (out.len() - start - QUALITY_SEPARATOR.len()) / 2;
    let (bases, rest) = out[start..].split_at_mut(length);
    let kept = trim.trim_read(record, bases, &mut rest[QUALITY_SEPARATOR.len()..]);
    let qualities = start + length + QUALITY_SEPARATOR.len();
    out.truncate(qualities + kept.end);
    out.drain(start + kept.end..start + length);
    out.drain(qualities - (length - kept.end)..qualities - (length - kept.end) + kept.start);
    out.drain(start..start + kept.start);
}

/// Appends the bases and qualities (Phred + 33) of a read in sequencing direction (5′ to 3′), as
/// the aligner needs them for reads from BAM files.
pub fn push_read_in_read_order(record: RecordRef<'_>, bases: &mut Vec<u8>, qualities: &mut Vec<u8>) {
    push_bases(record, bases);
    push_qualities(&FastqStyle::default(), record, qualities);
}

fn push_bases(record: RecordRef<'_>, out: &mut Vec<u8>) {
    let (packed, length) = (record.seq(), record.l_seq());
    let base = |i: usize| usize::from(packed[i / 2] >> (4 * (1 - i % 2)) & 15);
    if record.flags().is_reverse() {
        out.extend((0..length).rev().map(|i| COMPLEMENTS[base(i)]));
    } else {
        out.extend((0..length).map(|i| LETTERS[base(i)]));
    }
}

fn push_qualities(style: &FastqStyle, record: RecordRef<'_>, out: &mut Vec<u8>) {
    let (start, qual) = (out.len(), record.qual());
    let original = style.original_qualities.then(|| record.field(tag::OQ)).flatten();
    match original.filter(|field| field.kind == b'Z' && field.value.len() == qual.len()) {
        Some(field) => out.extend_from_slice(field.value),
        None if qual.first() == Some(&0xff) => {
            out.resize(start + qual.len(), style.default_quality + b'!');
        }
        None => out.extend(qual.iter().map(|q| q.saturating_add(b'!').min(b'~'))),
    }
    if record.flags().is_reverse() {
        out[start..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Header, edit};

    fn raw(line: &str) -> Vec<u8> {
        let header = Header::parse(b"@SQ\tSN:c\tLN:100\n").unwrap();
        let mut raw = Vec::new();
        sam::LineParser::new(&header).parse(line.as_bytes(), &mut raw).unwrap();
        raw
    }

    fn text(style: &FastqStyle, line: &str) -> String {
        let (raw, mut out) = (raw(line), Vec::new());
        write_record(style, RecordRef::new(&raw), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reads_are_trimmed() {
        let trim = FastqTrim { skip: [1, 0], max_bases: [Some(2), None], ..FastqTrim::default() };
        let style = FastqStyle { trim, ..FastqStyle::default() };
        assert_eq!(text(&style, "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGTA\t56789"), "@r\nCG\n+\n67\n");
        assert_eq!(text(&style, "r\t141\t*\t0\t0\t*\t*\t0\t0\tACG\t567"), "@r\nACG\n+\n567\n");
        assert_eq!(text(&style, "r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*"), "@r\n\n+\n\n");
    }

    #[test]
    fn reads_are_written_as_they_were_sequenced() {
        let plain = FastqStyle::default();
        let forward = "r\t67\tc\t1\t9\t4M\t=\t9\t0\tACGN\tABCD\tRG:Z:g\tXI:i:7\tOQ:Z:wxyz";
        let reverse = "r\t147\tc\t1\t9\t4M\t=\t9\t0\tACGN\tABCD\tOQ:Z:wxyz";
        assert_eq!(text(&plain, forward), "@r\nACGN\n+\nABCD\n");
        assert_eq!(text(&plain, reverse), "@r\nNCGT\n+\nDCBA\n");
        let named = FastqStyle { suffix: true, original_qualities: true, ..plain.clone() };
        assert_eq!(text(&named, forward), "@r/1\nACGN\n+\nwxyz\n");
        assert_eq!(text(&named, reverse), "@r/2\nNCGT\n+\nzyxw\n");
        let tags = FastqStyle { tags: TagSelection::Some(vec![*b"RG", *b"XI"]), ..plain.clone() };
        assert_eq!(text(&tags, forward), "@r\tRG:Z:g\tXI:i:7\nACGN\n+\nABCD\n");
        let all = FastqStyle { tags: TagSelection::All, ..plain };
        assert_eq!(text(&all, reverse), "@r\tOQ:Z:wxyz\nNCGT\n+\nDCBA\n");
    }

    #[test]
    fn reads_without_qualities_or_bases_are_whole_records_too() {
        let style = FastqStyle { suffix: true, ..FastqStyle::default() };
        assert_eq!(text(&style, "r\t4\t*\t0\t0\t*\t*\t0\t0\tAC\t*"), "@r\nAC\n+\nBB\n");
        assert_eq!(text(&style, "r\t196\t*\t0\t0\t*\t*\t0\t0\t*\t*"), "@r\n\n+\n\n");
        let mut odd = raw("r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI");
        let end = odd.len() - 1;
        odd[end] = 200;
        edit::set_block_size(&mut odd, 0);
        let mut out = Vec::new();
        write_record(&style, RecordRef::new(&odd), &mut out);
        assert_eq!(out, b"@r\nA\n+\n~\n", "no quality that FASTQ has no letter for");
    }
}

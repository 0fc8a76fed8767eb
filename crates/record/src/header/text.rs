//! Distinguishes SAM from FASTQ by the form of their lines.
//!
//! A header line is `@`, two letters and a tab (or `@CO`); a record has eleven columns. Read names may
//! start with `@`: the SAM specification forbids it, but BAM can have them, and every FASTQ record
//! starts with `@`. So the form of whole lines decides, never the first character alone.

use crate::error::{Error, Result};

/// Number of columns, up to TLEN, that identify a record.
const MIN_RECORD_COLUMNS: usize = 9;

/// The byte order mark of UTF-8, which some editors write at the start of a text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns whether a line, or its start, has the columns of a SAM record: numbers in the numeric
/// columns, and SEQ after them.
pub fn is_sam_record(line: &[u8]) -> bool {
    let mut columns = line.splitn(MIN_RECORD_COLUMNS + 1, |&byte| byte == b'\t');
    let is_number = |text: &[u8]| {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
    };
    let is_one = (0..MIN_RECORD_COLUMNS).all(|number| {
        columns.next().is_some_and(|column| match number {
            1 | 3 | 4 | 7 | 8 => is_number(column),
            _ => !column.is_empty(),
        })
    });
    is_one && columns.next().is_some()
}

/// Returns whether a line has the form of a header line: `@`, two letters, and a tab or the end; or
/// `@CO`.
fn is_header_form(line: &[u8]) -> bool {
    match line {
        [b'@', b'C', b'O'] | [b'@', b'C', b'O', b' ', ..] => true,
        [b'@', a, b, rest @ ..] => {
            a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && matches!(rest, [] | [b'\t', ..])
        }
        _ => false,
    }
}

/// Returns whether a line before the first record belongs to the header of SAM text.
///
/// Empty lines belong to the header. So do lines that start with `@` but are not records: the header
/// parser then reports what is wrong with them. `number` is the line number for the message.
///
/// # Errors
/// Fails if the line has the form of both a header line and a record.
pub fn belongs_to_header(line: &[u8], number: u64) -> Result<bool> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match (line.first(), is_sam_record(line)) {
        (None, _) | (Some(b'@'), false) => Ok(true),
        (Some(b'@'), true) if is_header_form(line) => {
            let start = String::from_utf8_lossy(&line[..3]);
            Err(Error::input(format!(
                "line {number} has the columns of a record, but begins like a header line ({start})"
            ))
            .hint("rename the read: read names must not start with @"))
        }
        _ => Ok(false),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsFormat {
    Bam,
    Cram,
    Sam,
    Fastq,
}

impl ReadsFormat {
    /// Recognises the format from the start of a file, decompressed if it is BGZF or gzip. Returns
    /// `None` for any other format.
    ///
    /// ```
    /// use readmill_record::header::text::ReadsFormat;
    ///
    /// assert_eq!(ReadsFormat::recognize(b"@r1\nACGT\n+\nIIII\n"), Some(ReadsFormat::Fastq));
    /// assert_eq!(ReadsFormat::recognize(b"@HD\tVN:1.6\n"), Some(ReadsFormat::Sam));
    /// assert_eq!(ReadsFormat::recognize(b">chr1\nACGT\n"), None);
    /// ```
    pub fn recognize(start: &[u8]) -> Option<Self> {
        match start {
            [b'B', b'A', b'M', 1, ..] => Some(ReadsFormat::Bam),
            [b'C', b'R', b'A', b'M', ..] => Some(ReadsFormat::Cram),
            _ => Self::recognize_text(start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start)),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            ReadsFormat::Bam => "BAM",
            ReadsFormat::Cram => "CRAM",
            ReadsFormat::Sam => "SAM",
            ReadsFormat::Fastq => "FASTQ",
        }
    }

    /// Recognises text by its first three lines, of which the last may be cut off. In FASTQ, the second
    /// line has only bases; in SAM, it is another header line or a record.
    fn recognize_text(start: &[u8]) -> Option<Self> {
        let start = &start[start.iter().take_while(|byte| byte.is_ascii_whitespace()).count()..];
        let mut lines =
            start.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut next = || lines.next().unwrap_or_default();
        let (first, second, third) = (next(), next(), next());
        if is_sam_record(first) {
            return Some(ReadsFormat::Sam);
        }
        if first.first() != Some(&b'@') {
            return None;
        }
        // If the line is only `@` and two letters, capitals mean a header line, and other letters the
        // start of a read name.
        let is_cut = first.len() == 3 && !first[1..].iter().all(u8::is_ascii_uppercase);
        let is_header = is_header_form(first) && !is_cut;
        let by_form = if is_header { ReadsFormat::Sam } else { ReadsFormat::Fastq };
        Some(match (second.first(), third.first()) {
            // A line of FASTQ bases whose first letter is damaged.
            (Some(b'@'), Some(b'+')) if !is_header_form(second) && !third.contains(&b'\t') => by_form,
            (Some(b'@'), _) => ReadsFormat::Sam,
            (Some(_), _) if is_sam_record(second) => ReadsFormat::Sam,
            // The first line could be a header line, so the following lines must look like FASTQ.
            (Some(_), Some(b'+') | None) if !second.contains(&b'\t') => ReadsFormat::Fastq,
            (None, Some(b'+')) => ReadsFormat::Fastq,
            _ => by_form,
        })
    }
}

impl std::fmt::Display for ReadsFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "\t0\tchr1\t10\t60\t4M\t*\t0\t0\tACGT\tIIII\n";

    #[test]
    fn a_read_whose_name_begins_with_at_is_no_header_line() {
        for name in ["@r1", "@", "@@", "@COr1", "@SQx", "@1:2", "@r1 x"] {
            let line = format!("{name}{RECORD}");
            assert!(is_sam_record(line.as_bytes()), "{name}");
            assert!(!belongs_to_header(line.as_bytes(), 1).unwrap(), "{name}");
        }
        for line in
            ["@HD\tVN:1.6\n", "@CO\n", "@CO x\r\n", "\n", "\r\n", "@r1\t0\tchr1\n", "@\n", "@xx\n"]
        {
            assert!(belongs_to_header(line.as_bytes(), 1).unwrap(), "{line}");
        }
        assert!(!belongs_to_header(format!("r1{RECORD}").as_bytes(), 1).unwrap());
    }

    #[test]
    fn a_line_that_is_header_and_record_is_refused() {
        for name in ["@CO", "@SQ", "@xx"] {
            let error =
                belongs_to_header(format!("{name}{RECORD}").as_bytes(), 7).unwrap_err().to_string();
            assert!(error.contains("line 7 has the columns of a record"), "{error}");
        }
        let quoted = format!("@CO\tr1{RECORD}");
        assert!(belongs_to_header(quoted.as_bytes(), 1).unwrap(), "a comment may quote a record");
    }

    #[test]
    fn sam_and_fastq_are_told_apart_by_their_lines() {
        let sam = [
            "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n",
            "@HD\tSO:coordinate\tVN:1.6\n",
            "@CO\thello\n@SQ\tSN:c\tLN:9\n",
            "@CO\thello\nr1\t0\tc\t1\t9\t1M\t*\t0\t0\tA\tI\n",
            "@SQ\tLN:100\tSN:c\n",
            "@HD VN1.0 SO:unsorted\n@SQ\tSN:c\tLN:9\n",
            "@CO",
            "@CO\n",
            "\u{feff}@HD\tVN:1.6\n",
            "@HD\tVN:1.6\r\n\r\n@SQ\tSN:c\tLN:9\r\n",
            "@r1\t0\tc\t1\t9\t1M\t*\t0\t0\tA\tI\n",
            "r1\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n",
            "@HD\tVN:1.6\nr1\t4\t*\t0\n",
        ];
        for text in sam {
            assert_eq!(ReadsFormat::recognize(text.as_bytes()), Some(ReadsFormat::Sam), "{text}");
        }
        let fastq = [
            "@r1\nACGT\n+\nIIII\n",
            "@CO\tx\nACGT\n+\nIIII\n",
            "@SQ\nACGT\n+\nIIII\n",
            "@SQ\tSN:c\tLN:9\nACGT\n+\nIIII\n",
            "@HD\tVN:1.6\r\nACGT\r\n+\r\nIIII\r\n",
            "@CO\n\n+\n\n@CO\n\n+\n\n",
            "@r1 x\tBC:Z:A\tb\tc\td\te\tf\tg\th\ti\tj\tk\nACG",
            "\n@r1\nACGT\n+\nIIII\n",
            "@r1",
            "@ru",
            "@ru\n@CGT\n+\nIIII\n",
            "@COntig1 x",
        ];
        for text in fastq {
            assert_eq!(ReadsFormat::recognize(text.as_bytes()), Some(ReadsFormat::Fastq), "{text}");
        }
        for text in ["", ">c\nACGT\n", "chr1\t1\t2\n", "##fileformat=VCF\n", "hello"] {
            assert_eq!(ReadsFormat::recognize(text.as_bytes()), None, "{text}");
        }
    }
}

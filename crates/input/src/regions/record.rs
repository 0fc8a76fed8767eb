//! Finds the ends of BAM records and SAM lines, and their genomic positions, without parsing them
//! completely.

use std::num::IntErrorKind;

use readmill_format::bgzf::BlockWindow;
use readmill_format::sam::parse_flag;
use readmill_record::view::FIXED_BYTES;
use readmill_record::{Error, Flags, Header, Result, UncheckedRecord};

#[derive(Clone)]
pub enum RecordKind {
    Bam { n_ref: i32 },
    Text { header: Header },
}

/// The position of a record: its contig (-1 for none) and its first base (0-based). Finding the end
/// is more expensive ([`RecordKind::alignment_end`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    pub contig: i32,
    pub pos: i64,
}

impl RecordPlace {
    /// Returns whether a record can start at this position. If not, the parser refuses the line
    /// with a message.
    pub fn is_possible(self) -> bool {
        (-1..=i64::from(i32::MAX)).contains(&self.pos)
    }
}

impl RecordKind {
    /// Returns whether this is an empty SAM line, which is not a record.
    pub fn is_blank(&self, record: &[u8]) -> bool {
        matches!(self, RecordKind::Text { .. }) && record == b"\n"
    }

    /// Returns the length in bytes of the record at `at`; `None` if `bytes` does not include its
    /// end. Its first `searched` bytes have already been searched.
    ///
    /// # Errors
    /// The length of a BAM record is invalid.
    pub fn record_length(&self, bytes: &[u8], at: usize, searched: usize) -> Result<Option<usize>> {
        let rest = &bytes[at..];
        match self {
            RecordKind::Bam { .. } => {
                let Some(size) = rest.first_chunk::<4>() else { return Ok(None) };
                let size = u32::from_le_bytes(*size);
                if !(FIXED_BYTES as u32 - 4..=i32::MAX as u32).contains(&size) {
                    return Err(Error::input(format!("a record has an invalid length of {size} bytes")));
                }
                Ok(Some(size as usize + 4).filter(|&length| length <= rest.len()))
            }
            RecordKind::Text { .. } => {
                Ok(memchr::memchr(b'\n', &rest[searched..]).map(|end| searched + end + 1))
            }
        }
    }

    /// Returns the position of a complete record; `None` if it does not look like a record.
    pub fn record_place(&self, record: &[u8]) -> Option<RecordPlace> {
        match self {
            RecordKind::Bam { n_ref } => {
                let record = UncheckedRecord::new(record).check_without_fields(*n_ref).ok()?;
                Some(RecordPlace { contig: record.ref_id(), pos: record.pos().into() })
            }
            RecordKind::Text { header } => {
                let mut columns = record.splitn(5, |&byte| byte == b'\t').skip(2);
                let name = columns.next()?;
                let pos = parse_number(columns.next()?)?.saturating_sub(1);
                columns.next()?;
                // As for the parser, a read without a position has no contig.
                let is_placed = name != b"*" && pos != -1;
                let contig = if is_placed { header.reference_id_by_any_name(name)? } else { -1 };
                Some(RecordPlace { contig, pos })
            }
        }
    }

    /// Returns the end of the alignment (0-based, exclusive) of a record that starts at `pos`;
    /// `None` if it is damaged.
    pub fn alignment_end(&self, bytes: &[u8], pos: i64) -> Option<i64> {
        match self {
            RecordKind::Bam { n_ref } => {
                Some(UncheckedRecord::new(bytes).check_without_fields(*n_ref).ok()?.end())
            }
            RecordKind::Text { .. } => {
                let mut columns = bytes.split(|&byte| byte == b'\t').skip(1);
                let flags = parse_flag(columns.next()?)?;
                let cigar = columns.nth(3)?;
                let span = if flags & Flags::UNMAPPED != 0 { 0 } else { cigar_reference_length(cigar) };
                pos.checked_add(span.max(1))
            }
        }
    }
}

/// Reads on until the record at `at` is complete. Returns its length; `None` at the end of the
/// file.
///
/// `more` reads the next block and returns whether there was one. It may drop the bytes before the
/// record, so it updates `at`.
pub fn read_whole_record(
    kind: &RecordKind,
    window: &mut BlockWindow,
    at: &mut usize,
    mut more: impl FnMut(&mut BlockWindow, &mut usize) -> Result<bool>,
) -> Result<Option<usize>> {
    let mut searched = 0;
    loop {
        if let Some(length) = kind.record_length(window.bytes(), *at, searched)? {
            return Ok(Some(length));
        }
        searched = window.bytes().len() - *at;
        if !more(window, at)? {
            return match (searched, kind) {
                (0, _) => Ok(None),
                (n, RecordKind::Text { .. }) => Ok(Some(n)), // the last line has no end
                _ => Err(Error::input("the file ends inside a record")
                    .hint("the file is truncated: download or create it again")),
            };
        }
    }
}

fn parse_number(text: &[u8]) -> Option<i64> {
    let parsed = std::str::from_utf8(text).ok()?.parse::<i64>();
    parsed.map_or_else(
        |error| match error.kind() {
            IntErrorKind::PosOverflow => Some(i64::MAX),
            IntErrorKind::NegOverflow => Some(i64::MIN),
            _ => None,
        },
        Some,
    )
}

fn cigar_reference_length(cigar: &[u8]) -> i64 {
    let (mut sum, mut length) = (0i64, 0i64);
    for &byte in cigar {
        match byte {
            b'0'..=b'9' => length = length.saturating_mul(10).saturating_add(i64::from(byte - b'0')),
            b'M' | b'D' | b'N' | b'=' | b'X' => {
                sum = sum.saturating_add(length);
                length = 0;
            }
            _ => length = 0,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_where_they_lie() {
        let header = Header::parse(b"@SQ\tSN:a\tLN:10\n@SQ\tSN:b\tLN:10\tAN:other\n").unwrap();
        let kind = RecordKind::Text { header };
        for (line, contig, pos, end) in [
            ("r\t0\tb\t5\t60\t2S3M1D4N2I1M\t*\t0\t0\t*\t*\n", 1, 4, 13),
            ("r\t4\ta\t5\t0\t9M\t*\t0\t0\t*\t*\n", 0, 4, 5),
            ("r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n", -1, -1, 0),
            ("r\t0x10\tother\t5\t60\t3M\t*\t0\t0\t*\t*\n", 1, 4, 7),
            ("r\t0x14\ta\t5\t60\t3M\t*\t0\t0\t*\t*\n", 0, 4, 5),
            ("r\t024\ta\t5\t60\t3M\t*\t0\t0\t*\t*\n", 0, 4, 5),
            ("r\t0\ta\t0\t60\t3M\t*\t0\t0\t*\t*\n", -1, -1, 2),
        ] {
            assert_eq!(kind.record_place(line.as_bytes()), Some(RecordPlace { contig, pos }), "{line}");
            assert_eq!(kind.alignment_end(line.as_bytes(), pos), Some(end), "{line}");
        }
        assert_eq!(kind.record_place(b"r\t0\tc\t5\t60\n"), None);
        for pos in
            ["-9223372036854775808", "-99999999999999999999", "99999999999999999999", "2147483649"]
        {
            let line = format!("r\t0\ta\t{pos}\t60\t9M\n");
            let place = kind.record_place(line.as_bytes());
            assert!(place.is_some_and(|place| !place.is_possible()), "{pos}: {place:?}");
        }
        assert_eq!(kind.alignment_end(b"r\t0\ta\t5\t0\t99999999999999999999M\t*\n", 4), None);
        assert!(kind.is_blank(b"\n") && !kind.is_blank(b"\r\n"));
        assert_eq!(kind.record_length(b"ab\ncd", 0, 0), Ok(Some(3)));
        assert_eq!(kind.record_length(b"ab\ncd", 3, 0), Ok(None));
    }
}

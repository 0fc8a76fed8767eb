//! Splits SAM lines into columns, counts the columns in which records differ, and formats
//! differences for the user.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use readmill_record::Flags;
use readmill_record::tag::Tag;

/// Names of the 11 mandatory columns (SAM specification, section 1.4).
pub const COLUMNS: [&str; 11] =
    ["QNAME", "FLAG", "RNAME", "POS", "MAPQ", "CIGAR", "RNEXT", "PNEXT", "TLEN", "SEQ", "QUAL"];

pub const QNAME: usize = 0;
pub const FLAG: usize = 1;

const MAX_SHOWN_CHARS: usize = 48;

/// A line of SAM text without its line end, with sorted tags: lines that differ only in the order
/// of tags are equal.
pub struct SamLine<'a> {
    pub columns: [&'a [u8]; 11],
    pub fields: Vec<&'a [u8]>,
}

impl<'a> SamLine<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        let mut parts = text.split(|&b| b == b'\t');
        let columns = [(); 11].map(|()| parts.next().unwrap_or_default());
        let mut fields: Vec<&[u8]> = parts.collect();
        fields.sort_unstable();
        SamLine { columns, fields }
    }

    pub fn differing_columns(&self, other: &SamLine<'_>) -> impl Iterator<Item = usize> {
        (0..COLUMNS.len()).filter(|&i| self.columns[i] != other.columns[i])
    }

    /// Returns the tags of optional fields that only one of the lines has, or that differ in type
    /// or value, sorted and without duplicates.
    pub fn differing_tags(&self, other: &SamLine<'_>) -> Vec<Tag> {
        let (mut one, mut two) = (self.fields.iter().peekable(), other.fields.iter().peekable());
        let mut tags = Vec::new();
        loop {
            let order = match (one.peek(), two.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.cmp(b),
            };
            let ahead = if order == Ordering::Greater { two.peek() } else { one.peek() };
            let tag = ahead.and_then(|field| field.first_chunk()).copied();
            tags.extend(tag.filter(|_| order != Ordering::Equal));
            if order != Ordering::Greater {
                one.next();
            }
            if order != Ordering::Less {
                two.next();
            }
        }
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}

/// Returns the line in a form that shows its difference from `other`: long columns are shortened to
/// the part around the first difference, or to their start.
pub fn shorten_for_display(text: &[u8], other: Option<&[u8]>) -> String {
    let of_other: Vec<&[u8]> = other.map_or(Vec::new(), |other| other.split(|&b| b == b'\t').collect());
    let opposite = |i: usize, part: &[u8]| {
        let same_tag = |field: &&&[u8]| field.get(..2) == part.get(..2);
        let found =
            if i < COLUMNS.len() { of_other.get(i) } else { of_other.iter().skip(11).find(same_tag) };
        found.copied()
    };
    let parts = text.split(|&b| b == b'\t').enumerate();
    parts
        .map(|(i, part)| shorten_column(part, opposite(i, part).unwrap_or(part)))
        .collect::<Vec<_>>()
        .join("\t")
}

fn shorten_column(text: &[u8], other: &[u8]) -> String {
    if text.len() <= MAX_SHOWN_CHARS {
        return String::from_utf8_lossy(text).into_owned();
    }
    let same = text.iter().zip(other).take_while(|(a, b)| a == b).count();
    let differs = if text == other { 0 } else { same };
    let start = differs.saturating_sub(MAX_SHOWN_CHARS / 3).min(text.len() - MAX_SHOWN_CHARS);
    let end = start + MAX_SHOWN_CHARS;
    let dots = |cut: bool| if cut { "…" } else { "" };
    let middle = String::from_utf8_lossy(&text[start..end]);
    format!("{}{middle}{}", dots(start > 0), dots(end < text.len()))
}

/// Two differing records with the same number. One of them is `None` if its file has ended.
#[derive(Clone, Debug)]
pub struct RecordDifference {
    pub place: u64,
    pub lines: [Option<Vec<u8>>; 2],
}

impl RecordDifference {
    /// Writes the number of the record, the names of the differing columns, and both lines.
    pub fn write_report(&self, files: &[PathBuf; 2], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.place + 1;
        let [a, b] = self.lines.each_ref().map(Option::as_deref);
        match (a, b) {
            (Some(a), Some(b)) => {
                writeln!(f, "first difference: record {number}, in {}", describe_differing_fields(a, b))?
            }
            _ => {
                let ended = &files[usize::from(a.is_some())];
                writeln!(f, "first difference: record {number}, where {} has ended", ended.display())?;
            }
        }
        for (file, line, other) in [(&files[0], a, b), (&files[1], b, a)] {
            if let Some(line) = line {
                writeln!(f, "  {}: {}", file.display(), shorten_for_display(line, other))?;
            }
        }
        Ok(())
    }
}

fn describe_differing_fields(a: &[u8], b: &[u8]) -> String {
    let (a, b) = (SamLine::new(a), SamLine::new(b));
    let columns = a.differing_columns(&b).map(|i| COLUMNS[i].to_string());
    let tags = a.differing_tags(&b).into_iter().map(tag_text);
    let names: Vec<String> = columns.chain(tags).collect();
    if names.is_empty() { "the order of tags".into() } else { names.join(", ") }
}

fn tag_text(tag: Tag) -> String {
    String::from_utf8_lossy(&tag).into_owned()
}

/// Counts of records that differ from the record with the same number in the other file, by what
/// differs. If QNAME differs, other columns are not counted, because the records are different
/// reads.
#[derive(Clone, Debug, Default)]
pub struct DifferenceCounts {
    pub records: u64,
    /// Number of records in which only the order of tags differs.
    pub tag_order: u64,
    pub other_read: u64,
    /// Number of records in which only FLAG differs.
    pub flags: u64,
    /// Number of records in which only the duplicate bit (0x400) of FLAG differs.
    pub duplicate_bit: u64,
    /// For each column, the number of records with equal QNAME in which it differs.
    pub columns: [u64; COLUMNS.len()],
    pub tags: BTreeMap<Tag, u64>,
}

impl DifferenceCounts {
    /// Counts a pair of records whose text differs. Returns whether they differ in more than the
    /// order of tags.
    pub fn count_pair(&mut self, lines: [&SamLine<'_>; 2], flags: [Flags; 2]) -> bool {
        let [a, b] = lines;
        self.records += 1;
        if a.columns[QNAME] != b.columns[QNAME] {
            self.other_read += 1;
            return true;
        }
        let tags = a.differing_tags(b);
        let (mut columns, mut last) = (0, None);
        for i in a.differing_columns(b) {
            self.columns[i] += 1;
            (columns, last) = (columns + 1, Some(i));
        }
        if tags.is_empty() && columns == 1 && last == Some(FLAG) {
            self.flags += 1;
            self.duplicate_bit += u64::from(flags[0].0 ^ flags[1].0 == Flags::DUPLICATE);
        }
        let differs = columns > 0 || !tags.is_empty();
        self.tag_order += u64::from(!differs);
        for tag in tags {
            *self.tags.entry(tag).or_default() += 1;
        }
        differs
    }
}

impl fmt::Display for DifferenceCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = COLUMNS.iter().zip(self.columns).map(|(name, n)| (name.to_string(), n));
        let tags = self.tags.iter().map(|(&tag, &n)| (tag_text(tag), n));
        let others = [
            ("another read".into(), self.other_read),
            ("only the order of tags".into(), self.tag_order),
        ];
        let parts = columns.chain(tags).chain(others).filter(|(_, n)| *n > 0);
        let parts: Vec<String> = parts.map(|(name, n)| format!("{name} {n}")).collect();
        writeln!(
            f,
            "{} records differ from the record at the same position in the other file: {}",
            self.records,
            parts.join(", ")
        )?;
        writeln!(
            f,
            "only FLAG differs in {} of them (only the duplicate bit: {})",
            self.flags, self.duplicate_bit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(columns: usize, fields: &str) -> String {
        format!("{}{fields}", vec!["x"; columns].join("\t"))
    }

    #[test]
    fn only_the_order_of_optional_fields_is_forgotten() {
        let (a, b) = (line(11, "\tNM:i:1\tAS:i:2"), line(11, "\tAS:i:2\tNM:i:1"));
        let (a, b) = (SamLine::new(a.as_bytes()), SamLine::new(b.as_bytes()));
        assert!(a.differing_tags(&b).is_empty() && a.differing_columns(&b).next().is_none());
    }

    #[test]
    fn tags_that_differ_are_named_once() {
        let (a, b) = (line(11, "\tNM:i:1\tAS:i:2\tXX:Z:a"), line(11, "\tAS:i:3\tNM:i:1\tYY:i:1"));
        let (a, b) = (SamLine::new(a.as_bytes()), SamLine::new(b.as_bytes()));
        assert_eq!(a.differing_tags(&b), [*b"AS", *b"XX", *b"YY"]);
    }

    #[test]
    fn of_a_long_column_the_part_that_differs_is_shown() {
        let mut other = vec![b'A'; 200];
        other[150] = b'C';
        assert_eq!(shorten_column(&[b'A'; 200], &other), format!("…{}…", "A".repeat(MAX_SHOWN_CHARS)));
        assert!(shorten_column(&other, &[b'A'; 200]).contains('C'));
        assert_eq!(
            shorten_column(&[b'A'; 200], &[b'A'; 200]),
            format!("{}…", "A".repeat(MAX_SHOWN_CHARS))
        );
        assert_eq!(shorten_column(b"short", b"x"), "short");
    }
}

//! Differences of records, kept for display.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use readmill_record::Flags;
use readmill_record::tag::Tag;

use super::line::{COLUMNS, FLAG, QNAME, SamLine, shown};

/// Two records in step that differ; one is missing where a file ends first.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Their number in the files, from 0.
    pub place: u64,
    /// Their lines of SAM.
    pub lines: [Option<Vec<u8>>; 2],
}

impl Difference {
    /// Says where and in what the records differ, and shows them.
    pub fn write(&self, files: &[PathBuf; 2], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.place + 1;
        let [a, b] = self.lines.each_ref().map(Option::as_deref);
        match (a, b) {
            (Some(a), Some(b)) => writeln!(f, "first difference: record {number}, in {}", fields(a, b))?,
            _ => {
                let ended = &files[usize::from(a.is_some())];
                writeln!(f, "first difference: record {number}, where {} has ended", ended.display())?;
            }
        }
        for (file, line, other) in [(&files[0], a, b), (&files[1], b, a)] {
            if let Some(line) = line {
                writeln!(f, "  {}: {}", file.display(), shown(line, other))?;
            }
        }
        Ok(())
    }
}

/// Names of the columns and tags that differ.
fn fields(a: &[u8], b: &[u8]) -> String {
    let (a, b) = (SamLine::new(a), SamLine::new(b));
    let columns = a.differing_columns(&b).map(|i| COLUMNS[i].to_string());
    let tags = a.differing_tags(&b).into_iter().map(text);
    let names: Vec<String> = columns.chain(tags).collect();
    if names.is_empty() { "the order of tags".into() } else { names.join(", ") }
}

fn text(tag: Tag) -> String {
    String::from_utf8_lossy(&tag).into_owned()
}

/// How many records differ from the one they stand in step with, and in what.
#[derive(Clone, Debug, Default)]
pub struct DifferenceCounts {
    /// Records that differ at all.
    pub records: u64,
    /// Of these, such as differ in the order of tags alone,
    pub tag_order: u64,
    /// such as have another QNAME (what else differs in them says little),
    pub other_read: u64,
    /// such as differ in FLAG alone,
    pub flags: u64,
    /// and of these such as differ in the duplicate bit alone.
    pub duplicate_bit: u64,
    /// Of records of one QNAME, how many differ in each column
    pub columns: [u64; COLUMNS.len()],
    /// and in each tag.
    pub tags: BTreeMap<Tag, u64>,
}

impl DifferenceCounts {
    /// Counts a pair whose text differs; says whether more than the order of tags does.
    pub fn count(&mut self, lines: [&SamLine<'_>; 2], flags: [Flags; 2]) -> bool {
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
        let tags = self.tags.iter().map(|(&tag, &n)| (text(tag), n));
        let others =
            [("another read".into(), self.other_read), ("order of tags alone".into(), self.tag_order)];
        let parts = columns.chain(tags).chain(others).filter(|(_, n)| *n > 0);
        let parts: Vec<String> = parts.map(|(name, n)| format!("{name} {n}")).collect();
        writeln!(f, "{} records differ in step: {}", self.records, parts.join(", "))?;
        writeln!(
            f,
            "flags differ in {} records (duplicate bit only: {})",
            self.flags, self.duplicate_bit
        )
    }
}

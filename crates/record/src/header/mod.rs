//! The SAM header as its lines: unknown lines, unknown tags and their order survive.
//!
//! A small model of our own: the header types of `noodles-sam` drop line types they do not know and
//! regroup the rest, and a preparation tool must hand on what it does not understand.

mod change;
mod line;
pub mod merge;

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};

pub use line::Line;
pub use merge::{Fate, Merged, Names, Renames};

/// A reference sequence: its name and length in bases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// SN.
    pub name: Vec<u8>,
    /// LN.
    pub length: u32,
}

/// A header: its lines, and the dictionary of reference sequences they define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    lines: Vec<Line>,
    references: Vec<Reference>,
}

impl Header {
    /// Reads header text, every line of which starts with `@`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut header = Header::default();
        let text = text.split(|&b| b == 0).next().unwrap_or_default(); // BAM text may be NUL-padded
        for line in text.split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            if line[0] != b'@' || line.len() < 3 {
                return Err(Error::input(format!("not a header line: {shown:?}")));
            }
            // samtools reads no header that begins with a bare @CO, and gives it an empty comment elsewhere.
            header.lines.push(Line::new(if line == b"@CO" { b"@CO\t" } else { line }));
        }
        header.read_references()?;
        Ok(header)
    }

    fn read_references(&mut self) -> Result<()> {
        let mut seen = HashSet::new();
        self.references.clear();
        for line in self.lines.iter().filter(|line| line.kind() == b"SQ") {
            let shown = String::from_utf8_lossy(line.text()).into_owned();
            let name = line.get(b"SN").filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| Error::input(format!("@SQ without SN: {shown:?}")))?;
            let length = line.get(b"LN").and_then(|v| std::str::from_utf8(v).ok()?.parse().ok());
            let length = length.filter(|&n: &u32| n <= i32::MAX as u32).ok_or_else(|| {
                Error::input(format!("@SQ needs an LN from 0 to 2147483647: {shown:?}"))
            })?;
            if !seen.insert(name) {
                return Err(Error::input(format!("two @SQ lines share one name: {shown:?}")));
            }
            self.references.push(Reference { name: name.to_vec(), length });
        }
        Ok(())
    }

    /// The header as text, every line ended.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for line in &self.lines {
            out.extend_from_slice(line.text());
            out.push(b'\n');
        }
        out
    }

    /// The lines in order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Lines of one kind, such as `RG`.
    pub fn lines_of(&self, kind: &[u8; 2]) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.kind() == kind)
    }

    /// The dictionary of reference sequences, in order.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Number of reference sequences, which BAM bounds to 31 bits.
    pub fn n_ref(&self) -> i32 {
        self.references.len() as i32
    }

    /// Index of each reference sequence by its name.
    pub fn reference_ids(&self) -> HashMap<Vec<u8>, i32> {
        let names = self.references.iter().enumerate();
        names.map(|(i, reference)| (reference.name.clone(), i as i32)).collect()
    }

    /// Takes the binary dictionary of a BAM file: it becomes the @SQ lines where the text has none,
    /// and must agree with them where it has.
    pub fn with_dictionary(mut self, dictionary: Vec<Reference>) -> Result<Self> {
        if self.references.is_empty() && !dictionary.is_empty() {
            for reference in &dictionary {
                let name = String::from_utf8_lossy(&reference.name);
                self.lines.push(Line::new(format!("@SQ\tSN:{name}\tLN:{}", reference.length)));
            }
            self.read_references()?;
        }
        if self.references != dictionary {
            return Err(Error::input(
                "the header's @SQ lines and its binary dictionary of reference sequences differ",
            ));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    fn text(header: &Header) -> String {
        String::from_utf8(header.to_text()).unwrap()
    }

    #[test]
    fn unknown_lines_and_tag_order_survive() {
        let given = "@CO\tfirst\n@HD\tzz:1\tVN:1.5\n@XY\tany:thing\n@SQ\tLN:9\tSN:c\txx:y\n@CO\ta\tb\n";
        assert_eq!(text(&header(given)), given);
    }

    #[test]
    fn a_comment_without_text_has_a_tab_as_samtools_writes_it() {
        assert_eq!(text(&header("@CO\n@HD\tVN:1.6\n@CO\t\n")), "@CO\t\n@HD\tVN:1.6\n@CO\t\n");
    }

    #[test]
    fn bad_dictionaries_are_refused() {
        for bad in
            ["@SQ\tLN:5\n", "@SQ\tSN:a\n", "@SQ\tSN:a\tLN:x\n", "@SQ\tSN:a\tLN:1\n@SQ\tSN:a\tLN:1\n"]
        {
            assert!(Header::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Header::parse(b"garbage\n").is_err());
        let given = header("@SQ\tSN:a\tLN:5\n");
        assert!(given.with_dictionary(vec![]).is_err());
    }
}

//! The SAM header as its lines: unknown lines, unknown tags and their order survive.
//!
//! A small model of our own: the header types of `noodles-sam` drop line types they do not know and
//! regroup the rest, and a preparation tool must hand on what it does not understand.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};

/// One header line, without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line(Vec<u8>);

impl Line {
    /// A line as it stands in a file, such as `@RG\tID:1`.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        Line(text.into())
    }

    /// The line as it stands in a file.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// The two letters after the `@`.
    pub fn kind(&self) -> &[u8] {
        self.0.get(1..3).unwrap_or_default()
    }

    /// The value of a tag.
    pub fn get(&self, tag: &[u8; 2]) -> Option<&[u8]> {
        self.fields().find(|field| field.starts_with(tag) && field[2] == b':').map(|f| &f[3..])
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let fields = self.0.split(|&b| b == b'\t').skip(1);
        fields.filter(|field| field.len() >= 3)
    }

    /// Sets a tag where it stands, or at the end.
    pub fn set(&mut self, tag: &[u8; 2], value: &[u8]) {
        let new = [&tag[..], b":", value].concat();
        let mut found = false;
        let mut parts: Vec<Vec<u8>> = self.0.split(|&b| b == b'\t').map(<[u8]>::to_vec).collect();
        for part in parts.iter_mut().skip(1) {
            if part.starts_with(&new[..3]) {
                part.clone_from(&new);
                found = true;
            }
        }
        if !found {
            parts.push(new);
        }
        self.0 = parts.join(&b'\t');
    }

    /// Removes a tag.
    pub fn remove(&mut self, tag: &[u8; 2]) {
        let parts = self.0.split(|&b| b == b'\t').enumerate();
        let kept: Vec<&[u8]> = parts
            .filter(|&(i, part)| i == 0 || !(part.starts_with(tag) && part.get(2) == Some(&b':')))
            .map(|(_, part)| part)
            .collect();
        self.0 = kept.join(&b'\t');
    }
}

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
            header.lines.push(Line::new(line));
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

    /// Replaces all lines of a kind by `new`, which stand where the first of them stood, else before
    /// the first line of a kind in `before`, else at the end.
    pub fn replace(&mut self, kind: &[u8; 2], new: Vec<Line>, before: &[&[u8; 2]]) -> Result<()> {
        let first_of = |kinds: &[&[u8; 2]]| {
            self.lines.iter().position(|line| kinds.iter().any(|k| line.kind() == *k))
        };
        let at = first_of(&[kind]).or_else(|| first_of(before)).unwrap_or(self.lines.len());
        let tail = self.lines.split_off(at);
        self.lines.extend(new);
        self.lines.extend(tail.into_iter().filter(|line| line.kind() != kind));
        self.read_references()
    }

    /// Whether @HD says that records are sorted by coordinate.
    pub fn claims_coordinate_order(&self) -> bool {
        self.lines_of(b"HD").any(|line| line.get(b"SO") == Some(b"coordinate"))
    }

    /// Sets the order in @HD as `samtools sort` does: SO always, GO and SS only where the new order
    /// has them (spec: SAM section 1.3; behaviour: samtools 1.16 and later).
    pub fn set_order(&mut self, so: &[u8], go: Option<&[u8]>, ss: Option<&[u8]>) {
        if self.lines_of(b"HD").next().is_none() {
            self.lines.insert(0, Line::new("@HD\tVN:1.6"));
        }
        for line in self.lines.iter_mut().filter(|line| line.kind() == b"HD") {
            line.set(b"SO", so);
            for (tag, value) in [(b"GO", go), (b"SS", ss)] {
                match value {
                    Some(value) => line.set(tag, value),
                    None => line.remove(tag),
                }
            }
        }
    }

    /// Appends a @PG line for each chain of programs, as `samtools` does: one for every chain of two
    /// or more programs; without such a chain, one after the last program.
    pub fn add_program(&mut self, name: &str, version: &str, command_line: &str) {
        let of = |tag| self.lines_of(b"PG").filter_map(move |l| l.get(tag)).map(<[u8]>::to_vec);
        let mut taken: HashSet<Vec<u8>> = of(b"ID").collect();
        let named_as_previous: HashSet<Vec<u8>> = of(b"PP").collect();
        let is_end = |line: &&Line| line.get(b"ID").is_some_and(|id| !named_as_previous.contains(id));
        let id = |line: &Line| line.get(b"ID").map(<[u8]>::to_vec);
        let ends = || self.lines_of(b"PG").filter(is_end);
        let mut previous: Vec<Option<Vec<u8>>> =
            ends().filter(|line| line.get(b"PP").is_some()).map(id).collect();
        if previous.is_empty() {
            previous.push(ends().last().and_then(id));
        }
        let mut counter = 0;
        let printable = |c: char| if c.is_control() { '?' } else { c };
        let command_line: String = command_line.chars().map(printable).collect();
        for before in previous {
            let mut id = name.to_string();
            while !taken.insert(id.clone().into_bytes()) {
                counter += 1;
                id = format!("{name}.{counter}");
            }
            let mut line = format!("@PG\tID:{id}\tPN:{name}").into_bytes();
            if let Some(before) = before {
                line.extend_from_slice(b"\tPP:");
                line.extend_from_slice(&before);
            }
            line.extend_from_slice(format!("\tVN:{version}\tCL:{command_line}").as_bytes());
            self.lines.push(Line(line));
        }
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
    fn the_order_is_set_as_samtools_sets_it() {
        let mut h = header("@HD\tVN:1.4\tSO:unsorted\tGO:query\tSS:x\n@CO\tc\n");
        h.set_order(b"coordinate", None, None);
        assert_eq!(text(&h), "@HD\tVN:1.4\tSO:coordinate\n@CO\tc\n");
        let mut h = header("@CO\tc\n");
        h.set_order(b"coordinate", None, None);
        assert_eq!(text(&h), "@HD\tVN:1.6\tSO:coordinate\n@CO\tc\n");
    }

    #[test]
    fn programs_are_chained() {
        let cases = [
            ("", "@PG\tID:p\tPN:p\tVN:1\tCL:x\n"),
            ("@PG\tID:a\n@PG\tID:b\n", "@PG\tID:p\tPN:p\tPP:b\tVN:1\tCL:x\n"),
            ("@PG\tID:a\n@PG\tID:p\tPP:a\n", "@PG\tID:p.1\tPN:p\tPP:p\tVN:1\tCL:x\n"),
            (
                "@PG\tID:a\n@PG\tID:b\tPP:a\n@PG\tID:c\n@PG\tID:d\tPP:c\n@PG\tID:lone\n",
                "@PG\tID:p\tPN:p\tPP:b\tVN:1\tCL:x\n@PG\tID:p.1\tPN:p\tPP:d\tVN:1\tCL:x\n",
            ),
        ];
        for (before, added) in cases {
            let mut h = header(before);
            h.add_program("p", "1", "x");
            assert_eq!(text(&h), format!("{before}{added}"));
        }
    }

    #[test]
    fn lines_are_replaced_in_place() {
        let mut h = header("@HD\tVN:1\n@RG\tID:a\n@CO\tx\n@RG\tID:b\n@PG\tID:p\n");
        h.replace(b"RG", vec![Line::new("@RG\tID:n")], &[b"PG", b"CO"]).unwrap();
        assert_eq!(text(&h), "@HD\tVN:1\n@RG\tID:n\n@CO\tx\n@PG\tID:p\n");
        let mut h = header("@HD\tVN:1\n@CO\tx\n@PG\tID:p\n");
        h.replace(b"RG", vec![Line::new("@RG\tID:n")], &[b"PG", b"CO"]).unwrap();
        assert_eq!(text(&h), "@HD\tVN:1\n@RG\tID:n\n@CO\tx\n@PG\tID:p\n");
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

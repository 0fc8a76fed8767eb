//! Names for the files of read groups, from a pattern such as `lanes/{PU}_{end}.fastq.gz` or from a
//! table.

use std::collections::HashMap;
use std::path::PathBuf;

use readmill_record::header::HeaderLine;
use readmill_record::{Error, Result};

/// Replaces the fields of `@RG` in the file name for reads without a read group.
pub const NO_GROUP: &str = "no-read-group";

/// The column names of a file table, as in the `OUTPUT_MAP` of Picard RevertSam.
const COLUMNS: [&str; 2] = ["READ_GROUP_ID", "OUTPUT"];

/// A parsed file name pattern. [`NamePattern::parse`] lists its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
    parts: Vec<NamePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NamePart {
    Text(String),
    /// A field of `@RG`. Unless `raw` is set, characters that are special to shells and file
    /// systems are replaced by `_`.
    Field {
        name: [u8; 2],
        raw: bool,
    },
    /// The 0-based index of the read group in the header, padded with zeros to this number of
    /// digits.
    Number(usize),
    /// 1 for read 1, 2 for read 2.
    End,
}

impl NamePattern {
    /// Parses a pattern. It must contain at least one field of the read group.
    ///
    /// | field | replaced by |
    /// |---|---|
    /// | `{ID}`, `{PU}` … | this field of `@RG`, with special characters replaced by `_` |
    /// | `{ID:raw}` | this field of `@RG`, unchanged |
    /// | `{n}`, `{n:3}` | the 0-based index of the read group in the header; with at least 3 digits |
    /// | `{end}` | 1 for read 1, 2 for read 2 |
    /// | `{{`, `}}` | a brace |
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            plain += &rest[..at];
            let tail = &rest[at..];
            if let Some(behind) = tail.strip_prefix("{{").or_else(|| tail.strip_prefix("}}")) {
                plain.push_str(&tail[..1]);
                rest = behind;
                continue;
            }
            let inner = tail.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (word, behind) = inner.ok_or_else(|| {
                format!("{text:?} has an unmatched brace; for a literal brace, use {{{{ or }}}}")
            })?;
            if !plain.is_empty() {
                parts.push(NamePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(NamePart::parse(word)?);
            rest = behind;
        }
        plain += rest;
        if !plain.is_empty() {
            parts.push(NamePart::Text(plain));
        }
        let tells = |part: &NamePart| matches!(part, NamePart::Field { .. } | NamePart::Number(_));
        if !parts.iter().any(tells) {
            return Err(format!("{text:?} has no read group field, such as {{ID}} or {{PU}}"));
        }
        Ok(NamePattern { text: text.to_string(), parts })
    }

    /// Returns the pattern as the user wrote it.
    pub fn pattern_text(&self) -> &str {
        &self.text
    }

    /// Returns whether read 1 and read 2 are written to different files.
    pub fn has_end(&self) -> bool {
        self.parts.contains(&NamePart::End)
    }

    /// Returns the file name for a read group and a read number. `number` is the index of the read
    /// group in the header, and `end` is 1 or 2. `None` as `group` means reads without a read
    /// group.
    ///
    /// # Errors
    /// Fails if the read group lacks a field of the pattern, or if the value of the field cannot be
    /// part of a file name.
    pub fn path(&self, group: Option<&HeaderLine>, number: usize, end: u8) -> Result<PathBuf> {
        let mut name = String::new();
        for part in &self.parts {
            match (part, group) {
                (NamePart::Text(text), _) => name += text,
                (NamePart::End, _) => name += &end.to_string(),
                (NamePart::Field { .. } | NamePart::Number(_), None) => name += NO_GROUP,
                (&NamePart::Number(digits), Some(_)) => name += &format!("{number:0digits$}"),
                (NamePart::Field { name: field, raw }, Some(group)) => {
                    name += &group_field(group, *field, *raw)?;
                }
            }
        }
        Ok(name.into())
    }
}

impl NamePart {
    fn parse(word: &str) -> Result<Self, String> {
        let (name, raw) = match word.strip_suffix(":raw") {
            Some(name) => (name, true),
            None => (word, false),
        };
        let digits = |text: &str| text.parse().ok().filter(|digits| *digits <= 20);
        match (name, name.strip_prefix("n:").and_then(digits)) {
            ("end", _) if !raw => Ok(NamePart::End),
            ("n", _) if !raw => Ok(NamePart::Number(0)),
            (_, Some(digits)) if !raw => Ok(NamePart::Number(digits)),
            _ => match *name.as_bytes() {
                [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => {
                    Ok(NamePart::Field { name: [a, b], raw })
                }
                _ => Err(format!(
                    "{{{word}}} is not valid; use {{ID}} or another field of @RG, {{n}}, {{n:DIGITS}} or {{end}}"
                )),
            },
        }
    }
}

/// Returns the value of an `@RG` field as part of a file name.
fn group_field(group: &HeaderLine, field: [u8; 2], raw: bool) -> Result<String> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let id = group.get(b"ID").map(shown).unwrap_or_default();
    let missing = || {
        let field = shown(&field);
        Error::input(format!("the read group {id:?} has no {field}, which is needed for the file name"))
            .hint("use another field in file names, such as {ID} (Picard: RG_TAG=ID)")
    };
    let text = shown(group.get(&field).ok_or_else(missing)?);
    let name = if raw { text } else { replace_unsafe(&text) };
    if ["", ".", ".."].contains(&name.as_str()) || name.contains('/') {
        return Err(Error::input(format!(
            "{name:?} of the read group {id:?} cannot be used in a file name"
        ))
        .hint("use another field in file names, or rename the read group"));
    }
    Ok(name)
}

/// Replaces the characters that are special to shells and file systems by `_`: the same set as in
/// htsjdk 4.2.0 (`IOUtil.makeFileNameSafe`).
fn replace_unsafe(text: &str) -> String {
    let is_unsafe =
        |c: char| c.is_ascii_whitespace() || c.is_ascii_punctuation() && !"+,-._".contains(c);
    let text = text.trim_matches(|c: char| c <= ' ');
    text.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect()
}

/// Parses a file table. Each line has the ID of a read group, a tab, and a file name. If the first
/// line has column names, they define the column order.
///
/// # Errors
/// Fails if a line does not have two columns, or if a read group occurs twice.
pub fn parse_file_table(lines: impl Iterator<Item = String>) -> Result<HashMap<String, PathBuf>> {
    let (mut files, mut columns) = (HashMap::new(), [0, 1]);
    for (number, line) in lines.enumerate() {
        let words: Vec<&str> = line.split('\t').collect();
        let place = |name: &str| words.iter().position(|word| *word == name);
        if let (0, [Some(id), Some(file)]) = (number, COLUMNS.map(place)) {
            columns = [id, file];
            continue;
        }
        let [Some(id), Some(file)] = columns.map(|at| words.get(at).filter(|word| !word.is_empty()))
        else {
            return Err(Error::input(format!(
                "line {} of the file name table does not have two columns",
                number + 1
            ))
            .hint("each line must have a read group ID, a tab, and a file name"));
        };
        if files.insert(id.to_string(), PathBuf::from(file)).is_some() {
            return Err(Error::input(format!("the file name table has the read group {id:?} twice"))
                .hint("list each read group only once"));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::Header;

    fn path(pattern: &str, group: &str, number: usize) -> String {
        let header = Header::parse(format!("@RG\t{group}\n").as_bytes()).unwrap();
        let line = header.lines_of_kind(b"RG").next();
        let made = NamePattern::parse(pattern).unwrap().path(line, number, 2);
        made.map_or_else(|error| error.to_string(), |path| path.display().to_string())
    }

    #[test]
    fn names_are_made_of_fields_numbers_and_ends() {
        let group = "ID:a:1 b\tPU:FC.1,2+x-y_z";
        assert_eq!(path("d/{PU}_{end}.fq", group, 0), "d/FC.1,2+x-y_z_2.fq");
        assert_eq!(path("{ID}", group, 0), "a_1_b");
        assert_eq!(path("{ID:raw}{n:3}{n}", group, 7), "a:1 b0077");
        assert_eq!(path("{{{ID}}}", group, 0), "{a_1_b}");
        let none = NamePattern::parse("{PU}_{end}").unwrap().path(None, 3, 1).unwrap();
        assert_eq!(none, PathBuf::from("no-read-group_1"));
    }

    #[test]
    fn what_names_no_file_is_refused() {
        assert!(path("{PU}", "ID:a", 0).contains("has no PU"));
        assert!(path("{ID:raw}", "ID:a/b", 0).contains("cannot be used in a file name"));
        assert!(path("{ID}", "ID:..", 0).contains("cannot be used in a file name"));
        for pattern in ["x", "{end}.fq", "{ID", "ID}", "{IDX}", "{}", "{n:99}", "{end:raw}"] {
            assert!(NamePattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn tables_tell_files() {
        let read = |text: &str| parse_file_table(text.lines().map(str::to_string));
        let wanted = HashMap::from([("a".to_string(), PathBuf::from("x.bam"))]);
        for text in ["a\tx.bam", "READ_GROUP_ID\tOUTPUT\na\tx.bam", "OUTPUT\tREAD_GROUP_ID\nx.bam\ta"] {
            assert_eq!(read(text), Ok(wanted.clone()), "{text}");
        }
        assert!(read("a\tx\na\ty").is_err());
        assert!(read("a").is_err());
    }
}

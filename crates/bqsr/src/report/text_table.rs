//! Splits a GATKReport into tables of text, before their values are parsed.

use readmill_record::{Charge, Error, Result, make_room};

use crate::java::trim;

/// A table of text. Its values are found by the start of the column names, so they may have spaces.
pub(super) struct TextTable<'a> {
    pub name: &'a [u8],
    columns: Vec<&'a [u8]>,
    /// The start of each column after the first, in characters.
    starts: Vec<usize>,
    first_line: usize,
    rows: Vec<&'a [u8]>,
}

/// A row: its line in the file, from 1, and its values.
pub(super) struct TextRow<'a> {
    pub line: usize,
    pub values: Vec<&'a [u8]>,
}

/// Returns an error with its line.
pub(super) fn wrong(line: usize, what: impl std::fmt::Display) -> Error {
    Error::input(format!("line {line}: {what}"))
        .hint("make the report again with BaseRecalibrator or readmill bqsr table")
}

/// Returns all tables of a report.
pub(super) fn text_tables<'a>(text: &'a [u8], charge: &mut Charge) -> Result<Vec<TextTable<'a>>> {
    let mut lines = LineCursor::of(text);
    let count = head(lines.next("the line #:GATKReport")?)?;
    let mut text_tables = Vec::new();
    for _ in 0..count {
        make_room(&mut text_tables, 1, charge)?;
        text_tables.push(text_table(&mut lines, charge)?);
    }
    match lines.rest() {
        Some(line) => Err(wrong(line, format!("there is text after the last of {count} tables"))),
        None => Ok(text_tables),
    }
}

/// Parses the number of tables in the first line.
fn head(line: &[u8]) -> Result<usize> {
    let Some(rest) = line.strip_prefix(b"#:GATKReport.") else {
        let old = line.starts_with(b"##:GATKReport.v0");
        let what = if old {
            "a report of version 0, which GATK 4 does not read either"
        } else {
            "no GATKReport"
        };
        return Err(wrong(1, format!("this is {what}")));
    };
    if !rest.starts_with(b"v1.1") {
        let version = String::from_utf8_lossy(rest);
        return Err(wrong(
            1,
            format!("the report is {version}, and only v1.1 can be read, in GATK 4 too"),
        ));
    }
    let count = line.split(|&byte| byte == b':').nth(2).and_then(number);
    count.ok_or_else(|| wrong(1, "the number of tables is missing"))
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn text_table<'a>(lines: &mut LineCursor<'a>, charge: &mut Charge) -> Result<TextTable<'a>> {
    let sizes = fields(lines, "the sizes of a table", charge)?;
    let line = lines.line;
    let size = |at: usize, of: &str| {
        let size = sizes.get(at).copied().and_then(number);
        size.ok_or_else(|| wrong(line, format!("the number of {of} is missing")))
    };
    let (width, height) = (size(2, "columns")?, size(3, "rows")?);
    let names = fields(lines, "the name of a table", charge)?;
    let name = names.get(2).copied().unwrap_or_default();

    let heading = lines.next("the names of columns")?;
    // Each character can be a column: its start, and its name, twice.
    charge.grow(heading.len() as u64 * 20)?;
    let starts = word_starts(heading);
    let columns = cut(heading, &starts);
    let columns = columns.and_then(|all| all.get(..width).map(<[&[u8]]>::to_vec));
    let columns =
        columns.ok_or_else(|| wrong(lines.line, format!("there are fewer than {width} columns")))?;
    let first_line = lines.line + 1;
    let shown = String::from_utf8_lossy(name).into_owned();
    let mut rows = Vec::new();
    for _ in 0..height {
        make_room(&mut rows, 1, charge)?;
        rows.push(lines.next(&format!("a row of {shown}"))?);
    }
    lines.blank()?;
    Ok(TextTable { name, columns, starts, first_line, rows })
}

/// The most fields of such a line that are used.
const MOST_FIELDS: usize = 8;

/// Splits a line that begins with #:GATKTable at its colons.
fn fields<'a>(lines: &mut LineCursor<'a>, what: &str, charge: &mut Charge) -> Result<Vec<&'a [u8]>> {
    let text = lines.next(what)?;
    if !text.starts_with(b"#:GATKTable:") {
        return Err(wrong(lines.line, format!("{what} should be here, after #:GATKTable")));
    }
    let mut fields = Vec::new();
    for field in text.split(|&byte| byte == b':').take(MOST_FIELDS) {
        make_room(&mut fields, 1, charge)?;
        fields.push(field);
    }
    Ok(fields)
}

impl<'a> TextTable<'a> {
    /// Returns the rows with the values of the given columns, in that order.
    pub fn rows<'s>(
        &'s self,
        columns: &[&str],
    ) -> Result<impl Iterator<Item = Result<TextRow<'a>>> + use<'a, 's>> {
        let place = |name: &&str| {
            let found = self.columns.iter().position(|column| *column == name.as_bytes());
            found.ok_or_else(|| wrong(self.first_line - 1, format!("the column {name} is missing")))
        };
        let places = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(self.rows.iter().zip(self.first_line..).map(move |(row, line)| {
            let all = cut(row, &self.starts)
                .ok_or_else(|| wrong(line, "the row is shorter than its heading"))?;
            Ok(TextRow { line, values: places.iter().map(|&place| all[place]).collect() })
        }))
    }
}

/// Returns the start of each word except the first.
fn word_starts(line: &[u8]) -> Vec<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let begins = |pair: &[u8]| blank(&pair[0]) && !blank(&pair[1]);
    line.windows(2).zip(1..).filter(|(pair, _)| begins(pair)).map(|(_, at)| at).collect()
}

/// Splits a line into values, without spaces around them. `None` if the line ends before the last begins.
fn cut<'a>(line: &'a [u8], starts: &[usize]) -> Option<Vec<&'a [u8]>> {
    let mut values = Vec::with_capacity(starts.len() + 1);
    let mut from = 0;
    for &start in starts {
        let to = byte_at(line, start)?;
        values.push(trim(line.get(from..to)?));
        from = to;
    }
    values.push(trim(&line[from..]));
    Some(values)
}

/// Returns the byte offset of a character as Java counts them.
fn byte_at(line: &[u8], character: usize) -> Option<usize> {
    match std::str::from_utf8(line) {
        Ok(text) if !line.is_ascii() => {
            let mut units = 0;
            let ends = text.char_indices().map(|(at, it)| {
                units += it.len_utf16();
                (at + it.len_utf8(), units)
            });
            let mut places = std::iter::once((0, 0)).chain(ends);
            places.find(|(_, units)| *units >= character).map(|(at, _)| at)
        }
        _ => (character <= line.len()).then_some(character),
    }
}

/// A cursor over lines, counted from 1.
struct LineCursor<'a> {
    rest: std::slice::Split<'a, u8, fn(&u8) -> bool>,
    line: usize,
}

impl<'a> LineCursor<'a> {
    fn of(text: &'a [u8]) -> Self {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        LineCursor { rest: text.split(|&byte| byte == b'\n'), line: 0 }
    }

    fn take(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.next()?;
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn next(&mut self, what: &str) -> Result<&'a [u8]> {
        let end = self.line + 1;
        self.take().ok_or_else(|| wrong(end, format!("the report ends where {what} should be")))
    }

    /// Skips the line between tables, which may be missing at the end of the file.
    fn blank(&mut self) -> Result<()> {
        match self.take() {
            Some(line) if !trim(line).is_empty() => {
                Err(wrong(self.line, "a table has more rows than its first line says"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of the next line that is not blank.
    fn rest(&mut self) -> Option<usize> {
        while let Some(line) = self.take() {
            if !trim(line).is_empty() {
                return Some(self.line);
            }
        }
        None
    }
}

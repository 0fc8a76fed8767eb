//! Parses a report as GATK 4 does.
//!
//! The text is first split into tables, whose columns are found by name. Then the values are
//! parsed. A report that GATK rejects is also an error here, and the message names the line.
//! Empirical qualities are not read, but recomputed from the counts.

use std::str::FromStr;

use readmill_record::{Charge, Error, Result, make_room};

use super::arguments::Arguments;
use super::rows::{Covariate, CovariateRow, GroupRows, QualityRow, Quantization, RecalReport};
use crate::counters::{Datum, ErrorEvent, encode_context};
use crate::covariates::QUALITIES;
use crate::java::{self, trim_blanks};
use crate::recal_datum::RecalDatum;

pub(super) fn parse_report(text: &[u8], charge: &mut Charge) -> Result<RecalReport> {
    let mut reading = charge.ledger().empty_charge(CHARGE_NAME);
    let text_tables = split_tables(text, &mut reading)?;
    let text_table = |name: &str| {
        // If two tables have the same name, GATK uses the later one.
        let found = text_tables.iter().rev().find(|text_table| text_table.name == name.as_bytes());
        found.ok_or_else(|| Error::input(format!("the table {name} is missing")))
    };
    let (arguments, stated) = parse_arguments(text_table("Arguments")?, charge)?;
    let quantization = parse_quantization(text_table("Quantized")?)?;
    let mut groups = parse_groups(text_table("RecalTable0")?, charge)?;
    parse_reported_qualities(text_table("RecalTable1")?, &mut groups, charge)?;
    parse_covariates(text_table("RecalTable2")?, &arguments, &mut groups, charge)?;
    Ok(RecalReport { arguments, printed_arguments: stated, quantization, groups })
}

const CHARGE_NAME: &str = "the recalibration table";

fn parse_arguments(
    text_table: &TextTable<'_>,
    charge: &mut Charge,
) -> Result<(Arguments, Vec<(String, String)>)> {
    let mut arguments = Arguments::default();
    let mut stated = Vec::new();
    for row in text_table.rows_of_columns(&["Argument", "Value"])? {
        let row = row?;
        let text = |at: usize| String::from_utf8_lossy(row.values[at]).into_owned();
        let (name, value) = (text(0), text(1));
        arguments.set_argument(&name, &value).map_err(|error| line_error(row.line, error.what))?;
        make_room(&mut stated, 1, charge)?;
        charge.grow((name.len() + value.len()) as u64)?;
        stated.push((name, value));
    }
    arguments.check_ranges().map_err(|error| Error::input(error.what))?;
    Ok((arguments, stated))
}

/// Parses the Quantized table. Like GATK, it uses the row number as the quality instead of the
/// column QualityScore.
fn parse_quantization(text_table: &TextTable<'_>) -> Result<Quantization> {
    let mut quantization = Quantization { counts: [0; QUALITIES], map: [0; QUALITIES] };
    let mut rows = 0;
    for row in text_table.rows_of_columns(&["Count", "QuantizedScore"])? {
        let row = row?;
        let quality: u8 = row.parse(1, "QuantizedScore")?;
        if usize::from(quality) >= QUALITIES || rows == QUALITIES {
            return Err(line_error(row.line, "the table Quantized has a quality above 93"));
        }
        quantization.counts[rows] = row.parse(0, "Count")?;
        quantization.map[rows] = quality;
        rows += 1;
    }
    match rows {
        QUALITIES => Ok(quantization),
        _ => Err(Error::input(format!("the table Quantized has {rows} rows instead of {QUALITIES}"))),
    }
}

fn parse_groups(text_table: &TextTable<'_>, charge: &mut Charge) -> Result<Vec<GroupRows>> {
    let mut groups: Vec<GroupRows> = Vec::new();
    for row in text_table.rows_of_columns(&[
        "ReadGroup",
        "EventType",
        "Observations",
        "Errors",
        "EstimatedQReported",
    ])? {
        let row = row?;
        let reported: f64 = row.parse(4, "EstimatedQReported")?;
        if !reported.is_finite() || reported < 0.0 {
            return Err(line_error(
                row.line,
                format!("EstimatedQReported is {reported}, which is not a quality"),
            ));
        }
        let recal_datum = row.parse_datum(2, reported)?;
        let event = row.parse_event(1)?;
        let found = groups.binary_search_by(|group| java::compare_utf16(&group.name, row.values[0]));
        let at = found.unwrap_or_else(|at| at);
        if found.is_err() {
            make_room(&mut groups, 1, charge)?;
            let mut name = Vec::new();
            make_room(&mut name, row.values[0].len(), charge)?;
            name.extend_from_slice(row.values[0]);
            groups.insert(at, GroupRows { name, ..GroupRows::default() });
        }
        groups[at].events[event.index()] = Some(recal_datum);
    }
    Ok(groups)
}

fn parse_reported_qualities(
    text_table: &TextTable<'_>,
    groups: &mut [GroupRows],
    charge: &mut Charge,
) -> Result<()> {
    for row in text_table.rows_of_columns(&[
        "ReadGroup",
        "QualityScore",
        "EventType",
        "Observations",
        "Errors",
    ])? {
        let row = row?;
        let (quality, event) = (row.parse_quality(1)?, row.parse_event(2)?);
        let recal_datum = row.parse_datum(3, f64::from(quality))?;
        let rows = &mut row.group_mut(groups)?.qualities;
        make_room(rows, 1, charge)?;
        rows.push(QualityRow { quality, event, recal_datum });
    }
    for group in groups {
        let _sorting = charge_sort_memory(&group.qualities, charge)?;
        group.qualities.sort_by_key(|row| (row.quality, row.event));
        keep_last(&mut group.qualities, |row| (row.quality, row.event));
    }
    Ok(())
}

fn parse_covariates(
    text_table: &TextTable<'_>,
    arguments: &Arguments,
    groups: &mut [GroupRows],
    charge: &mut Charge,
) -> Result<()> {
    let columns = [
        "ReadGroup",
        "QualityScore",
        "CovariateValue",
        "CovariateName",
        "EventType",
        "Observations",
        "Errors",
    ];
    for row in text_table.rows_of_columns(&columns)? {
        let row = row?;
        let (quality, event) = (row.parse_quality(1)?, row.parse_event(4)?);
        let covariate = row.parse_covariate(2, arguments)?;
        let recal_datum = row.parse_datum(5, f64::from(quality))?;
        let rows = &mut row.group_mut(groups)?.covariates;
        make_room(rows, 1, charge)?;
        rows.push(CovariateRow { quality, covariate, event, recal_datum });
    }
    for group in groups {
        let _sorting = charge_sort_memory(&group.covariates, charge)?;
        group.covariates.sort_by_key(|row| (row.quality, row.covariate, row.event));
        keep_last(&mut group.covariates, |row| (row.quality, row.covariate, row.event));
    }
    Ok(())
}

/// Charges the temporary memory that a stable sort of the rows needs.
fn charge_sort_memory<R>(rows: &[R], charge: &Charge) -> Result<Charge> {
    charge.ledger().charge(CHARGE_NAME, size_of_val(rows) as u64)
}

/// Keeps only the last of adjacent rows with the same key, as GATK does.
fn keep_last<R: Copy, K: PartialEq>(rows: &mut Vec<R>, key: impl Fn(&R) -> K) {
    rows.dedup_by(|later, earlier| {
        let same = key(later) == key(earlier);
        if same {
            *earlier = *later;
        }
        same
    });
}

impl TextRow<'_> {
    fn value_text(&self, at: usize) -> String {
        String::from_utf8_lossy(self.values[at]).into_owned()
    }

    fn parse<T: FromStr>(&self, at: usize, name: &str) -> Result<T> {
        let value = self.value_text(at);
        value.parse().map_err(|_| {
            line_error(self.line, format!("{name} is {value:?}, which is not a valid number"))
        })
    }

    fn group_mut<'g>(&self, groups: &'g mut [GroupRows]) -> Result<&'g mut GroupRows> {
        match groups.binary_search_by(|group| java::compare_utf16(&group.name, self.values[0])) {
            Ok(at) => Ok(&mut groups[at]),
            Err(_) => Err(line_error(
                self.line,
                format!("the read group {} is not in the table RecalTable0", self.value_text(0)),
            )),
        }
    }

    fn parse_event(&self, at: usize) -> Result<ErrorEvent> {
        let found =
            ErrorEvent::ALL.into_iter().find(|event| event.letter().as_bytes() == self.values[at]);
        found.ok_or_else(|| {
            line_error(
                self.line,
                format!("EventType is {:?}, which is not M, I or D", self.value_text(at)),
            )
        })
    }

    fn parse_quality(&self, at: usize) -> Result<u8> {
        match self.parse(at, "QualityScore")? {
            quality if usize::from(quality) < QUALITIES => Ok(quality),
            quality => Err(line_error(self.line, format!("QualityScore is {quality}, above 93"))),
        }
    }

    /// Parses the observations in column `at` and the errors in the next column. Early reports of
    /// GATK 2 have decimals in both.
    fn parse_datum(&self, at: usize, reported: f64) -> Result<RecalDatum> {
        let observations = match self.parse::<i64>(at, "Observations") {
            Ok(whole) => whole,
            Err(_) => self.parse::<f64>(at, "Observations")? as i64,
        };
        let errors: f64 = self.parse(at + 1, "Errors")?;
        let possible = 0.0..observations as f64 + 1.0;
        match u64::try_from(observations) {
            Ok(observations) if possible.contains(&errors) => {
                Ok(RecalDatum::new(Datum { observations, errors }, reported))
            }
            _ => {
                let what = format!("there cannot be {errors} errors in {observations} observations");
                Err(line_error(self.line, what))
            }
        }
    }

    /// Parses the covariate value in column `at` and the covariate name in the next column.
    fn parse_covariate(&self, at: usize, arguments: &Arguments) -> Result<Covariate> {
        match self.values[at + 1] {
            b"Context" => {
                let bases = self.values[at];
                let longest = arguments.max_context_size();
                let code =
                    encode_context(bases).filter(|_| (0..=usize::from(longest)).contains(&bases.len()));
                let code = code.ok_or_else(|| {
                    let what = format!(
                        "the context {:?} does not consist of at most {longest} bases A, C, G, T",
                        self.value_text(at)
                    );
                    line_error(self.line, what)
                })?;
                Ok(Covariate::Context { size: bases.len() as u8, code: code as u32 })
            }
            b"Cycle" => {
                let cycle: i32 = self.parse(at, "the cycle")?;
                if cycle.unsigned_abs() > arguments.maximum_cycle_value {
                    let what = format!(
                        "cycle {cycle} is beyond maximum_cycle_value {}",
                        arguments.maximum_cycle_value
                    );
                    return Err(line_error(self.line, what));
                }
                Ok(Covariate::Cycle(cycle))
            }
            _ => {
                let name = self.value_text(at + 1);
                Err(line_error(
                    self.line,
                    format!("CovariateName is {name:?}, which is not Context or Cycle"),
                ))
            }
        }
    }
}

/// A table whose values are not parsed yet. Values are split by position, so they may contain
/// spaces.
pub(super) struct TextTable<'a> {
    pub name: &'a [u8],
    columns: Vec<&'a [u8]>,
    /// The start of each column except the first, in UTF-16 units.
    starts: Vec<usize>,
    first_line: usize,
    rows: Vec<&'a [u8]>,
}

pub(super) struct TextRow<'a> {
    pub line: usize,
    pub values: Vec<&'a [u8]>,
}

pub(super) fn line_error(line: usize, what: impl std::fmt::Display) -> Error {
    Error::input(format!("line {line}: {what}"))
        .hint("make the report again with GATK BaseRecalibrator or readmill bqsr table")
}

pub(super) fn split_tables<'a>(text: &'a [u8], charge: &mut Charge) -> Result<Vec<TextTable<'a>>> {
    let mut lines = LineCursor::new(text);
    let count = parse_table_count(lines.require_line("the line #:GATKReport")?)?;
    let mut text_tables = Vec::new();
    for _ in 0..count {
        make_room(&mut text_tables, 1, charge)?;
        text_tables.push(read_table(&mut lines, charge)?);
    }
    match lines.next_nonblank_line() {
        Some(line) => Err(line_error(line, format!("there is text after the last of {count} tables"))),
        None => Ok(text_tables),
    }
}

fn parse_table_count(line: &[u8]) -> Result<usize> {
    let Some(rest) = line.strip_prefix(b"#:GATKReport.") else {
        let old = line.starts_with(b"##:GATKReport.v0");
        let what = if old {
            "a report of version 0, which GATK 4 cannot read either"
        } else {
            "not a GATKReport"
        };
        return Err(line_error(1, format!("this is {what}")));
    };
    if !rest.starts_with(b"v1.1") {
        let version = String::from_utf8_lossy(rest);
        return Err(line_error(
            1,
            format!("the report has version {version}, but only v1.1 can be read, as in GATK 4"),
        ));
    }
    let count = line.split(|&byte| byte == b':').nth(2).and_then(parse_number);
    count.ok_or_else(|| line_error(1, "the number of tables is missing"))
}

fn parse_number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn read_table<'a>(lines: &mut LineCursor<'a>, charge: &mut Charge) -> Result<TextTable<'a>> {
    let sizes = read_table_fields(lines, "the sizes of a table", charge)?;
    let line = lines.line;
    let size = |at: usize, of: &str| {
        let size = sizes.get(at).copied().and_then(parse_number);
        size.ok_or_else(|| line_error(line, format!("the number of {of} is missing")))
    };
    let (width, height) = (size(2, "columns")?, size(3, "rows")?);
    let names = read_table_fields(lines, "the name of a table", charge)?;
    let name = names.get(2).copied().unwrap_or_default();

    let heading = lines.require_line("the names of columns")?;
    // At most every second character starts a column, and each column needs its start, its name and
    // a copy of the name.
    charge.grow(heading.len() as u64 * 20)?;
    let starts = find_word_starts(heading);
    let columns = split_row(heading, &starts);
    let columns = columns.and_then(|all| all.get(..width).map(<[&[u8]]>::to_vec));
    let columns = columns
        .ok_or_else(|| line_error(lines.line, format!("there are fewer than {width} columns")))?;
    let first_line = lines.line + 1;
    let shown = String::from_utf8_lossy(name).into_owned();
    let mut rows = Vec::new();
    for _ in 0..height {
        make_room(&mut rows, 1, charge)?;
        rows.push(lines.require_line(&format!("a row of {shown}"))?);
    }
    lines.skip_blank_line()?;
    Ok(TextTable { name, columns, starts, first_line, rows })
}

const MAX_FIELDS: usize = 8;

/// Splits the next line, which must begin with `#:GATKTable`, at its colons. `what` names the
/// expected content.
fn read_table_fields<'a>(
    lines: &mut LineCursor<'a>,
    what: &str,
    charge: &mut Charge,
) -> Result<Vec<&'a [u8]>> {
    let text = lines.require_line(what)?;
    if !text.starts_with(b"#:GATKTable:") {
        return Err(line_error(lines.line, format!("expected {what} after #:GATKTable")));
    }
    let mut fields = Vec::new();
    for field in text.split(|&byte| byte == b':').take(MAX_FIELDS) {
        make_room(&mut fields, 1, charge)?;
        fields.push(field);
    }
    Ok(fields)
}

impl<'a> TextTable<'a> {
    /// Returns the rows with the values of `columns`, in this order. Fails if a column is missing.
    pub fn rows_of_columns<'s>(
        &'s self,
        columns: &[&str],
    ) -> Result<impl Iterator<Item = Result<TextRow<'a>>> + use<'a, 's>> {
        let place = |name: &&str| {
            let found = self.columns.iter().position(|column| *column == name.as_bytes());
            found.ok_or_else(|| line_error(self.first_line - 1, format!("the column {name} is missing")))
        };
        let places = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(self.rows.iter().zip(self.first_line..).map(move |(row, line)| {
            let all = split_row(row, &self.starts)
                .ok_or_else(|| line_error(line, "the row is shorter than the heading of the table"))?;
            Ok(TextRow { line, values: places.iter().map(|&place| all[place]).collect() })
        }))
    }
}

fn find_word_starts(line: &[u8]) -> Vec<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let begins = |pair: &[u8]| blank(&pair[0]) && !blank(&pair[1]);
    line.windows(2).zip(1..).filter(|(pair, _)| begins(pair)).map(|(_, at)| at).collect()
}

/// Splits a line at `starts` and trims the values. Returns `None` if the line is too short.
fn split_row<'a>(line: &'a [u8], starts: &[usize]) -> Option<Vec<&'a [u8]>> {
    let mut values = Vec::with_capacity(starts.len() + 1);
    let mut from = 0;
    for &start in starts {
        let to = find_byte_offset(line, start)?;
        values.push(trim_blanks(line.get(from..to)?));
        from = to;
    }
    values.push(trim_blanks(&line[from..]));
    Some(values)
}

/// Converts a position in UTF-16 units, as Java counts, to a byte offset.
fn find_byte_offset(line: &[u8], character: usize) -> Option<usize> {
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

struct LineCursor<'a> {
    rest: std::slice::Split<'a, u8, fn(&u8) -> bool>,
    line: usize,
}

impl<'a> LineCursor<'a> {
    fn new(text: &'a [u8]) -> Self {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        LineCursor { rest: text.split(|&byte| byte == b'\n'), line: 0 }
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.next()?;
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn require_line(&mut self, what: &str) -> Result<&'a [u8]> {
        let end = self.line + 1;
        self.next_line().ok_or_else(|| line_error(end, format!("the report ends before {what}")))
    }

    /// Skips the blank line after a table, which may be missing at the end of the file.
    fn skip_blank_line(&mut self) -> Result<()> {
        match self.next_line() {
            Some(line) if !trim_blanks(line).is_empty() => {
                Err(line_error(self.line, "a table has more rows than its first line states"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of the next line that is not blank, or `None` at the end of the report.
    fn next_nonblank_line(&mut self) -> Option<usize> {
        while let Some(line) = self.next_line() {
            if !trim_blanks(line).is_empty() {
                return Some(self.line);
            }
        }
        None
    }
}

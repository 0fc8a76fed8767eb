//! Converts GATK reports to the short form of `tests/oracles/gatk/bqsr.txt`.

use anyhow::{Context, Result, ensure};

use super::bqsr_cases::{ARGUMENTS, FORMS};

struct ReportTable<'a> {
    name: &'a str,
    rows: Vec<Vec<&'a str>>,
    /// The alignment of each column, `l` or `r`. `None` if all cells have the full column width,
    /// because then it is unknown.
    column_sides: Vec<Option<char>>,
}

/// A report in short form: `first` has the arguments and quantized qualities, `tables` the lines of
/// the recalibration tables.
pub struct ShortReport {
    pub first: Vec<String>,
    pub tables: Vec<String>,
}

impl ShortReport {
    /// Parses a report. Returns an error unless it has exactly the five tables of a recalibration
    /// report.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split("#:GATKTable:").skip(1);
        let mut tables = Vec::new();
        // A table starts with two `#:GATKTable:` lines: first its size and formats, then its name.
        while let (Some(_), Some(part)) = (parts.next(), parts.next()) {
            tables.push(ReportTable::parse(part)?);
        }
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        ensure!(names == FORMS.map(|form| form.name), "other tables: {names:?}");
        let [arguments, quantized, rest @ ..] = &tables[..] else { unreachable!("five tables") };
        let mut first = Vec::new();
        let usual = |row: &&Vec<&str>| ARGUMENTS.contains(&(row[0], row[1]));
        let others = arguments.rows.iter().filter(|row| !usual(row));
        let others: Vec<String> = others.map(|row| row.join("=")).collect();
        if !others.is_empty() {
            first.push(format!("arguments {}", others.join(" ")));
        }
        first.push(format!("quantized {}", format_quantized_ranges(&quantized.rows)));
        Ok(ShortReport { first, tables: rest.iter().flat_map(ReportTable::shortened_lines).collect() })
    }
}

impl<'a> ReportTable<'a> {
    /// Parses a table that starts with its name. Columns are located by the positions of their
    /// names.
    fn parse(text: &'a str) -> Result<Self> {
        let mut lines = text.lines();
        let (name, _) = lines.next().and_then(|line| line.split_once(':')).context("no name")?;
        let columns = lines.next().context("no columns")?;
        let is_start = |at: &usize| {
            let before = at.checked_sub(1).map_or(b' ', |before| columns.as_bytes()[before]);
            columns.as_bytes()[*at] != b' ' && before == b' '
        };
        let starts: Vec<usize> = (0..columns.len()).filter(is_start).collect();
        let mut table = ReportTable { name, rows: Vec::new(), column_sides: vec![None; starts.len()] };
        for line in lines.take_while(|line| !line.is_empty()) {
            let mut row = Vec::new();
            for (column, &start) in starts.iter().enumerate() {
                let end = starts.get(column + 1).map_or(line.len(), |next| next - 2);
                let cell = line.get(start..end).with_context(|| format!("a short row: {line}"))?;
                if cell.starts_with(' ') {
                    table.column_sides[column] = Some('r');
                } else if cell.ends_with(' ') {
                    table.column_sides[column] = Some('l');
                }
                row.push(cell.trim());
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    /// Returns a heading and the rows. The heading includes the column alignments only if they are
    /// unusual. An empty table has no lines.
    fn shortened_lines(&self) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let usual = FORMS.iter().find(|form| form.name == self.name).map_or("", |form| form.sides);
        let sides: String = self
            .column_sides
            .iter()
            .zip(usual.chars())
            .map(|(side, usual)| side.unwrap_or(usual))
            .collect();
        let heading =
            if sides == usual { self.name.to_owned() } else { format!("{} {sides}", self.name) };
        let rows = if self.name == "RecalTable2" { self.join_cells() } else { self.join_rows() };
        std::iter::once(heading).chain(rows).collect()
    }

    fn join_rows(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.join("\t")).collect()
    }

    /// Joins the cells of rows with the same read group, quality, covariate and event, at
    /// most 16 cells per line.
    fn join_cells(&self) -> Vec<String> {
        let mut sets: Vec<(String, Vec<String>)> = Vec::new();
        for row in &self.rows {
            let key = format!("{}\t{}\t{}\t{}\t", row[0], row[1], row[3], row[4]);
            match sets.iter_mut().find(|set| set.0 == key) {
                Some((_, cells)) => cells.push(format_cell(row)),
                None => sets.push((key, vec![format_cell(row)])),
            }
        }
        let lines = |(key, cells): &(String, Vec<String>)| -> Vec<String> {
            cells.chunks(16).map(|cells| format!("{key}{}", cells.join(" "))).collect()
        };
        sets.iter().flat_map(lines).collect()
    }
}

/// Formats a cell as `VALUE=EMPIRICAL/OBSERVATIONS/ERRORS`. Zero decimals and a zero error count
/// are omitted.
fn format_cell(row: &[&str]) -> String {
    let (value, empirical, observations) = (row[2], row[5].trim_end_matches(".0000"), row[6]);
    match row[7].trim_end_matches(".00") {
        "0" => format!("{value}={empirical}/{observations}"),
        errors => format!("{value}={empirical}/{observations}/{errors}"),
    }
}

/// Formats the quantized qualities as `FROM-TO:COUNT:VALUE` (`FROM:COUNT:VALUE` for a single
/// quality), separated by spaces. The value `=` means that the qualities are unchanged.
fn format_quantized_ranges(mut rows: &[Vec<&str>]) -> String {
    let mut ranges = Vec::new();
    while let Some(first) = rows.first() {
        let is_itself = first[0] == first[2];
        let value = if is_itself { "=" } else { first[2] };
        let goes_on = |row: &&Vec<&str>| {
            let same = if is_itself { row[0] == row[2] } else { row[2] == value };
            row[1] == first[1] && same
        };
        let (range, rest) = rows.split_at(rows.iter().take_while(goes_on).count());
        let qualities = match range {
            [first, .., last] => format!("{}-{}", first[0], last[0]),
            _ => first[0].to_owned(),
        };
        ranges.push(format!("{qualities}:{}:{value}", first[1]));
        rows = rest;
    }
    ranges.join(" ")
}

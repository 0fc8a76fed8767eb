//! Parses a report as GATK 4 does: by names of tables and columns. Reports that GATK refuses are errors here,
//! too, with the line. Empirical qualities are not read, since they are computed from the counts.

use std::str::FromStr;

use readmill_record::{Charge, Error, Result, make_room};

use super::arguments::Arguments;
use super::rows::{Covariate, CovariateRow, GroupRows, QualityRow, Quantization, Report};
use super::text_table::{TextRow, TextTable, text_tables, wrong};
use crate::java;
use crate::recal_datum::RecalDatum;
use crate::tables::{Datum, Event, QUALITIES, context_code};

/// Parses a report. Rows are charged before they are stored.
pub(super) fn report(text: &[u8], charge: &mut Charge) -> Result<Report> {
    let mut reading = charge.ledger().empty(NAME);
    let text_tables = text_tables(text, &mut reading)?;
    let text_table = |name: &str| {
        // Of two tables with one name, GATK uses the later one.
        let found = text_tables.iter().rev().find(|text_table| text_table.name == name.as_bytes());
        found.ok_or_else(|| Error::input(format!("the table {name} is missing")))
    };
    let (arguments, stated) = arguments(text_table("Arguments")?, charge)?;
    let quantization = quantization(text_table("Quantized")?)?;
    let mut groups = groups(text_table("RecalTable0")?, charge)?;
    reported(text_table("RecalTable1")?, &mut groups, charge)?;
    covariates(text_table("RecalTable2")?, &arguments, &mut groups, charge)?;
    Ok(Report { arguments, stated, quantization, groups })
}

/// The name of its memory in the ledger.
const NAME: &str = "the recalibration table";

fn arguments(
    text_table: &TextTable<'_>,
    charge: &mut Charge,
) -> Result<(Arguments, Vec<(String, String)>)> {
    let mut arguments = Arguments::default();
    let mut stated = Vec::new();
    for row in text_table.rows(&["Argument", "Value"])? {
        let row = row?;
        let text = |at: usize| String::from_utf8_lossy(row.values[at]).into_owned();
        let (name, value) = (text(0), text(1));
        arguments.take(&name, &value).map_err(|error| wrong(row.line, error.what))?;
        make_room(&mut stated, 1, charge)?;
        charge.grow((name.len() + value.len()) as u64)?;
        stated.push((name, value));
    }
    arguments.check().map_err(|error| Error::input(error.what))?;
    Ok((arguments, stated))
}

/// GATK uses the number of the row, not the column QualityScore.
fn quantization(text_table: &TextTable<'_>) -> Result<Quantization> {
    let mut quantization = Quantization { counts: [0; QUALITIES], map: [0; QUALITIES] };
    let mut rows = 0;
    for row in text_table.rows(&["Count", "QuantizedScore"])? {
        let row = row?;
        let quality: u8 = row.parse(1, "QuantizedScore")?;
        if usize::from(quality) >= QUALITIES || rows == QUALITIES {
            return Err(wrong(row.line, "the table Quantized goes beyond quality 93"));
        }
        quantization.counts[rows] = row.parse(0, "Count")?;
        quantization.map[rows] = quality;
        rows += 1;
    }
    match rows {
        QUALITIES => Ok(quantization),
        _ => Err(Error::input(format!("the table Quantized has {rows} rows and not {QUALITIES}"))),
    }
}

fn groups(text_table: &TextTable<'_>, charge: &mut Charge) -> Result<Vec<GroupRows>> {
    let mut groups: Vec<GroupRows> = Vec::new();
    for row in
        text_table.rows(&["ReadGroup", "EventType", "Observations", "Errors", "EstimatedQReported"])?
    {
        let row = row?;
        let reported: f64 = row.parse(4, "EstimatedQReported")?;
        if !reported.is_finite() || reported < 0.0 {
            return Err(wrong(
                row.line,
                format!("EstimatedQReported is {reported}, which is not a quality"),
            ));
        }
        let recal_datum = row.recal_datum(2, reported)?;
        let event = row.event(1)?;
        let found = groups.binary_search_by(|group| java::compare(&group.name, row.values[0]));
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

fn reported(text_table: &TextTable<'_>, groups: &mut [GroupRows], charge: &mut Charge) -> Result<()> {
    for row in text_table.rows(&["ReadGroup", "QualityScore", "EventType", "Observations", "Errors"])? {
        let row = row?;
        let (quality, event) = (row.quality(1)?, row.event(2)?);
        let recal_datum = row.recal_datum(3, f64::from(quality))?;
        let rows = &mut row.group(groups)?.qualities;
        make_room(rows, 1, charge)?;
        rows.push(QualityRow { quality, event, recal_datum });
    }
    for group in groups {
        let _sorting = scratch(&group.qualities, charge)?;
        group.qualities.sort_by_key(|row| (row.quality, row.event));
        keep_last(&mut group.qualities, |row| (row.quality, row.event));
    }
    Ok(())
}

fn covariates(
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
    for row in text_table.rows(&columns)? {
        let row = row?;
        let (quality, event) = (row.quality(1)?, row.event(4)?);
        let covariate = row.covariate(2, arguments)?;
        let recal_datum = row.recal_datum(5, f64::from(quality))?;
        let rows = &mut row.group(groups)?.covariates;
        make_room(rows, 1, charge)?;
        rows.push(CovariateRow { quality, covariate, event, recal_datum });
    }
    for group in groups {
        let _sorting = scratch(&group.covariates, charge)?;
        group.covariates.sort_by_key(|row| (row.quality, row.covariate, row.event));
        keep_last(&mut group.covariates, |row| (row.quality, row.covariate, row.event));
    }
    Ok(())
}

/// Charges the memory for sorting the rows.
fn scratch<R>(rows: &[R], charge: &Charge) -> Result<Charge> {
    charge.ledger().charge(NAME, size_of_val(rows) as u64)
}

/// Keeps the last of adjacent rows with one key.
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
    fn shown(&self, at: usize) -> String {
        String::from_utf8_lossy(self.values[at]).into_owned()
    }

    fn parse<T: FromStr>(&self, at: usize, name: &str) -> Result<T> {
        let value = self.shown(at);
        value
            .parse()
            .map_err(|_| wrong(self.line, format!("{name} is {value:?}, which is not a valid number")))
    }

    fn group<'g>(&self, groups: &'g mut [GroupRows]) -> Result<&'g mut GroupRows> {
        match groups.binary_search_by(|group| java::compare(&group.name, self.values[0])) {
            Ok(at) => Ok(&mut groups[at]),
            Err(_) => Err(wrong(
                self.line,
                format!("the read group {} is not in the table RecalTable0", self.shown(0)),
            )),
        }
    }

    fn event(&self, at: usize) -> Result<Event> {
        let found = Event::ALL.into_iter().find(|event| event.letter().as_bytes() == self.values[at]);
        found.ok_or_else(|| {
            wrong(self.line, format!("EventType is {:?}, which is not M, I or D", self.shown(at)))
        })
    }

    fn quality(&self, at: usize) -> Result<u8> {
        match self.parse(at, "QualityScore")? {
            quality if usize::from(quality) < QUALITIES => Ok(quality),
            quality => Err(wrong(self.line, format!("QualityScore is {quality}, above 93"))),
        }
    }

    /// Parses observations, and in the next column errors. Early reports of GATK 2 have decimals in both.
    fn recal_datum(&self, at: usize, reported: f64) -> Result<RecalDatum> {
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
                let what = format!("{errors} errors in {observations} observations are impossible");
                Err(wrong(self.line, what))
            }
        }
    }

    /// Parses a covariate's value, and in the next column its name.
    fn covariate(&self, at: usize, arguments: &Arguments) -> Result<Covariate> {
        match self.values[at + 1] {
            b"Context" => {
                let bases = self.values[at];
                let longest = arguments.longest_context();
                let code =
                    context_code(bases).filter(|_| (0..=usize::from(longest)).contains(&bases.len()));
                let code = code.ok_or_else(|| {
                    let what = format!(
                        "the context {:?} is not of up to {longest} bases A, C, G, T",
                        self.shown(at)
                    );
                    wrong(self.line, what)
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
                    return Err(wrong(self.line, what));
                }
                Ok(Covariate::Cycle(cycle))
            }
            _ => {
                let name = self.shown(at + 1);
                Err(wrong(
                    self.line,
                    format!("CovariateName is {name:?}, which is not Context or Cycle"),
                ))
            }
        }
    }
}

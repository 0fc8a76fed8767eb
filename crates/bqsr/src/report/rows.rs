//! The rows of a report, and how they are made from counts.

use readmill_record::{Error, Result};

use super::arguments::Arguments;
use crate::counters::{Datum, Event, GroupTable, QualityTable, Tables, cycle_at};
use crate::covariates::{QUALITIES, empty_context};
use crate::java;
use crate::quantize::quantize;
use crate::recal_datum::RecalDatum;

/// A recalibration report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The arguments of the tables.
    pub arguments: Arguments,
    /// The rows of the table Arguments, as they are printed: name and value.
    pub stated: Vec<(String, String)>,
    /// The table Quantized.
    pub quantization: Quantization,
    /// The read groups with a row in RecalTable0, in the order of Java strings.
    pub groups: Vec<GroupRows>,
}

impl Report {
    /// Returns the bytes that it takes.
    pub fn memory(&self) -> u64 {
        let stated = self.stated.iter().map(|(name, value)| name.len() + value.len());
        let stated = size_of_val(&self.stated[..]) + stated.sum::<usize>();
        let lists = |group: &GroupRows| {
            group.name.capacity()
                + group.qualities.capacity() * size_of::<QualityRow>()
                + group.covariates.capacity() * size_of::<CovariateRow>()
        };
        let groups = self.groups.capacity() * size_of::<GroupRows>();
        (size_of::<Self>() + stated + groups + self.groups.iter().map(lists).sum::<usize>()) as u64
    }
}

/// The map that reduces the number of different qualities (Phred).
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Bases by the empirical quality of their reported quality.
    pub counts: [u64; QUALITIES],
    /// The new value of each quality.
    pub map: [u8; QUALITIES],
}

/// The rows of one read group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRows {
    /// PU, or ID if there is none.
    pub name: Vec<u8>,
    /// Its rows of RecalTable0, by event.
    pub events: [Option<RecalDatum>; 3],
    /// Its rows of RecalTable1, by quality, then event.
    pub qualities: Vec<QualityRow>,
    /// Its rows of RecalTable2, by quality, then covariate, then event.
    pub covariates: Vec<CovariateRow>,
}

/// Bases of one reported quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// The event.
    pub event: Event,
    /// The counts.
    pub recal_datum: RecalDatum,
}

/// Bases of one reported quality in one context, or of one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CovariateRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// The context or cycle.
    pub covariate: Covariate,
    /// The event.
    pub event: Event,
    /// The counts.
    pub recal_datum: RecalDatum,
}

/// A covariate of the quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Covariate {
    /// A context of `size` bases, the last one being the base itself, as a number
    /// ([`context_code`](crate::counters::context_code)).
    Context {
        /// Bases.
        size: u8,
        /// Which ones.
        code: u32,
    },
    /// The cycle, negative in the second read of a pair.
    Cycle(i32),
}

pub(super) fn report(tables: &Tables, arguments: Arguments) -> Result<Report> {
    arguments.check()?;
    let groups =
        tables.groups.iter().map(|table| group(table, &arguments)).collect::<Result<Vec<_>>>()?;
    let mut groups: Vec<GroupRows> =
        groups.into_iter().filter(|group| !group.qualities.is_empty()).collect();
    groups.sort_by(|a, b| java::compare(&a.name, &b.name));
    let quantization = Quantization::of(&groups, arguments.quantizing_levels);
    Ok(Report { stated: arguments.stated(), arguments, quantization, groups })
}

fn group(table: &GroupTable, arguments: &Arguments) -> Result<GroupRows> {
    let mut group = GroupRows { name: table.name.clone(), ..GroupRows::default() };
    for event in Event::ALL {
        for (quality, table) in table.events[event.index()].seen() {
            if usize::from(quality) >= QUALITIES {
                return Err(Error::bug(format!("bases of quality {quality} were counted")));
            }
            add_quality(&mut group, event, quality, table, arguments)?;
        }
    }
    group.qualities.sort_by_key(|row| (row.quality, row.event));
    group.covariates.sort_by_key(|row| (row.quality, row.covariate, row.event));
    sum_up(&mut group);
    Ok(group)
}

/// Adds the rows of a quality.
fn add_quality(
    group: &mut GroupRows,
    event: Event,
    quality: u8,
    table: &QualityTable,
    arguments: &Arguments,
) -> Result<()> {
    if let Some(recal_datum) = recal_datum(table.total, quality) {
        group.qualities.push(QualityRow { quality, event, recal_datum });
    }
    let size = arguments.context_size(event);
    let empty = u32::from(empty_context(size));
    if table.contexts.len() > empty as usize + 1 {
        return Err(Error::bug(format!("contexts of more than {size} bases were counted")));
    }
    let contexts =
        table.contexts.iter().zip(0..).map(|(datum, code)| (datum, context(size, code, empty)));
    let cycles = table.cycles.iter().enumerate();
    let cycles = cycles.map(|(index, datum)| (datum, Covariate::Cycle(cycle_at(index) as i32)));
    for (&datum, covariate) in contexts.chain(cycles) {
        if let Some(recal_datum) = recal_datum(datum, quality) {
            group.covariates.push(CovariateRow { quality, covariate, event, recal_datum });
        }
    }
    Ok(())
}

/// Returns the context of a number; the last number is the empty context.
fn context(size: u8, code: u32, empty: u32) -> Covariate {
    if code == empty {
        Covariate::Context { size: 0, code: 0 }
    } else {
        Covariate::Context { size, code }
    }
}

/// Returns the datum of a quality, if it has observations.
fn recal_datum(datum: Datum, quality: u8) -> Option<RecalDatum> {
    (datum.observations > 0).then(|| {
        let mut recal_datum = RecalDatum::new(datum, f64::from(quality));
        recal_datum.round();
        recal_datum
    })
}

/// Makes the rows of RecalTable0: the sum over all qualities of an event, lowest first, since the order shows
/// in the last bits of the reported quality (spec D4.17). GATK adds before it rounds; our counts are
/// integers.
fn sum_up(group: &mut GroupRows) {
    for row in &group.qualities {
        match &mut group.events[row.event.index()] {
            Some(sum) => sum.combine(&row.recal_datum),
            none => *none = Some(row.recal_datum),
        }
    }
    group.events.iter_mut().flatten().for_each(RecalDatum::round);
}

impl Quantization {
    /// Computes the quantization from the rows of reported qualities, including insertions and deletions.
    pub(crate) fn of(groups: &[GroupRows], levels: u32) -> Self {
        let mut counts = [0; QUALITIES];
        for row in groups.iter().flat_map(|group| &group.qualities) {
            let count = &mut counts[usize::from(row.recal_datum.empirical())];
            *count = u64::saturating_add(*count, row.recal_datum.observations);
        }
        Quantization { counts, map: quantize(&counts, levels as usize) }
    }
}

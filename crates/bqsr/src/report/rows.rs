//! The rows of a report, and the rules that compute them from counts.

use readmill_record::{Error, Result};

use super::arguments::Arguments;
use crate::counters::{Datum, ErrorEvent, GroupTable, QualityTable, Tables, cycle_at};
use crate::covariates::{QUALITIES, empty_context};
use crate::java;
use crate::quantize::quantize_qualities;
use crate::recal_datum::RecalDatum;

/// A recalibration report.
///
/// It is created from counts ([`RecalReport::new`]) or parsed ([`RecalReport::parse`]), and is the
/// input of [`Recalibration`](crate::Recalibration), [`gather_reports`](crate::gather_reports) and
/// [`plot_data`](crate::plot_data).
#[derive(Clone, Debug, PartialEq)]
pub struct RecalReport {
    pub arguments: Arguments,
    /// The printed rows of the Arguments table: name and value. A parsed report keeps its own rows.
    pub printed_arguments: Vec<(String, String)>,
    pub quantization: Quantization,
    /// The read groups in RecalTable0, sorted as Java strings.
    pub groups: Vec<GroupRows>,
}

impl RecalReport {
    pub fn memory_bytes(&self) -> u64 {
        let stated = self.printed_arguments.iter().map(|(name, value)| name.len() + value.len());
        let stated = size_of_val(&self.printed_arguments[..]) + stated.sum::<usize>();
        let lists = |group: &GroupRows| {
            group.name.capacity()
                + group.qualities.capacity() * size_of::<QualityRow>()
                + group.covariates.capacity() * size_of::<CovariateRow>()
        };
        let groups = self.groups.capacity() * size_of::<GroupRows>();
        (size_of::<Self>() + stated + groups + self.groups.iter().map(lists).sum::<usize>()) as u64
    }
}

/// The Quantized table: a map that reduces the number of distinct qualities (Phred).
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Number of bases by the empirical quality of their reported quality.
    pub counts: [u64; QUALITIES],
    pub map: [u8; QUALITIES],
}

/// The rows of one read group in all three tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRows {
    pub name: Vec<u8>,
    /// Rows of RecalTable0, indexed by [`ErrorEvent::index`].
    pub events: [Option<RecalDatum>; 3],
    /// Rows of RecalTable1, sorted by quality, then event.
    pub qualities: Vec<QualityRow>,
    /// Rows of RecalTable2, sorted by quality, then covariate, then event.
    pub covariates: Vec<CovariateRow>,
}

/// A row of RecalTable1: the bases with one reported quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityRow {
    pub quality: u8,
    pub event: ErrorEvent,
    pub recal_datum: RecalDatum,
}

/// A row of RecalTable2: the bases with one reported quality and one context or cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CovariateRow {
    pub quality: u8,
    pub covariate: Covariate,
    pub event: ErrorEvent,
    pub recal_datum: RecalDatum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Covariate {
    /// A context of `size` bases, which ends with the base itself. `code` is its number
    /// ([`encode_context`](crate::counters::encode_context)).
    Context {
        /// Number of bases; 0 for the empty context.
        size: u8,
        /// The bases as a base-4 number.
        code: u32,
    },
    /// The cycle, negative in read 2.
    Cycle(i32),
}

pub(super) fn make_report(tables: &Tables, arguments: Arguments) -> Result<RecalReport> {
    arguments.check_ranges()?;
    let groups =
        tables.groups.iter().map(|table| make_group(table, &arguments)).collect::<Result<Vec<_>>>()?;
    let mut groups: Vec<GroupRows> =
        groups.into_iter().filter(|group| !group.qualities.is_empty()).collect();
    groups.sort_by(|a, b| java::compare_utf16(&a.name, &b.name));
    let quantization = Quantization::of_groups(&groups, arguments.quantizing_levels);
    Ok(RecalReport { printed_arguments: arguments.printed_rows(), arguments, quantization, groups })
}

fn make_group(table: &GroupTable, arguments: &Arguments) -> Result<GroupRows> {
    let mut group = GroupRows { name: table.name.clone(), ..GroupRows::default() };
    for event in ErrorEvent::ALL {
        for (quality, table) in table.events[event.index()].seen_qualities() {
            if usize::from(quality) >= QUALITIES {
                return Err(Error::bug(format!("bases of quality {quality} were counted")));
            }
            add_quality(&mut group, event, quality, table, arguments)?;
        }
    }
    group.qualities.sort_by_key(|row| (row.quality, row.event));
    group.covariates.sort_by_key(|row| (row.quality, row.covariate, row.event));
    sum_events(&mut group);
    Ok(group)
}

fn add_quality(
    group: &mut GroupRows,
    event: ErrorEvent,
    quality: u8,
    table: &QualityTable,
    arguments: &Arguments,
) -> Result<()> {
    if let Some(recal_datum) = round_datum(table.total, quality) {
        group.qualities.push(QualityRow { quality, event, recal_datum });
    }
    let size = arguments.context_size(event);
    let empty = u32::from(empty_context(size));
    if table.contexts.len() > empty as usize + 1 {
        return Err(Error::bug(format!("contexts of more than {size} bases were counted")));
    }
    let contexts = table
        .contexts
        .iter()
        .zip(0..)
        .map(|(datum, code)| (datum, make_context_covariate(size, code, empty)));
    let cycles = table.cycles.iter().enumerate();
    let cycles = cycles.map(|(index, datum)| (datum, Covariate::Cycle(cycle_at(index) as i32)));
    for (&datum, covariate) in contexts.chain(cycles) {
        if let Some(recal_datum) = round_datum(datum, quality) {
            group.covariates.push(CovariateRow { quality, covariate, event, recal_datum });
        }
    }
    Ok(())
}

/// Returns the covariate of a context code. `empty` is the code of the empty context.
fn make_context_covariate(size: u8, code: u32, empty: u32) -> Covariate {
    if code == empty {
        Covariate::Context { size: 0, code: 0 }
    } else {
        Covariate::Context { size, code }
    }
}

/// Returns the rounded datum of a reported quality, or `None` if it has no observations.
fn round_datum(datum: Datum, quality: u8) -> Option<RecalDatum> {
    (datum.observations > 0).then(|| {
        let mut recal_datum = RecalDatum::new(datum, f64::from(quality));
        recal_datum.round_as_printed();
        recal_datum
    })
}

/// Computes the rows of RecalTable0: for each event, the sum over all reported qualities.
///
/// Qualities are added in ascending order as in GATK, because the order affects the last bits of
/// the average reported quality. GATK adds before it rounds. The result is the same here, because
/// our counts are integers.
fn sum_events(group: &mut GroupRows) {
    for row in &group.qualities {
        match &mut group.events[row.event.index()] {
            Some(sum) => sum.combine(&row.recal_datum),
            none => *none = Some(row.recal_datum),
        }
    }
    group.events.iter_mut().flatten().for_each(RecalDatum::round_as_printed);
}

impl Quantization {
    /// Computes the quantization from the rows of all reported qualities, including the rows of
    /// insertions and deletions.
    pub(crate) fn of_groups(groups: &[GroupRows], levels: u32) -> Self {
        let mut counts = [0; QUALITIES];
        for row in groups.iter().flat_map(|group| &group.qualities) {
            let count = &mut counts[usize::from(row.recal_datum.empirical())];
            *count = u64::saturating_add(*count, row.recal_datum.observations);
        }
        Quantization { counts, map: quantize_qualities(&counts, levels as usize) }
    }
}

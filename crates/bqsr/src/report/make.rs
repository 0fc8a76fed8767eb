//! A report from what was counted.

use readmill_record::{Error, Result};

use super::arguments::Arguments;
use super::rows::{Covariate, CovariateRow, Group, QualityRow, Quantization, Report};
use crate::covariates::empty_context;
use crate::evidence::Evidence;
use crate::java;
use crate::quantize::quantize;
use crate::tables::{Datum, Event, GroupTable, QUALITIES, QualityTable, Tables, cycle_at};

pub(super) fn report(tables: &Tables, arguments: Arguments) -> Result<Report> {
    arguments.check()?;
    let groups =
        tables.groups.iter().map(|table| group(table, &arguments)).collect::<Result<Vec<_>>>()?;
    let mut groups: Vec<Group> =
        groups.into_iter().filter(|group| !group.qualities.is_empty()).collect();
    groups.sort_by(|a, b| java::compare(&a.name, &b.name));
    let quantization = Quantization::of(&groups, arguments.quantizing_levels);
    Ok(Report { stated: arguments.stated(), arguments, quantization, groups })
}

fn group(table: &GroupTable, arguments: &Arguments) -> Result<Group> {
    let mut group = Group { name: table.name.clone(), ..Group::default() };
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
    group: &mut Group,
    event: Event,
    quality: u8,
    table: &QualityTable,
    arguments: &Arguments,
) -> Result<()> {
    if let Some(evidence) = evidence(table.total, quality) {
        group.qualities.push(QualityRow { quality, event, evidence });
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
        if let Some(evidence) = evidence(datum, quality) {
            group.covariates.push(CovariateRow { quality, covariate, event, evidence });
        }
    }
    Ok(())
}

/// The context of a number, the last of which is that of no bases.
fn context(size: u8, code: u32, empty: u32) -> Covariate {
    if code == empty {
        Covariate::Context { size: 0, code: 0 }
    } else {
        Covariate::Context { size, code }
    }
}

/// What was seen of a quality, unless that is nothing.
fn evidence(datum: Datum, quality: u8) -> Option<Evidence> {
    (datum.observations > 0).then(|| {
        let mut evidence = Evidence::new(datum, f64::from(quality));
        evidence.round();
        evidence
    })
}

/// The rows of RecalTable0: all qualities of an event together, lowest first, since the order shows in the last
/// bits of the reported quality (spec D4.17). GATK adds before it rounds, but what we count is whole.
fn sum_up(group: &mut Group) {
    for row in &group.qualities {
        match &mut group.events[row.event.index()] {
            Some(sum) => sum.combine(&row.evidence),
            none => *none = Some(row.evidence),
        }
    }
    group.events.iter_mut().flatten().for_each(Evidence::round);
}

impl Quantization {
    /// What the rows of reported qualities ask for, those of insertions and deletions included.
    pub(crate) fn of(groups: &[Group], levels: u32) -> Self {
        let mut counts = [0; QUALITIES];
        for row in groups.iter().flat_map(|group| &group.qualities) {
            counts[usize::from(row.evidence.empirical())] += row.evidence.observations;
        }
        Quantization { counts, map: quantize(&counts, levels as usize) }
    }
}

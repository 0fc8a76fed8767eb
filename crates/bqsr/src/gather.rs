//! Adds up the reports of several parts of a data set, as GATK's GatherBQSRReports does.

use std::cmp::Ordering;

use readmill_record::{Error, Result};

use super::java;
use super::recal_datum::RecalDatum;
use super::report::{Arguments, CovariateRow, GroupRows, QualityRow, Quantization, RecalReport};

/// Adds up reports in the given order.
///
/// As in GATK, the sum has the arguments of the first report, and its quantization is recomputed.
/// The rows of read groups are added, not recomputed from the qualities.
///
/// Only the sum and one report are in memory at a time.
///
/// # Errors
/// Fails, as GATK does, if the longest context or the maximum cycle differs, or if no report has
/// any rows.
pub fn gather_reports(reports: impl IntoIterator<Item = Result<RecalReport>>) -> Result<RecalReport> {
    let mut reports = reports.into_iter();
    let mut sum = reports.next().ok_or_else(|| Error::usage("there is no report to gather"))??;
    for report in reports {
        let report = report?;
        if report.is_empty() {
            continue;
        }
        check_arguments(&sum.arguments, &report.arguments)?;
        sum.groups = merge_sorted(
            sum.groups,
            report.groups,
            |a, b| java::compare_utf16(&a.name, &b.name),
            add_group,
        );
    }
    if sum.is_empty() {
        return Err(Error::input("no bases were counted in any of the reports"));
    }
    sum.quantization = Quantization::of_groups(&sum.groups, sum.arguments.quantizing_levels);
    Ok(sum)
}

fn check_arguments(one: &Arguments, two: &Arguments) -> Result<()> {
    let longest = |arguments: &Arguments| u32::from(arguments.max_context_size());
    let pairs = [
        ("the longest context", longest(one), longest(two)),
        ("maximum_cycle_value", one.maximum_cycle_value, two.maximum_cycle_value),
    ];
    match pairs.into_iter().find(|(_, one, two)| one != two) {
        Some((name, one, two)) => {
            let what = format!(
                "the reports cannot be combined: {name} is {one} in the first report and {two} in another"
            );
            Err(Error::input(what).hint("make all reports with the same options"))
        }
        None => Ok(()),
    }
}

fn add_group(into: &mut GroupRows, other: GroupRows) {
    for (into, other) in into.events.iter_mut().zip(other.events) {
        match (into, other) {
            (Some(into), Some(other)) => into.combine(&other),
            (into @ None, other) => *into = other,
            (Some(_), None) => {}
        }
    }
    let qualities = std::mem::take(&mut into.qualities);
    let key = |row: &QualityRow| (row.quality, row.event);
    into.qualities = merge_sorted(
        qualities,
        other.qualities,
        |a, b| key(a).cmp(&key(b)),
        |a, b| add_datum(&mut a.recal_datum, b.recal_datum),
    );
    let covariates = std::mem::take(&mut into.covariates);
    let key = |row: &CovariateRow| (row.quality, row.covariate, row.event);
    into.covariates = merge_sorted(
        covariates,
        other.covariates,
        |a, b| key(a).cmp(&key(b)),
        |a, b| add_datum(&mut a.recal_datum, b.recal_datum),
    );
}

fn add_datum(into: &mut RecalDatum, other: RecalDatum) {
    into.combine(&other);
}

/// Merges two sorted lists. `add` combines elements that compare equal by `order`.
fn merge_sorted<T>(
    one: Vec<T>,
    two: Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
    add: impl Fn(&mut T, T),
) -> Vec<T> {
    let mut sum = Vec::with_capacity(one.len().max(two.len()));
    let (mut one, mut two) = (one.into_iter().peekable(), two.into_iter().peekable());
    loop {
        let next = match (one.peek(), two.peek()) {
            (Some(a), Some(b)) => order(a, b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return sum,
        };
        match next {
            Ordering::Less => sum.extend(one.next()),
            Ordering::Greater => sum.extend(two.next()),
            Ordering::Equal => {
                if let (Some(mut a), Some(b)) = (one.next(), two.next()) {
                    add(&mut a, b);
                    sum.push(a);
                }
            }
        }
    }
}

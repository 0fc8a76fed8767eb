//! Writes the table for recalibration plots, as GATK's AnalyzeCovariates does with `-csv`.

use std::collections::BTreeMap;
use std::io::Write;

use readmill_record::{Error, Result};

use super::counters::{ErrorEvent, cycle_index, decode_context};
use super::java::format_fixed;
use super::recal_datum::RecalDatum;
use super::report::{Covariate, GroupRows, RecalReport, covariate_name, covariate_text};

/// The header line. Accuracy is the empirical quality minus the reported quality; both and
/// AverageReportedQuality are Phred.
const CSV_HEADER: &str = "ReadGroup,CovariateValue,CovariateName,EventType,Observations,Errors,EmpiricalQuality,\
                    AverageReportedQuality,Accuracy,Recalibration\n";

/// Writes reports as one CSV table, with the name of each report in the last column.
///
/// GATK names the reports `BQSR`, `Before` and `After`, in this order. If reports have different
/// read groups, GATK shows their numbers; this function always shows names.
///
/// # Errors
/// Fails if there are no reports, or if their arguments differ.
pub fn reports_to_csv(reports: &[(&str, &RecalReport)]) -> Result<Vec<u8>> {
    let Some((first, rest)) = reports.split_first() else {
        return Err(Error::usage("there is no report to show"));
    };
    for report in rest {
        let differences = first.1.arguments.describe_differences(&report.1.arguments);
        if !differences.is_empty() {
            let what =
                format!("the reports {} and {} were made with different arguments", first.0, report.0);
            return Err(Error::input(format!("{what}: {}", differences.join(", "))));
        }
    }
    let mut out = CSV_HEADER.as_bytes().to_vec();
    for (name, report) in reports {
        report.groups.iter().for_each(|group| append_group(&mut out, group, name));
    }
    Ok(out)
}

/// The covariate of a table line. Lines are sorted by it: first contexts, then cycles, then
/// reported qualities.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// The key gives the order of GATK's context numbers: by the last base, then the base before it
    /// and so on, then by size.
    Context(Vec<u8>, Covariate),
    Cycle(usize, Covariate),
    Quality(u8),
}

impl Subject {
    fn of_covariate(covariate: Covariate) -> Self {
        match covariate {
            Covariate::Context { size, code } => {
                Subject::Context(context_sort_key(usize::from(size), code), covariate)
            }
            Covariate::Cycle(cycle) => Subject::Cycle(cycle_index(cycle), covariate),
        }
    }
}

/// Returns the sort key of a context: its bases from last to first, with padding before them to 13
/// bases, then the number of bases.
fn context_sort_key(size: usize, code: u32) -> Vec<u8> {
    let mut bases = vec![b'A'; 13 - size.min(13)];
    bases.extend(decode_context(code as usize, size).into_iter().rev());
    bases.push(size as u8);
    bases
}

/// Appends the lines of a read group. The line of a context or cycle sums all reported qualities,
/// in ascending order.
fn append_group(out: &mut Vec<u8>, group: &GroupRows, name: &str) {
    let mut lines: BTreeMap<(Subject, ErrorEvent), RecalDatum> = BTreeMap::new();
    for row in &group.qualities {
        lines.insert((Subject::Quality(row.quality), row.event), row.recal_datum);
    }
    for row in &group.covariates {
        let sum = lines.entry((Subject::of_covariate(row.covariate), row.event));
        sum.and_modify(|sum| sum.combine(&row.recal_datum)).or_insert(row.recal_datum);
    }
    for ((subject, event), recal_datum) in lines {
        let (value, kind) = match subject {
            Subject::Context(_, covariate) | Subject::Cycle(_, covariate) => {
                (covariate_text(covariate), covariate_name(covariate))
            }
            Subject::Quality(quality) => (quality.to_string().into_bytes(), "QualityScore"),
        };
        out.extend_from_slice(&group.name);
        out.push(b',');
        out.extend_from_slice(&value);
        let (empirical, reported) = (f64::from(recal_datum.empirical()), recal_datum.reported);
        // Writing to memory cannot fail.
        let _ = writeln!(
            out,
            ",{kind},{},{},{},{},{},{},{name}",
            event_name(event),
            recal_datum.observations,
            format_fixed(recal_datum.errors(), 2),
            format_fixed(empirical, 2),
            format_fixed(reported, 2),
            format_fixed(empirical - reported, 2),
        );
    }
}

fn event_name(event: ErrorEvent) -> &'static str {
    match event {
        ErrorEvent::Mismatch => "Base Substitution",
        ErrorEvent::Insertion => "Base Insertion",
        ErrorEvent::Deletion => "Base Deletion",
    }
}

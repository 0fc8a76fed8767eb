//! The table behind the plots of recalibration, as GATK's AnalyzeCovariates writes it with `-csv`.

use std::collections::BTreeMap;
use std::io::Write;

use readmill_record::{Error, Result};

use super::evidence::Evidence;
use super::java::fixed;
use super::report::{Covariate, Group, Report, covariate_name, covariate_text};
use super::tables::{Event, context_bases, cycle_index};

/// The first line. AverageReportedQuality and Accuracy (empirical less reported) are Phred.
const HEAD: &str = "ReadGroup,CovariateValue,CovariateName,EventType,Observations,Errors,EmpiricalQuality,\
                    AverageReportedQuality,Accuracy,Recalibration\n";

/// Reports as one table of comma-separated values, each with what it is called in the last column. GATK calls
/// and orders them `BQSR`, `Before`, `After`. Where the read groups of two reports differ, GATK goes by their
/// numbers; here each has its own name.
pub fn csv(reports: &[(&str, &Report)]) -> Result<Vec<u8>> {
    let Some((first, rest)) = reports.split_first() else {
        return Err(Error::usage("there is no report to show"));
    };
    for report in rest {
        let differences = first.1.arguments.differences(&report.1.arguments);
        if !differences.is_empty() {
            let what =
                format!("the reports {} and {} were made with other arguments", first.0, report.0);
            return Err(Error::input(format!("{what}: {}", differences.join(", "))));
        }
    }
    let mut out = HEAD.as_bytes().to_vec();
    for (name, report) in reports {
        report.groups.iter().for_each(|group| add_group(&mut out, group, name));
    }
    Ok(out)
}

/// A line of the table, in its order: contexts, then cycles, then reported qualities.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// By size and bases, as GATK numbers contexts: of two the one with the lower last base is first, but for
    /// the size, which counts least.
    Context(Vec<u8>, Covariate),
    Cycle(usize, Covariate),
    Quality(u8),
}

impl Subject {
    fn of(covariate: Covariate) -> Self {
        match covariate {
            Covariate::Context { size, code } => {
                Subject::Context(rank(usize::from(size), code), covariate)
            }
            Covariate::Cycle(cycle) => Subject::Cycle(cycle_index(cycle), covariate),
        }
    }
}

/// Bases from the last to the first, above nothing where there are fewer than 13, and then their number.
fn rank(size: usize, code: u32) -> Vec<u8> {
    let mut bases = vec![b'A'; 13 - size.min(13)];
    bases.extend(context_bases(code as usize, size).into_iter().rev());
    bases.push(size as u8);
    bases
}

/// Appends the lines of a read group. What is said of a context or a cycle is so of all reported qualities
/// together, added from the lowest.
fn add_group(out: &mut Vec<u8>, group: &Group, name: &str) {
    let mut lines: BTreeMap<(Subject, Event), Evidence> = BTreeMap::new();
    for row in &group.qualities {
        lines.insert((Subject::Quality(row.quality), row.event), row.evidence);
    }
    for row in &group.covariates {
        let sum = lines.entry((Subject::of(row.covariate), row.event));
        sum.and_modify(|sum| sum.combine(&row.evidence)).or_insert(row.evidence);
    }
    for ((subject, event), evidence) in lines {
        let (value, kind) = match subject {
            Subject::Context(_, covariate) | Subject::Cycle(_, covariate) => {
                (covariate_text(covariate), covariate_name(covariate))
            }
            Subject::Quality(quality) => (quality.to_string().into_bytes(), "QualityScore"),
        };
        out.extend_from_slice(&group.name);
        out.push(b',');
        out.extend_from_slice(&value);
        let (empirical, reported) = (f64::from(evidence.empirical()), evidence.reported);
        // Writing into memory does not fail.
        let _ = writeln!(
            out,
            ",{kind},{},{},{},{},{},{},{name}",
            spelled(event),
            evidence.observations,
            fixed(evidence.errors(), 2),
            fixed(empirical, 2),
            fixed(reported, 2),
            fixed(empirical - reported, 2),
        );
    }
}

fn spelled(event: Event) -> &'static str {
    match event {
        Event::Mismatch => "Base Substitution",
        Event::Insertion => "Base Insertion",
        Event::Deletion => "Base Deletion",
    }
}

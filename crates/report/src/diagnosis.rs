//! Groups failed metrics that usually have the same cause.
//!
//! Without groups, one fault would appear as several findings: short fragments, for example, also
//! lower the insert size and the coverage. The page shows the metric that indicates the cause, and
//! below it the metrics that the cause may have worsened. `rules` has the causes.

use crate::limits::Grade;
use crate::rules::{Cause, Rule, find_rule};
use crate::verdict::MetricOutcome;

/// A group of failed metrics that probably have the same cause.
pub struct Diagnosis<'a> {
    /// The metric that indicates the cause.
    pub lead: &'a MetricOutcome,
    pub grade: Grade,
    /// A phrase that says how to remove the cause, or what to do in spite of it.
    pub remedy: Option<&'static str>,
    /// Metrics that show the same cause, or that it may have worsened.
    pub follow: Vec<&'a MetricOutcome>,
}

/// A metric that failed or has a warning, with its rule.
#[derive(Clone, Copy)]
struct Sign<'a> {
    outcome: &'a MetricOutcome,
    grade: Grade,
    rule: &'static Rule,
    /// Index in `RULES`, which is in causal order.
    at: usize,
}

/// Groups the metrics that failed or have a warning by cause, worst group first. Groups of equal
/// grade are in the order of `RULES`, causes before what they may worsen.
///
/// A cause does not explain a metric whose grade is worse than the grade of the group's lead metric.
/// Such a metric gets its own group, and so does a low coverage that would be as low without the
/// cause.
pub fn group_by_cause(outcomes: &[MetricOutcome]) -> Vec<Diagnosis<'_>> {
    let mut left: Vec<Sign<'_>> = outcomes.iter().filter_map(find_sign).collect();
    left.sort_by_key(|sign| sign.at);
    let mut found: Vec<(usize, Diagnosis<'_>)> = Vec::new();
    while let Some(lead) = next_lead(&left) {
        let (own, others): (Vec<Sign<'_>>, _) =
            left.into_iter().filter(|it| it.at != lead.at).partition(|it| follows(lead, it, outcomes));
        left = others;
        let follow = own.into_iter().map(|it| it.outcome).collect();
        let Sign { outcome, grade, rule, at } = lead;
        found.push((at, Diagnosis { lead: outcome, grade, remedy: rule.remedy, follow }));
    }
    found.sort_by_key(|(at, it)| (std::cmp::Reverse(it.grade), *at));
    found.into_iter().map(|(_, it)| it).collect()
}

fn find_sign(outcome: &MetricOutcome) -> Option<Sign<'_>> {
    let grade = outcome.grade().filter(|grade| *grade != Grade::Good)?;
    let (at, rule) = find_rule(outcome.metric.key)?;
    Some(Sign { outcome, grade, rule, at })
}

/// Returns the lead of the next group: of the metrics that indicate the same cause as the first
/// metric, the one with the worst grade; of equal grades, the most reliable one.
fn next_lead<'a>(left: &[Sign<'a>]) -> Option<Sign<'a>> {
    let first = left.first()?;
    let cause: Option<Cause> = first.rule.indicates;
    let same =
        left.iter().filter(|it| it.at == first.at || cause.is_some() && it.rule.indicates == cause);
    same.rev().max_by_key(|it| it.grade).copied()
}

fn follows(lead: Sign<'_>, it: &Sign<'_>, outcomes: &[MetricOutcome]) -> bool {
    let has_cause = lead.rule.indicates.is_some() && it.rule.indicates == lead.rule.indicates;
    let may_follow = has_cause || lead.rule.worsens.contains(&it.rule.key);
    if it.grade > lead.grade || !may_follow {
        return false;
    }
    match (it.rule.key, lead.rule.coverage_left) {
        ("mean_coverage" | "bases_at_20x", Some(left)) => {
            explains_coverage(left(lead.outcome.source.value), outcomes)
        }
        _ => true,
    }
}

/// Returns whether the mean coverage would have a better grade, or has a good one, if a cause that
/// left only the fraction `left` of it were absent.
fn explains_coverage(left: f64, outcomes: &[MetricOutcome]) -> bool {
    let Some(mean) = outcomes.iter().find(|it| it.metric.key == "mean_coverage") else { return true };
    let (Some(grade), Some(limit)) = (mean.grade(), &mean.limit) else { return true };
    grade == Grade::Good || limit.grade(mean.source.value / left.max(f64::MIN_POSITIVE)) < grade
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use crate::metrics::find_metric;
    use crate::rules::UnmetNeed;
    use crate::run::{NumberRule, Quantity};
    use crate::verdict::MetricJudgement;

    fn outcome_of(key: &str, value: f64, grade: Grade) -> MetricOutcome {
        MetricOutcome {
            metric: find_metric(key).unwrap(),
            name: key.into(),
            place: None,
            source: Quantity::new(value, "", NumberRule::Sum),
            limit: Limits::for_assay(Assay::Wgs).limit(key).copied(),
            judgement: MetricJudgement::Graded(grade),
        }
    }

    fn outcome(key: &str, grade: Grade) -> MetricOutcome {
        outcome_of(key, if key == "mean_coverage" { 19.0 } else { 0.9 }, grade)
    }

    fn shown(outcomes: &[MetricOutcome]) -> Vec<String> {
        let list = group_by_cause(outcomes).into_iter();
        let names =
            |of: &[&MetricOutcome]| of.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(" ");
        list.map(|it| format!("{}: {}", it.lead.name, names(&it.follow))).collect()
    }

    #[test]
    fn what_follows_from_a_cause_stands_under_it() {
        let list = [
            outcome("adapter_bases", Grade::Look),
            outcome("mapped", Grade::Good),
            outcome("duplicates", Grade::Look),
            outcome("insert_size", Grade::Bad),
            outcome("short_inserts", Grade::Bad),
            outcome("mean_coverage", Grade::Bad),
            outcome("oxidation", Grade::Bad),
        ];
        let wanted =
            ["short_inserts: adapter_bases insert_size mean_coverage", "oxidation: ", "duplicates: "];
        assert_eq!(shown(&list), wanted);
    }

    #[test]
    fn what_is_worse_does_not_follow() {
        let list = [outcome("duplicates", Grade::Look), outcome("mean_coverage", Grade::Bad)];
        assert_eq!(shown(&list), ["mean_coverage: ", "duplicates: "]);
        let list = [outcome("worst_cycle", Grade::Look), outcome("n_of_cycle", Grade::Bad)];
        assert_eq!(shown(&list), ["n_of_cycle: worst_cycle"]);
    }

    #[test]
    fn a_coverage_that_the_cause_does_not_explain_is_a_finding() {
        // Without the lost tenth, the mean would be 13×, which still fails.
        let list = [
            outcome_of("even_coverage", 0.8, Grade::Bad),
            outcome_of("mean_coverage", 12.0, Grade::Bad),
            outcome_of("bases_at_20x", 0.1, Grade::Bad),
        ];
        assert_eq!(shown(&list), ["even_coverage: ", "mean_coverage: bases_at_20x"]);
        let list = [
            outcome_of("even_coverage", 0.8, Grade::Bad),
            outcome_of("mean_coverage", 19.0, Grade::Bad),
            outcome_of("bases_at_20x", 0.6, Grade::Bad),
        ];
        assert_eq!(shown(&list), ["even_coverage: mean_coverage bases_at_20x"]);
    }

    #[test]
    fn what_cannot_be_judged_is_no_finding() {
        let mut even = outcome_of("even_coverage", 0.1, Grade::Bad);
        even.judgement = MetricJudgement::NotJudged(UnmetNeed {
            reason: "mean coverage is below 10×".into(),
            is_of_reads: true,
        });
        let list = [even, outcome_of("mean_coverage", 0.1, Grade::Bad)];
        assert_eq!(shown(&list), ["mean_coverage: "]);
    }
}

//! Groups failed metrics that usually have the same cause.
//!
//! Without groups, one fault would appear as several findings: short fragments, for example, also
//! lower the insert size and the coverage. The page shows the metric that indicates the cause, and
//! below it the metrics that the cause may have worsened.

use crate::limits::Grade;
use crate::verdict::MetricOutcome;

/// A group of failed metrics that probably have the same cause.
pub struct Diagnosis<'a> {
    /// The metric that indicates the cause.
    pub lead: &'a MetricOutcome,
    /// Metrics that the cause may have worsened.
    pub follow: Vec<&'a MetricOutcome>,
}

/// Keys of the metrics that indicate a cause, most reliable first, and of the metrics that it may
/// worsen.
type Cause = (&'static [&'static str], &'static [&'static str]);

/// Known causes, in the order in which [`group_by_cause`] tries them. A metric belongs to the first
/// cause that applies.
const CAUSES: &[Cause] = &[
    // Fragments shorter than the reads.
    (
        &["short_inserts", "adapter_bases"],
        &["insert_size", "soft_clipped", "trimmed_away", "mean_coverage", "bases_at_20x"],
    ),
    // A library of few distinct molecules.
    (&["duplicates"], &["library_size", "mean_coverage", "bases_at_20x"]),
    // A lane from a different library or sample.
    (&["lanes_insert", "lanes_gc"], &[]),
    // A failed sequencing cycle.
    (&["worst_cycle", "n_of_cycle"], &["q30_bases"]),
    // Regions lost because of their GC content.
    (&["gc_dropout", "at_dropout"], &["even_coverage", "fold_80", "mean_coverage", "bases_at_20x"]),
    // Regions lost for other reasons.
    (&["even_coverage"], &["fold_80", "mean_coverage", "bases_at_20x"]),
    // Reads from another species, or adapter dimers.
    (&["mapped"], &["mean_coverage", "bases_at_20x"]),
    // Too few reads.
    (&["reads"], &["mean_coverage", "bases_at_20x"]),
    (&["mean_coverage"], &["bases_at_20x"]),
];

/// Groups the metrics that failed or have a warning by cause, worst group first.
///
/// A cause does not explain a metric whose grade is worse than the grade of the group's lead metric.
/// Such a metric gets its own group.
pub fn group_by_cause(outcomes: &[MetricOutcome]) -> Vec<Diagnosis<'_>> {
    let mut left: Vec<&MetricOutcome> = outcomes.iter().filter(|it| it.grade != Grade::Good).collect();
    let mut found = Vec::new();
    for (leads, follow) in CAUSES {
        // The lead is the indicator with the worst grade; of equal grades, the most reliable one.
        let signs =
            leads.iter().rev().filter_map(|key| left.iter().position(|it| it.metric.key == *key));
        let Some(at) = signs.max_by_key(|at| left.get(*at).map(|it| it.grade)) else { continue };
        let lead = left.remove(at);
        let follows = |it: &&MetricOutcome| {
            let key = &it.metric.key;
            it.grade <= lead.grade && (leads.contains(key) || follow.contains(key))
        };
        let (follow, others) = left.into_iter().partition(follows);
        left = others;
        found.push(Diagnosis { lead, follow });
    }
    found.extend(left.into_iter().map(|lead| Diagnosis { lead, follow: Vec::new() }));
    let place = |it: &Diagnosis<'_>| outcomes.iter().position(|other| std::ptr::eq(other, it.lead));
    found.sort_by_key(|it| (std::cmp::Reverse(it.lead.grade), place(it)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{FailingSide, Limit};
    use crate::metrics::{METRICS, find_metric};
    use crate::run::{NumberRule, Quantity};

    fn outcome(key: &str, grade: Grade) -> MetricOutcome {
        MetricOutcome {
            metric: find_metric(key).unwrap(),
            name: key.into(),
            place: None,
            source: Quantity::new(1.0, "", NumberRule::Sum),
            limit: Limit { side: FailingSide::Above, look: None, bad: None },
            grade,
        }
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
    fn causes_name_key_numbers() {
        let all = CAUSES.iter().flat_map(|(leads, follow)| leads.iter().chain(*follow));
        for key in all {
            assert!(METRICS.iter().any(|it| it.key == *key), "{key}");
        }
    }
}

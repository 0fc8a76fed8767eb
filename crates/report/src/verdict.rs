//! The verdict on a sample: judges its metrics, and formats grades and limits as text.

use maud::{Markup, html};

use crate::limits::{FailingSide, Grade, Limit, Limits};
use crate::metrics::{METRICS, Metric, metric_place, metric_title};
use crate::rules::{UnmetNeed, essential_metrics, find_unmet_need};
use crate::run::{Quantity, RunPart};
use crate::text::{NumberFormat, join_words, plain_number};

/// The grade of a metric, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricJudgement {
    Graded(Grade),
    /// The sample lacks what the judgement needs, usually reads.
    NotJudged(UnmetNeed),
    /// The user removed the limits of the metric.
    NoThreshold,
}

/// The value and judgement of a metric that the verdict shows.
///
/// `page` shows a tile for each, `cohort` colours the cells of its table by grade, and `diagnosis`
/// groups those that failed or have a warning by cause.
pub struct MetricOutcome {
    pub metric: &'static Metric,
    /// Title of the metric in this run; see `metric_title`.
    pub name: String,
    /// The cycle or lane that has this value. `None` for values of the whole sample.
    pub place: Option<String>,
    pub source: Quantity,
    pub limit: Option<Limit>,
    pub judgement: MetricJudgement,
}

impl MetricOutcome {
    /// Returns the grade. `None` if the metric is not judged.
    pub fn grade(&self) -> Option<Grade> {
        match self.judgement {
            MetricJudgement::Graded(grade) => Some(grade),
            MetricJudgement::NotJudged(_) | MetricJudgement::NoThreshold => None,
        }
    }

    /// Returns why the metric cannot be judged. `None` if it is judged, or has no threshold.
    fn unmet_need(&self) -> Option<&UnmetNeed> {
        match &self.judgement {
            MetricJudgement::NotJudged(need) => Some(need),
            MetricJudgement::Graded(_) | MetricJudgement::NoThreshold => None,
        }
    }
}

/// The result for a sample, in order of increasing severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleStatus {
    /// All judged metrics passed.
    Pass,
    /// All judged metrics passed, but an essential metric is not among them.
    Incomplete,
    Warn,
    Fail,
}

/// The judged metrics of a sample, and what is missing for a complete judgement.
pub struct SampleVerdict {
    pub outcomes: Vec<MetricOutcome>,
    /// Essential metrics of the assay that the run did not measure, as words for a sentence.
    not_measured: Vec<String>,
    /// Essential metrics that were measured but cannot be judged.
    not_judged: Vec<OpenMetric>,
}

/// An essential metric that cannot be judged.
struct OpenMetric {
    /// Its name in a sentence.
    name: &'static str,
    is_of_reads: bool,
}

/// Judges the metrics of a run.
pub fn judge_sample(run: &RunPart<'_>, limits: &Limits) -> SampleVerdict {
    let outcome = |metric: &'static Metric| {
        if !limits.is_listed(metric.key) {
            return None;
        }
        let (limit, source) = (limits.limit(metric.key).copied(), (metric.find)(run)?);
        let judgement = match (limit, find_unmet_need(metric.key, run)) {
            (None, _) => MetricJudgement::NoThreshold,
            (Some(_), Some(need)) => MetricJudgement::NotJudged(need),
            (Some(limit), None) => MetricJudgement::Graded(limit.grade(source.value)),
        };
        let (name, place) = (metric_title(metric, run), metric_place(metric, run));
        Some(MetricOutcome { metric, name, place, source, limit, judgement })
    };
    let outcomes: Vec<MetricOutcome> = METRICS.iter().filter_map(outcome).collect();
    let (mut not_measured, mut not_judged) = (Vec::new(), Vec::new());
    for (key, name) in essential_metrics(limits.assay) {
        if limits.limit(key).is_none() {
            continue;
        }
        match outcomes.iter().find(|it| it.metric.key == *key) {
            None => not_measured.push((*name).to_string()),
            Some(it) => not_judged
                .extend(it.unmet_need().map(|need| OpenMetric { name, is_of_reads: need.is_of_reads })),
        }
    }
    SampleVerdict { outcomes, not_measured, not_judged }
}

impl SampleVerdict {
    /// Returns the result. `None` if no metric was judged.
    pub fn status(&self) -> Option<SampleStatus> {
        let is_complete = self.not_measured.is_empty() && self.not_judged.is_empty();
        Some(match self.outcomes.iter().filter_map(MetricOutcome::grade).max()? {
            Grade::Bad => SampleStatus::Fail,
            Grade::Look => SampleStatus::Warn,
            Grade::Good if is_complete => SampleStatus::Pass,
            Grade::Good => SampleStatus::Incomplete,
        })
    }

    /// Returns the summary: how many metrics passed, and which essential ones are not among them.
    pub fn summary(&self) -> String {
        let count = |grade: Grade| self.outcomes.iter().filter(|it| it.grade() == Some(grade)).count();
        let (bad, look) = (count(Grade::Bad), count(Grade::Look));
        let all = bad + look + count(Grade::Good);
        let open = self.open_parts();
        let which = match () {
            () if open.is_empty() => "",
            () if self.has_not_judged() => "judged ",
            () => "measured ",
        };
        let has = |n: usize| if n == 1 { "has a warning" } else { "have warnings" };
        let text = match (bad, look) {
            (0, 0) if all == 0 => "No metric with a threshold could be judged".into(),
            (0, 0) if all == 1 => format!("The only {which}metric passed"),
            (0, 0) => format!("All {all} {which}metrics passed"),
            (_, 1) if all == 1 => format!("The only {which}metric has a warning"),
            (1, _) if all == 1 => format!("The only {which}metric failed"),
            (0, look) => format!("{look} of {all} {which}metrics {}; none failed", has(look)),
            (bad, 0) => format!("{bad} of {all} {which}metrics failed"),
            (bad, look) => {
                format!("{bad} of {all} {which}metrics failed, and {look} {}", has(look))
            }
        };
        match open.is_empty() {
            true => format!("{text}."),
            false => format!("{text}; {}.", open.join(", and ")),
        }
    }

    fn has_not_judged(&self) -> bool {
        self.outcomes.iter().any(|it| it.unmet_need().is_some())
    }

    /// Returns a clause for the essential metrics that were not measured, and clauses for all metrics
    /// that were not judged. Only the essential ones have their names there.
    fn open_parts(&self) -> Vec<String> {
        let missing = (!self.not_measured.is_empty()).then(|| {
            let verb = if self.not_measured == ["coverage"] { "was" } else { "were" };
            format!("{} {verb} not measured", join_words(&self.not_measured))
        });
        let of_kind = |is_of_reads: bool| {
            let unmet = self.outcomes.iter().filter_map(MetricOutcome::unmet_need);
            let names = self.not_judged.iter().filter(|it| it.is_of_reads == is_of_reads);
            let names: Vec<String> = names.map(|it| it.name.to_string()).collect();
            let count = unmet.filter(|need| need.is_of_reads == is_of_reads).count();
            let names = match names.len() {
                0 => String::new(),
                essential if essential == count => format!(" ({})", join_words(&names)),
                _ => format!(", including {}", join_words(&names)),
            };
            (count, names)
        };
        let ((few, few_names), (rest, rest_names)) = (of_kind(true), of_kind(false));
        let all = self.outcomes.iter().filter_map(MetricOutcome::grade).count() + few + rest;
        let metrics = if all == 1 { "metric" } else { "metrics" };
        let verb = if rest == 1 { "was" } else { "were" };
        let few =
            (few > 0).then(|| format!("too few reads to judge {few} of {all} {metrics}{few_names}"));
        let rest =
            (rest > 0).then(|| format!("{rest} of {all} {metrics} {verb} not judged{rest_names}"));
        [missing, few, rest].into_iter().flatten().collect()
    }
}

impl SampleStatus {
    /// Returns the CSS class. A sample whose judgement is incomplete does not have the colour of a
    /// pass.
    pub fn css_class(self) -> &'static str {
        match self {
            SampleStatus::Pass => "good",
            SampleStatus::Incomplete => "open",
            SampleStatus::Warn => "look",
            SampleStatus::Fail => "bad",
        }
    }

    /// Returns the word for the status. MultiQC colours table cells with `pass`, `warn` and `fail`.
    pub fn label(self) -> &'static str {
        match self {
            SampleStatus::Pass => "pass",
            SampleStatus::Incomplete => "incomplete",
            SampleStatus::Warn => "warn",
            SampleStatus::Fail => "fail",
        }
    }

    /// Returns the status as a symbol and a word, like [`Grade::to_html`].
    pub fn to_html(self) -> Markup {
        match self {
            SampleStatus::Pass => Grade::Good.to_html(),
            SampleStatus::Incomplete => html! { i aria-hidden="true" { "○" } " " (self.label()) },
            SampleStatus::Warn => Grade::Look.to_html(),
            SampleStatus::Fail => Grade::Bad.to_html(),
        }
    }
}

impl MetricJudgement {
    /// Returns the CSS class of a tile or table cell.
    pub fn css_class(&self) -> &'static str {
        match self {
            MetricJudgement::Graded(grade) => grade.css_class(),
            MetricJudgement::NotJudged(_) | MetricJudgement::NoThreshold => "open",
        }
    }

    /// Returns why there is no grade. `None` if there is one.
    pub fn reason(&self) -> Option<String> {
        match self {
            MetricJudgement::Graded(_) => None,
            MetricJudgement::NotJudged(need) => Some(format!("not judged: {}", need.reason)),
            MetricJudgement::NoThreshold => Some("no threshold".into()),
        }
    }

    pub fn to_html(&self) -> Markup {
        match self {
            MetricJudgement::Graded(grade) => grade.to_html(),
            other => html! { (other.reason().unwrap_or_default()) },
        }
    }
}

impl Grade {
    pub fn css_class(self) -> &'static str {
        match self {
            Grade::Good => "good",
            Grade::Look => "look",
            Grade::Bad => "bad",
        }
    }

    /// Returns the word for the grade, as in FastQC.
    pub fn label(self) -> &'static str {
        match self {
            Grade::Good => "pass",
            Grade::Look => "warn",
            Grade::Bad => "fail",
        }
    }

    /// Returns the grade as a symbol and a word. The symbols have different shapes, so that they can
    /// be distinguished without colour.
    pub fn to_html(self) -> Markup {
        let sign = match self {
            Grade::Good => "✓",
            Grade::Look => "▲",
            Grade::Bad => "✕",
        };
        html! { i aria-hidden="true" { (sign) } " " (self.label()) }
    }
}

/// Returns both thresholds as text: the one for a warning as what is expected, and the one for a
/// failure.
pub fn limit_text(limit: &Limit, form: NumberFormat) -> String {
    let border = |border: f64| match form {
        // Limits are usually round numbers: they keep the digits that the user gave, instead of a
        // fixed number of decimal places.
        NumberFormat::Share => format!("{}\u{a0}%", plain_number((1e6 * border).round() / 1e4)),
        NumberFormat::Points => plain_number((1e6 * border).round() / 1e4),
        NumberFormat::Decimal(_, unit) => {
            format!("{}{}", plain_number(border), unit.trim_end_matches("\u{a0}bases"))
        }
        _ => form.format_number(border),
    };
    let [expected, failing] = match limit.side {
        FailingSide::Below => ["at least", "fails below"],
        FailingSide::Above => ["at most", "fails above"],
    };
    let texts = [(expected, limit.look), (failing, limit.bad)].into_iter();
    let texts: Vec<String> =
        texts.filter_map(|(words, value)| Some(format!("{words} {}", border(value?)))).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::group_by_cause;
    use crate::limits::Assay;
    use serde_json::{Value, json};

    fn judge(reports: Value, assay: Assay) -> SampleVerdict {
        let value = json!({"reads": {"read": 90_000}, "reports": reports});
        judge_sample(&RunPart::new(&value), &Limits::for_assay(assay))
    }

    #[test]
    fn both_thresholds_are_named() {
        let limit = |look, bad| Limit { side: FailingSide::Below, look, bad };
        let text = limit_text(&limit(Some(0.95), Some(0.8)), NumberFormat::Share);
        assert_eq!(text, "at least 95\u{a0}%; fails below 80\u{a0}%");
        let text = limit_text(&limit(None, Some(20.0)), NumberFormat::Decimal(1, "×"));
        assert_eq!(text, "fails below 20×");
    }

    fn keys(verdict: &SampleVerdict) -> Vec<&'static str> {
        verdict.outcomes.iter().map(|it| it.metric.key).collect()
    }

    #[test]
    fn a_panel_whose_baits_did_not_capture_fails() {
        let row = json!({
            "PCT_SELECTED_BASES": 0.018, "FOLD_ENRICHMENT": 0.9, "PF_READS": 1e7, "GENOME_SIZE": 3.1e9,
            "BAIT_TERRITORY": 1e6, "MEAN_TARGET_COVERAGE": 9.0, "AT_DROPOUT": 40, "GC_DROPOUT": 1.0,
            "ON_TARGET_BASES": 9e6,
        });
        let verdict = judge(json!({"hs_metrics": {"rows": [row]}}), Assay::Panel);
        let found = group_by_cause(&verdict.outcomes);
        let found = |at: usize| {
            let it = found.get(at).unwrap();
            (it.lead.metric.key, it.follow.iter().map(|it| it.metric.key).collect::<Vec<_>>())
        };
        assert_eq!(found(0), ("on_target", vec!["fold_enrichment", "mean_coverage"]));
        assert_eq!(found(1), ("at_dropout", Vec::new()));
    }

    #[test]
    fn baits_of_most_of_a_genome_are_not_judged_by_enrichment() {
        let row =
            json!({"FOLD_ENRICHMENT": 4.0, "PF_READS": 1e7, "GENOME_SIZE": 5e6, "BAIT_TERRITORY": 1e6});
        let verdict = judge(json!({"hs_metrics": {"rows": [row]}}), Assay::Exome);
        assert_eq!(
            verdict.outcomes[0].judgement.reason().unwrap(),
            "not judged: the baits cover more than 1/40 of the genome"
        );
        assert_eq!(verdict.status(), None);
    }

    #[test]
    fn a_sample_without_essential_metrics_does_not_pass() {
        let both = |count: u32| json!({"passed": count, "failed": 0});
        let flagstat = json!({
            "primary": both(80_000), "primary mapped": both(79_000), "primary duplicates": both(900),
        });
        let coverage = json!([{"chrom": "total", "mean": 31.0}]);
        let verdict = judge(json!({"flagstat": flagstat}), Assay::Wgs);
        assert_eq!(verdict.status(), Some(SampleStatus::Incomplete));
        assert_eq!(verdict.summary(), "All 2 measured metrics passed; coverage was not measured.");
        let verdict = judge(json!({"flagstat": flagstat, "mosdepth.summary.txt": coverage}), Assay::Wgs);
        assert_eq!(verdict.status(), Some(SampleStatus::Pass));
        assert_eq!(verdict.summary(), "All 3 metrics passed.");
        assert_eq!(judge(json!({"flagstat": flagstat}), Assay::Rna).status(), Some(SampleStatus::Pass));
        let verdict = judge(json!({"mosdepth.summary.txt": coverage}), Assay::Wgs);
        assert_eq!(
            verdict.summary(),
            "The only measured metric passed; mapped reads and duplicates were not measured."
        );
    }

    #[test]
    fn the_summary_counts_all_metrics_that_are_not_judged() {
        let both = |count: u32| json!({"passed": count, "failed": 0});
        let flagstat =
            json!({"primary": both(900), "primary mapped": both(890), "primary duplicates": both(9)});
        let row = json!({"CATEGORY": "PAIR", "PF_READS_ALIGNED": 890, "PF_MISMATCH_RATE": 0.01, "PCT_SOFTCLIP": 0.01});
        let baits = json!({"FOLD_ENRICHMENT": 4.0, "PF_READS": 1e7, "GENOME_SIZE": 5e6, "BAIT_TERRITORY": 1e6, "MEAN_TARGET_COVERAGE": 9.0});
        let mut reports = json!({"flagstat": flagstat, "alignment_summary_metrics": {"rows": [row]}, "hs_metrics": {"rows": [baits]}});
        let verdict = judge(reports.clone(), Assay::Panel);
        assert_eq!(
            verdict.summary(),
            "The only judged metric failed; too few reads to judge 4 of 6 metrics, including mapped reads \
            and duplicates, and 1 of 6 metrics was not judged."
        );
        assert_eq!(verdict.outcomes.len(), 6);
        reports["hs_metrics"]["rows"][0]["MEAN_TARGET_COVERAGE"] = Value::Null;
        reports["hs_metrics"]["rows"][0]["FOLD_ENRICHMENT"] = Value::Null;
        let verdict = judge(reports, Assay::Rna);
        assert_eq!(verdict.status(), None);
        assert_eq!(
            verdict.summary(),
            "No metric with a threshold could be judged; too few reads to judge 4 of 4 metrics, including \
            mapped reads."
        );
    }

    #[test]
    fn optical_duplicates_without_tiles_are_not_measured() {
        let reports = |optical: u32, tiles: Value| {
            let row = json!({
                "READ_PAIRS_EXAMINED": 9000, "UNPAIRED_READS_EXAMINED": 0, "PERCENT_DUPLICATION": 0.1,
                "READ_PAIR_DUPLICATES": 900, "READ_PAIR_OPTICAL_DUPLICATES": optical,
            });
            let sets = json!([{"BIN": [1, 2], "all_sets": [7200, 900]}]);
            let duplicates = json!({"rows": [row], "histograms": sets});
            json!({"duplicates": duplicates, "duplicates_by_tile": {"tile": tiles}})
        };
        let has = |optical, tiles| {
            keys(&judge(reports(optical, tiles), Assay::Wgs)).contains(&"optical_duplicates")
        };
        assert!(has(0, json!([1101])) && has(3, json!([])) && !has(0, json!([])));
    }
}

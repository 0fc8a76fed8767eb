//! The verdict on a sample: grades its metrics, and formats grades and limits as text.

use maud::{Markup, html};

use crate::limits::{FailingSide, Grade, Limit, Limits};
use crate::metrics::{METRICS, Metric, metric_place, metric_title};
use crate::run::{Quantity, RunPart};
use crate::text::{NumberFormat, plain_number};

/// The value and grade of a metric that has a limit.
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
    pub limit: Limit,
    pub grade: Grade,
}

pub fn grade_metrics(run: &RunPart<'_>, limits: &Limits) -> Vec<MetricOutcome> {
    let outcome = |metric: &'static Metric| {
        let limit = *limits.limit(metric.key)?;
        let source = (metric.find)(run)?;
        let grade = limit.grade(source.value);
        let (name, place) = (metric_title(metric, run), metric_place(metric, run));
        Some(MetricOutcome { metric, name, place, source, limit, grade })
    };
    METRICS.iter().filter_map(outcome).collect()
}

pub fn summarize_outcomes(outcomes: &[MetricOutcome]) -> String {
    let count = |grade: Grade| outcomes.iter().filter(|it| it.grade == grade).count();
    let all = outcomes.len();
    let has = |n: usize| if n == 1 { "has a warning" } else { "have warnings" };
    match (count(Grade::Bad), count(Grade::Look)) {
        (0, 0) if all == 0 => "No metric with a threshold is available.".into(),
        (0, 0) if all == 1 => "One metric has a threshold, and it passed.".into(),
        (0, 0) => format!("All {all} metrics passed."),
        (0, look) => format!("{look} of {all} metrics {}; none failed.", has(look)),
        (bad, 0) => format!("{bad} of {all} metrics failed."),
        (bad, look) => format!("{bad} of {all} metrics failed, and {look} {}.", has(look)),
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

    /// Returns the word for the grade, as in FastQC. MultiQC colours table cells with these words.
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

pub fn limit_text(limit: &Limit, form: NumberFormat) -> String {
    let border = limit.look.or(limit.bad).unwrap_or(f64::NAN);
    let border = match form {
        // Limits are usually round numbers: they keep the digits that the user gave, instead of a
        // fixed number of decimal places.
        NumberFormat::Share => format!("{}\u{a0}%", plain_number((1e6 * border).round() / 1e4)),
        NumberFormat::Points => plain_number((1e6 * border).round() / 1e4),
        NumberFormat::Decimal(_, unit) => {
            format!("{}{}", plain_number(border), unit.trim_end_matches("\u{a0}bases"))
        }
        _ => form.format_number(border),
    };
    match limit.side {
        FailingSide::Below => format!("at least {border}"),
        FailingSide::Above => format!("at most {border}"),
    }
}

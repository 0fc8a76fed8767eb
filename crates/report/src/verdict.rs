//! The verdict about a sample: key numbers beside their limits, and how that is said.

use crate::limits::{Bad, Grade, Limit, Limits};
use crate::metrics::{METRICS, Metric, name_of, place_of};
use crate::run::{Quantity, Run};
use crate::text::{Form, plain};

/// A key number, its limit, and how it stands to it.
pub struct Outcome {
    pub metric: &'static Metric,
    /// Its name, in this run.
    pub name: String,
    /// Where it was seen, if that is one place.
    pub place: Option<String>,
    pub source: Quantity,
    pub limit: Limit,
    pub grade: Grade,
}

/// The outcomes of a run, in the order of the page.
pub fn outcomes(run: &Run<'_>, limits: &Limits) -> Vec<Outcome> {
    let outcome = |metric: &'static Metric| {
        let limit = *limits.limit(metric.key)?;
        let source = (metric.find)(run)?;
        let grade = limit.grade(source.value);
        let (name, place) = (name_of(metric, run), place_of(metric, run));
        Some(Outcome { metric, name, place, source, limit, grade })
    };
    METRICS.iter().filter_map(outcome).collect()
}

/// How many numbers are good, in words.
pub fn summary(outcomes: &[Outcome]) -> String {
    let count = |grade: Grade| outcomes.iter().filter(|it| it.grade == grade).count();
    let all = outcomes.len();
    let is = |n: usize| if n == 1 { "is" } else { "are" };
    match (count(Grade::Bad), count(Grade::Look)) {
        (0, 0) if all == 1 => "The one number with a limit is good.".into(),
        (0, 0) => format!("All {all} numbers with limits are good."),
        (0, look) => format!("{look} of {all} numbers {} worth a look; none is bad.", is(look)),
        (bad, 0) => format!("{bad} of {all} numbers {} bad.", is(bad)),
        (bad, look) => {
            format!("{bad} of {all} numbers {} bad, and {look} {} worth a look.", is(bad), is(look))
        }
    }
}

/// The class and the words of a grade; the sign differs in its shape, too.
pub fn grade(grade: Grade) -> (&'static str, &'static str) {
    match grade {
        Grade::Good => ("good", "<i aria-hidden=\"true\">✓</i> good"),
        Grade::Look => ("look", "<i aria-hidden=\"true\">▲</i> look"),
        Grade::Bad => ("bad", "<i aria-hidden=\"true\">✕</i> bad"),
    }
}

/// The limit in words.
pub fn limit_text(limit: &Limit, form: Form) -> String {
    let border = limit.look.or(limit.bad).unwrap_or(f64::NAN);
    let border = match form {
        // As it was given: limits are round numbers.
        Form::Share => format!("{}\u{a0}%", plain((1e6 * border).round() / 1e4)),
        Form::Points => plain((1e6 * border).round() / 1e4),
        Form::Decimal(_, unit) => format!("{}{}", plain(border), unit.trim_end_matches("\u{a0}bases")),
        _ => form.text(border),
    };
    match limit.side {
        Bad::Below => format!("at least {border}"),
        Bad::Above => format!("at most {border}"),
    }
}

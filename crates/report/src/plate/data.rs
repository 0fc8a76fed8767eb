//! The data of the table of samples, as one JSON block that the script of the page reads.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use crate::cohort::MetricColumn;
use crate::limits::{FailingSide, Grade, Limit};
use crate::options::PageOptions;
use crate::run::Quantity;
use crate::text::NumberFormat;
use crate::verdict::{MetricJudgement, MetricOutcome, SampleStatus, limit_text};

use super::bars::{Bar, bars_json};
use super::grid::Curves;
use super::sample::PlateSample;

/// The data of the table of samples and of the plots.
pub struct PlateData<'a> {
    pub samples: &'a [PlateSample],
    /// Metrics with limits, whose columns are shown at first.
    pub columns: &'a [MetricColumn],
    /// Metrics without limits, whose columns are hidden at first.
    pub details: &'a [MetricColumn],
    pub curves: &'a [Curves],
}

impl PlateData<'_> {
    /// Returns the element with the JSON block.
    pub fn to_element(&self, options: &PageOptions) -> Markup {
        // In a script element, only `<` can end the text. JSON may escape it.
        let text = self.to_json(options).to_string().replace('<', "\\u003c");
        html! { "\n" script id="plate-data" type="application/json" { (PreEscaped(text)) } }
    }

    fn to_json(&self, options: &PageOptions) -> Value {
        let mut grades = GradeList::default();
        let status = |it: &PlateSample| it.verdict.status();
        let verdicts: Vec<Option<usize>> =
            self.samples.iter().map(|it| status(it).map(|it| grades.number(status_json(it)))).collect();
        let metrics: Vec<Value> =
            self.columns.iter().map(|column| self.metric_json(column, &mut grades)).collect();
        let mut wholes = WholeList::default();
        let mut detail = |column: &MetricColumn| {
            let mut metric = self.metric_json(column, &mut grades);
            if let Some(number) = wholes.number(&column.values) {
                (metric["values"], metric["whole"]) = (json!([]), number.into());
            }
            metric
        };
        let details: Vec<Value> = self.details.iter().map(&mut detail).collect();
        let bars: Vec<&[Option<Bar>]> = self.samples.iter().map(|it| &it.bars[..]).collect();
        let names: Vec<String> = self.samples.iter().map(|it| clean_text(&it.name)).collect();
        json!({
            "samples": names,
            "verdicts": verdicts,
            "summaries": self.samples.iter().map(|it| it.verdict.summary()).collect::<Vec<_>>(),
            "grades": grades.0,
            "fields": self.fields_json(options),
            "colorBy": options.color_by,
            "metrics": metrics,
            "details": details,
            "wholes": wholes.0,
            "bars": bars_json(&bars),
            "curves": self.curves.iter().map(Curves::to_json).collect::<Vec<_>>(),
        })
    }

    /// Returns the fields of the sample sheet, with the value of each sample.
    fn fields_json(&self, options: &PageOptions) -> Value {
        let Some(sheet) = &options.sheet else { return json!([]) };
        let field = |(n, name): (usize, &String)| {
            let of = |sample: &PlateSample| sample.fields.get(n)?.as_deref().map(clean_text);
            json!({"name": clean_text(name), "values": self.samples.iter().map(of).collect::<Vec<_>>()})
        };
        sheet.field_names().iter().enumerate().map(field).collect()
    }

    fn metric_json(&self, column: &MetricColumn, grades: &mut GradeList) -> Value {
        let (metric, form) = (column.metric, column.metric.form);
        let outcome = |run: usize| {
            let own = self.samples.get(run).map_or(&[][..], |it| &it.verdict.outcomes);
            own.iter().find(|it| it.metric.key == metric.key)
        };
        let of_runs = || 0..self.samples.len();
        let mut sources = SourceList::default();
        let numbers: Vec<Option<usize>> =
            column.values.iter().map(|it| it.as_ref().map(|it| sources.number(it))).collect();
        let known = || column.values.iter().map(Option::as_ref);
        let unit = form.unit();
        // Lists without values would be a tenth of the data.
        let listed = |values: Vec<Value>| match values.iter().all(Value::is_null) {
            true => Value::Array(Vec::new()),
            false => Value::Array(values),
        };
        let sides: Map<String, Value> =
            of_runs().filter_map(|run| Some((run.to_string(), column.side(run)?.0.into()))).collect();
        let grades = of_runs()
            .map(|run| outcome(run).map(|it| grades.number(judgement_json(&it.judgement))).into());
        json!({
            "key": metric.key,
            "name": column.name,
            "meaning": metric.meaning,
            "unit": unit.name,
            "factor": unit.factor,
            "median": form.format_number(column.median),
            "values": known().map(|it| it.map(|it| it.value)).collect::<Vec<_>>(),
            "form": form_json(form),
            "counts": listed(known().map(|it| it.and_then(|it| it.count).map(whole_json).into()).collect()),
            "grades": listed(grades.collect()),
            "sides": sides,
            "sources": sources.0,
            // Usually, all samples have their value at the same place in the JSON.
            "source": if sources.0.len() == 1 { Vec::new() } else { numbers },
            "limit": limit_json(of_runs().filter_map(outcome), form),
        })
    }
}

/// Returns the format of the texts of a metric, which the script makes from the values. The texts would
/// be a third of the data.
fn form_json(form: NumberFormat) -> Value {
    match form {
        NumberFormat::Plain => json!({"kind": "plain"}),
        NumberFormat::Decimal(digits, unit) => {
            json!({"kind": "decimal", "digits": digits, "unit": unit})
        }
        NumberFormat::Share => json!({"kind": "share"}),
        NumberFormat::Points => json!({"kind": "points"}),
        NumberFormat::Bases => json!({"kind": "bases"}),
        NumberFormat::Bytes => json!({"kind": "bytes"}),
        NumberFormat::Seconds => json!({"kind": "seconds"}),
    }
}

/// Returns a count, which is a whole number, without a decimal point.
fn whole_json(count: f64) -> Value {
    (count.round() as u64).into()
}

/// Returns the limit of a metric, if all samples have the same.
fn limit_json<'a>(outcomes: impl Iterator<Item = &'a MetricOutcome>, form: NumberFormat) -> Value {
    let mut limits = outcomes.map(|it| it.limit);
    let Some(Some(first)) = limits.next().filter(|first| limits.all(|it| it == *first)) else {
        return Value::Null;
    };
    let Limit { side, look, bad } = first;
    json!({
        "text": limit_text(&first, form),
        "above": side == FailingSide::Above,
        "look": look,
        "bad": bad,
    })
}

/// Returns the result of a sample. A greater rank is worse.
fn status_json(status: SampleStatus) -> Value {
    json!({
        "class": status.css_class(), "label": status.label(), "html": status.to_html().into_string(),
        "rank": status as u8 + 1,
    })
}

/// Returns the judgement of a metric. Without a grade, the label is the reason.
fn judgement_json(judgement: &MetricJudgement) -> Value {
    match judgement {
        MetricJudgement::Graded(grade) => status_json(match grade {
            Grade::Good => SampleStatus::Pass,
            Grade::Look => SampleStatus::Warn,
            Grade::Bad => SampleStatus::Fail,
        }),
        other => json!({
            "class": other.css_class(), "label": other.reason(), "html": other.to_html().into_string(),
            "rank": 0,
        }),
    }
}

/// The grades that occur, so that the data name each by a number.
#[derive(Default)]
struct GradeList(Vec<Value>);

impl GradeList {
    fn number(&mut self, grade: Value) -> usize {
        self.0.iter().position(|it| *it == grade).unwrap_or_else(|| {
            self.0.push(grade);
            self.0.len() - 1
        })
    }
}

/// The totals of which the values of columns are shares. The script divides the counts of a column by them:
/// the digits of the shares would take most of the bytes of the column.
#[derive(Default)]
struct WholeList(Vec<Vec<u64>>);

impl WholeList {
    /// Returns the number of the totals of a column. `None` if its values are not exactly its counts divided
    /// by whole numbers.
    fn number(&mut self, values: &[Option<Quantity>]) -> Option<usize> {
        let is_share = |quantity: &Quantity, whole: u64| {
            quantity
                .count
                .is_some_and(|count| count.round() == count && count / whole as f64 == quantity.value)
        };
        let fits = |wholes: &Vec<u64>| {
            let pairs = values.iter().zip(wholes);
            pairs
                .filter_map(|(it, whole)| Some((it.as_ref()?, *whole)))
                .all(|(it, whole)| is_share(it, whole))
        };
        if let Some(found) = self.0.iter().position(fits) {
            return Some(found);
        }
        let whole = |quantity: &Option<Quantity>| match quantity {
            Some(it) if it.value > 0.0 => (it.count.unwrap_or(0.0) / it.value).round() as u64,
            _ => 1,
        };
        let wholes: Vec<u64> = values.iter().map(whole).collect();
        fits(&wholes).then(|| {
            self.0.push(wholes);
            self.0.len() - 1
        })
    }
}

/// The sources in the JSON that occur, as attributes of `<data>` elements.
#[derive(Default)]
struct SourceList(Vec<Map<String, Value>>);

impl SourceList {
    fn number(&mut self, quantity: &Quantity) -> usize {
        let attributes: Map<String, Value> = quantity
            .source_attributes()
            .into_iter()
            .map(|(name, value)| (name.to_string(), value.into()))
            .collect();
        self.0.iter().position(|it| *it == attributes).unwrap_or_else(|| {
            self.0.push(attributes);
            self.0.len() - 1
        })
    }
}

/// Replaces control characters, as `render_page` does in the HTML.
fn clean_text(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::NumberRule;

    #[test]
    fn columns_with_the_same_totals_share_them() {
        let share = |count: f64, whole: f64| {
            let share = Quantity::new(count / whole, "/x", NumberRule::Sum);
            Some(share.with_count(Some(count)))
        };
        let mut list = WholeList::default();
        assert_eq!(list.number(&[share(1.0, 3.0), share(0.0, 9.0), None]), Some(0));
        assert_eq!(list.number(&[share(2.0, 3.0), None, None]), Some(0));
        assert_eq!(list.number(&[share(5.0, 7.0), share(3.0, 9.0), None]), Some(1));
        assert_eq!(list.number(&[share(0.5, 7.0)]), None, "no whole count");
        let rounded = Quantity::new(0.07, "/x", NumberRule::Sum).with_count(Some(16_505.0));
        assert_eq!(list.number(&[Some(rounded)]), None, "a rounded share");
        assert_eq!(list.number(&[Some(Quantity::new(0.5, "/x", NumberRule::Sum))]), None);
        assert_eq!(list.0, [[3, 1, 1], [7, 9, 1]]);
    }
}

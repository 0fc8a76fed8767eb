//! The lists of a plate: failed samples, samples with warnings, outliers, and lanes that may belong to
//! another sample. They need no scripts.

use maud::{Markup, Render, html};

use super::sample::PlateSample;
use crate::cohort::{LaneSwap, MetricColumn, SampleLane, collect_swaps};
use crate::diagnosis::group_by_cause;
use crate::lanes::LaneStats;
use crate::limits::Grade;
use crate::verdict::MetricOutcome;

/// Maximum number of samples in a list of the page. The table has all of them.
const MAX_LISTED: usize = 100;

/// Number of samples that a list shows before the reader opens the rest.
const LISTED_AT_ONCE: usize = 5;

/// Minimum number of samples that a list collapses. Fewer take hardly more room than the heading
/// that opens them.
const MIN_COLLAPSED: usize = 3;

/// Returns a section with a list, which shows `at_once` items. Long lists are partly collapsed. `None`
/// if there are no items.
fn list_section(id: &str, title: &str, items: &[Markup], at_once: usize) -> Option<Markup> {
    let is_long = items.len() >= at_once + MIN_COLLAPSED || at_once == 0;
    let (first, rest) = items.split_at(if is_long { at_once } else { items.len() });
    let listed = rest.get(..rest.len().min(MAX_LISTED - at_once))?;
    let count = |n: usize| match (at_once, n) {
        (0, 1) => "1 sample".to_string(),
        (0, n) => format!("{n} samples"),
        (_, n) => format!("{n} more"),
    };
    (!items.is_empty()).then(|| {
        html! {
            section id=(id) aria-labelledby={ (id) "-h" } {
                h2 id={ (id) "-h" } { (title) }
                @if !first.is_empty() { ul class="findings" { @for item in first { (item) } } }
                @if !listed.is_empty() {
                    details class="rest" {
                        summary { (count(rest.len())) span { ": " (title) } }
                        ul class="findings" { @for item in listed { (item) } }
                        @if rest.len() > listed.len() {
                            p class="note" {
                                "And " (rest.len() - listed.len()) " others: sort the table of samples."
                            }
                        }
                    }
                }
            }
        }
    })
}

/// Returns a link to the details of a sample.
fn sample_link(samples: &[PlateSample], i: usize) -> Markup {
    let name = samples.get(i).map_or("", |sample| &sample.name);
    html! { a href={ "#s" (i) } data-name=(i) { (name) } }
}

/// Maximum number of further metrics of a sample that a list names.
const MAX_NAMED_METRICS: usize = 3;

/// Returns the list item of a sample with its metrics of this grade: the one that indicates the worst
/// cause has its value, and the others are counted, with their names if they are few. `None` if the
/// sample has another grade.
fn graded_item(samples: &[PlateSample], i: usize, grade: Grade) -> Option<Markup> {
    let outcomes = &samples.get(i)?.verdict.outcomes;
    let found = group_by_cause(outcomes);
    let lead = found.first().filter(|it| it.grade == grade)?.lead;
    let is_other = |it: &&MetricOutcome| it.grade() == Some(grade) && it.metric.key != lead.metric.key;
    let others: Vec<&str> = outcomes.iter().filter(is_other).map(|it| it.name.as_str()).collect();
    Some(html! {
        li data-run=(i) {
            (sample_link(samples, i)) ": " (lead.name) " " (lead.source.to_html(lead.metric.form))
            @if !others.is_empty() {
                span class="more" {
                    ", and " (others.len()) " more"
                    @if others.len() <= MAX_NAMED_METRICS { ": " (others.join(", ")) }
                }
            }
            "."
        }
    })
}

/// Returns a list of the samples whose worst grade is a failure.
pub fn failed_list(samples: &[PlateSample]) -> Option<Markup> {
    let items = (0..samples.len()).filter_map(|i| graded_item(samples, i, Grade::Bad));
    list_section("failed", "Failed samples", &items.collect::<Vec<_>>(), LISTED_AT_ONCE)
}

/// Returns a collapsed list of the samples whose worst grade is a warning.
pub fn warned_list(samples: &[PlateSample]) -> Option<Markup> {
    let items = (0..samples.len()).filter_map(|i| graded_item(samples, i, Grade::Look));
    list_section("warned", "Samples with warnings", &items.collect::<Vec<_>>(), 0)
}

pub fn outlier_list(samples: &[PlateSample], columns: &[MetricColumn]) -> Option<Markup> {
    let of = |i: usize, column: &MetricColumn| {
        let ((side, _), source) = (column.side(i)?, column.values.get(i)?.as_ref()?);
        let form = column.metric.form;
        Some(html! {
            (column.name) " " (source.to_html(form)) " " span class="out" { (side) }
            " (median " (form.format_number(column.median)) ")"
        })
    };
    let item = |i: usize| {
        let own: Vec<Markup> = columns.iter().filter_map(|column| of(i, column)).collect();
        (!own.is_empty()).then(|| {
            html! {
                li data-run=(i) { (sample_link(samples, i)) ": " (join_markup(&own)) "." }
            }
        })
    };
    let items: Vec<Markup> = (0..samples.len()).filter_map(item).collect();
    list_section("outliers", "Outlier samples", &items, LISTED_AT_ONCE)
}

/// Maximum number of outlier metrics in the list of outlier samples.
const MAX_METRICS_OF_SAMPLE: usize = 6;

fn join_markup(parts: &[Markup]) -> impl Render {
    let left = parts.len().saturating_sub(MAX_METRICS_OF_SAMPLE);
    html! {
        @for (n, text) in parts.iter().take(MAX_METRICS_OF_SAMPLE).enumerate() {
            @if n > 0 { "; " } (text)
        }
        @if left > 0 { "; and " (left) " more" }
    }
}

/// Returns the lanes that may belong to another sample. `None` if no sample has metrics by lane.
pub fn lanes_list(samples: &[PlateSample]) -> Option<Markup> {
    let lanes: Vec<&[LaneStats]> = samples.iter().map(|it| &it.lanes[..]).collect();
    let swaps = collect_swaps(&lanes)?;
    let item = |swap: &LaneSwap| html! { li { (swap_sentence(samples, swap)) } };
    let items: Vec<Markup> = swaps.iter().map(item).collect();
    list_section("lanes", "Lanes", &items, LISTED_AT_ONCE).or_else(|| {
        Some(html! {
            section id="lanes" aria-labelledby="lanes-h" {
                h2 id="lanes-h" { "Lanes" }
                p class="lead" { "No lane matches another sample better than its own." }
            }
        })
    })
}

fn swap_sentence(samples: &[PlateSample], swap: &LaneSwap) -> Markup {
    let lane = |it: &SampleLane| html! { code { (it.name) } " of " (sample_link(samples, it.run)) };
    match swap {
        LaneSwap::Exchanged([one, other]) => html! {
            "Lane " (lane(one)) " and lane " (lane(other)) " were probably exchanged: each matches the "
            "other sample better than its own."
        },
        LaneSwap::Foreign { lane: own, other, more } => html! {
            "Lane " (lane(own)) " matches " (sample_link(samples, *other))
            @if *more > 0 { " and " (more) " other " (if *more == 1 { "sample" } else { "samples" }) }
            " better than its own."
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let items: Vec<Markup> = (0..150).map(|i| html! { li { (i) } }).collect();
        let section = |count: usize, at_once| {
            list_section("x", "Title", &items[..count], at_once).map(Markup::into_string)
        };
        let text = section(150, 5).unwrap();
        assert!(text.contains("<summary>145 more<") && text.contains("And 50 others"), "{text}");
        assert!(section(0, 5).is_none() && section(0, 0).is_none());
        assert!(!section(7, 5).unwrap().contains("details"), "two lines are not collapsed");
        assert!(section(8, 5).unwrap().contains("<summary>3 more<"));
        let text = section(1, 0).unwrap();
        assert!(text.contains("<summary>1 sample<") && text.matches("<ul").count() == 1, "{text}");
    }
}

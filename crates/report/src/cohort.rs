//! Comparison of several samples: medians and outliers of each metric, and lanes that may belong to
//! another sample. `plate` shows the results.
//!
//! ```text
//! values of all samples ─► metric_columns  the median of each metric, and its outliers
//! lanes of all samples  ─► collect_swaps   lanes that resemble another sample more than their own
//! ```

use crate::lanes::{LaneStats, SortedValues, median};
use crate::metrics::Metric;
use crate::run::Quantity;
use crate::text::NumberFormat;

/// The values of one metric in all samples.
///
/// A sample is an outlier if its distance from the median is more than [`MAX_ROBUST_Z`] scaled median
/// absolute deviations, and more than a minimum distance; see docs/report.md.
pub struct MetricColumn {
    pub metric: &'static Metric,
    /// The title of the metric in the samples; its general name if the titles differ.
    pub name: String,
    /// One per sample; `None` if the sample lacks the metric.
    pub values: Vec<Option<Quantity>>,
    pub median: f64,
    outliers: Vec<usize>,
}

impl MetricColumn {
    /// Returns `("high", "higher")` or `("low", "lower")` if the sample is an outlier.
    pub fn side(&self, run: usize) -> Option<(&'static str, &'static str)> {
        let value = self.values.get(run)?.as_ref()?.value;
        let side = if value > self.median { ("high", "higher") } else { ("low", "lower") };
        self.outliers.contains(&run).then_some(side)
    }
}

const MIN_COMPARED_SAMPLES: usize = 5;

/// Robust z-score above which a sample is an outlier (Iglewicz and Hoaglin).
const MAX_ROBUST_Z: f64 = 3.5;

/// Minimum distance of an outlier from the median, as a fraction of the median. Without a minimum,
/// tiny differences between nearly equal samples would be reported.
const MIN_RELATIVE_DISTANCE: f64 = 0.1;
/// Minimum distance for metrics that are fractions, relative to the distance from the median to 0
/// or 1, whichever is nearer.
const MIN_SHARE_DISTANCE: f64 = 0.25;

const NOT_COMPARED: [&str; 1] = ["oxidation"];

/// A value of a metric of a sample.
#[derive(Clone)]
pub struct MetricValue {
    /// The title of the metric in the sample; see `metric_title`.
    pub name: String,
    pub quantity: Quantity,
    /// Whether the sample has enough data for the value to be compared with other samples.
    pub is_compared: bool,
}

/// Returns the columns of those `metrics` that at least one sample has. `values` has a list for each
/// sample, with the values of all `metrics` in their order.
pub fn metric_columns(
    metrics: &'static [Metric],
    values: &[&[Option<MetricValue>]],
) -> Vec<MetricColumn> {
    let column = |(n, metric)| {
        let of_samples = values.iter().map(|own| own.get(n).and_then(Option::as_ref));
        metric_column(metric, &of_samples.collect::<Vec<_>>())
    };
    metrics.iter().enumerate().filter_map(column).collect()
}

fn metric_column(metric: &'static Metric, of_samples: &[Option<&MetricValue>]) -> Option<MetricColumn> {
    let quantity = |it: &Option<&MetricValue>| it.map(|it| it.quantity.clone());
    let values: Vec<Option<Quantity>> = of_samples.iter().map(quantity).collect();
    // A value from too little data is shown, but not compared.
    let compared = of_samples.iter().map(|it| it.filter(|it| it.is_compared));
    let compared: Vec<Option<Quantity>> = compared.map(|it| quantity(&it)).collect();
    let numbers = |values: &[Option<Quantity>]| values.iter().flatten().map(|it| it.value).collect();
    let known: Vec<f64> = numbers(&compared);
    let middle = median(known.clone()).or_else(|| median(numbers(&values)))?;
    let near = match metric.form {
        NumberFormat::Share => MIN_SHARE_DISTANCE * middle.min(1.0 - middle).abs(),
        _ => MIN_RELATIVE_DISTANCE * middle.abs(),
    };
    let is_compared = known.len() >= MIN_COMPARED_SAMPLES && !NOT_COMPARED.contains(&metric.key);
    let outliers = if is_compared { find_outliers(&compared, &known, middle, near) } else { Vec::new() };
    let mut names = of_samples.iter().flatten().map(|it| &it.name);
    let first = names.next().filter(|first| names.all(|name| name == *first));
    let name = first.cloned().unwrap_or_else(|| metric.name.to_string());
    Some(MetricColumn { metric, name, outliers, values, median: middle })
}

/// Returns the indexes of the outlier samples. `known` are the values of the samples that have the
/// metric, `middle` is their median, and `near` is the minimum distance of an outlier.
fn find_outliers(values: &[Option<Quantity>], known: &[f64], middle: f64, near: f64) -> Vec<usize> {
    let distances = known.iter().map(|value| (value - middle).abs()).collect();
    let deviation = 1.4826 * median(distances).unwrap_or(0.0);
    let stands_out = |value: f64| {
        let distance = (value - middle).abs();
        distance > MAX_ROBUST_Z * deviation && distance > near
    };
    let values = values.iter().enumerate();
    values.filter(|(_, it)| it.as_ref().is_some_and(|it| stands_out(it.value))).map(|(i, _)| i).collect()
}

/// A lane of one of the samples.
struct PlacedLane {
    /// Index of the sample, in the order of the page.
    run: usize,
    name: String,
    /// Median insert size, and mean GC as a fraction.
    values: [f64; 2],
}

/// Units that make distances in insert size and in GC comparable: a tenth of the insert size, and
/// two percentage points of GC.
const DISTANCE_UNITS: [f64; 2] = [0.1, 0.02];

/// Samples match a lane about equally well if their distances from it differ by at most this.
const MAX_EQUAL_DISTANCE: f64 = 0.5;

/// Minimum number of lanes that a sample must have before the page says that one was exchanged. If a
/// sample has two lanes, either can be the foreign one.
const MIN_EXCHANGE_LANES: usize = 3;

/// Returns the distance of a lane from the medians of other lanes, in [`DISTANCE_UNITS`].
fn lane_distance(lane: &PlacedLane, middle: [f64; 2]) -> f64 {
    let [insert, gc] = lane.values;
    let apart = [(insert - middle[0]).abs() / middle[0].max(1.0), (gc - middle[1]).abs()];
    (apart[0] / DISTANCE_UNITS[0]).max(apart[1] / DISTANCE_UNITS[1])
}

/// A lane of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleLane {
    /// Index of the sample, in the order of the page.
    pub run: usize,
    pub name: String,
}

/// Lanes that probably belong to another sample.
#[derive(Debug, PartialEq)]
pub enum LaneSwap {
    /// Two lanes of different samples. Each matches the other sample better than its own.
    Exchanged([SampleLane; 2]),
    /// A lane that matches another sample better than its own.
    Foreign {
        lane: SampleLane,
        /// Index of the sample that the lane matches. Of several, one that has such a lane, too.
        other: usize,
        /// Number of further samples that the lane matches about equally well.
        more: usize,
    },
}

/// Finds lanes whose insert size and GC match another sample better than their own. `lanes` has the
/// lanes of each sample; lanes with few reads are not compared. `None` if no lane can be compared.
pub fn collect_swaps(lanes: &[&[LaneStats]]) -> Option<Vec<LaneSwap>> {
    let place = |(run, own): (usize, &&[LaneStats])| -> Vec<PlacedLane> {
        let placed = own.iter().filter(|lane| lane.has_enough_reads()).filter_map(|lane| {
            let values = [lane.insert.as_ref()?.value, lane.gc.as_ref()?.value];
            Some(PlacedLane { run, name: lane.name.clone(), values })
        });
        placed.collect()
    };
    let placed: Vec<PlacedLane> = lanes.iter().enumerate().flat_map(place).collect();
    (!placed.is_empty()).then(|| find_swaps(&placed))
}

/// The medians of the lanes of each sample.
struct SampleMedians {
    /// Insert sizes and GC of the lanes of each sample.
    values: Vec<[SortedValues; 2]>,
    /// The medians of all lanes of each sample.
    all: Vec<Option<[f64; 2]>>,
    /// The number of lanes of each sample.
    counts: Vec<usize>,
}

impl SampleMedians {
    fn from_lanes(lanes: &[PlacedLane]) -> Self {
        let run_count = lanes.iter().map(|lane| lane.run + 1).max().unwrap_or(0);
        let mut of_runs: Vec<Vec<[f64; 2]>> = vec![Vec::new(); run_count];
        for lane in lanes {
            of_runs.get_mut(lane.run).into_iter().for_each(|it| it.push(lane.values));
        }
        let sort = |own: &Vec<[f64; 2]>| {
            [0, 1].map(|n| SortedValues::from_values(own.iter().filter_map(|it| it.get(n).copied())))
        };
        let mut medians = SampleMedians {
            values: of_runs.iter().map(sort).collect(),
            all: Vec::new(),
            counts: of_runs.iter().map(Vec::len).collect(),
        };
        medians.all = (0..run_count).map(|run| medians.without(run, None)).collect();
        medians
    }

    /// Returns the medians of a sample without one lane. `None` if no lane remains.
    fn without(&self, run: usize, lane: Option<[f64; 2]>) -> Option<[f64; 2]> {
        let [inserts, gcs] = self.values.get(run)?;
        let [insert, gc] = [lane.map(|it| it[0]), lane.map(|it| it[1])];
        Some([inserts.median_without(insert)?, gcs.median_without(gc)?])
    }
}

/// A lane that is far from the other lanes of its sample and near to other samples.
struct ForeignLane<'a> {
    lane: &'a PlacedLane,
    /// The distance from its own sample.
    own: f64,
    /// The samples that it matches about equally well, and its distances from them.
    matches: Vec<(usize, f64)>,
}

/// Finds lanes that are far from the other lanes of their sample, and more than three times nearer
/// to the lanes of another sample. Two such lanes that match the sample of each other, and no other
/// such lane about as well, are one swap.
fn find_swaps(lanes: &[PlacedLane]) -> Vec<LaneSwap> {
    let medians = SampleMedians::from_lanes(lanes);
    let foreign: Vec<ForeignLane<'_>> =
        lanes.iter().filter_map(|lane| find_foreign_lane(lane, &medians)).collect();
    let partners: Vec<Option<usize>> =
        foreign.iter().map(|it| find_partner(it, &foreign, &medians)).collect();
    let mut has_foreign = vec![false; medians.all.len()];
    for it in &foreign {
        has_foreign.get_mut(it.lane.run).into_iter().for_each(|has| *has = true);
    }
    let named = |it: &ForeignLane<'_>| SampleLane { run: it.lane.run, name: it.lane.name.clone() };
    let mut found = Vec::new();
    for (i, it) in foreign.iter().enumerate() {
        let partner = partners.get(i).copied().flatten();
        match partner.filter(|other| partners.get(*other) == Some(&Some(i))) {
            Some(other) if other < i => {} // The swap is in the list.
            Some(other) => {
                let other = foreign.get(other).map(|other| [named(it), named(other)]);
                found.extend(other.map(LaneSwap::Exchanged));
            }
            None => {
                let is_clean = |run: usize| !has_foreign.get(run).is_some_and(|has| *has);
                let best = it
                    .matches
                    .iter()
                    .min_by(|a, b| is_clean(a.0).cmp(&is_clean(b.0)).then(a.1.total_cmp(&b.1)));
                let more = it.matches.len() - 1;
                found.extend(best.map(|(other, _)| LaneSwap::Foreign {
                    lane: named(it),
                    other: *other,
                    more,
                }));
            }
        }
    }
    found
}

/// Returns the lane with the samples that it matches better than its own. `None` if there are none.
fn find_foreign_lane<'a>(lane: &'a PlacedLane, medians: &SampleMedians) -> Option<ForeignLane<'a>> {
    let of_others = lane_distance(lane, medians.without(lane.run, Some(lane.values))?);
    // The median of two remaining lanes is their mean, and one of them can be foreign. So the distance
    // from all three counts, too, if it is smaller.
    let of_all = medians.all.get(lane.run).copied().flatten().map(|it| lane_distance(lane, it));
    let own = of_others.min(of_all?);
    if own <= 1.0 {
        return None;
    }
    let others = medians.all.iter().enumerate().filter(|(run, _)| *run != lane.run);
    let distances = others.filter_map(|(run, middle)| Some((run, lane_distance(lane, (*middle)?))));
    let mut matches: Vec<(usize, f64)> = distances.filter(|it| it.1 < own / 3.0).collect();
    let nearest = matches.iter().map(|it| it.1).min_by(f64::total_cmp)?;
    matches.retain(|it| it.1 <= nearest + MAX_EQUAL_DISTANCE);
    Some(ForeignLane { lane, own, matches })
}

/// Returns the foreign lane with which a foreign lane was probably exchanged: each matches the other
/// lanes of the sample of the other. `None` if there is none, or if several match about equally well.
fn find_partner(
    lane: &ForeignLane<'_>,
    foreign: &[ForeignLane<'_>],
    medians: &SampleMedians,
) -> Option<usize> {
    let has_lanes =
        |run: usize| medians.counts.get(run).is_some_and(|count| *count >= MIN_EXCHANGE_LANES);
    if !has_lanes(lane.lane.run) {
        return None;
    }
    let distance = |one: &ForeignLane<'_>, other: &ForeignLane<'_>| {
        let middle = medians.without(other.lane.run, Some(other.lane.values))?;
        Some(lane_distance(one.lane, middle)).filter(|it| *it < one.own / 3.0)
    };
    let others = foreign.iter().enumerate().filter(|(_, it)| it.lane.run != lane.lane.run);
    let mut partners: Vec<(usize, f64)> = others
        .filter_map(|(i, other)| Some((i, distance(lane, other)?.max(distance(other, lane)?))))
        .filter(|(i, _)| foreign.get(*i).is_some_and(|it| has_lanes(it.lane.run)))
        .collect();
    partners.sort_by(|a, b| a.1.total_cmp(&b.1));
    match partners[..] {
        [(best, _)] => Some(best),
        [(best, distance), (_, next), ..] if next > distance + MAX_EQUAL_DISTANCE => Some(best),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::NumberRule;

    #[test]
    fn samples_that_stand_out_are_those_far_from_the_median() {
        let values = [1.0, 1.1, 0.9, 1.0, 1.05, 3.0];
        let sources: Vec<Option<Quantity>> =
            values.iter().map(|it| Some(Quantity::new(*it, "", NumberRule::Sum))).collect();
        assert_eq!(find_outliers(&sources, &values, 1.025, 0.1), [5]);
        assert!(find_outliers(&sources, &values, 1.025, 2.0).is_empty(), "all are near");
    }

    /// Places three lanes for each sample, which have about these values.
    fn place_lanes(samples: &[[f64; 2]]) -> Vec<PlacedLane> {
        let lane = |run: usize, n: usize, [insert, gc]: [f64; 2]| PlacedLane {
            run,
            name: format!("L{}", n + 1),
            values: [insert + n as f64, gc],
        };
        let of_run = |(run, values): (usize, &[f64; 2])| [0, 1, 2].map(|n| lane(run, n, *values));
        samples.iter().enumerate().flat_map(of_run).collect()
    }

    fn sample_lane(run: usize, name: &str) -> SampleLane {
        SampleLane { run, name: name.into() }
    }

    const SHORT: [f64; 2] = [350.0, 0.41];
    const LONG: [f64; 2] = [480.0, 0.46];

    #[test]
    fn a_lane_of_another_sample_is_found() {
        let mut lanes = place_lanes(&[SHORT, LONG]);
        assert!(find_swaps(&lanes).is_empty());
        lanes[2].values = [481.0, 0.46];
        let wanted = LaneSwap::Foreign { lane: sample_lane(0, "L3"), other: 1, more: 0 };
        assert_eq!(find_swaps(&lanes), [wanted]);
    }

    #[test]
    fn a_lane_that_matches_several_samples_names_their_number() {
        let mut lanes = place_lanes(&[SHORT, LONG, SHORT, LONG, [486.0, 0.461], [900.0, 0.6]]);
        lanes[2].values = [481.0, 0.46];
        let wanted = LaneSwap::Foreign { lane: sample_lane(0, "L3"), other: 1, more: 2 };
        assert_eq!(find_swaps(&lanes), [wanted]);
    }

    #[test]
    fn exchanged_lanes_are_one_finding_even_if_another_sample_matches_better() {
        let mut lanes = place_lanes(&[SHORT, LONG, SHORT, [495.0, 0.461]]);
        // Sample 0 and sample 3 exchange their third lanes. Sample 1 matches that of sample 0 best.
        lanes[2].values = [481.0, 0.46];
        lanes[11].values = [352.0, 0.41];
        let wanted = LaneSwap::Exchanged([sample_lane(0, "L3"), sample_lane(3, "L3")]);
        assert_eq!(find_swaps(&lanes), [wanted]);
    }

    #[test]
    fn of_two_possible_exchanges_none_is_claimed() {
        let mut lanes = place_lanes(&[SHORT, LONG, SHORT, LONG, LONG]);
        for (at, [insert, gc]) in [(2, LONG), (5, SHORT), (8, LONG), (11, SHORT)] {
            lanes[at].values = [insert + 2.0, gc];
        }
        let found = find_swaps(&lanes);
        let wanted = LaneSwap::Foreign { lane: sample_lane(0, "L3"), other: 1, more: 2 };
        assert_eq!(found.first(), Some(&wanted));
        assert_eq!(found.len(), 4, "{found:?}");
    }

    #[test]
    fn of_two_lanes_none_is_said_to_be_exchanged() {
        let mut lanes = place_lanes(&[SHORT, LONG, SHORT, LONG]);
        lanes.retain(|lane| lane.run > 1 || lane.name != "L3");
        lanes[1].values = [481.0, 0.46];
        lanes[3].values = [351.0, 0.41];
        let found = find_swaps(&lanes);
        assert!(found.iter().all(|it| matches!(it, LaneSwap::Foreign { .. })), "{found:?}");
        assert!(!found.is_empty());
    }
}

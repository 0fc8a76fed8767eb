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
    Some(MetricColumn { metric, outliers, values, median: middle })
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
    /// Index of the sample.
    run: usize,
    name: String,
    /// Median insert size, and mean GC as a fraction.
    values: [f64; 2],
}

/// A lane that resembles another sample more than its own.
struct Swap {
    /// Index of the lane.
    lane: usize,
    /// Index of the sample that the lane resembles.
    other: usize,
}

/// Units that make distances in insert size and in GC comparable: a tenth of the insert size, and
/// two percentage points of GC.
const DISTANCE_UNITS: [f64; 2] = [0.1, 0.02];

/// A lane that probably belongs to another sample.
pub struct SwappedLane {
    /// Index of the sample that has the lane.
    pub run: usize,
    pub name: String,
    /// Index of the sample that the lane resembles.
    pub other: usize,
}

/// Finds lanes whose insert size and GC match another sample better than their own. `lanes` has the
/// lanes of each sample; lanes with few reads are not compared. `None` if no lane can be compared.
pub fn collect_swaps(lanes: &[&[LaneStats]]) -> Option<Vec<SwappedLane>> {
    let place = |(run, own): (usize, &&[LaneStats])| -> Vec<PlacedLane> {
        let placed = own.iter().filter(|lane| lane.has_enough_reads()).filter_map(|lane| {
            let values = [lane.insert.as_ref()?.value, lane.gc.as_ref()?.value];
            Some(PlacedLane { run, name: lane.name.clone(), values })
        });
        placed.collect()
    };
    let placed: Vec<PlacedLane> = lanes.iter().enumerate().flat_map(place).collect();
    let swapped = |swap: &Swap| {
        let lane = placed.get(swap.lane)?;
        Some(SwappedLane { run: lane.run, name: lane.name.clone(), other: swap.other })
    };
    (!placed.is_empty()).then(|| find_swaps(&placed).iter().filter_map(swapped).collect())
}

/// Finds lanes that are far from the other lanes of their sample, and more than three times nearer
/// to the lanes of another sample.
fn find_swaps(lanes: &[PlacedLane]) -> Vec<Swap> {
    let run_count = lanes.iter().map(|lane| lane.run + 1).max().unwrap_or(0);
    let mut of_runs: Vec<Vec<&PlacedLane>> = vec![Vec::new(); run_count];
    lanes.iter().for_each(|lane| of_runs.get_mut(lane.run).into_iter().for_each(|it| it.push(lane)));
    let sorted = |which: usize| -> Vec<SortedValues> {
        let value = |lane: &&PlacedLane| lane.values.get(which).copied();
        of_runs.iter().map(|lanes| SortedValues::from_values(lanes.iter().filter_map(value))).collect()
    };
    let [inserts, gcs] = [sorted(0), sorted(1)];
    let middle = |run: usize, without: Option<[f64; 2]>| {
        let of = |values: &[SortedValues], own: Option<f64>| values.get(run)?.median_without(own);
        let [insert, gc] = [without.map(|it| it[0]), without.map(|it| it[1])];
        Some([of(&inserts, insert)?, of(&gcs, gc)?])
    };
    let middles: Vec<Option<[f64; 2]>> = (0..run_count).map(|run| middle(run, None)).collect();
    let distance = |lane: &PlacedLane, middle: [f64; 2]| {
        let [insert, gc] = lane.values;
        let apart = [(insert - middle[0]).abs() / middle[0].max(1.0), (gc - middle[1]).abs()];
        (apart[0] / DISTANCE_UNITS[0]).max(apart[1] / DISTANCE_UNITS[1])
    };
    let mut found = Vec::new();
    for (i, lane) in lanes.iter().enumerate() {
        let own = middle(lane.run, Some(lane.values)).map(|middle| distance(lane, middle));
        let Some(own) = own else { continue };
        let others = middles.iter().enumerate().filter(|(run, _)| *run != lane.run);
        let others = others.filter_map(|(run, middle)| Some((run, distance(lane, (*middle)?))));
        let nearest = others.min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((other, _)) = nearest.filter(|(_, distance)| own > 1.0 && *distance < own / 3.0) {
            found.push(Swap { lane: i, other });
        }
    }
    found
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

    #[test]
    fn a_lane_of_another_sample_is_found() {
        let lane = |run: usize, insert: f64, gc: f64| PlacedLane {
            run,
            name: String::new(),
            values: [insert, gc],
        };
        let mut lanes = vec![
            lane(0, 350.0, 0.41),
            lane(0, 352.0, 0.41),
            lane(0, 351.0, 0.41),
            lane(1, 480.0, 0.46),
            lane(1, 478.0, 0.46),
            lane(1, 482.0, 0.46),
        ];
        assert!(find_swaps(&lanes).is_empty());
        lanes[2].values = [481.0, 0.46];
        let found = find_swaps(&lanes);
        assert_eq!(found.iter().map(|it| (it.lane, it.other)).collect::<Vec<_>>(), [(2, 1)]);
    }
}

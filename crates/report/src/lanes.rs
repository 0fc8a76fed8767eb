//! Insert size and GC content of each lane of a sample.
//!
//! Lanes of the same library have similar values. A lane with different values may belong to another
//! sample. The values exist only if metrics were computed by read group
//! (`--metric-accumulation-level READ_GROUP`).

use std::collections::HashMap;

use crate::run::{NumberRule, Quantity, RunPart};

/// Minimum number of reads or read pairs for a share. The standard error of a share is then at most
/// 1.6 percentage points, which is less than the distance between the thresholds.
pub const MIN_READS: f64 = 1_000.0;

pub struct LaneStats {
    /// PU of the read group, or its ID if it has no PU.
    pub name: String,
    /// Median insert size of the most frequent pair orientation.
    pub insert: Option<Quantity>,
    /// Number of read pairs from which `insert` is computed.
    pub pairs: f64,
    /// Mean GC of the reference windows in which reads start, as a fraction.
    pub gc: Option<Quantity>,
    /// Number of read starts from which `gc` is computed.
    pub reads: f64,
}

impl LaneStats {
    /// Returns whether the lane has enough data to be compared with lanes of other samples.
    pub fn has_enough_reads(&self) -> bool {
        self.pairs >= MIN_READS && self.reads >= MIN_READS
    }
}

/// Collects the lanes of a run, in the order of its reports. Empty if the run has no metrics by read
/// group.
pub fn collect_lanes(run: &RunPart<'_>) -> Vec<LaneStats> {
    let is_lane = |row: &RunPart<'_>| row.is_of_lane();
    let (mut lanes, mut numbers) = (Vec::<LaneStats>::new(), HashMap::new());
    let mut at = |lanes: &mut Vec<LaneStats>, name: String| {
        *numbers.entry(name).or_insert_with_key(|name| {
            lanes.push(LaneStats { name: name.clone(), insert: None, pairs: 0.0, gc: None, reads: 0.0 });
            lanes.len() - 1
        })
    };
    for row in run.rows("insert_size_metrics", is_lane) {
        let number = at(&mut lanes, row.lane_name());
        // The first row of a lane has its most frequent pair orientation.
        if let Some(lane) = lanes.get_mut(number).filter(|lane| lane.insert.is_none()) {
            lane.insert = row.number("MEDIAN_INSERT_SIZE");
            lane.pairs = row.value("READ_PAIRS").unwrap_or(0.0);
        }
    }
    let sums = lane_gc_sums(run);
    for row in run.rows("gc_bias.summary_metrics", is_lane) {
        let name = row.lane_name();
        let sums = sums.get(&name).copied().unwrap_or_default();
        let gc = lane_mean_gc(sums, &name);
        let number = at(&mut lanes, name);
        if let Some(lane) = lanes.get_mut(number) {
            (lane.gc, lane.reads) = (gc, sums.0);
        }
    }
    lanes
}

/// Returns for each lane the number of read starts, and the sum over these of the GC percentage of
/// their reference windows.
fn lane_gc_sums(run: &RunPart<'_>) -> HashMap<String, (f64, f64)> {
    let is_counted = |row: &RunPart<'_>| row.is_of_lane() && has_all_reads(row);
    let mut sums: HashMap<String, (f64, f64)> = HashMap::new();
    for row in run.rows("gc_bias.detail_metrics", is_counted) {
        let number = |name: &str| row.value(name).unwrap_or(0.0);
        let (reads, sum) = sums.entry(row.lane_name()).or_default();
        *reads += number("READ_STARTS");
        *sum += number("READ_STARTS") * number("GC");
    }
    sums
}

fn lane_mean_gc((reads, sum): (f64, f64), lane: &str) -> Option<Quantity> {
    let rule = NumberRule::LaneGc(lane.into());
    let mean = sum / reads / 100.0;
    (reads > 0.0).then(|| Quantity::new(mean, "/reports/gc_bias.detail_metrics/rows", rule))
}

pub struct LaneDistance {
    pub lane: usize,
    /// Distance from the median of the other lanes.
    pub source: Quantity,
}

/// Finds the lane whose insert size is furthest from the median of the other lanes. The distance is
/// relative to that median. `None` if fewer than two lanes have an insert size. Lanes with few reads
/// are not compared if two others have enough.
pub fn find_insert_outlier(lanes: &[LaneStats]) -> Option<LaneDistance> {
    find_furthest_lane(
        lanes,
        |lane| lane.insert.as_ref(),
        |lane| lane.pairs,
        |own, others| (own - others).abs() / others,
        "inserts-apart",
    )
}

/// Finds the lane whose GC is furthest from the median of the other lanes. The distance is a
/// difference of fractions. `None` if fewer than two lanes have a GC value.
pub fn find_gc_outlier(lanes: &[LaneStats]) -> Option<LaneDistance> {
    find_furthest_lane(
        lanes,
        |lane| lane.gc.as_ref(),
        |lane| lane.reads,
        |own, others| (own - others).abs(),
        "gc-apart",
    )
}

fn find_furthest_lane(
    lanes: &[LaneStats],
    value: impl Fn(&LaneStats) -> Option<&Quantity>,
    reads: impl Fn(&LaneStats) -> f64,
    distance: impl Fn(f64, f64) -> f64,
    name: &'static str,
) -> Option<LaneDistance> {
    let is_compared = |lane: &LaneStats| value(lane).is_some() && reads(lane) >= MIN_READS;
    let has_compared = lanes.iter().filter(|lane| is_compared(lane)).nth(1).is_some();
    let compared = lanes.iter().enumerate().filter(|(_, lane)| !has_compared || is_compared(lane));
    let known: Vec<(usize, f64)> =
        compared.filter_map(|(i, lane)| Some((i, value(lane)?.value))).collect();
    if known.len() < 2 {
        return None;
    }
    let all = SortedValues::from_values(known.iter().map(|(_, value)| *value));
    let distances = known
        .iter()
        .map(|(lane, own)| (*lane, distance(*own, all.median_without(Some(*own)).unwrap_or(*own))));
    let (lane, max_distance) = distances.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let rule = NumberRule::Function { is: name, key: None };
    max_distance
        .is_finite()
        .then(|| LaneDistance { lane, source: Quantity::new(max_distance, "/reports", rule) })
}

/// Returns the second largest of the values. `None` if there are fewer than two.
pub fn second_largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(|one, other| other.total_cmp(one));
    values.get(1).copied()
}

pub fn median(values: Vec<f64>) -> Option<f64> {
    SortedValues::from_values(values.into_iter()).median_without(None)
}

/// Sorted values, for many queries of the median without one of the values.
///
/// Each lane is compared with the median of all other lanes. Because the values are sorted only
/// once, this is fast for cohorts of thousands of lanes.
pub struct SortedValues(Vec<f64>);

impl SortedValues {
    pub fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        SortedValues(values)
    }

    /// Returns the median of the values, without one value that equals `own`. `None` if no value
    /// remains.
    pub fn median_without(&self, own: Option<f64>) -> Option<f64> {
        let own = own.and_then(|own| self.0.binary_search_by(|it| it.total_cmp(&own)).ok());
        let left = self.0.len() - usize::from(own.is_some());
        let at = |n: usize| self.0.get(n + usize::from(own.is_some_and(|own| own <= n))).copied();
        let (upper, lower) = (at(left / 2)?, at(left.checked_sub(1)? / 2)?);
        Some((lower + upper) / 2.0)
    }
}

/// Returns whether a row of Picard's GC bias includes duplicates. Rows without `READS_USED` do.
pub fn has_all_reads(row: &RunPart<'_>) -> bool {
    row.at("READS_USED").is_none_or(|used| used == "ALL")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lane_with_few_reads_is_not_compared() {
        let row = |lane: &str, size: u32, pairs: u32| json!({"READ_GROUP": lane, "MEDIAN_INSERT_SIZE": size, "READ_PAIRS": pairs});
        let value = json!({"reports": {
            "insert_size_metrics": {"rows": [row("a", 350, 5000), row("b", 120, 12), row("c", 340, 5000)]},
        }});
        let apart = find_insert_outlier(&collect_lanes(&RunPart::new(&value))).unwrap();
        assert_eq!((apart.lane, apart.source.value), (0, 10.0 / 340.0));
    }

    #[test]
    fn the_lane_that_differs_is_found() {
        let row = |lane: Option<&str>, size: u32| json!({"READ_GROUP": lane, "LIBRARY": "L", "MEDIAN_INSERT_SIZE": size});
        let gc = |lane: &str, gc: u32| json!({"READ_GROUP": lane, "GC": gc, "READ_STARTS": 10});
        let value = json!({"reports": {
            "insert_size_metrics": {"rows": [row(None, 350), row(Some("a"), 350), row(Some("b"), 340), row(Some("c"), 480)]},
            "gc_bias.summary_metrics": {"rows": [{"READ_GROUP": "a"}, {"READ_GROUP": "b"}]},
            "gc_bias.detail_metrics": {"rows": [gc("a", 40), gc("a", 42), gc("b", 50)]},
        }});
        let lanes = collect_lanes(&RunPart::new(&value));
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let apart = find_insert_outlier(&lanes).unwrap();
        assert_eq!((apart.lane, apart.source.value), (2, 135.0 / 345.0));
        let apart = find_gc_outlier(&lanes).unwrap();
        assert!(apart.lane == 0 && (apart.source.value - 0.09).abs() < 1e-9);
        assert_eq!(second_largest([3.0, 9.0, 5.0].into_iter()), Some(5.0));
        assert_eq!(median(vec![3.0, 1.0, 2.0, 10.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
        let values = SortedValues::from_values([4.0, 1.0, 3.0, 1.0].into_iter());
        let without = [1.0, 3.0, 4.0, 7.0].map(|own| values.median_without(Some(own)).unwrap());
        assert_eq!(without, [3.0, 1.0, 1.0, 2.0]);
        assert_eq!(SortedValues::from_values([1.0].into_iter()).median_without(Some(1.0)), None);
    }
}

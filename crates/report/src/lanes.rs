//! Lanes of a sample: their insert sizes and GC, by which a lane that is another sample's is seen.

use std::collections::HashMap;

use serde_json::Value;

use crate::run::{Level, Quantity, Run, lane_name, level};
use crate::text::escape;

/// A lane, by what Picard's metrics of its read group say.
pub struct Lane {
    /// PU of the read group, or else its ID.
    pub name: String,
    /// The median insert size.
    pub insert: Option<Quantity>,
    /// The mean GC of reads, of 1.
    pub gc: Option<Quantity>,
}

/// The lanes of a run. There are some where metrics are counted by read group.
pub fn lanes(run: &Run<'_>) -> Vec<Lane> {
    let is_lane = |row: &Value| level(row) == Level::Lane;
    let (mut lanes, mut numbers) = (Vec::<Lane>::new(), HashMap::new());
    let mut at = |lanes: &mut Vec<Lane>, name: String| {
        *numbers.entry(name).or_insert_with_key(|name| {
            lanes.push(Lane { name: name.clone(), insert: None, gc: None });
            lanes.len() - 1
        })
    };
    for (pointer, row) in run.rows("insert_size_metrics", is_lane) {
        let number = at(&mut lanes, lane_name(row));
        // The first row of a lane is that of the orientation that most of its pairs have.
        if let Some(lane) = lanes.get_mut(number).filter(|lane| lane.insert.is_none()) {
            lane.insert = run.number(&format!("{pointer}/MEDIAN_INSERT_SIZE"));
        }
    }
    let sums = gc_sums(run);
    for (_, row) in run.rows("gc_bias.summary_metrics", is_lane) {
        let name = lane_name(row);
        let gc = sums.get(&name).and_then(|&sums| mean_gc(sums, &name));
        let number = at(&mut lanes, name);
        if let Some(lane) = lanes.get_mut(number) {
            lane.gc = gc;
        }
    }
    lanes
}

/// Reads of each lane, and the sum of the GC of the windows at which they start.
fn gc_sums(run: &Run<'_>) -> HashMap<String, (f64, f64)> {
    let is_counted = |row: &Value| {
        level(row) == Level::Lane && row.get("READS_USED").is_none_or(|used| used == "ALL")
    };
    let mut sums: HashMap<String, (f64, f64)> = HashMap::new();
    for (_, row) in run.rows("gc_bias.detail_metrics", is_counted) {
        let number = |name: &str| row.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let (reads, sum) = sums.entry(lane_name(row)).or_default();
        *reads += number("READ_STARTS");
        *sum += number("READ_STARTS") * number("GC");
    }
    sums
}

/// The mean GC of the windows at which a lane's reads start.
fn mean_gc((reads, sum): (f64, f64), lane: &str) -> Option<Quantity> {
    let attributes = format!(
        "data-json=\"/reports/gc_bias.detail_metrics/rows\" data-is=\"gc\" data-lane=\"{}\"",
        escape(lane)
    );
    (reads > 0.0).then(|| Quantity::new(sum / reads / 100.0, attributes))
}

/// How far lanes are apart.
pub struct Apart {
    /// The number of the lane that is furthest from the others.
    pub lane: usize,
    /// The distance.
    pub source: Quantity,
}

/// The lane whose insert size is furthest from the median of the other lanes, as a share of it.
pub fn inserts_apart(lanes: &[Lane]) -> Option<Apart> {
    furthest(
        lanes,
        |lane| lane.insert.as_ref(),
        |own, others| (own - others).abs() / others,
        "inserts-apart",
    )
}

/// The lane whose GC is furthest from the median of the other lanes.
pub fn gc_apart(lanes: &[Lane]) -> Option<Apart> {
    furthest(lanes, |lane| lane.gc.as_ref(), |own, others| (own - others).abs(), "gc-apart")
}

fn furthest(
    lanes: &[Lane],
    value: impl Fn(&Lane) -> Option<&Quantity>,
    distance: impl Fn(f64, f64) -> f64,
    name: &str,
) -> Option<Apart> {
    let known: Vec<(usize, f64)> =
        lanes.iter().enumerate().filter_map(|(i, lane)| Some((i, value(lane)?.value))).collect();
    if known.len() < 2 {
        return None;
    }
    let all = Sorted::of(known.iter().map(|(_, value)| *value));
    let distances = known
        .iter()
        .map(|(lane, own)| (*lane, distance(*own, all.median_without(Some(*own)).unwrap_or(*own))));
    let (lane, most) = distances.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let attributes = format!("data-is=\"{name}\" data-json=\"/reports\"");
    most.is_finite().then(|| Apart { lane, source: Quantity::new(most, attributes) })
}

/// The median.
pub fn median(values: Vec<f64>) -> Option<f64> {
    Sorted::of(values.into_iter()).median_without(None)
}

/// Values in order, of which the median is asked without one of them, for each of them.
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// These values.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Sorted(values)
    }

    /// The median of all but this one of the values.
    pub fn median_without(&self, own: Option<f64>) -> Option<f64> {
        let own = own.and_then(|own| self.0.binary_search_by(|it| it.total_cmp(&own)).ok());
        let left = self.0.len() - usize::from(own.is_some());
        let at = |n: usize| self.0.get(n + usize::from(own.is_some_and(|own| own <= n))).copied();
        let (upper, lower) = (at(left / 2)?, at(left.checked_sub(1)? / 2)?);
        Some((lower + upper) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_lane_that_differs_is_found() {
        let row = |lane: Option<&str>, size: u32| json!({"READ_GROUP": lane, "LIBRARY": "L", "MEDIAN_INSERT_SIZE": size});
        let gc = |lane: &str, gc: u32| json!({"READ_GROUP": lane, "GC": gc, "READ_STARTS": 10});
        let value = json!({"reports": {
            "insert_size_metrics": {"rows": [row(None, 350), row(Some("a"), 350), row(Some("b"), 340), row(Some("c"), 480)]},
            "gc_bias.summary_metrics": {"rows": [{"READ_GROUP": "a"}, {"READ_GROUP": "b"}]},
            "gc_bias.detail_metrics": {"rows": [gc("a", 40), gc("a", 42), gc("b", 50)]},
        }});
        let lanes = lanes(&Run::new(&value));
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let apart = inserts_apart(&lanes).unwrap();
        assert_eq!((apart.lane, apart.source.value), (2, 135.0 / 345.0));
        let apart = gc_apart(&lanes).unwrap();
        assert!(apart.lane == 0 && (apart.source.value - 0.09).abs() < 1e-9);
        assert_eq!(median(vec![3.0, 1.0, 2.0, 10.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
        let values = Sorted::of([4.0, 1.0, 3.0, 1.0].into_iter());
        let without = [1.0, 3.0, 4.0, 7.0].map(|own| values.median_without(Some(own)).unwrap());
        assert_eq!(without, [3.0, 1.0, 1.0, 2.0]);
        assert_eq!(Sorted::of([1.0].into_iter()).median_without(Some(1.0)), None);
    }
}

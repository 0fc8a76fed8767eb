//! Places the curves of one kind on a grid, and packs their values.
//!
//! All samples share the grid, so that the script finds the values below the pointer without a
//! search, and the page has no x values.

use serde_json::{Value, json};

use super::curves::{CellRule, CurveKind, Points};

/// Maximum number of values of a curve.
const MAX_VALUES: usize = 200;

/// The x values of all curves of one kind: `count` cells, each `step` wide, from `start`.
#[derive(Debug, PartialEq)]
struct Grid {
    start: f64,
    step: f64,
    count: usize,
}

impl Grid {
    /// Chooses a grid of at most [`MAX_VALUES`] cells. `None` if there are no points.
    fn for_curves(curves: &[&Points]) -> Option<Self> {
        let xs = || curves.iter().flat_map(|it| it.iter()).map(|it| it.0);
        let start = xs().min_by(f64::total_cmp)?.floor();
        let range = xs().max_by(f64::total_cmp)?.floor() - start + 1.0;
        let step = (range / MAX_VALUES as f64).ceil().max(1.0);
        Some(Grid { start, step, count: (range / step).ceil() as usize })
    }

    /// Returns the value of each cell. `None` for cells without a value.
    fn place(&self, points: &Points, rule: CellRule) -> Vec<Option<f64>> {
        let mut values: Vec<Option<f64>> = vec![None; self.count];
        if points.is_empty() {
            return values;
        }
        if rule == CellRule::Next {
            let at = |cell: usize| {
                let x = self.start + cell as f64 * self.step;
                let next = points.partition_point(|point| point.0 < x);
                points.get(next).map_or(0.0, |point| point.1)
            };
            return (0..self.count).map(|cell| Some(at(cell))).collect();
        }
        for (x, y) in points {
            let cell = ((x - self.start) / self.step) as usize;
            let Some(value) = values.get_mut(cell) else { continue };
            *value = Some(match (*value, rule) {
                (None, _) => *y,
                (Some(old), CellRule::Min) => old.min(*y),
                (Some(old), CellRule::Max) => old.max(*y),
                (Some(old), _) => old + y,
            });
        }
        if rule == CellRule::Sum {
            values.iter_mut().for_each(|value| *value = Some(value.unwrap_or(0.0)));
        }
        values
    }
}

/// The curves of one kind.
pub struct Curves {
    kind: &'static CurveKind,
    grid: Grid,
    /// Minimum and maximum of all values of the kind, between which values are quantised.
    low: f64,
    high: f64,
    /// One list of `grid.count` values for each sample. Logarithms for a logarithmic axis.
    values: Vec<Vec<Option<f64>>>,
    /// Names of the cells. Empty if the x axis has numbers.
    labels: Vec<String>,
    /// The total of each sample, of which its values are shares.
    totals: Vec<Option<f64>>,
}

/// The number that stands for a missing value. Smaller numbers divide the range of the values.
const MISSING: u16 = u16::MAX;

impl Curves {
    /// Places the curves of all samples on a grid. `None` if no sample has such a curve.
    /// `labels` are the names of the cells, if the x axis has no numbers. `totals` has the total of each
    /// sample of whose counts the points are shares.
    pub fn place(
        kind: &'static CurveKind,
        points: &[&Points],
        labels: Vec<String>,
        totals: Vec<Option<f64>>,
    ) -> Option<Self> {
        let grid = Grid::for_curves(points)?;
        let mut values: Vec<Vec<Option<f64>>> =
            points.iter().map(|points| grid.place(points, kind.cell)).collect();
        if kind.log {
            let log = |value: &mut Option<f64>| *value = value.filter(|it| *it > 0.0).map(f64::log10);
            values.iter_mut().flatten().for_each(log);
        }
        let known = || values.iter().flatten().flatten().copied();
        let (low, high) = (known().min_by(f64::total_cmp)?, known().max_by(f64::total_cmp)?);
        Some(Curves { kind, grid, low, high, values, labels, totals })
    }

    pub fn id(&self) -> &'static str {
        self.kind.id
    }

    /// Returns whether the script computes the values from other kinds, so that the page has no values.
    pub fn is_derived(&self) -> bool {
        !self.kind.derived_from.is_empty()
    }

    /// Returns what the script needs to draw the curves, without the values.
    pub fn to_json(&self) -> Value {
        let CurveKind { id, title, reading, x, y, unit, percent, log, from_zero, metrics, .. } =
            self.kind;
        let CurveKind { figure, label, levels, derived_from, .. } = self.kind;
        let totals: Vec<Option<u64>> =
            self.totals.iter().map(|total| total.map(|it| it.round() as u64)).collect();
        let has_totals = totals.iter().any(Option::is_some);
        let (y, is_sum) = (y.to_string(), self.kind.cell == CellRule::Sum);
        let y = match self.grid.step {
            step if is_sum && step > 1.0 => format!("{y} per {step} {unit}"),
            _ => y,
        };
        json!({
            "id": id, "title": title, "reading": reading, "x": x, "y": y, "unit": unit,
            "percent": percent, "log": log, "fromZero": from_zero, "metrics": metrics,
            "start": self.grid.start, "step": self.grid.step, "count": self.grid.count,
            "figure": if figure.is_empty() { id } else { figure }, "label": label, "levels": levels,
            "derivedFrom": derived_from, "totals": if has_totals { totals } else { Vec::new() },
            "isSum": is_sum, "labels": self.labels, "low": self.low, "high": self.high,
        })
    }

    /// Returns the values as numbers of 16 bits: first the high bytes of all numbers, then the low
    /// bytes. Each number is the difference from the number before it in the curve, because small
    /// differences compress better.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut numbers = Vec::with_capacity(self.values.len() * self.grid.count);
        for curve in &self.values {
            let mut previous = 0_u16;
            for value in curve {
                let level = value.map_or(MISSING, |value| self.level(value));
                numbers.push(level.wrapping_sub(previous));
                previous = level;
            }
        }
        let high = numbers.iter().map(|number| (number >> 8) as u8);
        let low = numbers.iter().map(|number| (number & 0xff) as u8);
        high.chain(low).collect()
    }

    fn level(&self, value: f64) -> u16 {
        let range = (self.high - self.low).max(f64::MIN_POSITIVE);
        ((value - self.low) / range * self.kind.levels).round() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plate::curves::{KINDS, MAX_LEVEL};

    #[test]
    fn long_curves_share_a_grid_of_few_cells() {
        let curves: [Points; 2] = [(1..=999).map(|x| (f64::from(x), 0.001)).collect(), Vec::new()];
        let curves = [&curves[0], &curves[1]];
        let grid = Grid::for_curves(&curves).unwrap();
        assert_eq!(grid, Grid { start: 1.0, step: 5.0, count: 200 });
        let sums = grid.place(curves[0], CellRule::Sum);
        assert!((sums[0].unwrap() - 0.005).abs() < 1e-12 && (sums[199].unwrap() - 0.004).abs() < 1e-12);
        assert_eq!(grid.place(curves[1], CellRule::Sum), vec![None; 200]);
        assert_eq!(Grid::for_curves(&[&Vec::new()]), None);
    }

    #[test]
    fn cells_keep_the_lowest_quality_and_the_next_depth() {
        let grid = Grid { start: 0.0, step: 2.0, count: 3 };
        let points = vec![(0.0, 30.0), (1.0, 12.0), (2.0, 31.0)];
        assert_eq!(grid.place(&points, CellRule::Min), [Some(12.0), Some(31.0), None]);
        assert_eq!(grid.place(&points, CellRule::Max), [Some(30.0), Some(31.0), None]);
        let points = vec![(0.0, 1.0), (1.0, 0.9), (3.0, 0.5)];
        assert_eq!(grid.place(&points, CellRule::Next), [Some(1.0), Some(0.5), Some(0.0)]);
    }

    #[test]
    fn values_keep_a_precision_of_a_131_000th_of_their_range() {
        let values: Vec<Option<f64>> =
            (0..200).map(|i| (i != 7).then(|| (f64::from(i) / 9.0).sin() * 40.0)).collect();
        let known = || values.iter().flatten().copied();
        let (low, high) = (known().fold(f64::MAX, f64::min), known().fold(f64::MIN, f64::max));
        let grid = Grid { start: 0.0, step: 1.0, count: 200 };
        let curves = Curves {
            kind: &KINDS[0],
            grid,
            low,
            high,
            values: vec![values.clone(); 2],
            labels: Vec::new(),
            totals: Vec::new(),
        };
        let bytes = curves.to_bytes();
        let (high_bytes, low_bytes) = bytes.split_at(400);
        for sample in 0..2 {
            let mut number = 0_u16;
            for (i, value) in values.iter().enumerate() {
                let at = 200 * sample + i;
                let step = u16::from(high_bytes[at]) << 8 | u16::from(low_bytes[at]);
                number = number.wrapping_add(step);
                let Some(value) = value else {
                    assert_eq!(number, MISSING);
                    continue;
                };
                let read = low + f64::from(number) / MAX_LEVEL * (high - low);
                assert!((read - value).abs() <= (high - low) / 131_000.0, "{read} {value}");
            }
        }
    }
}

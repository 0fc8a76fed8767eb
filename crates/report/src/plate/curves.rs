//! The curves of all samples, on one grid of x values for each kind of curve.
//!
//! ```text
//! run ─► CurveKind::collect ─► Curves::place ─► Curves::to_bytes ─► packed_element
//!        points of a sample    ≤ 200 values     16 bits each        plate.js draws them
//! ```
//!
//! All samples share the grid, so that the script finds the values below the pointer without a
//! search, and the page has no x values.

use serde_json::{Value, json};

use crate::lanes::has_all_reads;
use crate::metrics::{INSERT_HISTOGRAM, cycle_qualities, gc_row, set_histogram, set_size_key};
use crate::run::RunPart;

/// Points of a curve, ordered by x.
pub type Points = Vec<(f64, f64)>;

/// A plot with one curve for each sample.
pub struct CurveKind {
    id: &'static str,
    title: &'static str,
    reading: &'static str,
    x: &'static str,
    y: &'static str,
    /// Unit after an x value, when the page names a single point.
    unit: &'static str,
    percent: bool,
    /// Whether the y axis is logarithmic. The data are then decimal logarithms.
    log: bool,
    /// Whether the y axis always includes 0.
    from_zero: bool,
    /// Keys of the metrics whose outliers are marked in this plot.
    metrics: &'static [&'static str],
    cell: CellRule,
    /// Gets the points of a run. Empty if the run lacks the data.
    pub collect: fn(&RunPart<'_>) -> Points,
}

/// How a cell of the grid gets its value from the points inside it.
#[derive(Clone, Copy, PartialEq)]
enum CellRule {
    /// The sum. Cells without points are 0. For shares of a total.
    Sum,
    /// The minimum, so that a single bad cycle stays visible.
    Min,
    /// The value of the first point at or after the start of the cell; 0 after the last one. For
    /// cumulative shares.
    Next,
}

/// Shares of a total, in percent. The other kinds differ from it in some fields.
const SHARES: CurveKind = CurveKind {
    id: "",
    title: "",
    reading: "",
    x: "",
    y: "",
    unit: "",
    percent: true,
    log: false,
    from_zero: true,
    metrics: &[],
    cell: CellRule::Sum,
    collect: |_| Points::new(),
};

const QUALITIES: CurveKind = CurveKind {
    x: "Cycle",
    y: "Mean quality (Phred)",
    percent: false,
    from_zero: false,
    metrics: &["q30_bases", "worst_cycle"],
    cell: CellRule::Min,
    ..SHARES
};

const CUMULATIVE_COVERAGE: CurveKind = CurveKind {
    x: "Minimum depth (×)",
    unit: "×",
    metrics: &["mean_coverage", "bases_at_20x", "even_coverage", "fold_80"],
    cell: CellRule::Next,
    ..SHARES
};

pub const KINDS: &[CurveKind] = &[
    CurveKind {
        id: "inserts",
        title: "Insert size",
        reading: "Read pairs by insert size, as a percentage of each sample's pairs.",
        x: "Insert size (bases)",
        y: "Read pairs",
        unit: "bases",
        metrics: &["insert_size", "short_inserts"],
        collect: insert_points,
        ..SHARES
    },
    CurveKind {
        id: "quality-1",
        title: "Mean quality by cycle: read 1",
        reading: "A slow decline is normal; a sudden dip indicates a failed cycle.",
        collect: |run| cycle_qualities(run, 1),
        ..QUALITIES
    },
    CurveKind {
        id: "quality-2",
        title: "Mean quality by cycle: read 2",
        reading: "Read 2 usually has lower qualities than read 1.",
        collect: |run| cycle_qualities(run, 2),
        ..QUALITIES
    },
    CurveKind {
        id: "gc",
        title: "Coverage by GC content",
        reading: "Coverage relative to the sample's mean. A flat line at 1 means no bias.",
        x: "GC content of the window (%)",
        y: "Relative coverage",
        unit: "% GC",
        percent: false,
        metrics: &["at_dropout", "gc_dropout"],
        cell: CellRule::Min,
        collect: gc_points,
        ..SHARES
    },
    CurveKind {
        id: "targets",
        title: "Cumulative coverage of the targets",
        reading: "Percentage of target bases with at least each depth. A steep drop means even coverage.",
        y: "Target bases",
        collect: |run| depth_points(run, "reports/mosdepth.region.dist.txt"),
        ..CUMULATIVE_COVERAGE
    },
    CurveKind {
        id: "genome",
        title: "Cumulative coverage of the genome",
        reading: "Percentage of bases with at least each depth. A steep drop means even coverage.",
        y: "Bases",
        collect: |run| depth_points(run, "reports/mosdepth.global.dist.txt"),
        ..CUMULATIVE_COVERAGE
    },
    CurveKind {
        id: "sets",
        title: "Duplicate set sizes",
        reading: "Percentage of molecules by the number of their templates. A long tail means that \
            a small number of molecules was amplified many times.",
        x: "Set size (templates)",
        y: "Sets",
        unit: "templates",
        log: true,
        from_zero: false,
        metrics: &["duplicates", "library_size"],
        collect: set_points,
        ..SHARES
    },
    CurveKind {
        id: "read-gc",
        title: "GC content per read",
        reading: "Reads by GC content, from FastQC. A second peak can indicate another species.",
        x: "GC content (%)",
        y: "Reads",
        unit: "% GC",
        collect: read_gc_points,
        ..SHARES
    },
];

/// Share of the pairs that the plot of insert sizes shows. The longest inserts would stretch it.
const SHOWN_PAIRS: f64 = 0.998;

fn insert_points(run: &RunPart<'_>) -> Points {
    let Some(histogram) = run.part(INSERT_HISTOGRAM) else { return Points::new() };
    let mut points: Points =
        histogram.column("insert_size").into_iter().map(|size| (size, 0.0)).collect();
    for name in histogram.keys().filter(|name| name.starts_with("All_Reads.")) {
        for (point, count) in points.iter_mut().zip(histogram.column(name)) {
            point.1 += count;
        }
    }
    let mut points = to_shares(points);
    let mut left = 1.0;
    points.retain(|(_, share)| {
        let is_shown = left > 1.0 - SHOWN_PAIRS;
        left -= share;
        is_shown
    });
    points
}

/// Minimum share of the reference windows that must have a GC value for the plot to show it.
const MIN_WINDOW_SHARE: f64 = 0.002;

fn gc_points(run: &RunPart<'_>) -> Points {
    if gc_row(run).is_none() {
        return Points::new();
    }
    let rows = run.rows("gc_bias.detail_metrics", |row| row.is_of_all() && has_all_reads(row));
    let windows = |row: &RunPart<'_>| row.value("WINDOWS").unwrap_or(0.0);
    let min_windows = MIN_WINDOW_SHARE * rows.iter().map(windows).sum::<f64>();
    let common = rows.iter().filter(|row| windows(row) >= min_windows);
    common.filter_map(|row| Some((row.value("GC")?, row.value("NORMALIZED_COVERAGE")?))).collect()
}

fn depth_points(run: &RunPart<'_>, report: &str) -> Points {
    let Some(report) = run.part(report) else { return Points::new() };
    let mut points: Points = report.column("depth").into_iter().zip(report.column("share")).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Ends 20 % after the last depth that at least 1 % of the bases reach.
    let end = points.iter().filter(|it| it.1 >= 0.01).map(|it| it.0).fold(0.0, f64::max);
    points.retain(|it| it.0 <= (end * 1.2).max(5.0));
    points
}

/// Maximum set size in the plot.
const MAX_SET_SIZE: f64 = 30.0;

fn set_points(run: &RunPart<'_>) -> Points {
    let Some(histogram) = set_histogram(run) else { return Points::new() };
    let sizes = histogram.column(set_size_key(&histogram));
    let mut points = to_shares(sizes.into_iter().zip(histogram.column("all_sets")).collect());
    points.retain(|(size, share)| *size <= MAX_SET_SIZE && *share > 0.0);
    points
}

/// Returns the reads by GC content, summed over the sample's FastQC files. Empty if the run has the
/// coverage by GC content, which shows more.
fn read_gc_points(run: &RunPart<'_>) -> Points {
    let mut counts = vec![0.0; 101];
    if gc_row(run).is_some() {
        return Points::new();
    }
    for file in run.items("reports/fastqc") {
        let module = file.items("modules").find(|it| it.text("name") == "Per sequence GC content");
        let Some(columns) = module.and_then(|it| it.part("columns")) else { continue };
        for (gc, count) in columns.column("GC Content").into_iter().zip(columns.column("Count")) {
            if let Some(sum) = counts.get_mut(gc as usize) {
                *sum += count;
            }
        }
    }
    if counts.iter().all(|it| *it == 0.0) {
        return Points::new();
    }
    to_shares(counts.into_iter().enumerate().map(|(gc, count)| (gc as f64, count)).collect())
}

fn to_shares(mut points: Points) -> Points {
    let all: f64 = points.iter().map(|it| it.1).sum();
    points.iter_mut().for_each(|it| it.1 = if all > 0.0 { it.1 / all } else { 0.0 });
    points
}

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
}

/// The number that stands for a missing value. All smaller numbers divide the range of the values.
const MISSING: u16 = u16::MAX;
const MAX_LEVEL: f64 = 65534.0;

impl Curves {
    /// Places the curves of all samples on a grid. `None` if no sample has such a curve.
    pub fn place(kind: &'static CurveKind, points: &[&Points]) -> Option<Self> {
        let grid = Grid::for_curves(points)?;
        let mut values: Vec<Vec<Option<f64>>> =
            points.iter().map(|points| grid.place(points, kind.cell)).collect();
        if kind.log {
            let log = |value: &mut Option<f64>| *value = value.filter(|it| *it > 0.0).map(f64::log10);
            values.iter_mut().flatten().for_each(log);
        }
        let known = || values.iter().flatten().flatten().copied();
        let (low, high) = (known().min_by(f64::total_cmp)?, known().max_by(f64::total_cmp)?);
        Some(Curves { kind, grid, low, high, values })
    }

    pub fn id(&self) -> &'static str {
        self.kind.id
    }

    /// Returns what the script needs to draw the curves, without the values.
    pub fn to_json(&self) -> Value {
        let CurveKind { id, title, reading, x, y, unit, percent, log, from_zero, metrics, .. } =
            self.kind;
        let (y, is_sum) = (y.to_string(), self.kind.cell == CellRule::Sum);
        let y = match self.grid.step {
            step if is_sum && step > 1.0 => format!("{y} per {step} {unit}"),
            _ => y,
        };
        json!({
            "id": id, "title": title, "reading": reading, "x": x, "y": y, "unit": unit,
            "percent": percent, "log": log, "fromZero": from_zero, "metrics": metrics,
            "start": self.grid.start, "step": self.grid.step, "count": self.grid.count,
            "isSum": is_sum, "low": self.low, "high": self.high,
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
        ((value - self.low) / range * MAX_LEVEL).round() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let curves = Curves { kind: &KINDS[0], grid, low, high, values: vec![values.clone(); 2] };
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

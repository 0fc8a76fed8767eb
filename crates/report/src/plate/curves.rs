//! The kinds of curves, and how each gets its points from a run.
//!
//! ```text
//! run ─► CurveKind::collect ─► Curves::place ─► Curves::to_bytes ─► packed_element
//!        points of a sample    ≤ 200 values     16 bits each        curves.js draws them
//! ```

use crate::lanes::has_all_reads;
use crate::metrics::{
    INSERT_HISTOGRAM, QUALITY_HISTOGRAM, base_rows, cycle_qualities, depth_histogram, gc_row,
    set_histogram, set_size_key,
};
use crate::run::RunPart;

/// Points of a curve, ordered by x.
pub type Points = Vec<(f64, f64)>;

/// A plot with one curve for each sample.
pub struct CurveKind {
    pub id: &'static str,
    pub title: &'static str,
    pub reading: &'static str,
    pub x: &'static str,
    pub y: &'static str,
    /// Unit after an x value, when the page names a single point.
    pub unit: &'static str,
    pub percent: bool,
    /// Whether the y axis is logarithmic. The data are then decimal logarithms.
    pub log: bool,
    /// Whether the y axis always includes 0.
    pub from_zero: bool,
    /// Keys of the metrics whose outliers are marked in this plot.
    pub metrics: &'static [&'static str],
    pub cell: CellRule,
    /// Gets the points of a run. Empty if the run lacks the data.
    pub collect: fn(&RunPart<'_>) -> Points,
    /// Gets the numbers of which the points are shares, so that the script can compute counts. Empty if
    /// the JSON has only shares.
    pub counts: fn(&RunPart<'_>) -> Points,
    /// The values of contigs, if the x axis has contigs, whose points
    /// [`place_contigs`](super::contigs::place_contigs) gets from all samples.
    pub by_contig: Option<ContigValue>,
    /// Kinds with the same figure share one plot, in which the reader chooses one by its label. Empty for
    /// a kind with a plot of its own.
    pub figure: &'static str,
    pub label: &'static str,
    /// Ids of the kinds A, C, G and T from which the script computes the share of G and C. The page then has
    /// no values of this kind.
    pub derived_from: &'static [&'static str],
    /// Number of steps into which the range of the values is divided, at most [`MAX_LEVEL`]. Fewer steps
    /// take fewer bytes.
    pub levels: f64,
}

/// The value of a contig in a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContigValue {
    /// The mean depth.
    Mean,
    /// The mean depth, divided by the mean depth of the sample.
    Relative,
}

/// The number after the greatest one stands for a missing value.
pub const MAX_LEVEL: f64 = 65534.0;

/// How a cell of the grid gets its value from the points inside it.
#[derive(Clone, Copy, PartialEq)]
pub enum CellRule {
    /// The sum. Cells without points are 0. For shares of a total.
    Sum,
    /// The minimum, so that a single bad cycle stays visible.
    Min,
    /// The greatest value in the cell.
    Max,
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
    counts: |_| Points::new(),
    by_contig: None,
    figure: "",
    label: "",
    derived_from: &[],
    levels: MAX_LEVEL,
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

const N_CONTENT: CurveKind = CurveKind {
    reading: "Bases that could not be called. A peak indicates a failed cycle.",
    x: "Cycle",
    y: "N bases",
    metrics: &["n_of_cycle"],
    cell: CellRule::Max,
    ..SHARES
};

/// The content of bases by cycle. Its range is at most 100 %, so a step is at most 0.1 percentage points.
const BASE_CONTENT: CurveKind = CurveKind {
    reading: "Share of the base. The lines are flat after the first cycles; a change at the end can be adapter \
        or a poly-G artifact.",
    x: "Cycle",
    from_zero: false,
    metrics: &["gc_content"],
    cell: CellRule::Max,
    levels: 1000.0,
    ..SHARES
};

const BASES_1: CurveKind =
    CurveKind { title: "Base content by cycle: read 1", figure: "bases-1", ..BASE_CONTENT };

const BASES_2: CurveKind =
    CurveKind { title: "Base content by cycle: read 2", figure: "bases-2", ..BASE_CONTENT };

const CONTIG_COVERAGE: CurveKind = CurveKind {
    title: "Coverage by contig",
    x: "Contig",
    percent: false,
    cell: CellRule::Min,
    figure: "contigs",
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
        reading: "Read pairs by insert size. Percentages are of all pairs of the sample.",
        x: "Insert size (bases)",
        y: "Read pairs",
        unit: "bases",
        metrics: &["insert_size", "short_inserts"],
        collect: |run| without_last(to_shares(insert_counts(run))),
        counts: insert_counts,
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
        id: "qualities",
        title: "Base quality distribution",
        reading: "Bases by quality. Q20 means 1 error in 100 bases, Q30 1 error in 1,000.",
        x: "Base quality (Phred)",
        y: "Bases",
        metrics: &["q30_bases"],
        collect: |run| to_shares(quality_counts(run)),
        counts: quality_counts,
        ..SHARES
    },
    CurveKind {
        id: "n-1",
        title: "N content by cycle: read 1",
        collect: |run| base_shares(run, 1, "PCT_N"),
        ..N_CONTENT
    },
    CurveKind {
        id: "n-2",
        title: "N content by cycle: read 2",
        collect: |run| base_shares(run, 2, "PCT_N"),
        ..N_CONTENT
    },
    CurveKind {
        id: "base-gc-1",
        label: "G and C",
        y: "G and C bases",
        collect: |run| gc_shares(run, 1),
        derived_from: &["base-a-1", "base-c-1", "base-g-1", "base-t-1"],
        ..BASES_1
    },
    CurveKind {
        id: "base-a-1",
        label: "A",
        y: "A bases",
        collect: |run| base_shares(run, 1, "PCT_A"),
        ..BASES_1
    },
    CurveKind {
        id: "base-c-1",
        label: "C",
        y: "C bases",
        collect: |run| base_shares(run, 1, "PCT_C"),
        ..BASES_1
    },
    CurveKind {
        id: "base-g-1",
        label: "G",
        y: "G bases",
        collect: |run| base_shares(run, 1, "PCT_G"),
        ..BASES_1
    },
    CurveKind {
        id: "base-t-1",
        label: "T",
        y: "T bases",
        collect: |run| base_shares(run, 1, "PCT_T"),
        ..BASES_1
    },
    CurveKind {
        id: "base-gc-2",
        label: "G and C",
        y: "G and C bases",
        collect: |run| gc_shares(run, 2),
        derived_from: &["base-a-2", "base-c-2", "base-g-2", "base-t-2"],
        ..BASES_2
    },
    CurveKind {
        id: "base-a-2",
        label: "A",
        y: "A bases",
        collect: |run| base_shares(run, 2, "PCT_A"),
        ..BASES_2
    },
    CurveKind {
        id: "base-c-2",
        label: "C",
        y: "C bases",
        collect: |run| base_shares(run, 2, "PCT_C"),
        ..BASES_2
    },
    CurveKind {
        id: "base-g-2",
        label: "G",
        y: "G bases",
        collect: |run| base_shares(run, 2, "PCT_G"),
        ..BASES_2
    },
    CurveKind {
        id: "base-t-2",
        label: "T",
        y: "T bases",
        collect: |run| base_shares(run, 2, "PCT_T"),
        ..BASES_2
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
        id: "depths",
        title: "Depth distribution",
        reading: "Bases by depth, after Picard's read and base filters. A spike at 0 indicates regions \
            without coverage; a second peak can be a sex chromosome or a copy-number change.",
        x: "Depth (×)",
        y: "Bases",
        unit: "×",
        metrics: CUMULATIVE_COVERAGE.metrics,
        collect: |run| without_last(to_shares(depth_counts(run))),
        counts: depth_counts,
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
        id: "contigs",
        label: "relative to the mean",
        reading: "Mean depth relative to the sample's mean, of targets if there are any. Shows contigs of at \
            least a tenth of the longest one, at most 30. Sex chromosomes usually differ; another contig \
            that differs can be a change of the copy number. Mitochondrial DNA, if there is any, has its own column \
            in the table.",
        y: "Relative coverage",
        by_contig: Some(ContigValue::Relative),
        ..CONTIG_COVERAGE
    },
    CurveKind {
        id: "contigs-depth",
        label: "in ×",
        reading: "Mean depth, of targets if there are any. Shows contigs of at least a tenth of the longest one, \
            at most 30. Mitochondrial DNA, if there is any, has its own column in the table.",
        y: "Mean depth (×)",
        by_contig: Some(ContigValue::Mean),
        ..CONTIG_COVERAGE
    },
    CurveKind {
        id: "sets",
        title: "Duplicate set sizes",
        reading: "A duplicate set has all read pairs that are copies of the same molecule. A set of one pair \
            has no duplicates. A long tail means that PCR amplified a few molecules many times.",
        x: "Read pairs in a set",
        y: "Duplicate sets",
        unit: "read pairs",
        log: true,
        from_zero: false,
        metrics: &["duplicates", "library_size"],
        collect: set_points,
        counts: set_counts,
        ..SHARES
    },
    CurveKind {
        id: "read-gc",
        title: "GC content per read",
        reading: "Reads by GC content, from FastQC. A second peak can indicate another species.",
        x: "GC content (%)",
        y: "Reads",
        unit: "% GC",
        collect: |run| to_shares(read_gc_counts(run)),
        counts: read_gc_counts,
        ..SHARES
    },
];

/// Share of the pairs or bases that a plot of insert sizes or depths shows. The greatest values would
/// stretch it.
const SHOWN_SHARE: f64 = 0.998;

fn insert_counts(run: &RunPart<'_>) -> Points {
    let Some(histogram) = run.part(INSERT_HISTOGRAM) else { return Points::new() };
    let mut points: Points =
        histogram.column("insert_size").into_iter().map(|size| (size, 0.0)).collect();
    for name in histogram.keys().filter(|name| name.starts_with("All_Reads.")) {
        for (point, count) in points.iter_mut().zip(histogram.column(name)) {
            point.1 += count;
        }
    }
    points
}

/// Removes the points after those that have [`SHOWN_SHARE`] of the total.
fn without_last(mut points: Points) -> Points {
    let mut left = 1.0;
    points.retain(|(_, share)| {
        let is_shown = left > 1.0 - SHOWN_SHARE;
        left -= share;
        is_shown
    });
    points
}

fn quality_counts(run: &RunPart<'_>) -> Points {
    let Some(histogram) = run.part(QUALITY_HISTOGRAM) else { return Points::new() };
    let qualities = histogram.column("QUALITY").into_iter();
    qualities.zip(histogram.column("COUNT_OF_Q")).collect()
}

/// Returns the share of a base by cycle of read 1 or 2, from the column `key`.
fn base_shares(run: &RunPart<'_>, read: u32, key: &str) -> Points {
    let rows = base_rows(run, read).into_iter();
    rows.filter_map(|(cycle, row)| Some((cycle, row.value(key)? / 100.0))).collect()
}

/// Returns the share of G and C among the called bases, by cycle of read 1 or 2.
fn gc_shares(run: &RunPart<'_>, read: u32) -> Points {
    let share = |(cycle, row): (f64, RunPart<'_>)| {
        let [a, c, g, t] = ["PCT_A", "PCT_C", "PCT_G", "PCT_T"].map(|key| row.value(key));
        let (part, whole) = (c? + g?, a? + c? + g? + t?);
        (whole > 0.0).then(|| (cycle, part / whole))
    };
    base_rows(run, read).into_iter().filter_map(share).collect()
}

/// Returns the bases by depth from Picard's metrics. The shares of mosdepth have only two decimals,
/// too few for differences between neighbouring depths.
fn depth_counts(run: &RunPart<'_>) -> Points {
    let Some(found) = depth_histogram(run) else { return Points::new() };
    let depths = found.histogram.column(found.depth_key).into_iter();
    depths.zip(found.histogram.column(found.count_key)).collect()
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

fn set_counts(run: &RunPart<'_>) -> Points {
    let Some(histogram) = set_histogram(run) else { return Points::new() };
    let sizes = histogram.column(set_size_key(&histogram));
    sizes.into_iter().zip(histogram.column("all_sets")).collect()
}

fn set_points(run: &RunPart<'_>) -> Points {
    let mut points = to_shares(set_counts(run));
    points.retain(|(size, share)| *size <= MAX_SET_SIZE && *share > 0.0);
    points
}

/// Returns the reads by GC content, summed over the sample's FastQC files. Empty if the run has the
/// coverage by GC content, which shows more.
fn read_gc_counts(run: &RunPart<'_>) -> Points {
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
    counts.into_iter().enumerate().map(|(gc, count)| (gc as f64, count)).collect()
}

fn to_shares(mut points: Points) -> Points {
    let all: f64 = points.iter().map(|it| it.1).sum();
    points.iter_mut().for_each(|it| it.1 = if all > 0.0 { it.1 / all } else { 0.0 });
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn points(run: &serde_json::Value, id: &str) -> Points {
        let kind = KINDS.iter().find(|it| it.id == id).unwrap();
        (kind.collect)(&RunPart::new(run))
    }

    #[test]
    fn the_base_content_of_each_read_begins_with_cycle_1() {
        let row = |read: u32, cycle: u32, n: f64, c: f64| json!({"READ_END": read, "CYCLE": cycle, "PCT_N": n, "PCT_A": 40.0, "PCT_C": c, "PCT_G": 20.0, "PCT_T": 20.0});
        let rows = [row(1, 1, 0.0, 20.0), row(1, 2, 5.0, 15.0), row(2, 3, 20.0, 0.0)];
        let run = json!({"reports": {"base_distribution_by_cycle_metrics": {"rows": rows}}});
        assert_eq!(points(&run, "n-1"), [(1.0, 0.0), (2.0, 0.05)]);
        assert_eq!(points(&run, "n-2"), [(1.0, 0.2)]);
        assert_eq!(points(&run, "base-gc-1"), [(1.0, 0.4), (2.0, 35.0 / 95.0)]);
        assert_eq!(points(&run, "base-gc-2"), [(1.0, 0.25)], "N is not counted");
        assert_eq!(points(&run, "base-c-1"), [(1.0, 0.2), (2.0, 0.15)]);
        assert_eq!(points(&run, "base-t-2"), [(1.0, 0.2)]);
        assert_eq!(points(&json!({}), "base-gc-1"), []);
    }

    #[test]
    fn distributions_are_shares_without_the_greatest_depths() {
        let run = json!({"reports": {
            "quality_distribution_metrics": {"histograms": [{"QUALITY": [12, 37], "COUNT_OF_Q": [1, 3]}]},
            "wgs_metrics": {"histograms": [{"coverage": [0, 1, 2, 250], "high_quality_coverage_count": [100, 400, 499, 1]}]},
        }});
        assert_eq!(points(&run, "qualities"), [(12.0, 0.25), (37.0, 0.75)]);
        assert_eq!(points(&run, "depths"), [(0.0, 0.1), (1.0, 0.4), (2.0, 0.499)]);
    }

    #[test]
    fn each_kind_has_its_own_id_and_texts() {
        for kind in KINDS {
            let is_same = |it: &&CurveKind| (it.title, it.label) == (kind.title, kind.label);
            assert_eq!(KINDS.iter().filter(|it| it.id == kind.id || is_same(it)).count(), 1);
            assert_eq!(kind.figure.is_empty(), kind.label.is_empty(), "{}", kind.id);
            assert!(![kind.reading, kind.x, kind.y].contains(&""), "{}", kind.id);
        }
    }
}

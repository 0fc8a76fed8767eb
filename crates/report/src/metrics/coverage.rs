//! Metrics of coverage: depth, evenness, and loss by GC content. If several reports contain a metric,
//! targets have precedence over the whole genome.

use crate::lanes::has_all_reads;
use crate::run::{NumberRule, Quantity, RunPart};

pub const CONTIGS: &str = "reports/mosdepth.summary.txt";

pub const TARGETS: &str = "reports/hs_metrics/rows/0";

pub const GENOME: &str = "reports/wgs_metrics/rows/0";

/// Returns the row of Picard's GC bias summary for all reads, including duplicates.
pub fn gc_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    run.first_row_of_all("gc_bias.summary_metrics", has_all_reads)
}

/// Returns the row of Picard's target metrics, if it has the dropout of targets. Without a reference,
/// Picard writes 0 for both.
pub fn target_gc_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let row = run.part(TARGETS)?;
    let is_known = |name: &str| row.value(name).is_some_and(|percent| percent > 0.0);
    (is_known("AT_DROPOUT") || is_known("GC_DROPOUT")).then_some(row)
}

/// Returns the dropout of targets, or of the genome if there are no targets.
pub(super) fn dropout(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    target_gc_row(run).or_else(|| gc_row(run))?.number(name)
}

/// Returns the mean depth from mosdepth's summary, in the row whose column `chrom` is `name`.
pub fn mosdepth_mean(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    run.items(CONTIGS).find(|row| row.text("chrom") == name)?.number("mean")
}

pub fn mean_coverage(run: &RunPart<'_>) -> Option<Quantity> {
    run.number(&format!("{TARGETS}/MEAN_TARGET_COVERAGE"))
        .or_else(|| mosdepth_mean(run, "total_region"))
        .or_else(|| run.number(&format!("{GENOME}/MEAN_COVERAGE")))
        .or_else(|| mosdepth_mean(run, "total"))
}

/// Returns the share of bases with at least this depth from a cumulative distribution of mosdepth.
fn mosdepth_share(run: &RunPart<'_>, report: &str, depth: u32) -> Option<Quantity> {
    let report = run.part(&format!("reports/{report}"))?;
    let depths = report.column("depth");
    let deepest = depths.iter().copied().max_by(f64::total_cmp)?;
    match depths.iter().position(|it| *it == f64::from(depth)) {
        Some(at) => report.number(&format!("share/{at}")),
        // mosdepth does not list depths greater than the maximum depth.
        None => (f64::from(depth) > deepest)
            .then(|| Quantity::new(0.0, report.pointer("depth"), NumberRule::NoneAbove(depth))),
    }
}

/// Returns the share of target bases with at least this depth, or of genome bases if there are no targets.
pub(super) fn share_at_depth(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    run.number(&format!("{TARGETS}/PCT_TARGET_BASES_{depth}X"))
        .or_else(|| target_share(run, depth))
        .or_else(|| mosdepth_share(run, "mosdepth.region.dist.txt", depth))
        .or_else(|| genome_share_at_depth(run, depth))
}

/// Returns the share of genome bases with at least this depth.
pub(super) fn genome_share_at_depth(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    run.number(&format!("{GENOME}/PCT_{depth}X"))
        .or_else(|| mosdepth_share(run, "mosdepth.global.dist.txt", depth))
}

/// Returns the share of target bases with at least this depth from the histogram of CollectHsMetrics,
/// whose columns have only some depths.
fn target_share(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    let DepthHistogram { report, histogram, depth_key, count_key } = depth_histogram(run)?;
    if report != "hs_metrics" {
        return None;
    }
    let (depths, counts) = (histogram.column(depth_key), histogram.column(count_key));
    let below = f64::from(depth);
    let low: f64 = depths.iter().zip(&counts).filter(|it| *it.0 < below).map(|it| it.1).sum();
    let all: f64 = counts.iter().sum();
    let rule = NumberRule::Bins { is: "from", keys: histogram.pointer(depth_key), below };
    let share = Quantity::new((all - low) / all, histogram.pointer(count_key), rule);
    (all > 0.0).then(|| share.with_count(Some(all - low)))
}

/// Returns the median depth from a cumulative distribution of mosdepth: the greatest depth that at least
/// half of the bases have. Its shares have two decimals.
pub(super) fn mosdepth_median(run: &RunPart<'_>, report: &str) -> Option<Quantity> {
    let report = run.part(&format!("reports/{report}"))?;
    let points = report.column("depth").into_iter().zip(report.column("share"));
    let median = points.filter(|it| it.1 >= 0.5).map(|it| it.0).max_by(f64::total_cmp)?;
    let rule = NumberRule::Function { is: "median-depth", key: None };
    Some(Quantity::new(median, report.pointer(""), rule))
}

/// Returns the mean depth of the mitochondrial genome.
pub(super) fn mitochondrial_mean(run: &RunPart<'_>) -> Option<Quantity> {
    let is_mitochondrial = |name: &str| {
        let name = name.strip_prefix("chr").unwrap_or(name);
        ["M", "MT"].contains(&name)
    };
    run.items(CONTIGS).find(|row| is_mitochondrial(row.text("chrom")))?.number("mean")
}

/// Returns the fraction of bases with at least 0.2 times the mean depth, from target regions if the
/// run has them.
pub(super) fn even_coverage(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |report: &str, total: &str| {
        let min_depth = (mosdepth_mean(run, total)?.value / 5.0).ceil();
        let report = run.part(&format!("reports/{report}"))?;
        let at = report.column("depth").iter().position(|it| *it == min_depth)?;
        report.number(&format!("share/{at}"))
    };
    of("mosdepth.region.dist.txt", "total_region").or_else(|| of("mosdepth.global.dist.txt", "total"))
}

/// Returns the mean depth of the report from which `even_coverage` is computed.
pub fn mosdepth_target_mean(run: &RunPart<'_>) -> Option<Quantity> {
    let has_targets = run.part("reports/mosdepth.region.dist.txt").is_some();
    let of_targets = if has_targets { mosdepth_mean(run, "total_region") } else { None };
    of_targets.or_else(|| mosdepth_mean(run, "total"))
}

pub(super) fn fold_80(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |row: &str| run.number(&format!("{row}/FOLD_80_BASE_PENALTY"));
    of(TARGETS).or_else(|| of(GENOME))
}

/// Returns the mean depth of the report that has the fold-80 penalty.
pub fn fold_80_mean(run: &RunPart<'_>) -> Option<f64> {
    let of = |row: &str, mean: &str| {
        run.at(&format!("{row}/FOLD_80_BASE_PENALTY"))?;
        run.value(&format!("{row}/{mean}"))
    };
    of(TARGETS, "MEAN_TARGET_COVERAGE").or_else(|| of(GENOME, "MEAN_COVERAGE"))
}

/// The histogram of depths that CollectWgsMetrics or CollectHsMetrics wrote.
pub struct DepthHistogram<'a> {
    pub report: &'static str,
    pub histogram: RunPart<'a>,
    /// Names of the columns with the depths and with the numbers of bases.
    pub depth_key: &'a str,
    pub count_key: &'a str,
}

/// Returns the histogram of depths of targets, or of the genome if there are no targets.
pub fn depth_histogram<'a>(run: &RunPart<'a>) -> Option<DepthHistogram<'a>> {
    let (report, histogram) = ["hs_metrics", "wgs_metrics", "raw_wgs_metrics"]
        .into_iter()
        .find_map(|report| Some((report, run.part(&format!("reports/{report}/histograms/0"))?)))?;
    let is_depth = |name: &&String| name.contains("coverage") && !name.contains("count");
    let depth_key = histogram.keys().find(is_depth)?;
    let count_key = histogram.keys().find(|name| name.contains("count"))?;
    Some(DepthHistogram { report, histogram, depth_key, count_key })
}

pub fn has_targets(run: &RunPart<'_>) -> bool {
    let has_regions = || run.items(CONTIGS).any(|row| row.text("chrom") == "total_region");
    run.at(TARGETS).is_some() || (has_regions() && !run.has_coverage_windows())
}

//! Metrics of coverage: depth, evenness, and loss by GC content. If several reports contain a metric,
//! targets have precedence over the whole genome.

use crate::lanes::has_all_reads;
use crate::run::{NumberRule, Quantity, RunPart};

pub const CONTIGS: &str = "reports/mosdepth.summary.txt";

pub const TARGETS: &str = "reports/hs_metrics/rows/0";

pub(super) const GENOME: &str = "reports/wgs_metrics/rows/0";

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

pub(super) fn share_at_depth(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    let of_mosdepth = |report: &str| {
        let report = run.part(&format!("reports/{report}"))?;
        let depths = report.column("depth");
        let deepest = depths.iter().copied().max_by(f64::total_cmp)?;
        match depths.iter().position(|it| *it == f64::from(depth)) {
            Some(at) => report.number(&format!("share/{at}")),
            // mosdepth does not list depths greater than the maximum depth.
            None => (f64::from(depth) > deepest)
                .then(|| Quantity::new(0.0, report.pointer("depth"), NumberRule::NoneAbove(depth))),
        }
    };
    run.number(&format!("{TARGETS}/PCT_TARGET_BASES_{depth}X"))
        .or_else(|| of_mosdepth("mosdepth.region.dist.txt"))
        .or_else(|| run.number(&format!("{GENOME}/PCT_{depth}X")))
        .or_else(|| of_mosdepth("mosdepth.global.dist.txt"))
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

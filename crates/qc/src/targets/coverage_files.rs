//! The files of targets, and of their bases: PER_TARGET_COVERAGE and PER_BASE_COVERAGE.

use std::io::Write as _;

use readmill_format::metrics::decimal;

use super::join::TargetTotals;
use super::rules::TargetRules;
use super::runs::PerBaseText;

/// Appends the file of targets, of which these are the shares of G and C.
pub(crate) fn put_per_target(
    text: &mut Vec<u8>,
    rules: &TargetRules,
    totals: &TargetTotals,
    gc: &[f64],
    contigs: &[(Vec<u8>, u32)],
) {
    let mean = totals.mean_depth(rules);
    text.extend_from_slice(
        b"chrom\tstart\tend\tlength\tname\t%gc\tmean_coverage\tnormalized_coverage\tmin_normalized_coverage\t\
          max_normalized_coverage\tmin_coverage\tmax_coverage\tpct_0x\tread_count\n",
    );
    let targets = rules.targets.intervals().iter().zip(&totals.targets).enumerate();
    for ((number, (&(contig, start, end), depths)), gc) in targets.zip(gc) {
        let length = end - start;
        let uncovered = f64::from(length - depths.covered);
        let least = f64::from(if uncovered > 0.0 { 0 } else { depths.least });
        let most = f64::from(depths.most);
        let coverage = depths.bases as f64 / f64::from(length);
        text.extend_from_slice(contigs.get(contig as usize).map_or(&b"*"[..], |it| &it.0));
        let _ = write!(text, "\t{}\t{end}\t{length}\t", start + 1);
        text.extend_from_slice(rules.targets.name(number));
        let numbers = [
            *gc,
            coverage,
            coverage / mean,
            least / mean,
            most / mean,
            least,
            most,
            uncovered / f64::from(length),
        ];
        for number in numbers {
            let _ = write!(text, "\t{}", decimal(number));
        }
        let _ = writeln!(text, "\t{}", totals.reads.get(number).copied().unwrap_or_default());
    }
}

/// The file of the bases of all targets.
pub(crate) fn per_base_text(
    rules: &TargetRules,
    totals: &mut TargetTotals,
    contigs: &[(Vec<u8>, u32)],
) -> PerBaseText {
    let runs = totals.runs.take().unwrap_or_default();
    PerBaseText::new(runs, rules.targets.clone(), contigs.to_vec())
}

//! Writes the files PER_TARGET_COVERAGE and PER_BASE_COVERAGE.

use std::io::Write as _;

use readmill_format::intervals::NamedIntervals;
use readmill_format::metrics::format_decimal;

use super::join::TargetTotals;
use super::rules::TargetRules;
use crate::depth::runs::{DepthRuns, RunCursor};

/// Appends a line for each target. `gc` has the GC content of each target as a fraction.
pub(super) fn put_per_target(
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
        let min_depth = f64::from(if uncovered > 0.0 { 0 } else { depths.min });
        let max_depth = f64::from(depths.max);
        let coverage = depths.bases as f64 / f64::from(length);
        text.extend_from_slice(contigs.get(contig as usize).map_or(&b"*"[..], |it| &it.0));
        let _ = write!(text, "\t{}\t{end}\t{length}\t", start + 1);
        text.extend_from_slice(rules.targets.name(number));
        let numbers = [
            *gc,
            coverage,
            coverage / mean,
            min_depth / mean,
            max_depth / mean,
            min_depth,
            max_depth,
            uncovered / f64::from(length),
        ];
        for number in numbers {
            let _ = write!(text, "\t{}", format_decimal(number));
        }
        let _ = writeln!(text, "\t{}", totals.reads.get(number).copied().unwrap_or_default());
    }
}

/// Returns the text of the file with a line for each base. Moves the depths out of `totals`.
pub(super) fn per_base_text(
    rules: &TargetRules,
    totals: &mut TargetTotals,
    contigs: &[(Vec<u8>, u32)],
) -> PerBaseText {
    let runs = totals.runs.take().unwrap_or_default();
    PerBaseText::new(runs, rules.targets.clone(), contigs.to_vec())
}

/// The lines of a PER_BASE_COVERAGE file, produced in chunks, because the file can be much larger
/// than memory. Each line has contig, position (1-based), target and depth.
pub(super) struct PerBaseText {
    runs: DepthRuns,
    cursor: RunCursor,
    /// The depth of the current run, and the number of its positions that are left.
    run: (u32, u32),
    targets: NamedIntervals,
    contigs: Vec<(Vec<u8>, u32)>,
    target: usize,
    /// Number of bases of the current target that are already written.
    into: u32,
    is_begun: bool,
}

/// Approximate size of a chunk of text in bytes.
const TEXT: usize = 1 << 18;

impl PerBaseText {
    fn new(runs: DepthRuns, targets: NamedIntervals, contigs: Vec<(Vec<u8>, u32)>) -> Self {
        PerBaseText {
            runs,
            cursor: RunCursor::default(),
            run: (0, 0),
            targets,
            contigs,
            target: 0,
            into: 0,
            is_begun: false,
        }
    }

    fn next_depth(&mut self) -> u32 {
        if self.run.1 == 0 {
            self.run = self.cursor.next(&self.runs).unwrap_or((0, u32::MAX));
        }
        self.run.1 -= 1;
        self.run.0
    }
}

impl Iterator for PerBaseText {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            text.extend_from_slice(b"chrom\tpos\ttarget\tcoverage\n");
        }
        while text.len() < TEXT {
            let Some(&(contig, start, end)) = self.targets.intervals().get(self.target) else { break };
            let depth = self.next_depth();
            text.extend_from_slice(self.contigs.get(contig as usize).map_or(&b"*"[..], |it| &it.0));
            text.push(b'\t');
            text.extend_from_slice((u64::from(start + self.into) + 1).to_string().as_bytes());
            text.push(b'\t');
            text.extend_from_slice(self.targets.name(self.target));
            text.push(b'\t');
            text.extend_from_slice(depth.to_string().as_bytes());
            text.push(b'\n');
            self.into += 1;
            if start + self.into >= end {
                (self.target, self.into) = (self.target + 1, 0);
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

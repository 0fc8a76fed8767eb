//! The cumulative depth distribution and the lines of the summary file, with the quirks of mosdepth
//! 0.3.3.

use std::fmt::Write;

const MAX_DEPTH: i32 = 400_000;

/// Bases with a depth above [`MAX_DEPTH`] count as this depth.
const CAPPED_DEPTH: i32 = MAX_DEPTH - 10;

/// Depths up to this one have a line even if no base has this depth.
const MAX_LISTED_DEPTH: usize = 300;

/// Minimum fraction of bases with at least a depth, for this depth to have a line.
const MIN_SHARE: f64 = 8e-5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution(Vec<u64>);

impl Distribution {
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.0.capacity() as u64 * 8
    }

    #[inline]
    pub(crate) fn add(&mut self, depth: i32, bases: u64) {
        let depth = if depth > MAX_DEPTH { CAPPED_DEPTH } else { depth };
        let Ok(depth) = usize::try_from(depth) else { return };
        if depth >= self.0.len() {
            self.0.resize(depth + 1, 0);
        }
        self.0[depth] += bases;
    }

    pub(crate) fn add_all(&mut self, other: &Distribution) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Appends a line for each depth, from the maximum down: the fraction of bases with at least
    /// this depth.
    pub(crate) fn write_lines(&self, name: &str, out: &mut String) {
        let sum: u64 = self.0.iter().sum();
        if sum < 1 {
            return;
        }
        let mut share = 0.0;
        for depth in (0..self.0.len().max(MAX_LISTED_DEPTH + 1)).rev() {
            let bases = self.0.get(depth).copied().unwrap_or(0);
            if depth > MAX_LISTED_DEPTH && bases == 0 {
                continue;
            }
            share += bases as f64 / sum as f64;
            if share >= MIN_SHARE {
                let _ = writeln!(out, "{name}\t{depth}\t{share:.2}");
            }
        }
    }
}

/// Length, sum of depths, minimum and maximum depth of a contig or of its regions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepthSummary {
    length: u64,
    bases: u64,
    min_depth: u32,
    max_depth: u32,
}

impl DepthSummary {
    /// Creates an empty summary whose minimum starts with `least`. mosdepth 0.3.3 starts with 0 for
    /// the totals and for the regions of the first contig, so their minimum is always 0. All others
    /// start with `u32::MAX`.
    pub(crate) fn new(least: u32) -> Self {
        DepthSummary { length: 0, bases: 0, min_depth: least, max_depth: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, depth: i32, bases: u64) {
        self.length += bases;
        self.bases = self.bases.wrapping_add(i64::from(depth).cast_unsigned().wrapping_mul(bases));
        self.min_depth = self.min_depth.min(depth.cast_unsigned());
        self.max_depth = self.max_depth.max(depth.cast_unsigned());
    }

    pub(crate) fn add_all(&mut self, other: &DepthSummary) {
        self.length += other.length;
        self.bases = self.bases.wrapping_add(other.bases);
        self.min_depth = self.min_depth.min(other.min_depth);
        self.max_depth = self.max_depth.max(other.max_depth);
    }

    pub(crate) fn write_line(&self, name: &str, suffix: &str, out: &mut String) {
        let DepthSummary { length, bases, min_depth: least, max_depth: greatest } = *self;
        let mean = if length > 0 { bases as f64 / length as f64 } else { 0.0 };
        let least = if least == u32::MAX { 0 } else { least };
        let _ = writeln!(out, "{name}{suffix}\t{length}\t{bases}\t{mean:.2}\t{least}\t{greatest}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_by_c() {
        let shown: Vec<String> = [0.125, 0.375, 0.625, 2.5 / 100.0, 1.005, 0.995]
            .iter()
            .map(|number: &f64| format!("{number:.2}"))
            .collect();
        assert_eq!(shown, ["0.12", "0.38", "0.62", "0.03", "1.00", "0.99"]);
    }

    #[test]
    fn depths_with_few_bases_have_no_line() {
        let mut all = Distribution::default();
        all.add(500, 1);
        all.add(400, 9_999);
        all.add(0, 9_990_000);
        let mut text = String::new();
        all.write_lines("c", &mut text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines.len()), ("c\t400\t0.00", 302));
        assert_eq!((lines[1], lines[301]), ("c\t300\t0.00", "c\t0\t1.00"));
        all.add(1_000_000, 10_000);
        all.write_lines("c", &mut text);
        assert!(text.contains("c\t399990\t0.00\n"));
    }
}

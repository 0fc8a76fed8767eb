//! The cumulative depth distribution and the lines of the summary file, with the quirks of mosdepth
//! 0.3.3.

use std::fmt::Write;

use readmill_format::report::{DescribedReport, cell_value, named_values};
use serde_json::Value;

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

    /// Returns the depths that have a line, from the maximum down, each with the fraction of bases that
    /// have at least this depth.
    fn shares(&self) -> impl Iterator<Item = (usize, f64)> {
        let sum: u64 = self.0.iter().sum();
        let depths = if sum < 1 { 0 } else { self.0.len().max(MAX_LISTED_DEPTH + 1) };
        let mut share = 0.0;
        let shares = (0..depths).rev().filter_map(move |depth| {
            let bases = self.0.get(depth).copied().unwrap_or(0);
            if depth > MAX_LISTED_DEPTH && bases == 0 {
                return None;
            }
            share += bases as f64 / sum as f64;
            Some((depth, share))
        });
        shares.filter(|(_, share)| *share >= MIN_SHARE)
    }

    /// Appends a line for each depth.
    pub(crate) fn write_lines(&self, name: &str, out: &mut String) {
        for (depth, share) in self.shares() {
            let _ = writeln!(out, "{name}\t{depth}\t{share:.2}");
        }
    }
}

/// The distribution of all contigs together. Distributions of single contigs are omitted, because
/// they are long.
impl DescribedReport for Distribution {
    fn format_text(&self) -> Vec<u8> {
        let mut text = String::new();
        self.write_lines("total", &mut text);
        text.into_bytes()
    }

    fn to_value(&self) -> Value {
        let depths = self.shares().map(|(depth, _)| Value::from(depth)).collect();
        let shares = self.shares().map(|(_, share)| cell_value(&format!("{share:.2}"))).collect();
        named_values(["depth", "share"], [depths, shares].into_iter())
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
    /// Creates an empty summary whose minimum starts with `min_depth`. mosdepth 0.3.3 starts with 0 for
    /// the totals and for the regions of the first contig, so their minimum is always 0. All others
    /// start with `u32::MAX`.
    pub(crate) fn new(min_depth: u32) -> Self {
        DepthSummary { length: 0, bases: 0, min_depth, max_depth: 0 }
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
}

/// A row of the summary file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryRow {
    /// The number of the contig; `None` for all contigs together.
    pub contig: Option<u32>,
    /// Whether only the bases of regions are counted.
    pub is_of_regions: bool,
    pub depths: DepthSummary,
}

pub(crate) const SUMMARY_COLUMNS: [&str; 6] = ["chrom", "length", "bases", "mean", "min", "max"];

impl SummaryRow {
    pub(crate) fn cells(&self, contigs: &[(String, u32)]) -> [String; SUMMARY_COLUMNS.len()] {
        let DepthSummary { length, bases, min_depth, max_depth } = self.depths;
        let name = match self.contig {
            Some(contig) => contigs.get(contig as usize).map_or("", |(name, _)| name),
            None => "total",
        };
        let suffix = if self.is_of_regions { "_region" } else { "" };
        let mean = if length > 0 { bases as f64 / length as f64 } else { 0.0 };
        let min_depth = if min_depth == u32::MAX { 0 } else { min_depth };
        [
            format!("{name}{suffix}"),
            length.to_string(),
            bases.to_string(),
            format!("{mean:.2}"),
            min_depth.to_string(),
            max_depth.to_string(),
        ]
    }
}

/// The summary file of a run that is described.
pub(crate) struct SummaryTable {
    pub contigs: Vec<(String, u32)>,
    pub rows: Vec<SummaryRow>,
}

impl DescribedReport for SummaryTable {
    fn format_text(&self) -> Vec<u8> {
        let mut text = SUMMARY_COLUMNS.join("\t") + "\n";
        self.rows.iter().for_each(|row| text += &(row.cells(&self.contigs).join("\t") + "\n"));
        text.into_bytes()
    }

    fn to_value(&self) -> Value {
        let cells = |row: &SummaryRow| row.cells(&self.contigs).map(|cell| cell_value(&cell));
        self.rows.iter().map(|row| named_values(SUMMARY_COLUMNS, cells(row).into_iter())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_rounded_as_by_c() {
        let shown: Vec<String> = [0.125, 0.375, 0.625, 2.5 / 100.0, 1.005, 0.995]
            .iter()
            .map(|number: &f64| format!("{number:.2}"))
            .collect();
        assert_eq!(shown, ["0.12", "0.38", "0.62", "0.03", "1.00", "0.99"]);
    }

    #[test]
    fn values_are_those_of_the_text() {
        let mut all = Distribution::default();
        all.add(2, 1);
        all.add(0, 2);
        let text = String::from_utf8(all.format_text()).unwrap();
        assert!(text.ends_with("total\t2\t0.33\ntotal\t1\t0.33\ntotal\t0\t1.00\n"), "{text}");
        assert_eq!(all.to_value(), json!({"depth": [2, 1, 0], "share": [0.33, 0.33, 1.0]}));
        let depths = DepthSummary { length: 3, bases: 2, min_depth: u32::MAX, max_depth: 2 };
        let row = |contig, is_of_regions| SummaryRow { contig, is_of_regions, depths };
        let rows = vec![row(Some(0), false), row(None, true)];
        let table = SummaryTable { contigs: vec![("7".into(), 3)], rows };
        let text = "chrom\tlength\tbases\tmean\tmin\tmax\n7\t3\t2\t0.67\t0\t2\ntotal_region\t3\t2\t0.67\t0\t2\n";
        assert_eq!(String::from_utf8(table.format_text()).unwrap(), text);
        let rows = [json!(7), json!("total_region")].map(
            |name| json!({"chrom": name, "length": 3, "bases": 2, "mean": 0.67, "min": 0, "max": 2}),
        );
        assert_eq!(table.to_value(), json!(rows));
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

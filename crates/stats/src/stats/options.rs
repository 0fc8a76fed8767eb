//! The options of `samtools stats`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub const MAX_INSERT_SIZE: u32 = 1 << 24;

/// The options of `samtools stats`, with its defaults.
///
/// The command `readmill stats` sets them from its flags. A run with `--stats` uses the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct StatsOptions {
    pub coverage: CoverageBins,
    /// Length of a bin of GC and depth (GCD), in bases.
    pub gc_bin: u32,
    /// Do not count reads with any of these FLAG bits.
    pub exclude_flags: u16,
    /// Count only reads with all of these FLAG bits.
    pub require_flags: u16,
    /// Maximum insert size. Larger ones count as this size.
    pub max_insert_size: u32,
    /// The share of pairs from which mean and deviation of the insert size are computed, and which
    /// have rows. The pairs with the largest insert sizes are excluded.
    pub main_bulk: f32,
    pub read_length: Option<u32>,
    /// Count only reads of this read group, or of all read groups with this sample name.
    pub id: Option<String>,
    /// Quality for bwa's trimming of read ends. The row `bases trimmed` counts the bases that it would
    /// remove; 0 disables it.
    pub trim_quality: i32,
    pub sparse: bool,
    /// Count bases that both mates cover once.
    pub remove_overlaps: bool,
    /// File of target regions. Only bases in them are counted.
    pub targets: Option<PathBuf>,
    /// Without such a file, count only bases in the regions that are read from the input.
    pub within_regions: bool,
    /// A target position counts as covered if its depth is greater than this.
    pub coverage_threshold: u32,
}

impl Default for StatsOptions {
    fn default() -> Self {
        StatsOptions {
            coverage: CoverageBins::default(),
            gc_bin: 20_000,
            exclude_flags: 0,
            require_flags: 0,
            max_insert_size: 8000,
            main_bulk: 0.99,
            read_length: None,
            id: None,
            trim_quality: 0,
            sparse: false,
            remove_overlaps: false,
            targets: None,
            within_regions: false,
            coverage_threshold: 0,
        }
    }
}

/// The bins of the distribution of depths, given as `MIN,MAX,STEP`. The first bin has all depths below
/// the minimum, the last one all above the maximum.
///
/// ```
/// use readmill_stats::stats::CoverageBins;
///
/// let bins: CoverageBins = "2,9,3".parse()?;
/// assert_eq!(bins.to_string(), "2,10,3"); // [<2], [2-4], [5-7], [8-10], [10<]
/// assert!("10,1,1".parse::<CoverageBins>().is_err()); // the maximum is below the minimum
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverageBins {
    min_depth: u32,
    /// Maximum depth of the last bin but one. It is rounded up to the end of a bin.
    max_depth: u32,
    step: u32,
    rows: usize,
}

impl Default for CoverageBins {
    fn default() -> Self {
        CoverageBins::new(1, 1000, 1)
    }
}

impl CoverageBins {
    const MAX_DEPTH: u32 = 1 << 24;

    /// Creates bins of `step` depths. The caller has checked that `min_depth <= max_depth` and
    /// `step > 0`.
    fn new(min_depth: u32, max_depth: u32, step: u32) -> Self {
        let range = max_depth - min_depth;
        let step = if step > range + 1 { range.max(1) } else { step };
        let rows = 3 + (range / step) as usize;
        CoverageBins { min_depth, max_depth: min_depth + (range / step + 1) * step - 1, step, rows }
    }

    pub(super) fn bin_of_depth(&self, depth: u32) -> usize {
        if depth < self.min_depth {
            0
        } else if depth > self.max_depth {
            self.rows - 1
        } else {
            1 + ((depth - self.min_depth) / self.step) as usize
        }
    }

    /// Returns the range of depths of a bin as the text shows it, and the depth in the next column.
    pub(super) fn bin_label(&self, row: usize) -> (String, i64) {
        let min_depth = i64::from(self.min_depth);
        let end = |row: usize| min_depth + row as i64 * i64::from(self.step) - 1;
        if row == 0 {
            (format!("[<{min_depth}]"), min_depth - 1)
        } else if row + 1 == self.rows {
            let max_depth = end(row - 1);
            (format!("[{max_depth}<]"), max_depth)
        } else {
            (format!("[{}-{}]", end(row - 1) + 1, end(row)), end(row))
        }
    }
}

impl FromStr for CoverageBins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} does not have the form MIN,MAX,STEP");
        let numbers = text.split(',').map(|word| word.parse::<u32>().map_err(|_| wrong()));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let &[min_depth, max_depth, step] = &numbers[..] else { return Err(wrong()) };
        if max_depth < min_depth || max_depth > CoverageBins::MAX_DEPTH {
            return Err(format!("MAX must be between MIN and {}: {text:?}", CoverageBins::MAX_DEPTH));
        }
        if step == 0 || step > CoverageBins::MAX_DEPTH {
            return Err(format!("STEP must be between 1 and {}: {text:?}", CoverageBins::MAX_DEPTH));
        }
        Ok(CoverageBins::new(min_depth, max_depth, step))
    }
}

impl fmt::Display for CoverageBins {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{},{},{}", self.min_depth, self.max_depth, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::CoverageBins;

    #[test]
    fn depths_have_rows() {
        let bins: CoverageBins = "2,9,3".parse().unwrap();
        let rows = [1, 2, 4, 5, 8, 10, 11].map(|depth| bins.bin_of_depth(depth));
        assert_eq!(rows, [0, 1, 1, 2, 3, 3, 4]);
        let labels = [0, 1, 2, 3, 4].map(|row| bins.bin_label(row).0);
        assert_eq!(labels, ["[<2]", "[2-4]", "[5-7]", "[8-10]", "[10<]"]);
        let one: CoverageBins = "1,4,9".parse().unwrap();
        assert_eq!(
            (one.bin_of_depth(3), one.bin_of_depth(4), one.bin_label(1).0.as_str()),
            (1, 2, "[1-3]")
        );
        for wrong in ["", "1,2", "2,1,1", "1,2,0", "1,2,3,4", "-1,2,1"] {
            assert!(wrong.parse::<CoverageBins>().is_err(), "{wrong}");
        }
    }
}

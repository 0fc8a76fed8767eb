//! What the user asks of the statistics.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The largest insert size that can be asked for.
pub const MOST_INSERT: u32 = 1 << 24;

/// The options of `samtools stats`.
#[derive(Clone, Debug, PartialEq)]
pub struct StatsOptions {
    /// Which depths have a row each.
    pub coverage: CoverageBins,
    /// Positions of a bin of GC and depth.
    pub gc_bin: u32,
    /// Reads with any of these flags do not count.
    pub exclude_flags: u16,
    /// Reads without all of these flags do not count.
    pub require_flags: u16,
    /// Larger insert sizes count as this one.
    pub insert_size: u32,
    /// The share of pairs in rows, mean and deviation; the largest insert sizes are left out.
    pub most_inserts: f32,
    /// Only reads of this length count.
    pub read_length: Option<u32>,
    /// Only reads of this read group, or of the read groups of this sample, count.
    pub id: Option<String>,
    /// Bases that are worse at the end of a read count as trimmed, as bwa trims them; 0 for none.
    pub trim_quality: i32,
    /// Leave out rows of insert sizes that no pair has.
    pub sparse: bool,
    /// Count bases that both mates cover once.
    pub remove_overlaps: bool,
    /// The file of the regions in which bases count.
    pub targets: Option<PathBuf>,
    /// Where no such file is given: count bases in the regions that are read.
    pub within_regions: bool,
    /// A position of the regions counts as covered if it is deeper than this.
    pub coverage_threshold: u32,
}

impl Default for StatsOptions {
    fn default() -> Self {
        StatsOptions {
            coverage: CoverageBins::default(),
            gc_bin: 20_000,
            exclude_flags: 0,
            require_flags: 0,
            insert_size: 8000,
            most_inserts: 0.99,
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

/// The rows of the distribution of depths: all below `least` have one, as have all above `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverageBins {
    least: u32,
    /// Of the last row but one: the greatest depth that is asked for, or a greater one where the rows do not end at it.
    most: u32,
    step: u32,
    /// Rows at most.
    rows: usize,
}

impl Default for CoverageBins {
    fn default() -> Self {
        CoverageBins::new(1, 1000, 1)
    }
}

impl CoverageBins {
    /// The greatest depth that can be asked for.
    const MOST: u32 = 1 << 24;

    /// Rows of `step` depths each; `least` is not above `most`, and `step` not 0.
    fn new(least: u32, most: u32, step: u32) -> Self {
        let range = most - least;
        let step = if step > range + 1 { range.max(1) } else { step };
        let rows = 3 + (range / step) as usize;
        CoverageBins { least, most: least + (range / step + 1) * step - 1, step, rows }
    }

    /// The row of a depth.
    pub(super) fn row(&self, depth: u32) -> usize {
        if depth < self.least {
            0
        } else if depth > self.most {
            self.rows - 1
        } else {
            1 + ((depth - self.least) / self.step) as usize
        }
    }

    /// The depths of a row as the text names them, and the number beside them.
    pub(super) fn label(&self, row: usize) -> (String, i64) {
        let least = i64::from(self.least);
        let end = |row: usize| least + row as i64 * i64::from(self.step) - 1;
        if row == 0 {
            (format!("[<{least}]"), least - 1)
        } else if row + 1 == self.rows {
            let most = end(row - 1);
            (format!("[{most}<]"), most)
        } else {
            (format!("[{}-{}]", end(row - 1) + 1, end(row)), end(row))
        }
    }
}

impl FromStr for CoverageBins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not MIN,MAX,STEP");
        let numbers = text.split(',').map(|word| word.parse::<u32>().map_err(|_| wrong()));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let &[least, most, step] = &numbers[..] else { return Err(wrong()) };
        if most < least || most > CoverageBins::MOST {
            return Err(format!("MAX is between MIN and {}: {text:?}", CoverageBins::MOST));
        }
        if step == 0 || step > CoverageBins::MOST {
            return Err(format!("STEP is between 1 and {}: {text:?}", CoverageBins::MOST));
        }
        Ok(CoverageBins::new(least, most, step))
    }
}

impl fmt::Display for CoverageBins {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{},{},{}", self.least, self.most, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::CoverageBins;

    #[test]
    fn depths_have_rows() {
        let bins: CoverageBins = "2,9,3".parse().unwrap();
        let rows = [1, 2, 4, 5, 8, 10, 11].map(|depth| bins.row(depth));
        assert_eq!(rows, [0, 1, 1, 2, 3, 3, 4]);
        let labels = [0, 1, 2, 3, 4].map(|row| bins.label(row).0);
        assert_eq!(labels, ["[<2]", "[2-4]", "[5-7]", "[8-10]", "[10<]"]);
        let one: CoverageBins = "1,4,9".parse().unwrap();
        assert_eq!((one.row(3), one.row(4), one.label(1).0.as_str()), (1, 2, "[1-3]"));
        for wrong in ["", "1,2", "2,1,1", "1,2,0", "1,2,3,4", "-1,2,1"] {
            assert!(wrong.parse::<CoverageBins>().is_err(), "{wrong}");
        }
    }
}

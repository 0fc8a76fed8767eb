//! Options for counting reads and for the reports, as in mosdepth 0.3.3.

use readmill_record::{Error, RecordRef, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Minimum mapping quality (mosdepth `--mapq`).
    pub min_mapq: u8,
    /// Do not count reads with any of these FLAG bits.
    pub exclude_flags: u16,
    /// Count only reads with any of these FLAG bits; 0 counts all.
    pub include_flags: u16,
    /// Count only reads of these read groups; empty counts all.
    pub read_groups: Vec<Vec<u8>>,
    /// Count from the first to the last aligned base of a read, including deletions, and do not look for
    /// overlapping mates (mosdepth `--fast-mode`).
    pub fast_mode: bool,
}

impl ReadOptions {
    /// The default of `exclude_flags`: unmapped, secondary, QC-failed and duplicate reads.
    pub const DEFAULT_EXCLUDED_FLAGS: u16 = 1796;

    #[inline]
    pub(crate) fn is_counted(&self, record: RecordRef<'_>) -> bool {
        let flags = record.flags().0;
        record.mapq() >= self.min_mapq
            && flags & self.exclude_flags == 0
            && (self.include_flags == 0 || flags & self.include_flags != 0)
            && (self.read_groups.is_empty() || self.is_of_group(record))
    }

    fn is_of_group(&self, record: RecordRef<'_>) -> bool {
        record.read_group().is_some_and(|group| self.read_groups.iter().any(|wanted| wanted == group))
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            min_mapq: 0,
            exclude_flags: ReadOptions::DEFAULT_EXCLUDED_FLAGS,
            include_flags: 0,
            read_groups: Vec::new(),
            fast_mode: false,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    pub no_per_base: bool,
    pub by: Option<RegionChoice>,
    pub use_median: bool,
    /// Depths, in ascending order (mosdepth `--thresholds`). For each region, the number of bases
    /// that reach each depth is written.
    pub thresholds: Vec<i32>,
    /// Depth bins of the quantized file. If empty, the file is not written.
    pub quantize: Quantize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionChoice {
    Window(u32),
    Bed,
}

/// Borders of the depth bins in the quantized file (mosdepth `--quantize`), in ascending order.
///
/// ```
/// use readmill_coverage::Quantize;
///
/// assert!(Quantize::parse("0:1:4:100:").is_ok()); // 0, 1-3, 4-99, and 100 or more
/// assert!(Quantize::parse("0:few:many").is_err());
/// assert!(Quantize::default().is_empty()); // no quantized file
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantize(Vec<i64>);

impl Quantize {
    /// Parses borders separated by colons. The first border is 0 if nothing precedes the first colon,
    /// and the last bin has no upper limit if nothing follows the last colon.
    ///
    /// # Errors
    /// A border is not an integer.
    pub fn parse(text: &str) -> Result<Self> {
        let mut text = text.to_owned();
        if !text.contains(':') {
            text = format!(":{text}:");
        }
        if text.starts_with(':') {
            text.insert(0, '0');
        }
        if text.ends_with(':') {
            text.push_str(&i64::MAX.to_string());
        }
        let borders: std::result::Result<Vec<i64>, _> = text.split(':').map(str::parse).collect();
        let mut borders = borders.map_err(|_| {
            Error::usage("the limits of the depth bins must be numbers separated by colons")
                .hint("write them like 0:1:4:100:200:")
        })?;
        borders.sort_unstable();
        Ok(Quantize(borders))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bin_of_depth(&self, depth: i32) -> Option<usize> {
        let depth = i64::from(depth);
        if depth < *self.0.first()? || depth > *self.0.last()? {
            return None;
        }
        match self.0.iter().position(|&border| border >= depth) {
            Some(at) if self.0[at] == depth => Some(at),
            Some(at) => Some(at - 1),
            None => None,
        }
    }

    /// Returns the label of a bin, such as `4:100` or `100:inf`. `None` for the last border, at
    /// which no bin starts.
    pub(crate) fn bin_label(&self, segment: usize) -> Option<String> {
        let (from, to) = (self.0.get(segment)?, self.0.get(segment + 1)?);
        Some(if *to == i64::MAX { format!("{from}:inf") } else { format!("{from}:{to}") })
    }

    /// Returns whether the first bin begins at 0. Contigs without reads are written only then.
    pub(crate) fn begins_at_zero(&self) -> bool {
        self.0.first() == Some(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_of_depths() {
        let segments = |text: &str, depths: &[i32]| {
            let quantize = Quantize::parse(text).unwrap();
            let label =
                |&depth: &i32| quantize.bin_of_depth(depth).and_then(|it| quantize.bin_label(it));
            depths.iter().map(|depth| label(depth).unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(segments("0:1:4:", &[0, 1, 3, 4, 900]), ["0:1", "1:4", "1:4", "4:inf", "4:inf"]);
        assert_eq!(segments(":5", &[0, 4, 5, 6]), ["0:5", "0:5", "", ""]);
        assert_eq!(segments("3", &[0, 3]), ["0:3", "3:inf"]);
        assert_eq!(segments("2:4:8", &[0, 1, 2, 7, 8]), ["", "", "2:4", "4:8", ""]);
        assert!(Quantize::parse("1:x").is_err());
    }
}
